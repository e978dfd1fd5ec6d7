"""Types of 8 bits and less have so few values that all of them are tried."""

import ml_dtypes
import numpy as np
import pytest

from hlo import ArrayShape, HloModule, Opcode, PrimitiveType, UnsupportedOpcode
from hlo.attributes import Comparison
from hlo.builder import Builder
from hlo.evaluator import evaluate
from hlo.infer import ShapeError
from hlo.opcode import ELEMENTWISE_BINARY, ELEMENTWISE_UNARY
from oracle.compare import compare
from oracle.reference import run_jax
from oracle.tolerance import instruction_tolerance

P = PrimitiveType
INTEGERS = [P.S2, P.S4, P.U2, P.U4]
FLOATS = [P.F8E5M2, P.F8E4M3FN, P.F8E4M3B11FNUZ, P.F8E5M2FNUZ, P.F8E4M3FNUZ, P.F8E4M3, P.F8E3M4, P.F4E2M1FN]
OTHERS = [P.S8, P.U8, P.S32, P.F16, P.BF16, P.F32, P.F64]


def all_values(kind: PrimitiveType) -> np.ndarray:
    codes = np.arange(1 << kind.bit_width)
    if kind.is_float:
        return codes.astype(np.uint8).view(kind.numpy)
    return (codes - (codes.size // 2 if kind.is_signed else 0)).astype(kind.numpy)


def agree(opcode: Opcode, *operands: np.ndarray, **how) -> bool:
    """Whether both engines take the opcode; where they do they must agree."""
    module = HloModule("m")
    entry = module.add_computation("main")
    module.set_entry_computation(entry)
    builder = Builder(entry)
    shapes = [ArrayShape(P.of(x.dtype), x.shape) for x in operands]
    parameters = [builder.parameter(i, shape) for i, shape in enumerate(shapes)]
    try:
        entry.set_root(builder.op(opcode, *parameters, **how))
        expected, found = evaluate(module, operands), run_jax(module, operands)
    except (ShapeError, UnsupportedOpcode):
        return False
    tolerance = instruction_tolerance(entry.root, operands)
    wrong = compare(expected, found, tolerance=tolerance, left="evaluator", right="jax")
    assert wrong is None, f"{entry.root}: {wrong}"
    return True


OF_INTEGERS = {
    *(Opcode.CLZ, Opcode.NEGATE, Opcode.NOT, Opcode.POPULATION_COUNT, Opcode.ADD, Opcode.AND, Opcode.DIVIDE),
    *(
        Opcode.MAXIMUM,
        Opcode.MINIMUM,
        Opcode.MULHI,
        Opcode.MULTIPLY,
        Opcode.OR,
        Opcode.POWER,
        Opcode.REMAINDER,
    ),
    *(
        Opcode.SHIFT_LEFT,
        Opcode.SHIFT_RIGHT_ARITHMETIC,
        Opcode.SHIFT_RIGHT_LOGICAL,
        Opcode.SUBTRACT,
        Opcode.XOR,
    ),
}
OF_FLOATS = {*ELEMENTWISE_UNARY, *ELEMENTWISE_BINARY} - {
    *(Opcode.CLZ, Opcode.NOT, Opcode.POPULATION_COUNT, Opcode.AND, Opcode.MULHI, Opcode.OR, Opcode.XOR),
    *(Opcode.SHIFT_LEFT, Opcode.SHIFT_RIGHT_ARITHMETIC, Opcode.SHIFT_RIGHT_LOGICAL, Opcode.COMPLEX),
}
TIES = {Opcode.LOG2}
"""Of f8e8m0fnu: log2 8 is 3, in the middle of two of its numbers, and JAX's 2.9999999999999996 is not."""


@pytest.mark.parametrize("kind", [*INTEGERS, P.F8E5M2, P.F8E4M3FN, P.F8E4M3FNUZ, P.F4E2M1FN, P.F8E8M0FNU])
def test_every_elementwise_opcode_agrees(kind):
    values = all_values(kind)
    some = values if values.size <= 16 else values[::5]
    left, right = np.repeat(some, some.size), np.tile(some, some.size)
    skipped = TIES if kind is P.F8E8M0FNU else set()
    taken = {opcode for opcode in ELEMENTWISE_UNARY if opcode not in skipped and agree(opcode, values)}
    taken |= {opcode for opcode in ELEMENTWISE_BINARY if agree(opcode, left, right)}
    expected = OF_FLOATS if kind.is_float else OF_INTEGERS
    if kind.is_integral and kind.is_signed:
        expected = expected | {Opcode.ABS, Opcode.SIGN}
    assert taken == expected - skipped


@pytest.mark.parametrize("kind", [*INTEGERS, *FLOATS])
def test_arithmetic_agrees_on_all_pairs(kind):
    values = all_values(kind)
    left, right = np.repeat(values, values.size), np.tile(values, values.size)
    for opcode in (Opcode.ADD, Opcode.SUBTRACT, Opcode.MULTIPLY, Opcode.DIVIDE, Opcode.MAXIMUM):
        assert agree(opcode, left, right)


@pytest.mark.parametrize("kind", [*INTEGERS, *FLOATS])
def test_conversions_agree_on_all_values(kind):
    values = all_values(kind)
    for other in (*INTEGERS[:2], *FLOATS, *OTHERS):
        assert agree(Opcode.CONVERT, values, shape=ArrayShape(other, values.shape)), other


SUB_BYTE = [*INTEGERS, P.F4E2M1FN]


@pytest.mark.parametrize("kind", SUB_BYTE)
def test_bits_agree_with_those_of_every_width(kind):
    for other in (*SUB_BYTE, P.U8, P.S16, P.F32, P.U64):
        for source, target in {(kind, other), (other, kind)}:
            old, new = source.bit_width, target.bit_width
            values = all_values(source) if old <= 8 else np.arange(64, dtype=np.uint8).view(source.numpy)
            shape = (*values.shape, old // new) if old > new else values.shape
            if old < new:
                shape = (4,)
                values = np.resize(values, (4, new // old))
            assert agree(Opcode.BITCAST_CONVERT, values, shape=ArrayShape(target, shape)), (source, target)


def test_total_orders_agree():
    for kind in (P.F8E8M0FNU, P.F4E2M1FN):
        values = all_values(kind)
        left, right = np.repeat(values, values.size), np.tile(values, values.size)
        for direction in ("EQ", "LT", "GE"):
            comparison = Comparison(direction, "TOTALORDER")
            assert agree(Opcode.COMPARE, left, right, attributes=comparison)


@pytest.mark.parametrize("kind", FLOATS)
def test_conversions_round_to_nearest_even(kind):
    values = np.unique(all_values(kind).astype(np.float64))
    values = values[np.isfinite(values)]
    middles = (values[:-1] + values[1:]) / 2
    near = np.concatenate([values, middles, middles * (1 + 2.0**-20), middles * (1 - 2.0**-20), 2 * values])
    wanted = near.astype(np.float32)
    assert agree(Opcode.CONVERT, wanted, shape=ArrayShape(kind, wanted.shape))


def test_a_sum_past_the_largest_number_of_a_type_without_infinity_is_not_a_number():
    kind = P.F8E4M3FN.numpy
    module = HloModule("m")
    entry = module.add_computation("main")
    module.set_entry_computation(entry)
    builder = Builder(entry)
    x, y = (builder.parameter(i, ArrayShape(P.F8E4M3FN, (3,))) for i in range(2))
    entry.set_root(builder.op(Opcode.ADD, x, y))
    found = run_jax(module, (np.array([448, 448, 448], kind), np.array([16, 32, -448], kind)))
    assert isinstance(found, np.ndarray)
    # 464 is in the middle between 448 and what would be next: to even
    assert found.astype(np.float32).tolist()[::2] == [448.0, 0.0]
    assert np.isnan(found.astype(np.float32)[1])
    assert ml_dtypes.finfo(kind).max == 448
