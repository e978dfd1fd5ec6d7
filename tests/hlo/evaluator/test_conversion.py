"""What a number becomes in another type: by the definition, saturation and wrapping included."""

import math

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlo import ArrayShape, HloModule, Opcode, PrimitiveType, UnsupportedOpcode, same_bits
from hlo.evaluator import UnsupportedType, evaluate

INTEGERS = [t for t in PrimitiveType if t.is_integral]
WIDE_INTEGERS = [t for t in INTEGERS if t.bit_width >= 8]
FLOATS = [PrimitiveType.F16, PrimitiveType.BF16, PrimitiveType.F32, PrimitiveType.F64]
F8E4M3FN = PrimitiveType.F8E4M3FN


@pytest.fixture
def convert(apply):
    return lambda x, t: apply(Opcode.CONVERT, x, shape=ArrayShape(t, x.shape))


def bounds(t: PrimitiveType) -> tuple[int, int]:
    return (
        (-(1 << (t.bit_width - 1)), (1 << (t.bit_width - 1)) - 1)
        if t.is_signed
        else (0, (1 << t.bit_width) - 1)
    )


def saturated(x: float, t: PrimitiveType) -> int:
    low, high = bounds(t)
    if math.isnan(x):
        return 0
    if math.isinf(x):
        return low if x < 0 else high
    return min(max(math.trunc(x), low), high)


def around(t: PrimitiveType) -> list[float]:
    """Numbers on, beside and far from the edges of an integer type."""
    low, high = bounds(t)
    edges = [float(low), float(high), float(high + 1), low - 1.0, low - 0.5, high + 0.5, float(1 << 63)]
    steps = [math.nextafter(x, to) for x in edges for to in (-math.inf, math.inf)]
    return [*edges, *steps, 0.0, -0.0, 0.99, -0.99, 2.5, -2.5, 1e30, -1e30, math.inf, -math.inf, math.nan]


@pytest.mark.parametrize("source", FLOATS)
@pytest.mark.parametrize("target", INTEGERS)
def test_a_float_is_cut_off_and_saturates(convert, source: PrimitiveType, target: PrimitiveType) -> None:
    with np.errstate(over="ignore"):
        values = np.array(around(target)).astype(source.numpy)
    expected = [saturated(x, target) for x in values.astype(np.float64).tolist()]
    assert convert(values, target).tolist() == expected
    assert convert(values[0, ...], target).item() == expected[0]


@pytest.mark.parametrize("source", WIDE_INTEGERS)
@pytest.mark.parametrize("target", INTEGERS)
def test_an_integer_wraps(convert, source: PrimitiveType, target: PrimitiveType) -> None:
    low, high = bounds(source)
    values = [
        x for x in (low, low + 1, -9, -1, 0, 1, 7, 8, 15, 200, 70_000, high - 1, high) if low <= x <= high
    ]
    _, target_high = bounds(target)
    wrapped = [x & ((1 << target.bit_width) - 1) for x in values]
    expected = [x - (1 << target.bit_width) if x > target_high else x for x in wrapped]
    assert convert(np.array(values, source.numpy), target).tolist() == expected


@pytest.mark.parametrize("source", [t for t in INTEGERS if t.bit_width < 8])
@pytest.mark.parametrize("target", [*INTEGERS, *FLOATS])
def test_a_nibble_has_its_own_sign(convert, source: PrimitiveType, target: PrimitiveType) -> None:
    # -1, or all bits set, is the same number in every type that has it, and wraps in the others
    low, high = bounds(source)
    values = np.arange(low, high + 1).astype(source.numpy)
    exact = range(low, high + 1)
    if target.is_integral:
        _, target_high = bounds(target)
        wrapped = [x & ((1 << target.bit_width) - 1) for x in exact]
        exact = [x - (1 << target.bit_width) if x > target_high else x for x in wrapped]
    assert convert(values, target).tolist() == list(exact)


@pytest.mark.parametrize("source", FLOATS)
def test_everything_but_zero_is_true(convert, source: PrimitiveType) -> None:
    values = np.array([0.0, -0.0, 1.0, 0.25, math.nan, math.inf]).astype(source.numpy)
    assert convert(values, PrimitiveType.PRED).tolist() == [False, False, True, True, True, True]


@pytest.mark.parametrize("target", [*WIDE_INTEGERS, *FLOATS])
def test_true_is_one(convert, target: PrimitiveType) -> None:
    assert convert(np.array([False, True]), target).tolist() == [0, 1]


def test_a_complex_number_becomes_its_real_part(convert) -> None:
    z = np.array([2.5 + 1j, -7 - 1j, complex(math.nan, 0)], np.complex64)
    assert convert(z, PrimitiveType.S8).tolist() == [2, -7, 0]
    assert convert(z, PrimitiveType.F64).tolist()[:2] == [2.5, -7.0]
    assert convert(np.array([0j, 1j], np.complex64), PrimitiveType.PRED).tolist() == [False, True]


@given(st.floats(allow_nan=False))
def test_f64_to_f16_rounds_once(apply, x: float) -> None:
    got = apply(Opcode.CONVERT, np.array(x), shape=ArrayShape(PrimitiveType.F16)).item()
    if math.isinf(got):
        assert abs(x) >= 65520  # halfway from the largest number, 65504, to what would be the next
    else:
        neighbours = [np.nextafter(np.float16(got), np.float16(to)).item() for to in (-math.inf, math.inf)]
        assert all(abs(got - x) <= abs(other - x) for other in neighbours)


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        # 1.0625 is midway between 1 and 1.125: by way of F32, F16 or BF16 all of these would meet there
        (1.0625, 1.0),
        (1.0625 + 2.0**-40, 1.125),
        (1.0625 - 2.0**-40, 1.0),
        (-1.0625 - 2.0**-40, -1.125),
        (1.1875, 1.25),
        (1.1875 - 2.0**-40, 1.125),
        (448.0, 448.0),
        (1e-300, 0.0),
    ],
)
def test_f64_to_f8_rounds_once(convert, x: float, expected: float) -> None:
    assert convert(np.array([x]), F8E4M3FN).astype(np.float64).tolist() == [expected]


@pytest.mark.parametrize("t", [PrimitiveType.S8, PrimitiveType.U8, PrimitiveType.BF16, PrimitiveType.F64])
def test_to_its_own_type_a_value_stays_as_it_is(convert, t: PrimitiveType) -> None:
    values = np.array([0, 1, 100]).astype(t.numpy)
    assert same_bits(convert(values, t), values)


def test_bits_of_a_wide_type_become_a_last_dimension(apply) -> None:
    # 0x3f800000 is 1.0f; the least significant byte comes first
    got = apply(
        Opcode.BITCAST_CONVERT, np.array([1.0], np.float32), shape=ArrayShape(PrimitiveType.U8, (1, 4))
    )
    assert got.tolist() == [[0x00, 0x00, 0x80, 0x3F]]


def test_bits_of_a_last_dimension_become_a_wide_type(apply) -> None:
    halves = np.array([[0x0000, 0x3F80], [0x0000, 0xBF80]], np.uint16)
    assert apply(Opcode.BITCAST_CONVERT, halves, shape=ArrayShape(PrimitiveType.F32, (2,))).tolist() == [
        1.0,
        -1.0,
    ]


def test_bits_are_taken_in_row_major_order_from_any_view(apply) -> None:
    columns = np.array([[0x0000, 0x0001], [0x3F80, 0x4000]], np.uint16)
    columns.setflags(write=False)  # a writable view would be copied on the way in
    got = apply(Opcode.BITCAST_CONVERT, columns.T, shape=ArrayShape(PrimitiveType.F32, (2,)))
    assert got.view(np.uint32).tolist() == [0x3F800000, 0x40000001]


@pytest.mark.parametrize("dimensions", [(), (0,), (2, 3)])
def test_bits_of_the_same_width_keep_the_shape(apply, dimensions: tuple[int, ...]) -> None:
    values = np.full(dimensions, -1, np.int16)
    got = apply(Opcode.BITCAST_CONVERT, values, shape=ArrayShape(PrimitiveType.BF16, dimensions))
    assert got.view(np.int16).tolist() == values.tolist()


def test_bits_of_a_scalar_become_a_vector_and_back(apply) -> None:
    pair = apply(
        Opcode.BITCAST_CONVERT, np.array(1 << 32, np.uint64), shape=ArrayShape(PrimitiveType.U32, (2,))
    )
    assert pair.tolist() == [0, 1]
    assert apply(Opcode.BITCAST_CONVERT, pair, shape=ArrayShape(PrimitiveType.U64)).item() == 1 << 32


def test_a_nan_keeps_its_bits(apply) -> None:
    bits = np.array([0x7F800001, 0xFFC12345], np.uint32)
    floats = apply(Opcode.BITCAST_CONVERT, bits, shape=ArrayShape(PrimitiveType.F32, (2,)))
    assert (
        apply(Opcode.BITCAST_CONVERT, floats, shape=ArrayShape(PrimitiveType.U32, (2,))).tolist()
        == bits.tolist()
    )


def test_a_byte_that_is_no_truth_value_is_refused() -> None:
    module = HloModule("m")
    entry = module.add_computation("entry")  # without a builder, which would refuse it first
    byte = entry.add_parameter(0, ArrayShape(PrimitiveType.U8, (1,)))
    entry.set_root(entry.add(Opcode.BITCAST_CONVERT, ArrayShape(PrimitiveType.PRED, (1,)), [byte]))
    module.set_entry_computation(entry)
    with pytest.raises(UnsupportedOpcode, match="bitcast-convert on pred") as error:
        evaluate(module, [np.array([2], np.uint8)])
    assert isinstance(error.value, UnsupportedType)
    assert error.value.element_type is PrimitiveType.PRED


def test_bf16_holds_what_its_neighbours_round_to(convert) -> None:
    # 8 bits of precision: between 256 and 512 only even integers; 257 is a tie and goes to 256, 259 to 260
    assert convert(np.array([257, 258, 259], np.int32), PrimitiveType.BF16).tolist() == [256, 258, 260]
    assert convert(np.array([257.0, 259.0]), PrimitiveType.BF16).dtype == ml_dtypes.bfloat16


@pytest.mark.parametrize(
    ("value", "random", "expected"),
    [
        # a quarter goes up for a quarter of all random numbers, those below it, away from zero
        (2.25, 0x3F, 3),
        (2.25, 0x40, 2),
        (-2.25, 0x3F, -3),
        (-2.25, 0x40, -2),
        (5.0, 0, 5),
        # what the type cannot hold saturates, whatever the random bits
        (8.0, 0xFF, 7),
        (7.5, 0, 7),
        (-8.5, 0, -8),
        (np.inf, 0, 7),
        (-np.inf, 0, -8),
        (np.nan, 0, 0),
    ],
)
def test_a_stochastic_conversion_rounds_up_as_often_as_the_fraction_says(
    apply, value: float, random: int, expected: int
) -> None:
    f8, s4 = PrimitiveType.F8E4M3, PrimitiveType.S4
    operand, bits = np.array([value]).astype(f8.numpy), np.array([random], np.uint8)
    got = apply(Opcode.STOCHASTIC_CONVERT, operand, bits, shape=ArrayShape(s4, (1,)))
    assert got.astype(int).tolist() == [expected]


def test_a_stochastic_conversion_to_a_float_is_defined_nowhere(apply) -> None:
    operand, bits = np.ones(1, np.float32), np.zeros(1, np.uint32)
    with pytest.raises(UnsupportedType, match="stochastic-convert on bf16"):
        apply(Opcode.STOCHASTIC_CONVERT, operand, bits, shape=ArrayShape(PrimitiveType.BF16, (1,)))
