"""Slices, and above all where dynamic ones start: clamped to [0, dimension - size] for every index type."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlo import Opcode, PrimitiveType, same_bits
from hlo.attributes import SliceBounds, SliceSizes

INDEX_TYPES = [t for t in PrimitiveType if t.is_integral and t.bit_width >= 8]


def bounds(t: PrimitiveType) -> tuple[int, int]:
    return (
        (-(1 << (t.bit_width - 1)), (1 << (t.bit_width - 1)) - 1)
        if t.is_signed
        else (0, (1 << t.bit_width) - 1)
    )


def lattice(t: PrimitiveType, dimension: int, size: int) -> list[int]:
    low, high = bounds(t)
    last = dimension - size
    wanted = {
        low,
        low + 1,
        -dimension,
        -1,
        0,
        1,
        last - 1,
        last,
        last + 1,
        dimension,
        high - 1,
        high,
        1 << 63,
    }
    return sorted(x for x in wanted if low <= x <= high)


def clamped(start: int, dimension: int, size: int) -> int:
    return min(max(start, 0), dimension - size)


@pytest.mark.parametrize("t", INDEX_TYPES)
@pytest.mark.parametrize(
    ("dimension", "size"), [(10, 3), (10, 10), (10, 1), (10, 0), (300, 5), (0, 0), (1, 1)]
)
def test_a_start_is_clamped_as_the_number_it_is(apply, t: PrimitiveType, dimension: int, size: int) -> None:
    # 300 - 5 does not fit S8 and U8: clamping in the index type would go wrong
    x, update = np.arange(dimension, dtype=np.int32), np.full(size, -7, np.int32)
    for start in lattice(t, dimension, size):
        at = clamped(start, dimension, size)
        index = np.array(start, t.numpy)
        taken = apply(Opcode.DYNAMIC_SLICE, x, index, attributes=SliceSizes((size,)))
        assert taken.tolist() == list(range(at, at + size)), start
        updated = apply(Opcode.DYNAMIC_UPDATE_SLICE, x, update, index)
        assert updated.tolist() == [*range(at), *[-7] * size, *range(at + size, dimension)], start


@given(st.data(), st.lists(st.integers(0, 5), min_size=1, max_size=4))
def test_each_dimension_is_clamped_by_itself(apply, data: st.DataObject, dimensions: list[int]) -> None:
    t = data.draw(st.sampled_from(INDEX_TYPES))  # all starts of an instruction have one type
    sizes = [data.draw(st.integers(0, n)) for n in dimensions]
    starts = [data.draw(st.sampled_from(lattice(t, n, k))) for n, k in zip(dimensions, sizes, strict=True)]
    at = [clamped(*each) for each in zip(starts, dimensions, sizes, strict=True)]
    window = tuple(slice(a, a + k) for a, k in zip(at, sizes, strict=True))
    indices = [np.array(start, t.numpy) for start in starts]

    x = np.arange(np.prod(dimensions), dtype=np.int32).reshape(dimensions)
    taken = apply(Opcode.DYNAMIC_SLICE, x, *indices, attributes=SliceSizes(tuple(sizes)))
    assert taken.tolist() == x[window].tolist()

    update = -1 - np.arange(np.prod(sizes), dtype=np.int32).reshape(sizes)
    expected = x.copy()
    expected[window] = update
    assert apply(Opcode.DYNAMIC_UPDATE_SLICE, x, update, *indices).tolist() == expected.tolist()


def test_an_unsigned_start_of_2_to_the_63_is_large(apply) -> None:
    # upstream's evaluator reads it as a negative int64 and starts at 0; the operation's definition does not
    start = np.array(1 << 63, np.uint64)
    assert apply(Opcode.DYNAMIC_SLICE, np.arange(5), start, attributes=SliceSizes((2,))).tolist() == [3, 4]


def test_a_scalar_is_its_own_slice_and_is_replaced_as_a_whole(apply) -> None:
    assert apply(Opcode.DYNAMIC_SLICE, np.array(5), attributes=SliceSizes(())).item() == 5
    assert apply(Opcode.DYNAMIC_UPDATE_SLICE, np.array(5), np.array(6)).item() == 6
    assert apply(Opcode.SLICE, np.array(5), attributes=SliceBounds((), (), ())).item() == 5


def test_an_update_leaves_its_operand_alone(run_text) -> None:
    x = np.arange(4, dtype=np.int32)
    before, after = run_text(
        """ENTRY e {
          x = s32[4] parameter(0)
          u = s32[2] constant({-1, -2})
          i = s32[] constant(1)
          d = s32[4] dynamic-update-slice(x, u, i)
          ROOT t = (s32[4], s32[4]) tuple(x, d)
        }""",
        x,
    )
    assert (before.tolist(), after.tolist()) == ([0, 1, 2, 3], [0, -1, -2, 3])
    assert x.tolist() == [0, 1, 2, 3]


def test_an_update_may_be_a_slice_of_what_it_updates(run_text) -> None:
    # written in place without a copy, element 1 would be overwritten before it is read
    got = run_text(
        """ENTRY e {
          x = s32[5] parameter(0)
          zero = s32[] constant(0)
          one = s32[] constant(1)
          s = s32[4] dynamic-slice(x, zero), dynamic_slice_sizes={4}
          ROOT d = s32[5] dynamic-update-slice(x, s, one)
        }""",
        np.arange(5, dtype=np.int32),
    )
    assert got.tolist() == [0, 0, 1, 2, 3]


@pytest.mark.parametrize(
    ("start", "limit", "stride", "expected"),
    [(0, 6, 1, [0, 1, 2, 3, 4, 5]), (1, 6, 2, [1, 3, 5]), (1, 5, 3, [1, 4]), (3, 3, 1, []), (0, 6, 7, [0])],
)
def test_a_slice_takes_every_strideth_element_below_its_limit(apply, start, limit, stride, expected) -> None:
    attributes = SliceBounds((start,), (limit,), (stride,))
    assert apply(Opcode.SLICE, np.arange(6), attributes=attributes).tolist() == expected


def test_slices_move_bits_unchanged(apply) -> None:
    nan = np.array([0x7FC12345, 0x80000000, 0xFF800001], np.uint32).view(np.float32)
    got = apply(Opcode.DYNAMIC_SLICE, nan, np.array(-3, np.int8), attributes=SliceSizes((3,)))
    assert same_bits(got, nan)
