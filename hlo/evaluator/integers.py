"""What do HLO's integer operations give where NumPy's differ, warn or are not defined?

Source: the `Handle…` functions of upstream's `hlo_evaluator_typed_visitor.h`; for `power` the integer power of
XLA's elemental emitter. Operands are arrays of rank 1 or more, both of the same dtype; results are fresh arrays.
"""

from __future__ import annotations

import numpy as np

from hlo.evaluator.kernels import SIGNED_OF_SIZE, Array, unsigned
from hlo.primitive_type import PrimitiveType


def divide(left: Array, right: Array) -> Array:
    """Quotient rounded towards zero. x/0 has all bits set; the smallest over -1 is itself."""
    # Without its remainder the dividend divides exactly, so that rounding down is rounding towards zero.
    quotient = np.floor_divide(np.subtract(left, np.fmod(left, right)), right)
    quotient[right == 0] = ~left.dtype.type(0)
    return quotient


def remainder(left: Array, right: Array) -> Array:
    """Has the sign of `left`. x%0 is x; the smallest over -1 leaves 0."""
    rest = np.fmod(left, right)
    np.copyto(rest, left, where=right == 0)
    return rest


def shift_right_logical(left: Array, right: Array) -> Array:
    """Zeros come in from the left; 0 from the width on, the amount read as unsigned."""
    return np.right_shift(unsigned(left), unsigned(right)).view(left.dtype)


def shift_right_arithmetic(left: Array, right: Array) -> Array:
    """The top bit comes in from the left, for unsigned types too; from the width on nothing else is left."""
    signed = SIGNED_OF_SIZE[left.dtype.itemsize]
    return np.right_shift(left.view(signed), right.view(signed)).view(left.dtype)


def power(base: Array, exponent: Array) -> Array:
    """Repeated multiplication, wrapping. A negative exponent gives 1 for 1, ±1 for -1, and 0 for all others."""
    result = np.ones_like(base)
    square = base.copy()
    bits = unsigned(exponent).copy()
    while bits.any():
        np.multiply(result, square, out=result, where=(bits & 1).astype(np.bool_))
        np.multiply(square, square, out=square)
        bits >>= 1
    if np.issubdtype(base.dtype, np.signedinteger):
        # The loop is right for ±1 here as well: the unsigned reading of an exponent keeps its parity.
        result[(exponent < 0) & (np.abs(base) != 1)] = 0
    return result


def multiply_high(left: Array, right: Array) -> Array:
    """The upper half of the product at twice the width."""
    width = left.dtype.itemsize * 8
    is_signed = np.issubdtype(left.dtype, np.signedinteger)
    if width < 64:
        wide = np.int64 if is_signed else np.uint64
        return ((left.astype(wide) * right.astype(wide)) >> width).astype(left.dtype)
    high = _multiply_high_unsigned(unsigned(left), unsigned(right))
    if is_signed:
        # As unsigned, a negative x reads as x + 2^64: each of them adds the other factor to the upper half.
        high -= np.where(left < 0, unsigned(right), 0).astype(np.uint64)
        high -= np.where(right < 0, unsigned(left), 0).astype(np.uint64)
    return high.view(left.dtype)


def _multiply_high_unsigned(left: Array, right: Array) -> Array:
    mask = np.uint64(0xFFFFFFFF)
    half = np.uint64(32)
    left_low, left_high = left & mask, left >> half
    right_low, right_high = right & mask, right >> half
    low_carry = (left_low * right_low) >> half
    middle = left_high * right_low + low_carry
    other_middle = left_low * right_high + (middle & mask)
    return left_high * right_high + (middle >> half) + (other_middle >> half)


def population_count(operand: Array) -> Array:
    """How many bits are set. (NumPy's own count takes the absolute value first.)"""
    return np.bitwise_count(unsigned(operand)).astype(operand.dtype)


def count_leading_zeros(operand: Array) -> Array:
    """Zeros above the highest set bit; the width for 0."""
    bits = unsigned(operand).copy()
    width = bits.dtype.itemsize * 8
    shift = 1
    while shift < width:  # afterwards every bit below the highest set one is set, too
        bits |= bits >> bits.dtype.type(shift)
        shift *= 2
    return (width - np.bitwise_count(bits)).astype(operand.dtype)


# The same for integers of 2 and 4 bits, of `kind`, whose bits are the lowest of a byte. Operands come as those bytes,
# with zeros above; of a result only the lowest bits count.


def narrow_shift_right_logical(_kind: PrimitiveType, left: Array, right: Array) -> Array:
    """Zeros come in from the left; 0 from the width on."""
    return np.right_shift(left, right)


def narrow_shift_right_arithmetic(kind: PrimitiveType, left: Array, right: Array) -> Array:
    """The top bit comes in from the left, for unsigned types too."""
    return np.right_shift(_extended(kind, left), right.view(np.int8)).view(np.uint8)


def narrow_multiply_high(kind: PrimitiveType, left: Array, right: Array) -> Array:
    """The upper half of the product, which a byte holds as a whole."""
    if kind.is_signed:
        return (np.multiply(_extended(kind, left), _extended(kind, right)) >> kind.bit_width).view(np.uint8)
    return np.multiply(left, right) >> kind.bit_width


def narrow_population_count(_kind: PrimitiveType, operand: Array) -> Array:
    """How many bits are set. It wraps where the type does not hold that many."""
    return np.bitwise_count(operand)


def narrow_count_leading_zeros(kind: PrimitiveType, operand: Array) -> Array:
    """Zeros above the highest set bit; the width for 0, which wraps in S2."""
    return np.subtract(count_leading_zeros(operand), np.uint8(8 - kind.bit_width))


def _extended(kind: PrimitiveType, operand: Array) -> Array:
    """The lowest bits of each byte as a signed number."""
    unused = 8 - kind.bit_width
    return np.left_shift(operand, np.uint8(unused)).view(np.int8) >> np.int8(unused)
