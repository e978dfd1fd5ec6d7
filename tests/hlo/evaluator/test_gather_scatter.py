"""Gather and scatter against one loop over elements each, and tables of what lies at their edges."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlo import ArrayShape, Opcode, PrimitiveType, TupleShape, same_bits, value_shape
from hlo.attributes import GatherDimensions, ScatterDimensions

S32, U8, U64 = PrimitiveType.S32, PrimitiveType.U8, PrimitiveType.U64
INDEX_TYPES = [t for t in PrimitiveType if t.is_integral]


def places(shape) -> Any:
    return itertools.product(*map(range, shape))


@st.composite
def dimension_numbers(draw) -> dict[str, Any]:
    """An operand, indices into it and how they are to be read, for a gather or a scatter.

    The dimensions of the operand are batching, collapsed (or inserted) or kept; those of the windows come from
    the batching ones and two others, in any order, with the index vector anywhere among them or nowhere.
    """
    rank = draw(st.integers(1, 4))
    operand = [draw(st.integers(1, 4)) for _ in range(rank)]
    roles = [draw(st.sampled_from(["kept", "kept", "gone", "batch"])) for _ in range(rank)]
    batching = [d for d in range(rank) if roles[d] == "batch"]
    gone = [d for d in range(rank) if roles[d] == "gone"]
    sizes = [draw(st.integers(0, n)) if roles[d] == "kept" else 1 for d, n in enumerate(operand)]
    mapped = draw(st.permutations([d for d in range(rank) if d not in batching]))
    mapped = mapped[: draw(st.integers(0, len(mapped)))]
    free = [draw(st.integers(0, 3)) for _ in range(draw(st.integers(0, 2)))]
    order = draw(st.permutations([*batching, *(None for _ in free)]))
    supply = iter(free)
    windows = [next(supply) if d is None else operand[d] for d in order]
    vector = draw(st.integers(0, len(windows)))
    is_scalar = len(mapped) == 1 and draw(st.booleans())  # the index vector has no dimension of its own
    indices = windows if is_scalar else [*windows[:vector], len(mapped), *windows[vector:]]
    vector = len(windows) if is_scalar else vector
    at = {d: i + (i >= vector) for i, d in enumerate(order) if d is not None}
    t = draw(st.sampled_from(INDEX_TYPES))
    low, high = (max(-6, -(1 << (t.bit_width - 1))), 6) if t.is_signed else (0, 6)
    high = min(high, (1 << (t.bit_width - t.is_signed)) - 1)
    numbers = st.integers(low, high)
    starts = draw(st.lists(numbers, min_size=math.prod(indices), max_size=math.prod(indices)))
    rest = len(windows) + sum(role == "kept" for role in roles)
    offsets = sorted(draw(st.permutations(range(rest)))[: rest - len(windows)])
    return {
        "operand": operand,
        "indices": np.array(starts, np.int64).astype(t.numpy).reshape(indices),
        "windows": windows,
        "vector": vector,
        "mapped": mapped,
        "batching": batching,
        "indices_batching": [at[d] for d in batching],
        "gone": gone,
        "sizes": sizes,
        "offsets": offsets,
    }


def start_of(case: dict[str, Any], window: tuple[int, ...]) -> list[int]:
    """Where the slice of one window starts in the operand, before anything is clamped."""
    start = [0] * len(case["operand"])
    indices, vector = case["indices"], case["vector"]
    for component, d in enumerate(case["mapped"]):
        at = window if vector == indices.ndim else (*window[:vector], component, *window[vector:])
        start[d] = int(indices[at])
    for d, i in zip(case["batching"], case["indices_batching"], strict=True):
        start[d] = window[i - (i > vector)]
    return start


def split(case: dict[str, Any], place: tuple[int, ...]) -> tuple[tuple[int, ...], list[int]]:
    """A place in the result of a gather, or in updates: its window, and its offset in each dimension of the operand."""
    window = tuple(i for d, i in enumerate(place) if d not in case["offsets"])
    inner = iter(i for d, i in enumerate(place) if d in case["offsets"])
    lost = {*case["gone"], *case["batching"]}
    return window, [0 if d in lost else next(inner) for d in range(len(case["operand"]))]


def slices_shape(case: dict[str, Any]) -> tuple[int, ...]:
    lost = {*case["gone"], *case["batching"]}
    inner = iter(size for d, size in enumerate(case["sizes"]) if d not in lost)
    outer = iter(case["windows"])
    rank = len(case["windows"]) + len(case["offsets"])
    return tuple(next(inner) if d in case["offsets"] else next(outer) for d in range(rank))


@given(dimension_numbers())
def test_a_gather_takes_each_element_from_its_clamped_window(apply, case: dict[str, Any]) -> None:
    x = np.arange(math.prod(case["operand"]), dtype=np.int32).reshape(case["operand"])
    shape = slices_shape(case)
    numbers = GatherDimensions(
        tuple(case["offsets"]),
        tuple(case["gone"]),
        tuple(case["mapped"]),
        case["vector"],
        tuple(case["sizes"]),
        tuple(case["batching"]),
        tuple(case["indices_batching"]),
    )
    got = apply(Opcode.GATHER, x, case["indices"], attributes=numbers, shape=ArrayShape(S32, shape))
    for place in places(shape):
        window, offset = split(case, place)
        start = [
            min(max(s, 0), n - k)
            for s, n, k in zip(start_of(case, window), case["operand"], case["sizes"], strict=True)
        ]
        assert got[place] == x[tuple(s + o for s, o in zip(start, offset, strict=True))]


def wrapped(number: int) -> int:
    return (number + (1 << 31)) % (1 << 32) - (1 << 31)


def scatter_numbers(case: dict[str, Any]) -> ScatterDimensions:
    return ScatterDimensions(
        tuple(case["offsets"]),
        tuple(case["gone"]),
        tuple(case["mapped"]),
        case["vector"],
        tuple(case["batching"]),
        tuple(case["indices_batching"]),
    )


@given(dimension_numbers())
def test_a_scatter_updates_one_element_after_another_and_drops_windows_not_wholly_inside(
    apply, scalars, case: dict[str, Any]
) -> None:
    x = np.arange(math.prod(case["operand"]), dtype=np.int32).reshape(case["operand"])
    shape = slices_shape(case)
    updates = np.arange(100, 100 + math.prod(shape), dtype=np.int32).reshape(shape)
    # 3a - b is neither commutative nor associative: the order shows
    combine = scalars(
        S32, lambda b, p, q: b.op(Opcode.SUBTRACT, b.op(Opcode.MULTIPLY, p, b.constant(3, S32)), q)
    )
    got = apply(
        Opcode.SCATTER,
        x,
        case["indices"],
        updates,
        attributes=scatter_numbers(case),
        shape=value_shape(x),
        called=[combine],
    )
    expected = x.copy()
    for window in places(case["windows"]):
        start = start_of(case, window)
        if not all(0 <= s <= n - k for s, n, k in zip(start, case["operand"], case["sizes"], strict=True)):
            continue
        for place in places(shape):
            its_window, offset = split(case, place)
            if its_window == window:
                at = tuple(s + o for s, o in zip(start, offset, strict=True))
                expected[at] = wrapped(3 * int(expected[at]) - int(updates[place]))
    assert got.tolist() == expected.tolist()


ROWS = ScatterDimensions((), (0,), (0,), 1)  # one element an index


def replace(scalars, t: PrimitiveType) -> Any:
    return scalars(t, lambda _b, _p, q: q)


def add(scalars, t: PrimitiveType) -> Any:
    return scalars(t, lambda b, p, q: b.op(Opcode.ADD, p, q))


@pytest.mark.parametrize("t", INDEX_TYPES)
def test_an_index_is_the_number_that_its_type_says(apply, scalars, t: PrimitiveType) -> None:
    # 200 as a byte, and all of a type's bits set, are large where the type is unsigned, and negative where it is not
    top = -1 if t.is_signed else (1 << t.bit_width) - 1
    x = np.arange(300, dtype=np.int32)
    index = np.array([top], np.int64 if t.is_signed else np.uint64).astype(t.numpy)
    numbers = GatherDimensions((), (0,), (0,), 1, (1,))
    taken = apply(Opcode.GATHER, x, index, attributes=numbers, shape=ArrayShape(S32, (1,)))
    assert taken.tolist() == [min(max(top, 0), 299)]
    update = np.array([-5], np.int32)
    scattered = apply(
        Opcode.SCATTER,
        x,
        index,
        update,
        attributes=ROWS,
        shape=value_shape(x),
        called=[replace(scalars, S32)],
    )
    assert np.flatnonzero(scattered == -5).tolist() == ([top] if 0 <= top < 300 else [])


@pytest.mark.parametrize("index", [1 << 63, (1 << 63) - 1, (1 << 64) - 1, 1 << 62])
def test_an_enormous_index_is_outside(apply, scalars, index: int) -> None:
    x, at = np.arange(3, dtype=np.int32), np.array([index], np.uint64)
    numbers = GatherDimensions((), (0,), (0,), 1, (1,))
    assert apply(Opcode.GATHER, x, at, attributes=numbers, shape=ArrayShape(S32, (1,))).tolist() == [2]
    got = apply(
        Opcode.SCATTER,
        x,
        at,
        np.array([9], np.int32),
        attributes=ROWS,
        shape=value_shape(x),
        called=[replace(scalars, S32)],
    )
    assert got.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("start", "expected"), [(-1, [0, 0, 0]), (0, [7, 8, 0]), (1, [0, 7, 8]), (2, [0, 0, 0])]
)
def test_a_window_partly_outside_is_dropped_as_a_whole(
    apply, scalars, start: int, expected: list[int]
) -> None:
    got = apply(
        Opcode.SCATTER,
        np.zeros(3, np.int32),
        np.array([[start]], np.int32),
        np.array([[7, 8]], np.int32),
        attributes=ScatterDimensions((1,), (), (0,), 1),
        shape=ArrayShape(S32, (3,)),
        called=[replace(scalars, S32)],
    )
    assert got.tolist() == expected


def test_of_two_updates_of_one_element_the_later_is_left(apply, scalars) -> None:
    got = apply(
        Opcode.SCATTER,
        np.zeros(2, np.int32),
        np.array([1, 1, 1], np.int32),
        np.array([5, 6, 7], np.int32),
        attributes=ROWS,
        shape=ArrayShape(S32, (2,)),
        called=[replace(scalars, S32)],
    )
    assert got.tolist() == [0, 7]


def test_float_updates_are_added_in_order(apply, scalars) -> None:
    # 2^24 + 1 rounds back to 2^24 in F32: ones that come before 2^24 count, one that comes after does not
    for updates, total in (([1, 1, 2.0**24], 2**24 + 2), ([2.0**24, 1, 1], 2**24)):
        got = apply(
            Opcode.SCATTER,
            np.zeros(1, np.float32),
            np.zeros(3, np.int32),
            np.array(updates, np.float32),
            attributes=ROWS,
            shape=ArrayShape(PrimitiveType.F32, (1,)),
            called=[add(scalars, PrimitiveType.F32)],
        )
        assert got.item() == total


def test_several_operands_are_scattered_to_together(apply, scalars) -> None:
    x, y = np.arange(3, dtype=np.int32), np.arange(3, dtype=np.int32) * 10
    # (a, b), (p, q) -> (a + q, b + p)
    crossed = scalars(
        S32, lambda b, p, q, r, s: b.tuple_(b.op(Opcode.ADD, p, s), b.op(Opcode.ADD, q, r)), count=4
    )
    shape = TupleShape((value_shape(x), value_shape(y)))
    index, ones = np.array([2, 2], np.int32), np.array([1, 1], np.int32)
    got = apply(Opcode.SCATTER, x, y, index, ones, 100 * ones, attributes=ROWS, shape=shape, called=[crossed])
    assert [part.tolist() for part in got] == [[0, 1, 202], [0, 10, 22]]


@pytest.mark.parametrize(("operand", "indices"), [((0,), (2,)), ((3,), (0,)), ((0,), (0,))])
def test_nothing_is_scattered_to_nowhere(apply, scalars, operand, indices) -> None:
    x = np.arange(operand[0], dtype=np.int32)
    got = apply(
        Opcode.SCATTER,
        x,
        np.zeros(indices, np.int32),
        np.ones(indices, np.int32),
        attributes=ROWS,
        shape=value_shape(x),
        called=[add(scalars, S32)],
    )
    assert got.tolist() == [i + (i == 0 and indices[0] > 0) for i in range(operand[0])]


def test_an_empty_slice_of_an_empty_dimension_can_be_gathered(apply) -> None:
    numbers = GatherDimensions((1,), (), (0,), 1, (0,))
    got = apply(
        Opcode.GATHER,
        np.zeros(0, np.int32),
        np.array([3, -3], np.int32),
        attributes=numbers,
        shape=ArrayShape(S32, (2, 0)),
    )
    assert got.shape == (2, 0)


def test_a_gather_moves_bits_unchanged(apply) -> None:
    nan = np.array([0x7FC12345, 0x80000000, 0xFF800001], np.uint32).view(np.float32)
    numbers = GatherDimensions((), (0,), (0,), 1, (1,))
    order = np.array([2, 0, 1], np.int8)
    got = apply(Opcode.GATHER, nan, order, attributes=numbers, shape=ArrayShape(PrimitiveType.F32, (3,)))
    assert same_bits(got, nan[order])


def test_a_scatter_leaves_its_operand_alone(apply, scalars) -> None:
    x = np.zeros(2, np.int32)
    x.setflags(write=False)
    got = apply(
        Opcode.SCATTER,
        x,
        np.array([0], np.int32),
        np.array([1], np.int32),
        attributes=ROWS,
        shape=value_shape(x),
        called=[add(scalars, S32)],
    )
    assert (x.tolist(), got.tolist()) == ([0, 0], [1, 0])
