"""Dots by groups and dots of scaled blocks, against the sums that define them."""

import itertools

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlo import ArrayShape, Opcode, PrimitiveType
from hlo.attributes import DotDimensions, RaggedDotDimensions

BF16, F32 = PrimitiveType.BF16, PrimitiveType.F32
ROWS = RaggedDotDimensions(DotDimensions((1,), (1,)), (0,), (0,))  # [m,k], [g,k,n] -> [m,n]
DEPTH = RaggedDotDimensions(DotDimensions((1,), (0,)), (1,))  # [m,k], [k,n] -> [g,m,n]
BATCH = RaggedDotDimensions(DotDimensions((2,), (1,), (0,), (0,)), (0,))  # [b,m,k], [b,k,n] -> [b,m,n]
BATCHED_ROWS = RaggedDotDimensions(DotDimensions((2,), (2,), (0,), (1,)), (1,), (0,))  # [b,m,k], [g,b,k,n]


def numbered(*dimensions: int) -> np.ndarray:
    return (np.arange(np.prod(dimensions)) % 7 - 3).astype(np.int32).reshape(dimensions)


def members(sizes: list[int], place: int) -> list[int]:
    """The groups that `place` is in."""
    ends = list(itertools.accumulate(sizes))
    return [g for g, end in enumerate(ends) if end - sizes[g] <= place < end]


SIZES = st.lists(st.integers(-1, 4), min_size=1, max_size=3)


@given(sizes=SIZES, index=st.sampled_from([np.int32, np.int64, np.int8]))
def test_each_row_meets_the_slice_of_its_group(apply, sizes: list[int], index: type) -> None:
    x, y = numbered(5, 3), numbered(len(sizes), 3, 2)
    got = apply(Opcode.RAGGED_DOT, x, y, np.array(sizes, index), attributes=ROWS)
    for row in range(5):
        expected = sum((x[row] @ y[g] for g in members(sizes, row)), np.zeros(2, np.int32))
        assert got[row].tolist() == expected.tolist()


@given(sizes=SIZES)
def test_each_group_of_what_is_contracted_gives_a_product(apply, sizes: list[int]) -> None:
    x, y = numbered(2, 5), numbered(5, 3)
    got = apply(Opcode.RAGGED_DOT, x, y, np.array(sizes, np.int32), attributes=DEPTH)
    assert got.shape == (len(sizes), 2, 3)
    for g in range(len(sizes)):
        inside = [k for k in range(5) if g in members(sizes, k)]
        assert got[g].tolist() == (x[:, inside] @ y[inside]).tolist()


def test_groups_of_batches_change_nothing(apply) -> None:
    x, y = numbered(3, 2, 4), numbered(3, 4, 2)
    got = apply(Opcode.RAGGED_DOT, x, y, np.array([1, 1], np.int32), attributes=BATCH)
    assert got.tolist() == (x @ y).tolist()


def test_sizes_may_be_listed_for_each_batch(apply) -> None:
    x, y = numbered(2, 4, 3), numbered(2, 2, 3, 2)
    sizes = np.array([[1, 3], [2, 1]], np.int32)
    got = apply(Opcode.RAGGED_DOT, x, y, sizes, attributes=BATCHED_ROWS)
    for batch, row in itertools.product(range(2), range(4)):
        expected = sum(
            (x[batch, row] @ y[g, batch] for g in members(sizes[batch].tolist(), row)), np.zeros(2, int)
        )
        assert got[batch, row].tolist() == expected.tolist()
    same = np.array([1, 3], np.int32)
    shared = apply(Opcode.RAGGED_DOT, x, y, same, attributes=BATCHED_ROWS)
    assert (
        shared.tolist()
        == apply(Opcode.RAGGED_DOT, x, y, np.stack([same, same]), attributes=BATCHED_ROWS).tolist()
    )


def test_an_infinity_stays_in_its_own_group(apply) -> None:
    x = np.array([[1], [2]], np.float32)
    y = np.array([[[np.inf]], [[3]]], np.float32)
    assert apply(Opcode.RAGGED_DOT, x, y, np.array([1, 1], np.int32), attributes=ROWS).tolist() == [
        [np.inf],
        [6],
    ]
    x, y = np.array([[np.inf, 2]], np.float32), np.array([[1], [3]], np.float32)
    got = apply(Opcode.RAGGED_DOT, x, y, np.array([1, 1], np.int32), attributes=DEPTH)
    assert got.tolist() == [[[np.inf]], [[6]]]


def test_a_scale_covers_a_block(apply) -> None:
    x = np.array([[1, 2, 3, 4]], ml_dtypes.float8_e4m3fn)
    y = np.array([[1], [1], [1], [1]], ml_dtypes.float8_e5m2)
    scale = np.array([[2, 0.5]], ml_dtypes.float8_e8m0fnu)
    other = np.array([[4]], ml_dtypes.float8_e8m0fnu)
    got = apply(
        Opcode.SCALED_DOT,
        x,
        y,
        scale,
        other,
        attributes=DotDimensions((1,), (0,)),
        shape=ArrayShape(F32, (1, 1)),
    )
    assert got.tolist() == [[4 * (2 * (1 + 2) + 0.5 * (3 + 4))]]


@pytest.mark.parametrize(
    ("operand", "scale", "expected"),
    [
        # 1.0078125 is 1 + 2^-7; squared it is 1 + 2^-6 + 2^-14, which BF16 rounds to 1 + 2^-6
        (ml_dtypes.bfloat16, ml_dtypes.bfloat16, 1 + 2**-6),
        (np.float32, ml_dtypes.bfloat16, (1 + 2**-7) ** 2),
        (np.float16, ml_dtypes.bfloat16, (1 + 2**-7) ** 2),
    ],
)
def test_a_scaled_element_is_rounded_to_the_wider_type(apply, operand, scale, expected: float) -> None:
    x, factor = np.array([[1.0078125]], operand), np.array([[1.0078125]], scale)
    one = np.ones((1, 1), operand)
    got = apply(
        Opcode.SCALED_DOT,
        *(x, one, factor, np.ones((1, 1), scale)),
        attributes=DotDimensions((1,), (0,)),
        shape=ArrayShape(F32, (1, 1)),
    )
    assert got.tolist() == [[expected]]


def test_a_scalar_is_no_scale(apply) -> None:
    x, nan = np.full((2, 2), 3, np.float32), np.array(np.nan, np.float32)
    numbers = DotDimensions((1,), (0,))
    assert apply(Opcode.SCALED_DOT, x, x, nan, nan, attributes=numbers).tolist() == [[18, 18], [18, 18]]
