from collections.abc import Mapping

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import DTypeLike

from hlo import TOKEN, PrimitiveType, Value
from oracle import BITWISE, EQUAL, Tolerance, compare
from oracle.compare import Index

NAN, INF = float("nan"), float("inf")


def found(expected: Value, actual: Value, tolerance: Tolerance | Mapping[Index, Tolerance] = EQUAL):
    return compare(expected, actual, tolerance=tolerance, left="left", right="right")


def arrays(expected, actual, dtype: DTypeLike = np.float32):
    return np.array(expected, dtype), np.array(actual, dtype)


def test_equal_values_of_any_structure_have_no_mismatch():
    value = (np.arange(3), (np.array(NAN), TOKEN, ()))
    assert found(value, (np.arange(3), (np.array(NAN), TOKEN, ())), BITWISE) is None


def test_the_first_wrong_element_is_named_with_both_values():
    expected = (np.zeros(2), np.arange(6, dtype=np.int16).reshape(2, 3))
    actual = (np.zeros(2), np.array([[0, 1, 2], [9, 4, 9]], np.int16))
    mismatch = found(expected, actual)
    assert mismatch is not None
    assert (mismatch.leaf, mismatch.index) == ((1,), (1, 0))
    assert (mismatch.expected, mismatch.actual) == ("s16 3", "s16 9")
    assert (mismatch.count, mismatch.total) == (2, 6)
    assert (mismatch.left, mismatch.right) == ("left", "right")


@pytest.mark.parametrize(
    ("expected", "actual", "tolerance", "same"),
    [
        (NAN, -NAN, BITWISE, True),
        (NAN, 1.0, BITWISE, False),
        (1.0, NAN, Tolerance(relative=0.25, absolute=1e9, of_largest=9.0), False),
        (NAN, INF, Tolerance(relative=0.25, absolute=1e9), False),
        (0.0, -0.0, BITWISE, False),
        (0.0, -0.0, EQUAL, True),
        (INF, INF, BITWISE, True),
        (INF, -INF, Tolerance(relative=0.25, absolute=1e9), False),
        (INF, 3e38, Tolerance(relative=0.25, absolute=1e9), False),
        (1.0, 1.0000001, EQUAL, False),
        (1.0, 1.0000001, Tolerance(relative=1e-6), True),
        (1.0, 1.00001, Tolerance(relative=1e-6), False),
        (1.0, -1.0, Tolerance(relative=0.25), False),
        (0.0, 1e-7, Tolerance(relative=1e-6), False),
        (0.0, 1e-7, Tolerance(absolute=1e-6), True),
        (1e-40, 0.0, EQUAL, False),
        (1e-40, 0.0, Tolerance(flushed=True), True),
        (1e-40, -0.0, Tolerance(flushed=True), True),
        (2e-38, 0.0, Tolerance(flushed=True), False),
    ],
)
def test_floats_are_the_same_or_not(expected, actual, tolerance, same):
    assert (found(*arrays(expected, actual), tolerance) is None) is same
    assert (found(*arrays(actual, expected), tolerance) is None) is same


def test_nan_payloads_are_not_compared_but_signs_of_zeros_in_bf16_are():
    payloads = np.array([0x7FC1, 0xFFFF], np.uint16).view(PrimitiveType.BF16.numpy)
    assert found(payloads, np.array([NAN, NAN]).astype(payloads.dtype), BITWISE) is None
    assert found(*arrays([-0.0], [0.0], payloads.dtype), BITWISE) is not None


def test_large_integers_are_not_compared_as_floats():
    expected, actual = arrays([2**63 - 1], [2**63 - 2], np.int64)
    mismatch = found(expected, actual, Tolerance(relative=0.25, absolute=1e9))
    assert mismatch is not None
    assert mismatch.expected == "s64 9223372036854775807"


def test_a_tolerance_of_the_largest_element_forgives_cancelled_sums():
    expected, actual = arrays([1e6, 1e-3], [1e6, 2e-3])
    assert found(expected, actual, Tolerance(of_largest=1e-7)) is None
    assert found(expected[1:], actual[1:], Tolerance(of_largest=1e-7)) is not None


def test_each_leaf_may_have_a_tolerance_of_its_own():
    expected = (np.array([1.0]), np.array([1.0]))
    actual = (np.array([1.01]), np.array([1.01]))
    loose = {(0,): Tolerance(relative=0.1), (1,): Tolerance(relative=0.1)}
    assert found(expected, actual, loose) is None
    mismatch = found(expected, actual, {(0,): Tolerance(relative=0.1)})
    assert mismatch is not None
    assert mismatch.leaf == (1,)


def test_complex_numbers_are_near_as_points_of_the_plane():
    expected, actual = arrays([1 + 0j], [1 + 1e-9j], np.complex64)
    assert found(expected, actual) is not None
    assert found(expected, actual, Tolerance(relative=1e-6)) is None
    assert found(*arrays([complex(1, NAN)], [1 + 0j], np.complex64), Tolerance(relative=0.2)) is not None


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        (np.zeros(2), np.zeros(3)),
        (np.zeros(2), np.zeros((2, 1))),
        (np.zeros(0, np.int32), np.zeros(0, np.int64)),
        (np.zeros(2), (np.zeros(2),)),
        ((np.zeros(2),), (np.zeros(2), np.zeros(2))),
        (TOKEN, ()),
    ],
)
def test_another_shape_or_type_is_a_mismatch(expected, actual):
    mismatch = found(expected, actual, Tolerance(relative=0.25))
    assert mismatch is not None
    assert mismatch.note == "another shape"
    assert mismatch.expected != mismatch.actual


@pytest.mark.parametrize(
    ("value", "dtype", "text"),
    [
        (-0.0, np.float32, "f32 -0.0"),
        (0.1, np.float32, "f32 0.1"),
        (3, PrimitiveType.BF16.numpy, "bf16 3.0"),
        (NAN, np.float16, "f16 nan"),
        (True, np.bool_, "pred true"),
        (2**64 - 1, np.uint64, "u64 18446744073709551615"),
        (-3, PrimitiveType.S4.numpy, "s4 -3"),
    ],
)
def test_elements_are_shown_with_their_type(value, dtype, text):
    array = np.array([value]).astype(dtype)
    mismatch = found(array, np.array([1 if value != 1 else 0]).astype(dtype))
    assert mismatch is not None
    assert mismatch.expected == text


def test_a_part_that_is_nan_in_both_leaves_the_other_its_tolerance():
    near = Tolerance(relative=1e-3)
    left, right = np.array([complex(1, np.nan)]), np.array([complex(1.0001, np.nan)])
    assert compare(left, right, tolerance=near, left="a", right="b") is None
    assert compare(left, np.array([complex(1.1, np.nan)]), tolerance=near, left="a", right="b") is not None
    assert compare(left, np.array([complex(1, 0)]), tolerance=near, left="a", right="b") is not None


def test_rounding_may_cross_from_the_least_normal_number_to_a_subnormal():
    least = ml_dtypes.finfo(ml_dtypes.float8_e5m2).smallest_normal
    left, right = (np.array([x], ml_dtypes.float8_e5m2) for x in (float(least), 0.75 * float(least)))
    near = Tolerance(relative=0.25, flushed=True)
    assert compare(left, right, tolerance=near, left="a", right="b") is None
