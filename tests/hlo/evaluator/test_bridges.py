"""What do the custom-calls between dynamic and static arrays give, and what is refused in between?"""

import numpy as np
import pytest

from hlo import ArrayShape, HloModule, InvalidInput, UnsupportedOpcode
from hlo.evaluator import SizeOutOfBounds, evaluate
from hlo.interchange import read_text

X = np.array([[1, 2], [3, 4]], np.int32)


def program(entry: str) -> HloModule:
    return read_text(f"HloModule m\nENTRY main {{ {entry} }}\n")


PADDED = program(
    """x = s32[<=3,2] parameter(0)
       ROOT t = (s32[3,2], s32[], s32[]) custom-call(x), custom_call_target="PadToStatic" """
)
SLICED = program(
    """x = s32[3,2] parameter(0)
       n = s32[] parameter(1)
       two = s32[] constant(2)
       ROOT r = s32[<=3,2] custom-call(x, n, two), custom_call_target="SliceToDynamic" """
)


def nines(shape: ArrayShape) -> np.ndarray:
    return np.full(shape.dimensions, 9, np.int32)


def test_padding_is_put_behind_the_data_and_sizes_of_all_dimensions_follow() -> None:
    result = evaluate(PADDED, [X], fill=nines)
    assert isinstance(result, tuple)
    data, rows, columns = result
    np.testing.assert_array_equal(data, [[1, 2], [3, 4], [9, 9]])
    assert (rows, columns) == (2, 2)
    assert isinstance(data, np.ndarray)
    assert not data.flags.writeable


def test_an_array_that_fills_its_bounds_gets_no_padding() -> None:
    full = np.arange(6, dtype=np.int32).reshape(3, 2)
    result = evaluate(PADDED, [full], fill=nines)
    assert isinstance(result, tuple)
    np.testing.assert_array_equal(result[0], full)


@pytest.mark.parametrize("size", [0, 1, 3])
def test_a_static_array_is_cut_to_the_sizes(size: int) -> None:
    full = np.arange(6, dtype=np.int32).reshape(3, 2)
    np.testing.assert_array_equal(evaluate(SLICED, [full, np.array(size, np.int32)]), full[:size])


@pytest.mark.parametrize("size", [-1, 4])
def test_a_size_outside_the_bounds_is_an_error(size: int) -> None:
    full = np.zeros((3, 2), np.int32)
    with pytest.raises(
        SizeOutOfBounds, match=rf"r \(custom-call\): size {size} of dimension 0 is not in \[0, 3\]"
    ):
        evaluate(SLICED, [full, np.array(size, np.int32)])


def test_an_array_larger_than_its_bound_is_no_input() -> None:
    with pytest.raises(InvalidInput):
        evaluate(PADDED, [np.zeros((4, 2), np.int32)])
    with pytest.raises(InvalidInput):
        evaluate(PADDED, [np.zeros((3, 1), np.int32)])  # the second dimension is not dynamic


def test_other_operations_take_an_array_only_if_it_fills_its_bounds() -> None:
    module = program("x = s32[<=3] parameter(0)\n ROOT r = s32[<=3] negate(x)")
    np.testing.assert_array_equal(evaluate(module, [np.array([1, 2, 3], np.int32)]), [-1, -2, -3])
    with pytest.raises(UnsupportedOpcode, match="negate of arrays smaller than their bounds"):
        evaluate(module, [np.array([1, 2], np.int32)])


def test_tuples_and_calls_hand_smaller_arrays_on() -> None:
    module = read_text("""HloModule m
f { t = (s32[<=3]) parameter(0)
    ROOT x = s32[<=3] get-tuple-element(t), index=0 }
ENTRY main { x = s32[<=3] parameter(0)
    t = (s32[<=3]) tuple(x)
    ROOT r = s32[<=3] call(t), to_apply=f }
""")
    np.testing.assert_array_equal(evaluate(module, [np.array([7], np.int32)]), [7])


def test_setting_a_bound_changes_no_value() -> None:
    module = program(
        'x = s32[3] parameter(0)\n ROOT r = s32[3] custom-call(x), custom_call_target="SetBound"'
    )
    np.testing.assert_array_equal(evaluate(module, [np.array([1, 2, 3], np.int32)]), [1, 2, 3])
