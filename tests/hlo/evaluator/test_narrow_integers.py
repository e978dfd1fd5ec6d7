"""Integers of 2 and 4 bits: every operation on every value, against what it means for a number of so many bits."""

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from hlo import ArrayShape, Opcode, PrimitiveType
from hlo.opcode import ELEMENTWISE_BINARY, ELEMENTWISE_UNARY

P = PrimitiveType
KINDS = [P.S2, P.U2, P.S4, P.U4]


def all_values(kind: PrimitiveType) -> list[int]:
    least = -(1 << (kind.bit_width - 1)) if kind.is_signed else 0
    return list(range(least, least + (1 << kind.bit_width)))


def bits(kind: PrimitiveType, x: int) -> int:
    return x % (1 << kind.bit_width)


def number(kind: PrimitiveType, x: int) -> int:
    """The number of `kind` that has the low bits of `x`."""
    low = bits(kind, x)
    return low - (1 << kind.bit_width) if kind.is_signed and low >> (kind.bit_width - 1) else low


def divided(_kind: PrimitiveType, x: int, y: int) -> int:
    if y == 0:
        return -1
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def left_over(kind: PrimitiveType, x: int, y: int) -> int:
    return x if y == 0 else x - y * divided(kind, x, y)


def to_the_power(_kind: PrimitiveType, x: int, y: int) -> int:
    if y >= 0:
        return x**y
    return x ** (-y) if abs(x) == 1 else 0


def with_the_top_bit(kind: PrimitiveType, x: int) -> int:
    low = bits(kind, x)
    return low - (1 << kind.bit_width) if low >> (kind.bit_width - 1) else low


Meaning = Callable[..., int]
UNARY: dict[Opcode, Meaning] = {
    Opcode.ABS: lambda k, x: abs(x),
    Opcode.CLZ: lambda k, x: k.bit_width - bits(k, x).bit_length(),
    Opcode.NEGATE: lambda k, x: -x,
    Opcode.NOT: lambda k, x: ~x,
    Opcode.POPULATION_COUNT: lambda k, x: bits(k, x).bit_count(),
    Opcode.SIGN: lambda k, x: (x > 0) - (x < 0),
}
BINARY: dict[Opcode, Meaning] = {
    Opcode.ADD: lambda k, x, y: x + y,
    Opcode.AND: lambda k, x, y: x & y,
    Opcode.DIVIDE: divided,
    Opcode.MAXIMUM: lambda k, x, y: max(x, y),
    Opcode.MINIMUM: lambda k, x, y: min(x, y),
    Opcode.MULHI: lambda k, x, y: x * y >> k.bit_width,
    Opcode.MULTIPLY: lambda k, x, y: x * y,
    Opcode.OR: lambda k, x, y: x | y,
    Opcode.POWER: to_the_power,
    Opcode.REMAINDER: left_over,
    Opcode.SHIFT_LEFT: lambda k, x, y: x << bits(k, y),
    Opcode.SHIFT_RIGHT_ARITHMETIC: lambda k, x, y: with_the_top_bit(k, x) >> bits(k, y),
    Opcode.SHIFT_RIGHT_LOGICAL: lambda k, x, y: bits(k, x) >> bits(k, y),
    Opcode.SUBTRACT: lambda k, x, y: x - y,
    Opcode.XOR: lambda k, x, y: x ^ y,
}
FLOATS_ONLY = {
    *(set(ELEMENTWISE_UNARY) - UNARY.keys()),
    *(Opcode.ATAN2, Opcode.COMPLEX),
}


def test_every_operation_of_integers_has_a_meaning_here() -> None:
    assert UNARY.keys() | BINARY.keys() | FLOATS_ONLY == {*ELEMENTWISE_UNARY, *ELEMENTWISE_BINARY}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("opcode", UNARY)
def test_each_value_gives_what_it_should(apply, kind: PrimitiveType, opcode: Opcode) -> None:
    if opcode in (Opcode.ABS, Opcode.SIGN) and not kind.is_signed:
        pytest.skip("of signed numbers only")
    values = all_values(kind)
    got = apply(opcode, np.array(values).astype(kind.numpy))
    assert got.astype(int).tolist() == [number(kind, UNARY[opcode](kind, x)) for x in values]
    assert apply(opcode, np.array(values[1]).astype(kind.numpy)).astype(int) == got.astype(int)[1]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("opcode", BINARY)
def test_each_pair_of_values_gives_what_it_should(apply, kind: PrimitiveType, opcode: Opcode) -> None:
    pairs = list(itertools.product(all_values(kind), repeat=2))
    left, right = (np.array(side).astype(kind.numpy) for side in zip(*pairs, strict=True))
    expected = [number(kind, BINARY[opcode](kind, x, y)) for x, y in pairs]
    assert apply(opcode, left, right).astype(int).tolist() == expected


@pytest.mark.parametrize(("narrow", "wide"), [(P.S2, P.S4), (P.U2, P.U8), (P.U4, P.S8), (P.S4, P.U32)])
def test_bits_are_joined_and_parted_least_significant_first(
    apply, narrow: PrimitiveType, wide: PrimitiveType
) -> None:
    ratio = wide.bit_width // narrow.bit_width
    parts = np.random.default_rng(0).choice(all_values(narrow), (12, ratio))
    operand = parts.astype(narrow.numpy)
    joined = apply(Opcode.BITCAST_CONVERT, operand, shape=ArrayShape(wide, (12,)))
    expected = [
        number(wide, sum(bits(narrow, int(x)) << i * narrow.bit_width for i, x in enumerate(row)))
        for row in parts
    ]
    assert joined.astype(np.int64).tolist() == expected
    back = apply(Opcode.BITCAST_CONVERT, joined, shape=ArrayShape(narrow, (12, ratio)))
    assert back.astype(int).tolist() == parts.tolist()


@pytest.mark.parametrize("kind", [P.S4, P.U4])
def test_bits_of_one_width_are_read_as_another_type(apply, kind: PrimitiveType) -> None:
    codes = np.arange(16, dtype=np.uint8)
    floats = codes.view(P.F4E2M1FN.numpy)
    got = apply(Opcode.BITCAST_CONVERT, floats, shape=ArrayShape(kind, (16,)))
    assert got.astype(int).tolist() == [number(kind, code) for code in range(16)]
    back = apply(Opcode.BITCAST_CONVERT, got, shape=ArrayShape(P.F4E2M1FN, (16,)))
    assert back.view(np.uint8).tolist() == codes.tolist()
