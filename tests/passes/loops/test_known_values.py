"""Is a value known exactly where it is the same in every execution, and is it the right one?"""

import numpy as np
import pytest

from hlo import HloInstruction, HloModule, Opcode
from hlo.evaluator import evaluate
from hlo.interchange import read_text
from passes.loops import KnownValues, Place
from tests.passes.loops.programs import loop


def found(module: HloModule, name: str) -> HloInstruction:
    inst = module.find_instruction(name)
    assert inst is not None
    return inst


def known(text: str, name: str, path: tuple[int, ...] = ()) -> int | None:
    module = read_text(text)
    return KnownValues(module).integer(Place(found(module, name), path))


def entry(lines: str, before: str = "") -> str:
    return f"HloModule m\n{before}\nENTRY main {{\n  x = s32[] parameter(0)\n  two = s32[] constant(2)\n{lines}}}\n"


@pytest.mark.parametrize(
    ("lines", "value"),
    [
        ("  ROOT r = s32[] copy(two)\n", 2),
        ("  ROOT r = s32[] negate(two)\n", -2),
        ("  ROOT r = s32[] add(two, x)\n", None),
        ("  t = (s32[], s32[]) tuple(two, x)\n  ROOT r = s32[] get-tuple-element(t), index=0\n", 2),
        ("  t = (s32[], s32[]) tuple(two, x)\n  ROOT r = s32[] get-tuple-element(t), index=1\n", None),
        ("  t = (s32[]) tuple(two)\n  u = ((s32[]), s32[]) tuple(t, x)\n"
         "  v = (s32[]) get-tuple-element(u), index=0\n  ROOT r = s32[] get-tuple-element(v), index=0\n", 2),
        ("  v = s32[1] reshape(two)\n  w = s32[1] add(v, v)\n  ROOT r = s32[] reshape(w)\n", 4),
        ("  b = s32[3] broadcast(two), dimensions={}\n  s = s32[1] slice(b), slice={[1:2]}\n"
         "  ROOT r = s32[] reshape(s)\n", 2),
        ("  c = pred[] compare(two, two), direction=LT\n  n = s32[] negate(two)\n"
         "  ROOT r = s32[] select(c, n, two)\n", 2),
        ("  b = s32[100] broadcast(two), dimensions={}\n  s = s32[1] slice(b), slice={[1:2]}\n"
         "  ROOT r = s32[] reshape(s)\n", None),  # more elements than is worth it
        ("  ROOT r = s32[] custom-call(two), custom_call_target=\"f\"\n", None),
        ("  ROOT r = s32[] opt-barrier(two)\n", 2),
        ("  u = u8[] convert(two)\n  n = u8[] negate(u)\n  ROOT r = s32[] convert(n)\n", 254),
    ],
)  # fmt: skip
def test_a_value_is_known_if_it_depends_on_constants_only(lines: str, value: int | None) -> None:
    assert known(entry(lines), "r") == value


CALLEE = """
f {
  p = (s32[], s32[]) parameter(0)
  a = s32[] get-tuple-element(p), index=0
  b = s32[] get-tuple-element(p), index=1
  sum = s32[] add(a, a)
  ROOT out = (s32[], s32[]) tuple(sum, b)
}
"""


def test_a_call_gives_what_its_callee_makes_of_its_operands() -> None:
    text = entry(
        "  three = s32[] constant(3)\n  s = (s32[], s32[]) tuple(two, x)\n  t = (s32[], s32[]) tuple(three, x)\n"
        "  c = (s32[], s32[]) call(s), to_apply=f\n  d = (s32[], s32[]) call(t), to_apply=f\n"
        "  ROOT r = ((s32[], s32[]), (s32[], s32[])) tuple(c, d)\n",
        CALLEE,
    )
    assert [known(text, "r", (i, 0)) for i in (0, 1)] == [4, 6]
    assert known(text, "r", (0, 1)) is None
    assert known(text, "sum") is None  # another in each call


def test_a_parameter_is_known_if_all_callers_give_the_same() -> None:
    text = entry(
        "  also = s32[] constant(2)\n  s = (s32[], s32[]) tuple(two, x)\n  t = (s32[], s32[]) tuple(also, two)\n"
        "  c = (s32[], s32[]) call(s), to_apply=f\n  d = (s32[], s32[]) call(t), to_apply=f\n"
        "  ROOT r = ((s32[], s32[]), (s32[], s32[])) tuple(c, d)\n",
        CALLEE,
    )
    assert known(text, "sum") == 4
    assert known(text, "b") is None


def test_of_a_parameter_of_the_entry_nothing_is_known() -> None:
    assert known(entry("  ROOT r = s32[] copy(x)\n"), "r") is None


def test_of_a_branch_or_a_reducer_nothing_is_known() -> None:
    text = """HloModule m
plus { a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT sum = s32[] add(a, b) }
ENTRY main { one = s32[2] constant({1, 1})
  zero = s32[] constant(0)
  ROOT r = s32[] reduce(one, zero), dimensions={0}, to_apply=plus }
"""
    assert known(text, "sum") is None


def test_a_computation_that_is_called_and_is_a_reducer_too_is_not_known_by_its_call() -> None:
    text = """HloModule m
plus { a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT sum = s32[] add(a, b) }
ENTRY main { x = s32[2] parameter(0)
  zero = s32[] constant(0)
  r = s32[] reduce(x, zero), dimensions={0}, to_apply=plus
  c = s32[] call(zero, zero), to_apply=plus
  ROOT both = (s32[], s32[]) tuple(r, c) }
"""
    assert known(text, "sum") is None
    assert known(text, "c") == 0


def test_an_element_that_no_iteration_changes_is_known_in_a_loop_and_after_it() -> None:
    text = loop(bound="five").replace(
        "  k = s32[] parameter(1)\n", "  k = s32[] parameter(1)\n  five = s32[] constant(5)\n"
    )
    module = read_text(text)
    values = KnownValues(module)
    w = found(module, "w")
    body, condition = w.called_computations
    assert [values.is_invariant(w, (i,)) for i in range(4)] == [False, True, False, True]
    for computation in (body, condition):
        assert values.integer(Place(computation.parameters[0], (3,))) == 5
        assert values.integer(Place(computation.parameters[0], (0,))) is None
    assert values.integer(Place(w, (3,))) == 5
    assert values.integer(Place(w, (0,))) is None


def test_elements_that_change_places_are_not_invariant() -> None:
    text = loop(bound="five").replace(
        "  k = s32[] parameter(1)\n", "  k = s32[] parameter(1)\n  five = s32[] constant(5)\n"
    )
    module = read_text(text.replace("tuple(next, x, total, n)", "tuple(n, x, total, i)"))
    values = KnownValues(module)
    w = found(module, "w")
    assert [values.is_invariant(w, (i,)) for i in range(4)] == [False, True, False, False]


def test_a_long_chain_of_calls_is_followed_without_recursion() -> None:
    lines = "".join(
        f"  t{i} = (s32[], s32[]) tuple({'two' if i == 0 else f'g{i - 1}'}, x)\n"
        f"  call{i} = (s32[], s32[]) call(t{i}), to_apply=same\n"
        f"  g{i} = s32[] get-tuple-element(call{i}), index=0\n"
        for i in range(1500)
    )
    same = "same {\n  p = (s32[], s32[]) parameter(0)\n  ROOT q = (s32[], s32[]) copy(p)\n}\n"
    assert known(entry(f"{lines}  ROOT r = s32[] copy(g1499)\n", same), "r") == 2


def test_a_long_chain_of_operations_is_given_up() -> None:
    lines = "".join(f"  n{i} = s32[] negate({'two' if i == 0 else f'n{i - 1}'})\n" for i in range(200))
    assert known(entry(f"{lines}  ROOT r = s32[] copy(n199)\n"), "r") is None
    assert known(entry(f"{lines}  ROOT r = s32[] copy(n199)\n"), "n40") == -2


def test_paths_that_multiply_are_given_up_in_time() -> None:
    lines = "".join(
        f"  n{i} = s32[] add({'x, two' if i == 0 else f'n{i - 1}, n{i - 1}'})\n" for i in range(60)
    )
    assert known(entry(f"{lines}  ROOT r = s32[] copy(n59)\n"), "r") is None


def test_what_is_known_is_what_the_evaluator_gives() -> None:
    text = entry(
        "  a = s32[] multiply(two, two)\n  s = (s32[], s32[]) tuple(a, x)\n"
        "  c = (s32[], s32[]) call(s), to_apply=f\n  ROOT r = s32[] get-tuple-element(c), index=0\n",
        CALLEE,
    )
    module = read_text(text)
    assert known(text, "r") == evaluate(module, [np.array(7, np.int32)])


def test_a_boolean_and_a_float_that_is_no_number_are_no_integers() -> None:
    text = entry(
        "  c = pred[] compare(two, two), direction=EQ\n  n = f32[] constant(nan)\n"
        "  ROOT r = (pred[], f32[]) tuple(c, n)\n"
    )
    assert known(text, "c") is None
    assert known(text, "n") is None
    module = read_text(text)
    assert KnownValues(module).value(Place(found(module, "c"))) == np.bool_(True)


def test_the_source_of_an_element_is_where_it_is_made() -> None:
    text = entry(
        "  s = (s32[], s32[]) tuple(two, x)\n  c = (s32[], s32[]) call(s), to_apply=f\n"
        "  ROOT r = s32[] get-tuple-element(c), index=1\n",
        CALLEE,
    )
    module = read_text(text)
    source = KnownValues(module).source(Place(found(module, "r")))
    assert source.inst is found(module, "x")
    assert source.inst.opcode is Opcode.PARAMETER
