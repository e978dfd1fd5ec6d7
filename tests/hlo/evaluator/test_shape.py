"""The opcodes that rearrange elements, held against their definitions written as loops over indices."""

import itertools
import math

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlo import ArrayShape, HloModule, Opcode, PrimitiveType, same_bits
from hlo.attributes import Dimensions, PaddingConfig, Rotation
from hlo.builder import Builder
from hlo.evaluator import evaluate

S32 = PrimitiveType.S32
sizes = st.lists(st.integers(0, 4), max_size=4).map(tuple)


def numbered(dimensions: tuple[int, ...], dtype: type = np.int32) -> np.ndarray:
    """An array in which every element is different, so that none can take another's place."""
    return np.arange(math.prod(dimensions)).astype(dtype).reshape(dimensions)


def places(dimensions: tuple[int, ...]) -> itertools.product:
    return itertools.product(*map(range, dimensions))


@pytest.mark.parametrize(
    ("dimensions", "dimension", "expected"),
    [
        ((3,), 0, [0, 1, 2]),
        ((2, 3), 0, [[0, 0, 0], [1, 1, 1]]),
        ((2, 3), 1, [[0, 1, 2], [0, 1, 2]]),
        ((0,), 0, []),
        ((2, 0), 0, [[], []]),
    ],
)
@pytest.mark.parametrize("t", [S32, PrimitiveType.U8, PrimitiveType.BF16, PrimitiveType.F64])
def test_iota_counts_along_its_dimension(apply, dimensions, dimension, expected, t: PrimitiveType) -> None:
    got = apply(Opcode.IOTA, attributes=Dimensions((dimension,)), shape=ArrayShape(t, dimensions))
    assert got.tolist() == expected


def test_iota_wraps_in_a_type_that_ends_too_soon(apply) -> None:
    got = apply(Opcode.IOTA, attributes=Dimensions((0,)), shape=ArrayShape(PrimitiveType.S8, (130,)))
    assert got.tolist()[126:] == [126, 127, -128, -127]


@given(st.data(), sizes)
def test_broadcast_repeats_along_new_dimensions(
    apply, data: st.DataObject, dimensions: tuple[int, ...]
) -> None:
    rank = len(dimensions)
    chosen = data.draw(st.lists(st.integers(0, max(rank - 1, 0)), max_size=rank, unique=True))
    operand = numbered(tuple(dimensions[d] for d in chosen))
    got = apply(
        Opcode.BROADCAST, operand, attributes=Dimensions(tuple(chosen)), shape=ArrayShape(S32, dimensions)
    )
    for place in places(dimensions):
        assert got[place] == operand[tuple(place[d] for d in chosen)]


@given(st.data(), sizes)
def test_transpose_permutes_dimensions(apply, data: st.DataObject, dimensions: tuple[int, ...]) -> None:
    order = data.draw(st.permutations(range(len(dimensions))))
    operand = numbered(dimensions)
    got = apply(Opcode.TRANSPOSE, operand, attributes=Dimensions(tuple(order)))
    for place in places(got.shape):
        source = [0] * len(order)
        for d, from_ in enumerate(order):
            source[from_] = place[d]
        assert got[place] == operand[tuple(source)]


@given(st.data(), sizes)
def test_reverse_counts_from_the_end(apply, data: st.DataObject, dimensions: tuple[int, ...]) -> None:
    chosen = data.draw(st.sets(st.integers(0, max(len(dimensions) - 1, 0)), max_size=len(dimensions)))
    operand = numbered(dimensions)
    got = apply(Opcode.REVERSE, operand, attributes=Dimensions(tuple(sorted(chosen))))
    for place in places(dimensions):
        assert (
            got[place]
            == operand[
                tuple(
                    n - 1 - i if d in chosen else i
                    for d, (i, n) in enumerate(zip(place, dimensions, strict=True))
                )
            ]
        )


@given(st.data(), st.lists(st.integers(0, 4), min_size=1, max_size=3))
def test_pad_puts_each_element_in_its_place(apply, data: st.DataObject, dimensions: list[int]) -> None:
    edges: list[tuple[int, int, int]] = []
    for size in dimensions:
        gap = data.draw(st.integers(0, 2))
        spread = size + max(size - 1, 0) * gap
        before = data.draw(st.integers(-spread - 1, 3))
        after = data.draw(st.integers(max(-spread - 1, -spread - before), 3))
        edges.append((before, after, gap))
    low, high, interior = zip(*edges, strict=True)
    operand = numbered(tuple(dimensions))
    padding = PaddingConfig(low, high, interior)
    got = apply(Opcode.PAD, operand, np.array(-1, np.int32), attributes=padding)

    expected = np.full(got.shape, -1)
    for place in places(operand.shape):
        to = tuple(b + i * (g + 1) for i, b, g in zip(place, low, interior, strict=True))
        if all(0 <= i < n for i, n in zip(to, got.shape, strict=True)):
            expected[to] = operand[place]
    assert got.tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("low", "high", "interior", "expected"),
    [
        (1, 2, 0, [9, 0, 1, 2, 9, 9]),
        (-1, 0, 0, [1, 2]),
        (0, -1, 0, [0, 1]),
        (-2, 2, 0, [2, 9, 9]),
        (0, 0, 1, [0, 9, 1, 9, 2]),
        (-1, 0, 1, [9, 1, 9, 2]),  # the crop begins on a gap
        (-1, -1, 1, [9, 1, 9]),
        (1, -2, 2, [9, 0, 9, 9, 1, 9]),
        (-3, 3, 0, [9, 9, 9]),  # nothing of the operand is left
        (-4, 1, 1, [2, 9]),
        (-5, 0, 1, []),
    ],
)
def test_pad_corners(apply, low: int, high: int, interior: int, expected: list[int]) -> None:
    padding = PaddingConfig((low,), (high,), (interior,))
    got = apply(Opcode.PAD, np.arange(3, dtype=np.int8), np.array(9, np.int8), attributes=padding)
    assert got.tolist() == expected


def test_pad_of_a_scalar_is_the_scalar(apply) -> None:
    assert apply(Opcode.PAD, np.array(5), np.array(9), attributes=PaddingConfig((), (), ())).item() == 5


def test_concatenate_skips_what_is_empty(apply) -> None:
    parts = [numbered((2, n)) + 10 * n for n in (1, 0, 2)]
    assert apply(Opcode.CONCATENATE, *parts, attributes=Dimensions((1,))).tolist() == [
        [10, 20, 21],
        [11, 22, 23],
    ]


@pytest.mark.parametrize("dtype", [np.bool_, ml_dtypes.bfloat16, ml_dtypes.int4, np.complex64])
def test_one_operand_is_concatenated_too(apply, dtype: type) -> None:
    operand = np.array([1, 0]).astype(dtype)
    assert same_bits(apply(Opcode.CONCATENATE, operand, attributes=Dimensions((0,))), operand)


@pytest.mark.parametrize(
    ("before", "after"), [((2, 3), (3, 2)), ((1,), ()), ((), (1, 1)), ((0, 3), (5, 0)), ((6,), (6,))]
)
@pytest.mark.parametrize("opcode", [Opcode.RESHAPE, Opcode.BITCAST])
def test_reshape_keeps_the_row_major_order(apply, opcode: Opcode, before, after) -> None:
    operand = numbered(before)
    got = apply(opcode, operand, shape=ArrayShape(S32, after))
    assert got.ravel().tolist() == operand.ravel().tolist()


def test_reshape_of_a_transposed_value_sees_the_new_order(apply) -> None:
    assert apply(Opcode.RESHAPE, numbered((2, 3)).T, shape=ArrayShape(S32, (6,))).tolist() == [
        0,
        3,
        1,
        4,
        2,
        5,
    ]


def test_a_bitcast_between_layouts_keeps_the_memory() -> None:
    module = HloModule("m")
    entry = module.add_computation("entry")
    module.set_entry_computation(entry)
    builder = Builder(entry)
    column_major = ArrayShape(S32, (3, 2), layout=b"\x0a\x02\x00\x01")
    entry.set_root(
        builder.op(Opcode.BITCAST, builder.parameter(0, ArrayShape(S32, (2, 3))), shape=column_major)
    )
    value = evaluate(module, [numbered((2, 3))])
    assert isinstance(value, np.ndarray)
    assert value.tolist() == [[0, 3], [1, 4], [2, 5]]


@given(sizes, st.data())
def test_a_shuffle_rotates_to_the_left(apply, dimensions: tuple[int, ...], data: st.DataObject) -> None:
    chosen = data.draw(st.permutations(range(len(dimensions))).map(lambda d: tuple(d[: len(d) // 2 + 1])))
    shifts = tuple(data.draw(st.integers(-9, 9)) for _ in chosen)
    operand = numbered(dimensions)
    got = apply(Opcode.SHUFFLE, operand, attributes=Rotation(chosen, shifts))
    for place in places(dimensions):
        source = list(place)
        for d, shift in zip(chosen, shifts, strict=True):
            source[d] = (place[d] + shift) % dimensions[d]
        assert got[place] == operand[tuple(source)]
