"""Integers against Python's, which do not overflow: computed without bounds, then wrapped to the width."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlo import Opcode, PrimitiveType

TYPES = [t for t in PrimitiveType if t.is_integral and t.bit_width >= 8]
NARROW = [PrimitiveType.S4, PrimitiveType.U4, PrimitiveType.S2, PrimitiveType.U2]


def bounds(t: PrimitiveType) -> tuple[int, int]:
    return (
        (-(1 << (t.bit_width - 1)), (1 << (t.bit_width - 1)) - 1)
        if t.is_signed
        else (0, (1 << t.bit_width) - 1)
    )


def wrap(value: int, t: PrimitiveType) -> int:
    value &= (1 << t.bit_width) - 1
    return value - (1 << t.bit_width) if t.is_signed and value >> (t.bit_width - 1) else value


def unsigned(value: int, t: PrimitiveType) -> int:
    return value & ((1 << t.bit_width) - 1)


def divide(x: int, y: int, t: PrimitiveType) -> int:
    if y == 0:
        return -1  # all bits set: wraps to the maximum of an unsigned type
    return abs(x) // abs(y) * (-1 if (x < 0) != (y < 0) else 1)  # towards zero


def remainder(x: int, y: int, t: PrimitiveType) -> int:
    return x if y == 0 else x - y * divide(x, y, t)


def power(x: int, y: int, t: PrimitiveType) -> int:
    if y >= 0:
        return pow(x, y, 1 << t.bit_width)
    return {1: 1, -1: -1 if y % 2 else 1}.get(x, 0)


def shift_right_arithmetic(x: int, y: int, t: PrimitiveType) -> int:
    top_bit_copied = unsigned(x, t) - (unsigned(x, t) >> (t.bit_width - 1) << t.bit_width)
    return top_bit_copied >> unsigned(y, t)


BINARY = {
    Opcode.ADD: lambda x, y, t: x + y,
    Opcode.SUBTRACT: lambda x, y, t: x - y,
    Opcode.MULTIPLY: lambda x, y, t: x * y,
    Opcode.DIVIDE: divide,
    Opcode.REMAINDER: remainder,
    Opcode.POWER: power,
    Opcode.MAXIMUM: lambda x, y, t: max(x, y),
    Opcode.MINIMUM: lambda x, y, t: min(x, y),
    Opcode.AND: lambda x, y, t: x & y,
    Opcode.OR: lambda x, y, t: x | y,
    Opcode.XOR: lambda x, y, t: x ^ y,
    Opcode.SHIFT_LEFT: lambda x, y, t: x << unsigned(y, t) if unsigned(y, t) < t.bit_width else 0,
    Opcode.SHIFT_RIGHT_ARITHMETIC: shift_right_arithmetic,
    Opcode.SHIFT_RIGHT_LOGICAL: lambda x, y, t: unsigned(x, t) >> unsigned(y, t),
    Opcode.MULHI: lambda x, y, t: x * y >> t.bit_width,
}
UNARY = {
    Opcode.ABS: lambda x, t: abs(x),
    Opcode.NEGATE: lambda x, t: -x,
    Opcode.NOT: lambda x, t: ~x,
    Opcode.SIGN: lambda x, t: (x > 0) - (x < 0),
    Opcode.POPULATION_COUNT: lambda x, t: unsigned(x, t).bit_count(),
    Opcode.CLZ: lambda x, t: t.bit_width - unsigned(x, t).bit_length(),
}
SIGNED_ONLY = {Opcode.ABS, Opcode.SIGN}


def corners(t: PrimitiveType) -> list[int]:
    low, high = bounds(t)
    wanted = {
        low,
        low + 1,
        -7,
        -3,
        -2,
        -1,
        0,
        1,
        2,
        3,
        7,
        t.bit_width - 1,
        t.bit_width,
        t.bit_width + 1,
        high - 1,
        high,
    }
    return sorted(x for x in wanted if low <= x <= high)


def array(values: Sequence[int], t: PrimitiveType) -> np.ndarray:
    return np.array(values, t.numpy if t.bit_width >= 8 else np.int8).astype(t.numpy)


def has(opcode: Opcode, t: PrimitiveType) -> bool:
    return t.is_signed or opcode not in SIGNED_ONLY


def cases(table: dict) -> list:
    return [(opcode, t) for opcode in table for t in TYPES + NARROW if has(opcode, t)]


@pytest.mark.parametrize(("opcode", "t"), cases(BINARY))
def test_binary_operations_at_every_pair_of_corners(apply, opcode: Opcode, t: PrimitiveType) -> None:
    pairs = [(x, y) for x in corners(t) for y in corners(t)]
    left, right = (array(side, t) for side in zip(*pairs, strict=True))
    expected = [wrap(BINARY[opcode](x, y, t), t) for x, y in pairs]
    assert apply(opcode, left, right).tolist() == expected


@pytest.mark.parametrize(("opcode", "t"), cases(UNARY))
def test_unary_operations_at_every_corner(apply, opcode: Opcode, t: PrimitiveType) -> None:
    expected = [wrap(UNARY[opcode](x, t), t) for x in corners(t)]
    assert apply(opcode, array(corners(t), t)).tolist() == expected


@given(st.data(), st.sampled_from(TYPES))
def test_binary_operations_on_any_numbers(apply, data: st.DataObject, t: PrimitiveType) -> None:
    low, high = bounds(t)
    number = st.integers(low, high) | st.sampled_from(corners(t))
    pairs = data.draw(st.lists(st.tuples(number, number), min_size=1, max_size=20))
    left, right = (array(side, t) for side in zip(*pairs, strict=True))
    for opcode, meaning in BINARY.items():
        expected = [wrap(meaning(x, y, t), t) for x, y in pairs]
        assert apply(opcode, left, right).tolist() == expected, opcode
        assert apply(opcode, left[0, ...], right[0, ...]).item() == expected[0], f"{opcode} of scalars"


@given(st.data(), st.sampled_from(TYPES))
def test_unary_operations_on_any_numbers(apply, data: st.DataObject, t: PrimitiveType) -> None:
    numbers = data.draw(st.lists(st.integers(*bounds(t)), min_size=1, max_size=20))
    for opcode, meaning in UNARY.items():
        if not has(opcode, t):
            continue
        expected = [wrap(meaning(x, t), t) for x in numbers]
        assert apply(opcode, array(numbers, t)).tolist() == expected, opcode


@pytest.mark.parametrize("t", TYPES)
def test_shifts_of_whole_vectors_do_as_shifts_of_single_numbers(apply, t: PrimitiveType) -> None:
    # 70 elements: NumPy's vector instructions must treat amounts beyond the width as its scalar code does
    low, high = bounds(t)
    values = array([low + (high - low) * i // 69 for i in range(70)], t)
    amounts = np.resize(array(corners(t), t), 70)
    for opcode in (Opcode.SHIFT_LEFT, Opcode.SHIFT_RIGHT_ARITHMETIC, Opcode.SHIFT_RIGHT_LOGICAL):
        expected = [
            wrap(BINARY[opcode](x, y, t), t) for x, y in zip(values.tolist(), amounts.tolist(), strict=True)
        ]
        assert apply(opcode, values, amounts).tolist() == expected


@pytest.mark.parametrize(
    ("opcode", "expected"),
    [
        # in the order ff, ft, tf, tt; addition and multiplication of bits are disjunction and conjunction
        (Opcode.AND, [0, 0, 0, 1]),
        (Opcode.OR, [0, 1, 1, 1]),
        (Opcode.XOR, [0, 1, 1, 0]),
        (Opcode.ADD, [0, 1, 1, 1]),
        (Opcode.MULTIPLY, [0, 0, 0, 1]),
        (Opcode.MAXIMUM, [0, 1, 1, 1]),
        (Opcode.MINIMUM, [0, 0, 0, 1]),
    ],
)
def test_truth_tables(apply, opcode: Opcode, expected: list[int]) -> None:
    left, right = np.array([False, False, True, True]), np.array([False, True, False, True])
    assert apply(opcode, left, right).tolist() == [bool(x) for x in expected]


def test_not_of_a_truth_value_is_the_other_one(apply) -> None:
    assert apply(Opcode.NOT, np.array([False, True])).tolist() == [True, False]
