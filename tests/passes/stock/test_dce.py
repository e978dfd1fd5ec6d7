import pytest

from hlo import Opcode
from hlo.interchange import read_text
from passes import Trace
from passes.stock import Dce


def test_a_chain_that_nothing_reads_goes_from_its_end(becomes) -> None:
    before = """HloModule m
ENTRY e {
  x = s32[] parameter(0)
  a = s32[] negate(x)
  b = s32[] add(a, x)
  c = (s32[], s32[]) tuple(b, a)
  ROOT r = s32[] abs(x)
}"""
    after = """HloModule m
ENTRY e {
  x = s32[] parameter(0)
  ROOT r = s32[] abs(x)
}"""
    assert becomes(Dce(), before, after).fired == {"dead-instruction": 3}


def test_a_program_without_dead_code_stays(stays) -> None:
    stays(Dce(), "HloModule m\nENTRY e {\n  x = s32[] parameter(0)\n  ROOT r = s32[] negate(x)\n}")


def test_unused_parameters_stay(stays) -> None:
    stays(
        Dce(),
        """HloModule m
f {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT n = s32[] negate(b)
}
ENTRY e {
  x = s32[] parameter(0)
  y = s32[] parameter(1)
  ROOT r = s32[] call(x, x), to_apply=f
}""",
    )


def test_the_callee_of_a_dead_call_goes_with_what_it_calls(becomes) -> None:
    before = """HloModule m
g {
  a = s32[] parameter(0)
  ROOT n = s32[] negate(a)
}
f {
  b = s32[] parameter(0)
  ROOT c = s32[] call(b), to_apply=g
}
ENTRY e {
  x = s32[] parameter(0)
  d = s32[] call(x), to_apply=f
  ROOT r = s32[] abs(x)
}"""
    after = "HloModule m\nENTRY e {\n  x = s32[] parameter(0)\n  ROOT r = s32[] abs(x)\n}"
    assert becomes(Dce(), before, after).fired == {"dead-instruction": 1, "dead-computation": 2}


def test_a_callee_that_is_still_called_stays(becomes) -> None:
    program = """HloModule m
f {
  a = s32[] parameter(0)
  ROOT n = s32[] negate(a)
}
ENTRY e {
  x = s32[] parameter(0)
DEAD  ROOT r = s32[] call(x), to_apply=f
}"""
    dead = "  d = s32[] call(x), to_apply=f\n"
    becomes(Dce(), program.replace("DEAD", dead), program.replace("DEAD", ""))


def test_dead_code_in_a_callee_goes(becomes) -> None:
    program = """HloModule m
f {
  a = s32[] parameter(0)
DEAD  ROOT n = s32[] negate(a)
}
ENTRY e {
  x = s32[] parameter(0)
  ROOT r = s32[] call(x), to_apply=f
}"""
    becomes(Dce(), program.replace("DEAD", "  d = s32[] abs(a)\n"), program.replace("DEAD", ""))


EFFECT = """HloModule m
ENTRY e {
  x = s32[] parameter(0)
  c = s32[] custom-call(x), custom_call_target="NeuronBoundaryMarker-Start"EFFECT
  ROOT r = s32[] abs(x)
}"""


def test_a_custom_call_goes_unless_it_has_a_side_effect() -> None:
    for effect, left in (("", 2), (", custom_call_has_side_effect=true", 3)):
        module = read_text(EFFECT.replace("EFFECT", effect))
        assert Dce().run(module, Trace()) is (left == 2)
        assert module.instruction_count == left


def test_an_effect_inside_a_callee_keeps_the_call() -> None:
    program = """HloModule m
f {
  a = s32[] parameter(0)
  c = s32[] custom-call(a), custom_call_target="log", custom_call_has_side_effect=true
  ROOT n = s32[] negate(a)
}
ENTRY e {
  x = s32[] parameter(0)
  d = s32[] call(x), to_apply=f
  ROOT r = s32[] abs(x)
}"""
    module = read_text(program)
    assert not Dce().run(module, Trace())
    assert module.instruction_count == 6


LOOP = """HloModule m
body {
  a = s32[] parameter(0)
  one = s32[] constant(1)
  ROOT n = s32[] subtract(a, one)
}
condition {
  b = s32[] parameter(0)
  zero = s32[] constant(0)
  ROOT p = pred[] compare(b, zero), direction=GT
}
ENTRY e {
  x = s32[] parameter(0)
  w = s32[] while(x), condition=condition, body=bodyKEEP
  ROOT r = s32[] abs(x)
}"""


def test_a_loop_without_effects_goes(becomes) -> None:
    after = "HloModule m\nENTRY e {\n  x = s32[] parameter(0)\n  ROOT r = s32[] abs(x)\n}"
    becomes(Dce(), LOOP.replace("KEEP", ""), after)


def test_a_loop_can_ask_to_stay(stays) -> None:
    keep = ', frontend_attributes={xla_disable_while_loop_dce="true"}'
    stays(Dce(), LOOP.replace("KEEP", keep))


def test_control_predecessors_of_what_goes_are_relayed(becomes) -> None:
    before = """HloModule m
ENTRY e {
  x = s32[] parameter(0)
  a = s32[] negate(x)
  d = s32[] abs(x), control-predecessors={a}
  b = s32[] not(x), control-predecessors={d}
  ROOT r = s32[] add(a, b)
}"""
    after = """HloModule m
ENTRY e {
  x = s32[] parameter(0)
  a = s32[] negate(x)
  b = s32[] not(x), control-predecessors={a}
  ROOT r = s32[] add(a, b)
}"""
    becomes(Dce(), before, after)


SHARDING = """HloModule m
ENTRY e {
  x = s32[4] parameter(0)
  y = s32[4] negate(x)
  s = s32[4] custom-call(OF), custom_call_target="Sharding", sharding={devices=[2]0,1}
  ROOT r = s32[4] USE
}"""


def test_an_annotation_of_a_value_in_use_stays_and_goes_with_the_value() -> None:
    parameter = [("x", "abs(x)", 3), ("x", "constant({1, 2, 3, 4})", 3)]
    other = [("y", "abs(y)", 4), ("y", "abs(x)", 2)]
    for annotated, use, left in parameter + other:
        module = read_text(SHARDING.replace("OF", annotated).replace("USE", use))
        Dce().run(module, Trace())
        assert module.instruction_count == left, (annotated, use)


def test_an_annotation_of_the_result_stays() -> None:
    program = SHARDING.replace("y = ", "ROOT y = ").replace("OF", "y").replace("  ROOT r = s32[4] USE\n", "")
    module = read_text(program)
    assert not Dce().run(module, Trace())
    assert module.instruction_count == 3


@pytest.mark.parametrize("other_reader_comes_first", [True, False])
def test_an_annotation_goes_once_its_value_has_no_other_reader(other_reader_comes_first: bool) -> None:
    module = read_text(SHARDING.replace("OF", "y").replace("USE", "abs(x)"))
    entry, y = module.entry_computation, module.find_instruction("y")
    assert y is not None
    annotation = y.users[0]
    entry.add(Opcode.NOT, y.shape, (y,))
    if other_reader_comes_first:  # in the order in which instructions are looked at
        entry.add_clone(annotation, (y,))
        entry.remove_instruction(annotation)
    assert Dce().run(module, Trace())
    opcodes = [inst.opcode for inst in module.entry_computation.make_instruction_post_order()]
    assert opcodes == [Opcode.PARAMETER, Opcode.ABS]
