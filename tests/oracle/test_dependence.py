"""Does what depends on an instruction stay apart from what does not, through tuples, calls, branches and loops?"""

import pytest

from hlo import HloModule
from hlo.interchange import read_text
from oracle.dependence import dependent_leaves

TUPLES = """HloModule m
ENTRY e {
  x = s32[] parameter(0)
  source = s32[] negate(x)
  more = s32[] add(source, x)
  pair = (s32[], s32[]) tuple(more, x)
  first = s32[] get-tuple-element(pair), index=0
  second = s32[] get-tuple-element(pair), index=1
  ROOT r = (s32[], (s32[], s32[])) tuple(second, (s32[], s32[]) tuple(first, x))
}
""".replace("(s32[], s32[]) tuple(first, x))", "nested)").replace(
    "  ROOT", "  nested = (s32[], s32[]) tuple(first, x)\n  ROOT"
)

CALLS = """HloModule m
swap {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT s = (s32[], s32[]) tuple(b, a)
}
made {
  p = s32[] parameter(0)
  source = s32[] negate(p)
  ROOT m = (s32[], s32[]) tuple(p, source)
}
ENTRY e {
  x = s32[] parameter(0)
  c = (s32[], s32[]) call(x), to_apply=made
  p = s32[] get-tuple-element(c), index=0
  q = s32[] get-tuple-element(c), index=1
  d = (s32[], s32[]) call(p, q), to_apply=swap
  ROOT kept = (s32[], s32[]) opt-barrier(d)
}
"""

BRANCHES = """HloModule m
left {
  a = (s32[], s32[]) parameter(0)
  ROOT b = (s32[], s32[]) copy(a)
}
right {
  a = (s32[], s32[]) parameter(0)
  x = s32[] get-tuple-element(a), index=0
  y = s32[] get-tuple-element(a), index=1
  ROOT b = (s32[], s32[]) tuple(y, y)
}
ENTRY e {
  p = pred[] parameter(0)
  x = s32[] parameter(1)
  source = s32[] negate(x)
  switch = pred[] not(p)
  l = (s32[], s32[]) tuple(source, x)
  r = (s32[], s32[]) tuple(source, x)
  ROOT c = (s32[], s32[]) conditional(switch, l, r), true_computation=left, false_computation=right
}
"""

LOOP = """HloModule m
condition {
  s = (s32[], s32[], s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT c = pred[] compare(i, n), direction=LT
}
body {
  s = (s32[], s32[], s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  a = s32[] get-tuple-element(s), index=1
  b = s32[] get-tuple-element(s), index=2
  d = s32[] get-tuple-element(s), index=3
  source = s32[] negate(d)
  ROOT t = (s32[], s32[], s32[], s32[]) tuple(next, b, source, d)
}
ENTRY e {
  s = (s32[], s32[], s32[], s32[]) parameter(0)
  ROOT w = (s32[], s32[], s32[], s32[]) while(s), condition=condition, body=body
}
"""

REDUCER = """HloModule m
sum {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  c = s32[] add(a, b)
  ROOT source = s32[] negate(c)
}
outer {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT c = s32[] call(a, b), to_apply=sum
}
ENTRY e {
  x = s32[4] parameter(0)
  zero = s32[] constant(0)
  y = s32[] reduce(x, zero), dimensions={0}, to_apply=outer
  ROOT r = (s32[], s32[4]) tuple(y, x)
}
"""


def dependent(text: str, *names: str) -> set[tuple[int, ...]]:
    module: HloModule = read_text(text)
    sources = [inst for name in names if (inst := module.find_instruction(name))]
    assert len(sources) == len(names)
    return set(dependent_leaves(module, sources))


@pytest.mark.parametrize(
    ("text", "source", "expected"),
    [
        (TUPLES, "source", {(1, 0)}),
        (TUPLES, "x", set()),  # what it is, nobody computes
        (CALLS, "source", {(0,)}),
        (BRANCHES, "source", {(0,)}),
        (BRANCHES, "switch", {(0,), (1,)}),
        (LOOP, "source", {(1,), (2,)}),
        (LOOP, "next", {(0,), (1,), (2,), (3,)}),
        (REDUCER, "source", {(0,)}),
    ],
)
def test_what_depends_on_an_instruction(text: str, source: str, expected: set[tuple[int, ...]]) -> None:
    assert dependent(text, source) == expected


def test_several_sources_are_taken_together() -> None:
    assert dependent(TUPLES, "source", "more") == {(1, 0)}
    assert dependent(TUPLES) == set()


def test_a_result_that_is_one_array_is_the_leaf_without_index() -> None:
    text = "HloModule m\nENTRY e {\n  x = s32[] parameter(0)\n  ROOT source = s32[] negate(x)\n}\n"
    assert dependent(text, "source") == {()}
