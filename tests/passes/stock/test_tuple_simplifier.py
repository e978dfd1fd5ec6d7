import pytest

from hlo.interchange import read_text
from passes import Trace
from passes.stock import TupleSimplifier


def test_an_element_of_a_tuple_is_read_at_its_source(becomes) -> None:
    before = """HloModule m
ENTRY e {
  x = s32[] parameter(0)
  y = f32[2] parameter(1)
  t = (s32[], f32[2]) tuple(x, y)
  g = f32[2] get-tuple-element(t), index=1
  ROOT r = f32[2] negate(g)
}"""
    after = """HloModule m
ENTRY e {
  x = s32[] parameter(0)
  y = f32[2] parameter(1)
  ROOT r = f32[2] negate(y)
}"""
    assert becomes(TupleSimplifier(), before, after).fired == {"element-of-tuple": 1}


def test_an_element_can_be_the_root(becomes) -> None:
    before = """HloModule m
ENTRY e {
  x = s32[] parameter(0)
  y = s32[] negate(x)
  t = (s32[], s32[]) tuple(x, y)
  ROOT g = s32[] get-tuple-element(t), index=1
}"""
    after = "HloModule m\nENTRY e {\n  x = s32[] parameter(0)\n  ROOT y = s32[] negate(x)\n}"
    becomes(TupleSimplifier(), before, after)


def test_nested_tuples_are_seen_through(becomes) -> None:
    before = """HloModule m
ENTRY e {
  x = s32[] parameter(0)
  y = s8[] parameter(1)
  inner = (s32[], s8[]) tuple(x, y)
  outer = ((s32[], s8[]), s32[]) tuple(inner, x)
  i = (s32[], s8[]) get-tuple-element(outer), index=0
  g = s8[] get-tuple-element(i), index=1
  ROOT r = s8[] abs(g)
}"""
    after = """HloModule m
ENTRY e {
  x = s32[] parameter(0)
  y = s8[] parameter(1)
  ROOT r = s8[] abs(y)
}"""
    becomes(TupleSimplifier(), before, after)


REBUILT = """HloModule m
ENTRY e {
  p = (s32[], s32[]{third}) parameter(0)
  a = s32[] get-tuple-element(p), index=0
  b = s32[] get-tuple-element(p), index=1
  t = (s32[], s32[]) tuple({order})
  ROOT r = ((s32[], s32[]), s32[]) tuple(t, a)
}"""


def rebuilt(third: str = "", order: str = "a, b") -> str:
    return REBUILT.replace("{third}", third).replace("{order}", order)


def test_a_tuple_taken_apart_and_rebuilt_is_the_tuple(becomes) -> None:
    after = """HloModule m
ENTRY e {
  p = (s32[], s32[]) parameter(0)
  a = s32[] get-tuple-element(p), index=0
  ROOT r = ((s32[], s32[]), s32[]) tuple(p, a)
}"""
    assert becomes(TupleSimplifier(), rebuilt(), after).fired == {"tuple-of-elements": 1}


def test_another_order_or_a_part_of_the_tuple_stays(stays) -> None:
    stays(TupleSimplifier(), rebuilt(order="b, a"))
    stays(TupleSimplifier(), rebuilt(order="a, a"))
    stays(TupleSimplifier(), rebuilt(third=", s32[]"))


def test_elements_of_two_tuples_stay(stays) -> None:
    stays(
        TupleSimplifier(),
        """HloModule m
ENTRY e {
  p = (s32[], s32[]) parameter(0)
  q = (s32[], s32[]) parameter(1)
  a = s32[] get-tuple-element(p), index=0
  b = s32[] get-tuple-element(q), index=1
  ROOT t = (s32[], s32[]) tuple(a, b)
}""",
    )


def test_the_empty_tuple_stays(stays) -> None:
    stays(TupleSimplifier(), "HloModule m\nENTRY e {\n  x = s32[] parameter(0)\n  ROOT t = () tuple()\n}")


def test_a_rebuilt_tuple_of_a_rebuilt_tuple_goes_in_one_run(becomes) -> None:
    before = """HloModule m
ENTRY e {
  p = ((s32[], s32[])) parameter(0)
  i = (s32[], s32[]) get-tuple-element(p), index=0
  a = s32[] get-tuple-element(i), index=0
  b = s32[] get-tuple-element(i), index=1
  t = (s32[], s32[]) tuple(a, b)
  ROOT r = ((s32[], s32[])) tuple(t)
}"""
    after = "HloModule m\nENTRY e {\n  ROOT p = ((s32[], s32[])) parameter(0)\n}"
    becomes(TupleSimplifier(), before, after)


CALLED = """HloModule m
f {
  a = s32[] parameter(0)
  t = (s32[]) tuple(a)
  ROOT g = s32[] get-tuple-element(t), index=0
}
ENTRY e {
  x = s32[] parameter(0)
  c = s32[] call(x), to_apply=f
  u = (s32[]) tuple(c)
  ROOT h = s32[] get-tuple-element(u), index=0
}"""


def test_the_entry_computation_can_be_left_alone() -> None:
    module = read_text(CALLED)
    assert TupleSimplifier(exclude_entry_computation=True).run(module, Trace())
    assert [len(c) for c in module.computations] == [1, 4]
    assert TupleSimplifier().run(module, Trace())
    assert [len(c) for c in module.computations] == [1, 2]


@pytest.mark.parametrize("other", ["", ", sharding={replicated}", ", sharding={devices=[2]1,0}"])
def test_another_sharding_holds_the_read_in_place(stays, other: str) -> None:
    program = """HloModule m
ENTRY e {
  x = s32[4] parameter(0)OTHER
  t = (s32[4]) tuple(x)
  g = s32[4] get-tuple-element(t), index=0, sharding={devices=[2]0,1}
  ROOT r = s32[4] negate(g)
}"""
    assert stays(TupleSimplifier(), program.replace("OTHER", other)).declined == {"sharding": 1}


@pytest.mark.parametrize("carried", ["", ', backend_config="k"'])
def test_replicated_is_a_sharding(stays, carried: str) -> None:
    program = """HloModule m
ENTRY e {
  x = s32[4] parameter(0)
  y = s32[4] negate(x)CARRIED
  t = (s32[4]) tuple(y)
  ROOT g = s32[4] get-tuple-element(t), index=0, sharding={replicated}
}"""
    assert stays(TupleSimplifier(), program.replace("CARRIED", carried)).declined == {"sharding": 1}


def test_the_same_sharding_does_not(becomes) -> None:
    program = """HloModule m
ENTRY e {
  x = s32[4] parameter(0), sharding={devices=[2]0,1}
READ  ROOT r = s32[4] negate(WHAT)
}"""
    read = "  t = (s32[4]) tuple(x)\n  g = s32[4] get-tuple-element(t), index=0, sharding={devices=[2]0,1}\n"
    before = program.replace("READ", read).replace("WHAT", "g")
    becomes(TupleSimplifier(), before, program.replace("READ", "").replace("WHAT", "x"))


def test_what_follows_a_read_goes_on_following_its_source(becomes) -> None:
    before = """HloModule m
ENTRY e {
  x = s32[] parameter(0)
  y = s32[] negate(x)
  z = s32[] abs(x)
  t = (s32[]) tuple(y)
  g = s32[] get-tuple-element(t), index=0, control-predecessors={z}
  b = s32[] not(x), control-predecessors={g}
  ROOT r = (s32[], s32[], s32[]) tuple(g, b, z)
}"""
    after = """HloModule m
ENTRY e {
  x = s32[] parameter(0)
  y = s32[] negate(x)
  z = s32[] abs(x)
  b = s32[] not(x), control-predecessors={y, z}
  ROOT r = (s32[], s32[], s32[]) tuple(y, b, z)
}"""
    becomes(TupleSimplifier(), before, after)


def test_dynamic_flags_must_agree() -> None:
    program = """HloModule m
ENTRY e {
  p = (s32[<=4], s32[]) parameter(0)
  a = s32[<=4] get-tuple-element(p), index=0
  b = s32[] get-tuple-element(p), index=1
  ROOT t = (s32[4], s32[]) tuple(a, b)
}"""
    assert not TupleSimplifier().run(read_text(program), Trace())
    assert TupleSimplifier().run(read_text(program.replace("(s32[4]", "(s32[<=4]")), Trace())
