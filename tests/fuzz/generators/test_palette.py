import numpy as np
import pytest

from fuzz.generators.palette import LANES, Buffer, filled
from hlo import PrimitiveType

BUFFERS = sorted({buffer for lane in LANES for buffer in lane.buffers}, key=lambda b: b.dimensions)
DATA_TYPES = list(dict.fromkeys(lane.data for lane in LANES))
DATA = ["pred", "s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64"]


def test_every_data_type_and_every_integer_index_type_has_a_lane() -> None:
    assert {lane.data.text for lane in LANES} == set(DATA)
    assert {lane.index.text for lane in LANES} == {
        f"{sign}{bits}" for sign in "su" for bits in (8, 16, 32, 64)
    }


def test_buffers_have_every_rank_up_to_four() -> None:
    assert {buffer.rank for buffer in BUFFERS} == {0, 1, 2, 3, 4}


@pytest.mark.parametrize("buffer", BUFFERS, ids=str)
def test_slices_fit_their_buffer(buffer: Buffer) -> None:
    for sizes in buffer.sizes:
        assert len(sizes) == buffer.rank
        assert all(0 <= size <= n for size, n in zip(sizes, buffer.dimensions, strict=True))


def test_an_index_is_converted_to_another_type() -> None:
    assert all(lane.partner is not lane.index for lane in LANES)


@pytest.mark.parametrize("element_type", DATA_TYPES, ids=str)
@pytest.mark.parametrize("salt", range(8))
def test_constants_hold_exact_numbers_that_differ_from_their_neighbours(
    element_type: PrimitiveType, salt: int
) -> None:
    value = filled(element_type, (8,), salt)
    numbers = value.astype(np.int64)
    assert value.dtype == element_type.numpy
    if element_type is PrimitiveType.PRED:
        assert set(numbers) == {0, 1}
    else:
        assert (numbers[1:] != numbers[:-1]).all()
    assert numbers.min() >= 0
    assert numbers.max() < 16
    assert not value.flags.writeable
