"""`reduce-precision`, bit for bit, of every float type: against rounding by exact fractions, and at the edges."""

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from hlo import ArrayShape, Opcode, PrimitiveType, UnsupportedOpcode, same_bits
from hlo.attributes import ReducedPrecision

F16, BF16, F32, F64 = PrimitiveType.F16, PrimitiveType.BF16, PrimitiveType.F32, PrimitiveType.F64
NO_SIGN = (PrimitiveType.F8E8M0FNU, PrimitiveType.F4E2M1FN)
BYTES = [t for t in PrimitiveType if t.is_float and t.bit_width == 8 and t not in NO_SIGN]


def reduced(x: float, exponent: int, mantissa: int) -> float:
    """`x` rounded to so many bits, computed exactly. Its own type must have more exponents than that."""
    if math.isnan(x) or math.isinf(x) or x == 0:
        return x
    reach = (1 << (exponent - 1)) - 1
    power = math.frexp(x)[1] - 1
    unit = Fraction(2) ** (power - mantissa)
    rounded = round(Fraction(x) / unit) * unit  # to even
    if abs(rounded) >= Fraction(2) ** (reach + 1):
        return math.copysign(math.inf, x)
    return math.copysign(0.0, x) if abs(rounded) < Fraction(2) ** (1 - reach) else float(rounded)


@pytest.mark.parametrize(
    ("exponent", "mantissa"), [(5, 10), (8, 7), (4, 3), (5, 2), (1, 1), (2, 1), (3, 23), (7, 22)]
)
@pytest.mark.parametrize("t", [F16, BF16, F32, F64])
def test_a_number_rounds_to_nearest_even_or_leaves_the_range(apply, t, exponent: int, mantissa: int) -> None:
    sizes = [
        2.0**p * f for p in range(-24, 17) for f in (1, 1.25, 1.5, 1 + 2**-10, 2 - 2**-10, 1 + 3 * 2**-8)
    ]
    sizes += [0.0, math.inf, math.nan, float(ml_dtypes.finfo(t.numpy).max)]
    x = np.array([*sizes, *(-size for size in sizes)])
    with np.errstate(all="ignore"):
        x = x.astype(t.numpy)
    bits = int(ml_dtypes.finfo(t.numpy).nmant)
    if exponent >= t.bit_width - 1 - bits:
        pytest.skip("the type has no exponents to lose")
    attributes = ReducedPrecision(exponent, mantissa)
    got = apply(Opcode.REDUCE_PRECISION, x, attributes=attributes, shape=ArrayShape(t, x.shape))
    expected = np.array([reduced(v, exponent, min(mantissa, bits)) for v in x.astype(np.float64).tolist()])
    nan = np.isnan(expected)
    assert (np.isnan(got) == nan).all()
    assert same_bits(got[~nan], expected[~nan].astype(t.numpy))


@pytest.mark.parametrize("t", BYTES)
def test_all_256_numbers_of_a_small_type(apply, t: PrimitiveType) -> None:
    x = np.arange(256).astype(np.uint8).view(t.numpy)
    got = apply(Opcode.REDUCE_PRECISION, x, attributes=ReducedPrecision(2, 1), shape=ArrayShape(t, (256,)))
    values = x.astype(np.float64)
    # a type without infinity has NaN there, and one without a negative zero has zero: as its conversion does
    with np.errstate(all="ignore"):
        expected = np.array([reduced(v, 2, 1) for v in values.tolist()]).astype(t.numpy)
    nan = np.isnan(expected)
    assert (np.isnan(got) == nan).all()
    assert same_bits(got[~nan], expected[~nan])


@pytest.mark.parametrize("t", [F16, BF16, F32, F64, *BYTES])
def test_enough_bits_change_nothing(apply, t: PrimitiveType) -> None:
    x = np.arange(256).astype(np.uint8).repeat(t.numpy.itemsize).view(t.numpy)
    got = apply(Opcode.REDUCE_PRECISION, x, attributes=ReducedPrecision(11, 52), shape=ArrayShape(t, (256,)))
    assert same_bits(got, x)


def test_subnormal_numbers_stay_where_no_exponent_is_lost(apply) -> None:
    x = np.array([1e-45, 1e-39], np.float32)  # the smallest one, and one of 20 bits
    got = apply(Opcode.REDUCE_PRECISION, x, attributes=ReducedPrecision(8, 22), shape=ArrayShape(F32, (2,)))
    assert got.view(np.uint32).tolist() == [0, int(x.view(np.uint32)[1]) & ~1]


def test_without_a_mantissa_ties_go_to_the_even_exponent(apply) -> None:
    # even by the bit pattern, where the exponent's last bit is the last one: that of 1 is odd, that of 2 is even
    x = np.array([1.25, 1.75, 1.5, 3, 6, 12], np.float32)
    got = apply(Opcode.REDUCE_PRECISION, x, attributes=ReducedPrecision(8, 0), shape=ArrayShape(F32, (6,)))
    assert got.tolist() == [1, 2, 2, 2, 8, 8]


def test_a_scalar_is_reduced_too(apply) -> None:
    x = np.array(1 + 2**-20, np.float32)
    assert (
        apply(Opcode.REDUCE_PRECISION, x, attributes=ReducedPrecision(8, 7), shape=ArrayShape(F32)).item()
        == 1
    )


@pytest.mark.parametrize("t", NO_SIGN)
def test_types_without_room_are_refused(apply, t: PrimitiveType) -> None:
    x = np.ones(1, t.numpy)
    with pytest.raises(UnsupportedOpcode, match="reduce-precision"):
        apply(Opcode.REDUCE_PRECISION, x, attributes=ReducedPrecision(2, 1), shape=ArrayShape(t, (1,)))
