"""Sorts: by every comparator a stable permutation, NaN and signed zeros as it says; and the order of topk."""

import functools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlo import ArrayShape, Opcode, PrimitiveType, TupleShape, same_bits, value_shape
from hlo.attributes import Comparison, SortDimension, TopKOptions

S32, F32 = PrimitiveType.S32, PrimitiveType.F32


def sort(apply, scalars, operands, make, dimension=0) -> Any:
    t = PrimitiveType.of(operands[0].dtype)
    shapes = tuple(map(value_shape, operands))
    return apply(
        Opcode.SORT,
        *operands,
        attributes=SortDimension(dimension),
        shape=shapes[0] if len(shapes) == 1 else TupleShape(shapes),
        called=[scalars(t, make, 2 * len(operands))],
    )


def by(direction: str, kind: str = "") -> Any:
    return lambda b, p, q, *_: b.op(Opcode.COMPARE, p, q, attributes=Comparison(direction, kind))


@given(
    st.lists(st.lists(st.integers(-3, 3), min_size=1, max_size=17), min_size=1, max_size=3),
    st.sampled_from(["LT", "GT"]),
)
def test_rows_are_sorted_stably_and_together(apply, scalars, rows: list[list[int]], direction: str) -> None:
    width = min(map(len, rows))
    keys = np.array([row[:width] for row in rows], np.int32)
    places = np.arange(keys.size, dtype=np.int32).reshape(keys.shape)
    for axis in (0, 1):
        got_keys, got_places = sort(apply, scalars, [keys, places], by(direction), axis)
        order = np.argsort(keys if direction == "LT" else -keys, axis=axis, kind="stable")
        assert got_keys.tolist() == np.take_along_axis(keys, order, axis).tolist()
        assert got_places.tolist() == np.take_along_axis(places, order, axis).tolist()


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(-2, 2)), max_size=40))
def test_a_comparator_may_look_at_several_keys(apply, scalars, pairs: list[tuple[int, int]]) -> None:
    def lexicographic(b, p, q, r, s):  # ascending by the first, then descending by the second
        tie = b.op(Opcode.AND, b.compare(p, q, "EQ"), b.compare(r, s, "GT"))
        return b.op(Opcode.OR, b.compare(p, q, "LT"), tie)

    first, second = (np.array([pair[i] for pair in pairs], np.int32) for i in (0, 1))
    got = sort(apply, scalars, [first, second], lexicographic)
    expected = sorted(pairs, key=lambda pair: (pair[0], -pair[1]))
    assert list(zip(*(part.tolist() for part in got), strict=True)) == expected


SPECIAL = [math.nan, -math.nan, 0.0, -0.0, math.inf, -math.inf, 1.0, -1.0]


def total_order(x: np.floating) -> int:
    bits = int(np.array(x).view(np.int32))
    return bits if bits >= 0 else bits ^ 0x7FFFFFFF


@given(st.lists(st.sampled_from(SPECIAL), max_size=12))
def test_total_order_puts_nan_last_and_negative_zero_before_zero(apply, scalars, values: list[float]) -> None:
    x = np.array(values, np.float32)
    got = sort(apply, scalars, [x], by("LT", "TOTALORDER"))
    assert same_bits(got, np.array(sorted(x, key=total_order), np.float32))


@given(st.lists(st.sampled_from(SPECIAL), max_size=12))
def test_less_than_tells_no_two_zeros_apart_and_loses_no_nan(apply, scalars, values: list[float]) -> None:
    x = np.array(values, np.float32)
    got = sort(apply, scalars, [x], by("LT"))
    # an order only where there is no NaN; a permutation, the same every time, always
    assert sorted(got.view(np.uint32).tolist()) == sorted(x.view(np.uint32).tolist())
    assert same_bits(got, sort(apply, scalars, [x], by("LT")))
    if not np.isnan(x).any():
        assert same_bits(got, np.array(sorted(values), np.float32))


def test_a_comparator_that_nothing_comes_before_leaves_the_order(apply, scalars) -> None:
    x = np.array([3, 1, 2], np.int32)
    never = lambda b, *_: b.constant(False, PrimitiveType.PRED)  # noqa: E731
    assert sort(apply, scalars, [x], never).tolist() == [3, 1, 2]


@pytest.mark.parametrize("shape", [(0,), (1,), (3, 0), (0, 3), (1, 1)])
def test_little_or_nothing_is_sorted(apply, scalars, shape) -> None:
    x = np.arange(math.prod(shape), dtype=np.int32).reshape(shape)
    for axis in range(len(shape)):
        assert sort(apply, scalars, [x], by("LT"), axis).tolist() == x.tolist()


def test_an_array_of_some_size_is_sorted(apply, scalars) -> None:
    x = (np.arange(3000) * 7919 % 3001).astype(np.int32).reshape(3, 1000)
    assert sort(apply, scalars, [x], by("GT"), 1).tolist() == np.sort(x, 1)[:, ::-1].tolist()


@given(st.lists(st.sampled_from(SPECIAL), min_size=1, max_size=9), st.integers(0, 9), st.booleans())
def test_topk_goes_by_total_order_and_takes_the_first_of_equals(apply, values, k: int, largest: bool) -> None:
    x = np.array(values, np.float32)
    k = min(k, len(values))
    shape = TupleShape((ArrayShape(F32, (k,)), ArrayShape(S32, (k,))))
    got, indices = apply(Opcode.TOPK, x, attributes=TopKOptions(k, largest), shape=shape)

    def compare(i: int, j: int) -> int:
        return (total_order(x[i]) - total_order(x[j])) * (-1 if largest else 1) or i - j

    order = sorted(range(len(values)), key=functools.cmp_to_key(compare))[:k]
    assert indices.tolist() == order
    assert same_bits(got, x[order])


@pytest.mark.parametrize("t", [t for t in PrimitiveType if not t.is_complex and t.bit_width >= 8][:12])
def test_topk_knows_the_sign_of_its_type(apply, t: PrimitiveType) -> None:
    x = np.array([[0, 1, 1], [1, 0, 0]]).astype(t.numpy)
    x = x | np.array(1 << 7, t.numpy) * x if t is PrimitiveType.U8 else x
    shape = TupleShape((ArrayShape(t, (2, 2)), ArrayShape(S32, (2, 2))))
    _, indices = apply(Opcode.TOPK, x, attributes=TopKOptions(2), shape=shape)
    assert indices.tolist() == [[1, 2], [0, 1]]
