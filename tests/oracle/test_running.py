"""Does padding that shows come to light, and is a dynamic program run as the static one that it is?"""

import numpy as np
import pytest

from hlo import ArrayShape, HloModule, PrimitiveType, Value
from hlo.evaluator import SizeOutOfBounds
from hlo.interchange import read_text
from hlo.literal import same_bits
from oracle.compare import BITWISE, compare
from oracle.original import Original, PaddingShows
from oracle.running import (
    POISONS,
    Form,
    Runner,
    evaluated,
    extremes,
    form_of,
    instruction_values,
    random_numbers,
    static_program,
)
from oracle.true_size import is_dynamic

KINDS = list(PrimitiveType)


def program(entry: str) -> HloModule:
    add = "add { a = s32[] parameter(0)\n b = s32[] parameter(1)\n ROOT r = s32[] add(a, b) }\n"
    return read_text(f"HloModule m\n{add}ENTRY main {{ {entry} }}\n")


def listed(value: Value) -> object:
    assert isinstance(value, np.ndarray)
    return value.tolist()


def ints(*values: object) -> np.ndarray:
    return np.array(values, np.int32)


STATIC = program("x = s32[4] parameter(0)\n ROOT r = s32[4] negate(x)")
DYNAMIC = program("x = s32[<=4] parameter(0)\n ROOT r = s32[<=4] negate(x)")
HANDED_ON = program("x = s32[<=4] parameter(0)\n ROOT r = (s32[<=4]) tuple(x)")
SET = program(
    "x = s32[4] parameter(0)\n n = s32[] parameter(1)\n"
    "ROOT set = s32[<=4] set-dimension-size(x, n), dimensions={0}"
)
SUMMED_WITH_PADDING = program(
    """x = s32[<=4] parameter(0)
       p = (s32[4], s32[]) custom-call(x), custom_call_target="PadToStatic"
       d = s32[4] get-tuple-element(p), index=0
       zero = s32[] constant(0)
       ROOT r = s32[] reduce(d, zero), dimensions={0}, to_apply=add"""
)
CUT_AGAIN = program(
    """x = s32[<=4] parameter(0)
       p = (s32[4], s32[]) custom-call(x), custom_call_target="PadToStatic"
       d = s32[4] get-tuple-element(p), index=0
       n = s32[] get-tuple-element(p), index=1
       m = s32[4] negate(d)
       ROOT cut = s32[<=4] custom-call(m, n), custom_call_target="SliceToDynamic\""""
)


@pytest.mark.parametrize(
    ("module", "form"),
    [
        (STATIC, Form.STATIC),
        (DYNAMIC, Form.DYNAMIC),
        (SET, Form.DYNAMIC),
        (HANDED_ON, Form.BRIDGED),
        (SUMMED_WITH_PADDING, Form.BRIDGED),
        (CUT_AGAIN, Form.BRIDGED),
    ],
)
def test_what_works_on_dynamic_arrays_is_told_from_what_hands_them_on(module: HloModule, form: Form) -> None:
    assert form_of(module) is form


def test_a_program_with_padding_is_run_once_for_each_filling() -> None:
    readings = Runner(CUT_AGAIN).readings([ints(1, 2)])
    assert [listed(value) for value in readings] == [[-1, -2]] * len(POISONS)
    first, second = Runner(SUMMED_WITH_PADDING).readings([ints(1, 2)])
    assert compare(first, second, tolerance=BITWISE, left="", right="")
    assert len(Runner(DYNAMIC).readings([ints(1, 2)])) == 1


def test_a_dynamic_result_is_as_large_as_at_run_time() -> None:
    assert listed(evaluated(DYNAMIC, [ints(1, 2)])) == [-1, -2]
    assert listed(evaluated(SET, [ints(1, 2, 3, 4), np.array(3, np.int32)])) == [1, 2, 3]


def test_engines_are_given_a_program_without_dynamic_dimensions() -> None:
    inputs = [ints(1, 2, 3)]
    static = static_program(DYNAMIC, inputs)
    assert not is_dynamic(static)
    assert same_bits(evaluated(static, inputs), evaluated(DYNAMIC, inputs))
    assert static_program(STATIC, [ints(1, 2, 3, 4)]) is STATIC


def test_each_instruction_has_the_value_that_it_has_on_cut_arrays() -> None:
    values = instruction_values(SET, [ints(1, 2, 3, 4), np.array(2, np.int32)])
    by_name = {inst.name: value for inst, value in values.items()}
    assert [listed(by_name[name]) for name in ("x", "n", "set")] == [[1, 2, 3, 4], 2, [1, 2]]
    seen = instruction_values(CUT_AGAIN, [ints(5)])
    assert {inst.name for inst in seen} == {"x", "p", "d", "n", "m", "cut"}


def test_a_program_that_shows_its_padding_has_no_meaning() -> None:
    assert isinstance(Original(SUMMED_WITH_PADDING, [(ints(1, 2),)]).values, PaddingShows)
    full = Original(SUMMED_WITH_PADDING, [(ints(1, 2),), (ints(1, 2, 3, 4),)])
    assert [len(full.inputs), full.left_out, full.values] == [1, 1, [10]]


def test_a_size_out_of_bounds_is_told_in_full() -> None:
    error = Original(SET, [(ints(1, 2, 3, 4), np.array(5, np.int32))]).values
    assert isinstance(error, SizeOutOfBounds)
    assert str(error) == "set (set-dimension-size): size 5 of dimension 0 is not in [0, 4]"


@pytest.mark.parametrize("kind", KINDS, ids=[kind.text for kind in KINDS])
def test_every_element_type_can_be_poisoned(kind: PrimitiveType) -> None:
    shape = ArrayShape(kind, (3, 2))
    for fill in (extremes, random_numbers):
        value = fill(shape)
        assert (value.shape, value.dtype) == ((3, 2), kind.numpy)
        assert same_bits(value, fill(shape))
    if kind.is_float and np.isnan(np.array(np.nan).astype(kind.numpy).astype(np.float32)):
        assert np.isnan(extremes(shape).astype(np.float32)).all()
    if kind.is_integral:
        assert len(set(extremes(shape).astype(np.float64).reshape(-1))) == 2


def test_what_has_no_padding_for_its_inputs_runs_once() -> None:
    runner = Runner(CUT_AGAIN)
    assert len(runner.readings([ints(1, 2, 3, 4)])) == 1
    assert len(runner.readings([ints(1, 2, 3)])) == len(POISONS)
    assert len(runner.readings([ints(1, 2, 3, 4)])) == 1


def test_one_runner_specialises_for_any_sizes() -> None:
    runner = Runner(DYNAMIC)
    for size in (2, 0, 4, 1):
        (run,) = runner.specialised([ints(*range(size))])
        assert listed(run.value) == [-n for n in range(size)]
