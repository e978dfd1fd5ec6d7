"""Reductions over windows against a loop over elements, and what holds where a window covers nothing."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlo import ArrayShape, Opcode, PrimitiveType, TupleShape
from hlo.attributes import Window, WindowDimension

S32, F32 = PrimitiveType.S32, PrimitiveType.F32


def add(b, p, q):
    return b.op(Opcode.ADD, p, q)


@st.composite
def windows(draw, *, is_plain: bool = False) -> tuple[int, WindowDimension, int]:
    """A dimension, a window over it, and how many windows there are."""
    size = draw(st.integers(0, 5))
    dilation = 1 if is_plain else draw(st.integers(1, 3))
    window = WindowDimension(
        size=draw(st.integers(1, 4)),
        stride=draw(st.integers(1, 3)),
        padding_low=draw(st.integers(0 if is_plain else -2, 4)),
        padding_high=draw(st.integers(0 if is_plain else -2, 4)),
        window_dilation=1 if is_plain else draw(st.integers(1, 3)),
        base_dilation=dilation,
    )
    spread = max(0, (size - 1) * dilation + 1 if size else 0) + window.padding_low + window.padding_high
    reach = (window.size - 1) * window.window_dilation + 1
    return size, window, max(0, (spread - reach) // window.stride + 1)


def covered(dimensions, place) -> list[tuple[int, ...]]:
    """The elements of the base that a window covers, in the order of the window."""
    found = []
    for offset in itertools.product(*(range(w.size) for _, w, _ in dimensions)):
        at = [
            p * w.stride + o * w.window_dilation - w.padding_low
            for (_, w, _), p, o in zip(dimensions, place, offset, strict=True)
        ]
        whole = [x // w.base_dilation for x, (_, w, _) in zip(at, dimensions, strict=True)]
        is_element = all(
            x % w.base_dilation == 0 and 0 <= i < size
            for x, i, (size, w, _) in zip(at, whole, dimensions, strict=True)
        )
        if is_element:
            found.append(tuple(whole))
    return found


@given(st.lists(windows(), min_size=1, max_size=3))
def test_a_window_is_reduced_from_the_initial_value_in_its_order(apply, scalars, dimensions: Any) -> None:
    base, counts = [size for size, _, _ in dimensions], [count for _, _, count in dimensions]
    x = (np.arange(math.prod(base)) % 7).astype(np.int32).reshape(base)
    # 3a - b is neither commutative nor associative: the order shows
    combine = scalars(S32, lambda b, p, q: b.op(Opcode.SUBTRACT, add(b, p, add(b, p, p)), q))
    got = apply(
        Opcode.REDUCE_WINDOW,
        x,
        np.array(5, np.int32),
        attributes=Window(tuple(w for _, w, _ in dimensions)),
        shape=ArrayShape(S32, tuple(counts)),
        called=[combine],
    )
    for place in itertools.product(*map(range, counts)):
        total = 5
        for at in covered(dimensions, place):
            total = 3 * total - int(x[at])
        assert got[place] == (total + (1 << 31)) % (1 << 32) - (1 << 31)


def test_padding_takes_no_part_in_a_reduction(apply, scalars) -> None:
    # 10 counts once, not once for each of the three places outside; a window of padding only is 10
    got = apply(
        Opcode.REDUCE_WINDOW,
        np.array([1, 2], np.int32),
        np.array(10, np.int32),
        attributes=Window((WindowDimension(size=2, padding_low=2, padding_high=1),)),
        shape=ArrayShape(S32, (4,)),
        called=[scalars(S32, add)],
    )
    assert got.tolist() == [10, 11, 13, 12]


@pytest.mark.parametrize(("base", "count"), [((0,), 0), ((0,), 3)])
def test_a_reduction_of_nothing_is_the_initial_value(apply, scalars, base, count) -> None:
    got = apply(
        Opcode.REDUCE_WINDOW,
        np.zeros(base, np.float32),
        np.array(-0.0, np.float32),
        attributes=Window((WindowDimension(padding_high=count),)),
        shape=ArrayShape(F32, (count,)),
        called=[scalars(F32, add)],
    )
    assert got.shape == (count,)
    assert np.signbit(got).all()


def test_running_sums_are_added_in_order(apply, scalars) -> None:
    # 2^24 + 1 rounds back to 2^24 in F32: ones before it count, one after it does not
    x = np.array([1, 1, 2.0**24 - 2, 1], np.float32)
    got = apply(
        Opcode.REDUCE_WINDOW,
        x,
        np.array(0, np.float32),
        attributes=Window((WindowDimension(size=4, padding_low=3),)),
        shape=ArrayShape(F32, (4,)),
        called=[scalars(F32, add)],
    )
    assert got.tolist() == [1, 2, 2**24, 2**24]


def test_several_arrays_are_reduced_together(apply, scalars) -> None:
    def greater(b, p, i, q, j):
        keeps = b.compare(p, q, "GE")
        return b.tuple_(b.op(Opcode.SELECT, keeps, p, q), b.op(Opcode.SELECT, keeps, i, j))

    x, places = np.array([3, 1, 4, 1, 5], np.int32), np.arange(5, dtype=np.int32)
    shape = ArrayShape(S32, (2,))
    got = apply(
        *(Opcode.REDUCE_WINDOW, x, places, np.array(-9, np.int32), np.array(-1, np.int32)),
        attributes=Window((WindowDimension(size=3, stride=2),)),
        shape=TupleShape((shape, shape)),
        called=[scalars(S32, greater, 4)],
    )
    assert [part.tolist() for part in got] == [[4, 5], [2, 4]]


def test_a_reversed_window_is_reduced_backwards(apply, scalars) -> None:
    got = apply(
        Opcode.REDUCE_WINDOW,
        np.array([1, 2], np.int32),
        np.array(0, np.int32),
        attributes=Window((WindowDimension(size=2, reversal=True),)),
        shape=ArrayShape(S32, (1,)),
        called=[scalars(S32, lambda b, p, q: b.op(Opcode.SUBTRACT, add(b, p, p), q))],
    )
    assert got.tolist() == [2 * (2 * 0 - 2) - 1]


def select_and_scatter(
    apply, scalars, x, source, window, *, direction="GE", initial: float = 0
) -> np.ndarray:
    t = PrimitiveType.of(x.dtype)
    return apply(
        Opcode.SELECT_AND_SCATTER,
        x,
        source,
        np.array(initial, x.dtype),
        attributes=window,
        shape=ArrayShape(t, x.shape),
        called=[scalars(t, lambda b, p, q: b.compare(p, q, direction)), scalars(t, add)],
    )


@given(st.lists(windows(is_plain=True), min_size=1, max_size=2), st.sampled_from(["GE", "GT", "LT"]))
def test_each_window_scatters_to_the_element_that_is_selected(
    apply, scalars, dimensions: Any, direction: str
) -> None:
    base, counts = [size for size, _, _ in dimensions], [count for _, _, count in dimensions]
    x = (np.arange(math.prod(base)) * 5 % 7).astype(np.int32).reshape(base)
    source = np.arange(1, 1 + math.prod(counts)).astype(np.int32).reshape(counts)
    got = select_and_scatter(
        apply,
        scalars,
        x,
        source,
        Window(tuple(w for _, w, _ in dimensions)),
        direction=direction,
        initial=100,
    )
    keeps = {"GE": int.__ge__, "GT": int.__gt__, "LT": int.__lt__}[direction]
    expected = np.full(base, 100)
    for place in itertools.product(*map(range, counts)):
        elements = covered(dimensions, place)
        if elements:
            selected = elements[0]
            for other in elements[1:]:
                selected = selected if keeps(int(x[selected]), int(x[other])) else other
            expected[selected] += source[place]
    assert got.tolist() == expected.tolist()


def test_a_window_of_padding_only_scatters_nothing(apply, scalars) -> None:
    window = Window((WindowDimension(size=1, padding_low=1),))
    got = select_and_scatter(
        apply, scalars, np.array([4.0, 2.0]), np.array([7.0, 1.0, 1.0]), window, initial=0.5
    )
    assert got.tolist() == [1.5, 1.5]


def test_ge_never_keeps_a_nan_and_moves_on_from_it_only_at_the_end(apply, scalars) -> None:
    # every comparison with NaN is false, so that the later element is taken
    x, window = np.array([math.nan, 1, 2, math.nan]), Window((WindowDimension(size=2, stride=2),))
    got = select_and_scatter(apply, scalars, x, np.array([10.0, 20.0]), window)
    assert got.tolist() == [0, 10, 0, 20]
