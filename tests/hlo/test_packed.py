"""Are arrays of run-time size laid out as documented, and do the bridges give what their formulas say of that?"""

from typing import Any

import numpy as np
import pytest

from hlo import ArrayShape, InvalidInput, PrimitiveType
from hlo.evaluator import evaluate
from hlo.interchange import read_text
from hlo.packed import pack, packed_bytes, unpack

BOUND = ArrayShape(PrimitiveType.S32, (3, 4), (True, True))
VALUE = np.array([[1, 2, 3], [4, 5, 6]], np.int32)


def words(buffer: bytes) -> list[int]:
    return np.frombuffer(buffer, "<i4").tolist()


def test_data_is_compact_and_the_sizes_follow_where_the_bounds_end() -> None:
    assert words(pack(VALUE, BOUND)) == [1, 2, 3, 4, 5, 6, *[0] * 6, 2, 3]


def test_a_prefix_has_the_sizes_in_front() -> None:
    assert words(pack(VALUE, BOUND, prefix_bytes=12)) == [2, 3, 0, 1, 2, 3, 4, 5, 6, *[0] * 6]
    np.testing.assert_array_equal(unpack(pack(VALUE, BOUND, 12), BOUND, 12), VALUE)


def test_static_dimensions_have_sizes_too() -> None:
    bound = ArrayShape(PrimitiveType.S32, (2, 4), (False, True))
    assert words(pack(VALUE, bound)) == [1, 2, 3, 4, 5, 6, 0, 0, 2, 3]


@pytest.mark.parametrize("sizes", [(0, 0), (0, 4), (1, 2), (3, 4)])
@pytest.mark.parametrize("kind", ["s8", "f16", "bf16", "f32", "c64", "pred", "s4"])
def test_what_was_packed_is_unpacked(kind: str, sizes: tuple[int, int]) -> None:
    element = next(k for k in PrimitiveType if k.text == kind)
    bound = ArrayShape(element, (3, 4), (True, True))
    value = (np.arange(sizes[0] * sizes[1]) % 2).reshape(sizes).astype(element.numpy)
    buffer = pack(value, bound)
    assert len(buffer) == packed_bytes(bound)
    result = unpack(buffer, bound)
    assert result.dtype == value.dtype
    np.testing.assert_array_equal(result, value)


def test_an_array_in_another_order_is_packed_row_by_row() -> None:
    assert pack(np.asfortranarray(VALUE), BOUND) == pack(VALUE, BOUND)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.zeros((4, 1), np.int32), "size 4 of dimension 0"),
        (np.zeros((1, 5), np.int32), "size 5 of dimension 1"),
        (np.zeros(3, np.int32), "a 1-dimensional array"),
        (np.zeros((2, 2), np.int64), "array of int64"),
    ],
)
def test_what_does_not_fit_is_not_packed(value: np.ndarray[Any, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        pack(value, BOUND)


def test_a_static_dimension_must_be_whole() -> None:
    bound = ArrayShape(PrimitiveType.S32, (3, 3), (False, True))
    with pytest.raises(InvalidInput, match=r"size 2 of dimension 0 in a buffer of s32\[3,<=3\]"):
        pack(VALUE, bound)


@pytest.mark.parametrize("sizes", [(-1, 3), (2, 5), (4, 0)])
def test_sizes_out_of_bounds_are_not_unpacked(sizes: tuple[int, int]) -> None:
    buffer = bytes(48) + np.array(sizes, "<i4").tobytes()
    with pytest.raises(InvalidInput, match="in a buffer of"):
        unpack(buffer, BOUND)


def test_a_buffer_of_another_length_and_a_short_prefix_are_refused() -> None:
    with pytest.raises(InvalidInput, match="a buffer of 55 bytes, not 56"):
        unpack(bytes(55), BOUND)
    with pytest.raises(InvalidInput, match="a prefix of 7 bytes"):
        pack(VALUE, BOUND, prefix_bytes=7)


SIZES = [(0, 4), (3, 0), (1, 1), (2, 3), (3, 4)]


@pytest.mark.parametrize("sizes", SIZES)
def test_pad_to_static_gives_what_its_formula_says_of_the_buffer(sizes: tuple[int, int]) -> None:
    """out[delinearise(L, sizes)] = in[L] for every L below the product of the sizes (section 2.3)."""
    module = read_text(
        """HloModule m
        ENTRY e { x = s32[<=3,<=4] parameter(0)
                  ROOT r = (s32[3,4], s32[], s32[]) custom-call(x), custom_call_target="PadToStatic" }"""
    )
    value = np.arange(1, 1 + sizes[0] * sizes[1], dtype=np.int32).reshape(sizes)
    buffer = words(pack(value, BOUND))
    rows, columns = buffer[12:]
    out = np.full((3, 4), -7, np.int32)
    for place in range(rows * columns):
        out[np.unravel_index(place, (rows, columns))] = buffer[place]
    result = evaluate(module, [value], fill=lambda shape: np.full(shape.dimensions, -7, np.int32))
    assert isinstance(result, tuple)
    np.testing.assert_array_equal(result[0], out)
    assert result[1:] == (rows, columns)


@pytest.mark.parametrize("sizes", SIZES)
def test_slice_to_dynamic_gives_what_its_formula_says_of_the_buffer(sizes: tuple[int, int]) -> None:
    """out[L] = data[delinearise(L, sizes)], and the sizes in the tail (section 2.4)."""
    module = read_text(
        """HloModule m
        ENTRY e { x = s32[3,4] parameter(0)
                  n = s32[] parameter(1)
                  m = s32[] parameter(2)
                  ROOT r = s32[<=3,<=4] custom-call(x, n, m), custom_call_target="SliceToDynamic" }"""
    )
    data = np.arange(1, 13, dtype=np.int32).reshape(3, 4)
    out = [0] * 12
    for place in range(sizes[0] * sizes[1]):
        out[place] = int(data[np.unravel_index(place, sizes)])
    value = evaluate(module, [data, *(np.array(size, np.int32) for size in sizes)])
    assert isinstance(value, np.ndarray)
    assert words(pack(value, BOUND)) == [*out, *sizes]
