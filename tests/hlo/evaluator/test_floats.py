"""Floating-point operations: corners from their definitions, and rounding against exact fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlo import Opcode, PrimitiveType, same_bits
from hlo.attributes import Comparison

F16, BF16, F32, F64 = PrimitiveType.F16, PrimitiveType.BF16, PrimitiveType.F32, PrimitiveType.F64
TYPES = [F16, BF16, F32, F64]
INF, NAN = math.inf, math.nan


def as_bits(values: np.ndarray) -> list[str]:
    """Each number as text that tells -0.0 from 0.0 and has one NaN."""
    return [repr(abs(x) if math.isnan(x) else x) for x in values.astype(np.float64).tolist()]


@pytest.mark.parametrize("t", TYPES)
@pytest.mark.parametrize(
    ("opcode", "x", "y", "expected"),
    [
        # IEEE 754 maximum and minimum: NaN wins; +0 is above -0, in either order
        (Opcode.MAXIMUM, 0.0, -0.0, 0.0),
        (Opcode.MAXIMUM, -0.0, 0.0, 0.0),
        (Opcode.MAXIMUM, -0.0, -0.0, -0.0),
        (Opcode.MAXIMUM, -0.0, -1.0, -0.0),
        (Opcode.MAXIMUM, NAN, 1.0, NAN),
        (Opcode.MAXIMUM, 1.0, NAN, NAN),
        (Opcode.MINIMUM, 0.0, -0.0, -0.0),
        (Opcode.MINIMUM, -0.0, 0.0, -0.0),
        (Opcode.MINIMUM, 0.0, 0.0, 0.0),
        (Opcode.MINIMUM, NAN, -INF, NAN),
        (Opcode.MINIMUM, -INF, NAN, NAN),
        # division follows IEEE 754: the sign of the zero counts, 0/0 is no number
        (Opcode.DIVIDE, 1.0, 0.0, INF),
        (Opcode.DIVIDE, 1.0, -0.0, -INF),
        (Opcode.DIVIDE, 0.0, 0.0, NAN),
        (Opcode.DIVIDE, INF, INF, NAN),
        # C's fmod: the sign of the dividend, also of a zero
        (Opcode.REMAINDER, 5.5, 2.0, 1.5),
        (Opcode.REMAINDER, -5.5, 2.0, -1.5),
        (Opcode.REMAINDER, 5.5, -2.0, 1.5),
        (Opcode.REMAINDER, -4.0, 2.0, -0.0),
        (Opcode.REMAINDER, 1.0, 0.0, NAN),
        (Opcode.REMAINDER, INF, 2.0, NAN),
        (Opcode.REMAINDER, 2.0, INF, 2.0),
        # C's pow: x^0 and 1^x are 1 for every x
        (Opcode.POWER, 0.0, 0.0, 1.0),
        (Opcode.POWER, NAN, 0.0, 1.0),
        (Opcode.POWER, 1.0, NAN, 1.0),
        (Opcode.POWER, -8.0, 3.0, -512.0),
        (Opcode.POWER, -8.0, 0.5, NAN),
        (Opcode.POWER, 0.0, -1.0, INF),
        (Opcode.POWER, -0.0, -1.0, -INF),
        (Opcode.ATAN2, 0.0, 1.0, 0.0),
        (Opcode.ATAN2, -0.0, 1.0, -0.0),
    ],
)
def test_binary_corners(apply, t: PrimitiveType, opcode: Opcode, x: float, y: float, expected: float) -> None:
    # 19 copies: NumPy's vector instructions and the code for the odd rest must agree
    left, right = np.full(19, x).astype(t.numpy), np.full(19, y).astype(t.numpy)
    assert as_bits(apply(opcode, left, right)) == as_bits(np.full(19, expected))
    assert as_bits(apply(opcode, left[0, ...], right[0, ...])[None]) == as_bits(np.array([expected]))


@pytest.mark.parametrize("t", TYPES)
@pytest.mark.parametrize(
    ("opcode", "x", "expected"),
    [
        (Opcode.SIGN, -0.0, -0.0),
        (Opcode.SIGN, 0.0, 0.0),
        (Opcode.SIGN, NAN, NAN),
        (Opcode.SIGN, -INF, -1.0),
        (Opcode.SIGN, 1e-5, 1.0),
        (Opcode.ABS, -0.0, 0.0),
        (Opcode.NEGATE, 0.0, -0.0),
        (Opcode.ROUND_NEAREST_AFZ, 2.5, 3.0),
        (Opcode.ROUND_NEAREST_AFZ, -2.5, -3.0),
        (Opcode.ROUND_NEAREST_AFZ, 0.5, 1.0),
        (Opcode.ROUND_NEAREST_AFZ, -0.25, -0.0),
        (Opcode.ROUND_NEAREST_AFZ, INF, INF),
        (Opcode.ROUND_NEAREST_AFZ, NAN, NAN),
        (Opcode.ROUND_NEAREST_EVEN, 2.5, 2.0),
        (Opcode.ROUND_NEAREST_EVEN, 3.5, 4.0),
        (Opcode.ROUND_NEAREST_EVEN, -0.5, -0.0),
        (Opcode.CEIL, -0.5, -0.0),
        (Opcode.FLOOR, -0.5, -1.0),
        (Opcode.SQRT, -0.0, -0.0),
        (Opcode.SQRT, -1.0, NAN),
        (Opcode.RSQRT, 0.0, INF),
        (Opcode.RSQRT, -0.0, -INF),
        (Opcode.RSQRT, INF, 0.0),
        (Opcode.RSQRT, 4.0, 0.5),
        (Opcode.CBRT, -8.0, -2.0),
        (Opcode.LOG, 0.0, -INF),
        (Opcode.LOG, -1.0, NAN),
        (Opcode.LOG1P, -1.0, -INF),
        (Opcode.EXP, -INF, 0.0),
        (Opcode.EXPM1, -INF, -1.0),
        (Opcode.LOGISTIC, 0.0, 0.5),
        (Opcode.LOGISTIC, -INF, 0.0),
        (Opcode.LOGISTIC, INF, 1.0),
        (Opcode.TANH, INF, 1.0),
        (Opcode.ERF, -INF, -1.0),
        (Opcode.ERF, -0.0, -0.0),
        (Opcode.ERF, NAN, NAN),
        (Opcode.SIN, INF, NAN),
        (Opcode.ACOSH, 0.5, NAN),
        (Opcode.ATANH, 1.0, INF),
        (Opcode.REAL, -0.0, -0.0),
        (Opcode.IMAG, 3.0, 0.0),
    ],
)
def test_unary_corners(apply, t: PrimitiveType, opcode: Opcode, x: float, expected: float) -> None:
    assert as_bits(apply(opcode, np.full(19, x).astype(t.numpy))) == as_bits(np.full(19, expected))


@pytest.mark.parametrize(("t", "below_half"), [(F32, 0.49999997), (F64, 0.49999999999999994)])
def test_the_number_just_below_a_half_rounds_to_zero(apply, t: PrimitiveType, below_half: float) -> None:
    values = np.array([below_half, -below_half], t.numpy)
    assert as_bits(apply(Opcode.ROUND_NEAREST_AFZ, values)) == ["0.0", "-0.0"]


@pytest.mark.parametrize("t", TYPES)
def test_only_numbers_are_finite(apply, t: PrimitiveType) -> None:
    values = np.array([0.0, -1.0, INF, -INF, NAN]).astype(t.numpy)
    assert apply(Opcode.IS_FINITE, values).tolist() == [True, True, False, False, False]


# (bits of precision, exponent of the smallest normal number, exponent of the largest number)
FORMATS = {F16: (11, -14, 15), BF16: (8, -126, 127), F32: (24, -126, 127)}


def rounded(exact: Fraction, t: PrimitiveType) -> float:
    """`exact`, which is not 0, to the nearest number of the format, ties to even."""
    precision, smallest, largest = FORMATS[t]
    exponent = math.floor(math.log2(abs(exact.numerator)) - math.log2(exact.denominator))
    exponent += (abs(exact) >= Fraction(2) ** (exponent + 1)) - (abs(exact) < Fraction(2) ** exponent)
    unit = Fraction(2) ** (max(exponent, smallest) - precision + 1)
    nearest = round(exact / unit) * unit  # Python rounds halves to even
    return float(nearest) if abs(nearest) < Fraction(2) ** (largest + 1) else math.copysign(INF, exact)


@given(st.data(), st.sampled_from(list(FORMATS)))
def test_arithmetic_rounds_once(apply, data: st.DataObject, t: PrimitiveType) -> None:
    number = st.floats(-100, 100, width=16 if t is F16 else 32, allow_subnormal=False)
    drawn = data.draw(st.tuples(number, number))
    x, y = np.array(drawn).astype(t.numpy)[:, None]
    exact_x, exact_y = Fraction(x.item()), Fraction(y.item())
    exact = {
        Opcode.ADD: exact_x + exact_y,
        Opcode.SUBTRACT: exact_x - exact_y,
        Opcode.MULTIPLY: exact_x * exact_y,
        Opcode.DIVIDE: exact_x / exact_y if exact_y else Fraction(0),
    }
    for opcode, value in exact.items():
        if value:
            assert apply(opcode, x, y).item() == rounded(value, t), opcode


ANALYTIC = {
    Opcode.ACOS: math.acos,
    Opcode.ACOSH: math.acosh,
    Opcode.ASIN: math.asin,
    Opcode.ASINH: math.asinh,
    Opcode.ATANH: math.atanh,
    Opcode.CBRT: math.cbrt,
    Opcode.COS: math.cos,
    Opcode.COSH: math.cosh,
    Opcode.ERF: math.erf,
    Opcode.EXP: math.exp,
    Opcode.EXPM1: math.expm1,
    Opcode.LOG: math.log,
    Opcode.LOG1P: math.log1p,
    Opcode.LOGISTIC: lambda x: 1 / (1 + math.exp(-x)),
    Opcode.RSQRT: lambda x: 1 / math.sqrt(x),
    Opcode.SIN: math.sin,
    Opcode.SINH: math.sinh,
    Opcode.SQRT: math.sqrt,
    Opcode.TAN: math.tan,
    Opcode.TANH: math.tanh,
}


@pytest.mark.parametrize(("t", "units"), [(F16, 0.51), (BF16, 0.51), (F32, 4), (F64, 4)])
@pytest.mark.parametrize("opcode", ANALYTIC)
def test_functions_are_right_to_the_last_place(apply, opcode: Opcode, t: PrimitiveType, units: float) -> None:
    # narrow floats are computed in F32 and rounded: half a unit, and a little for the F32 result's own error
    offset = 1 if opcode is Opcode.ACOSH else 0
    points = (np.array([2**-7, 0.1, 0.25, 0.5, 0.625, 0.75, 0.9375]) + offset).astype(t.numpy)
    got = apply(opcode, points).astype(np.float64)
    exact = np.array([ANALYTIC[opcode](x) for x in points.astype(np.float64).tolist()])
    precision = {F16: 11, BF16: 8, F32: 24, F64: 53}[t]
    unit = 2.0 ** (np.floor(np.log2(np.abs(exact))) - precision + 1)
    assert (np.abs(got - exact) <= units * unit).all()


REAL_ONLY = {Opcode.ERF, Opcode.CBRT, Opcode.ATAN2}
OF_NEIGHBOURS = [
    (opcode, t)
    for opcode in [*ANALYTIC, Opcode.POWER, Opcode.ATAN2, Opcode.MULTIPLY, Opcode.DIVIDE]
    for t in [*TYPES, PrimitiveType.C64, PrimitiveType.C128]
    if not (t.is_complex and opcode in REAL_ONLY)
]


@pytest.mark.parametrize(("opcode", "t"), OF_NEIGHBOURS)
def test_an_element_does_not_depend_on_its_neighbours(apply, opcode: Opcode, t: PrimitiveType) -> None:
    # NumPy may compute in another way what lies backwards in memory, and the last few of many
    numbers = np.linspace(-3, 3, 403).astype(t.numpy)
    if t.is_complex:
        numbers = numbers + 1j * np.roll(numbers, 3)
    operands = [numbers] if opcode in ANALYTIC else [numbers, np.roll(numbers, 7)]
    for x in operands:
        x.setflags(write=False)  # a writable view would be copied on the way in, and so lie in order
    whole = apply(opcode, *operands)
    alone = [apply(opcode, *[x[i, ...] for x in operands]) for i in range(0, 403, 13)]
    assert same_bits(np.array(alone), whole[::13])
    assert same_bits(apply(opcode, *[x[::-1] for x in operands]), whole[::-1])
    assert same_bits(apply(opcode, *[x[::3] for x in operands]), whole[::3])


ORDER = [-NAN, -INF, -1.0, -0.0, 0.0, 1.0, INF, NAN]


@pytest.mark.parametrize("t", TYPES)
@pytest.mark.parametrize("direction", ["EQ", "NE", "GE", "GT", "LE", "LT"])
def test_total_order_puts_every_number_in_its_place(apply, t: PrimitiveType, direction: str) -> None:
    # by IEEE 754 totalOrder each of these is below the next
    values = np.copysign(np.abs(np.array(ORDER)), [-1] * 4 + [1] * 4).astype(t.numpy)
    ranks = np.arange(8)
    compare = {"EQ": np.equal, "NE": np.not_equal, "GE": np.greater_equal}
    compare |= {"GT": np.greater, "LE": np.less_equal, "LT": np.less}
    left, right = (x.ravel() for x in np.meshgrid(values, values))
    expected = compare[direction](*(x.ravel() for x in np.meshgrid(ranks, ranks)))
    got = apply(Opcode.COMPARE, left, right, attributes=Comparison(direction, "TOTALORDER"))
    assert got.tolist() == expected.tolist()


@pytest.mark.parametrize("t", TYPES)
def test_nan_compares_unequal_to_everything(apply, t: PrimitiveType) -> None:
    nan, one = np.array([NAN, 1.0, NAN]).astype(t.numpy), np.array([1.0, NAN, NAN]).astype(t.numpy)
    for direction in ("EQ", "GE", "GT", "LE", "LT"):
        assert not apply(Opcode.COMPARE, nan, one, attributes=Comparison(direction, "FLOAT")).any()
    assert apply(Opcode.COMPARE, nan, one, attributes=Comparison("NE", "FLOAT")).all()


def test_zeros_of_both_signs_are_equal_but_in_total_order(apply) -> None:
    zero, minus = np.array(0.0), np.array(-0.0)
    assert apply(Opcode.COMPARE, zero, minus, attributes=Comparison("EQ", "FLOAT"))
    assert not apply(Opcode.COMPARE, zero, minus, attributes=Comparison("EQ", "TOTALORDER"))


@pytest.mark.parametrize("t", [*TYPES, PrimitiveType.S8])
def test_clamp_with_crossed_bounds_gives_the_upper_one(apply, t: PrimitiveType) -> None:
    # min(max(x, low), high) with low = 5 above high = 2
    values = np.array([0, 3, 9]).astype(t.numpy)
    low, high = (np.array(x).astype(t.numpy) for x in (5, 2))
    assert apply(Opcode.CLAMP, low, values, high).tolist() == [2, 2, 2]
    assert apply(Opcode.CLAMP, high, values, low).tolist() == [2, 3, 5]


@pytest.mark.parametrize("t", TYPES)
def test_clamp_passes_on_every_nan(apply, t: PrimitiveType) -> None:
    low, x, high = (np.array(v).astype(t.numpy) for v in ([NAN, 0, 0], [1, NAN, 1], [2, 2, NAN]))
    assert np.isnan(apply(Opcode.CLAMP, low, x, high).astype(np.float64)).all()


def test_complex_numbers_keep_their_parts(apply) -> None:
    real, imaginary = np.array([1.0, INF], np.float32), np.array([-0.0, NAN], np.float32)
    z = apply(Opcode.COMPLEX, real, imaginary)
    assert same_bits(apply(Opcode.REAL, z), real)
    assert same_bits(apply(Opcode.IMAG, z), imaginary)
    assert apply(Opcode.ABS, np.array([3 + 4j], np.complex64)).tolist() == [5.0]


@pytest.mark.parametrize("t", [PrimitiveType.C64, PrimitiveType.C128])
def test_a_complex_exponential_is_real_on_the_real_axis(apply, t: PrimitiveType) -> None:
    for x in (INF, -INF, NAN, 1.0, 0.0):
        for zero in (0.0, -0.0):
            (got,) = apply(Opcode.EXPM1, np.array([complex(x, zero)], t.numpy)).tolist()
            assert (repr(got.imag), repr(got.real)) == (repr(zero), repr(got.real))
            assert got.real == pytest.approx(np.expm1(x), nan_ok=True, rel=1e-6)
