"""What do HLO's floating-point operations give where NumPy has no such function or leaves something open?

Operands are arrays of rank 1 or more; results are fresh arrays of the same dtype.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from hlo.evaluator.kernels import Array, unsigned
from hlo.primitive_type import PrimitiveType

_LN2 = np.log(np.longdouble(2))


def maximum(left: Array, right: Array) -> Array:
    """IEEE 754 `maximum`: NaN wins, and +0 is greater than -0 (StableHLO's specification, `maximum`)."""
    result = np.maximum(left, right)
    if np.count_nonzero(result) != result.size:
        # Of two zeros NumPy returns one or the other, as its vector instructions have it. Equal numbers other
        # than zeros have equal bits, so this only clears the sign where one of two zeros is positive.
        np.bitwise_and(unsigned(left), unsigned(right), out=unsigned(result), where=np.equal(left, right))
    return result


def minimum(left: Array, right: Array) -> Array:
    """IEEE 754 `minimum`: NaN wins, and -0 is less than +0."""
    result = np.minimum(left, right)
    if np.count_nonzero(result) != result.size:
        np.bitwise_or(unsigned(left), unsigned(right), out=unsigned(result), where=np.equal(left, right))
    return result


def sign(operand: Array) -> Array:
    """-1, -0, +0 or 1; NaN for NaN."""
    return np.copysign(np.sign(operand), operand)


def complex_sign(operand: Array) -> Array:
    """z/|z|, and 0 for 0."""
    size = np.abs(operand)
    return np.where(size == 0, 0, operand / size).astype(operand.dtype)


def complex_exp2(operand: Array) -> Array:
    """2^z = e^(z ln 2)."""
    return np.exp(operand * _LN2.astype(np.real(operand).dtype))


def complex_log2(operand: Array) -> Array:
    """ln z / ln 2."""
    return np.log(operand) / _LN2.astype(np.real(operand).dtype)


def complex_expm1(operand: Array) -> Array:
    """e^z - 1. On the real axis it is real, also where e^x is infinite or NaN (C11, G.6.3.1, of `cexp`).

    What an infinite imaginary part gives is implementation-defined: StableHLO's interpreter has other values.
    """
    whole, height = np.expm1(operand), np.imag(operand)
    parts = np.stack([np.real(whole), np.where(height == 0, height, np.imag(whole))], axis=-1)
    return parts.view(operand.dtype)[..., 0]


def rsqrt(operand: Array) -> Array:
    """1/√x, rounded after each of the two steps."""
    return np.divide(operand.dtype.type(1), np.sqrt(operand))


def logistic(operand: Array) -> Array:
    """1/(1 + e^-x), rounded after each step."""
    one = operand.dtype.type(1)
    return np.divide(one, np.add(one, np.exp(np.negative(operand))))


def erf(operand: Array) -> Array:
    """The error function, computed in double precision."""
    values = [math.erf(x) for x in operand.ravel().tolist()]
    return np.array(values, np.float64).reshape(operand.shape).astype(operand.dtype)


def round_nearest_afz(operand: Array) -> Array:
    """To the nearest integer, halves away from zero."""
    # x + 0.5 would round: the largest number below 0.5 must give 0.
    whole = np.trunc(operand)
    away = np.abs(np.subtract(operand, whole)) >= 0.5
    return np.where(away, whole + np.copysign(operand.dtype.type(1), operand), whole)


def total_order_key(operand: Array) -> Array:
    """Signed integers that sort as IEEE 754 `totalOrder` does: -NaN, -∞ … -0, +0 … ∞, NaN."""
    bits = unsigned(operand)
    signed = bits.view(f"i{bits.dtype.itemsize}")
    return np.where(signed < 0, signed ^ np.iinfo(signed.dtype).max, signed)


def total_order_key_of(element_type: PrimitiveType) -> Callable[[Array], Array]:
    """The function that makes such keys for arrays of `element_type`."""
    if element_type is PrimitiveType.F8E8M0FNU:
        return unsigned  # its numbers have no sign, and its NaN is the last code
    if element_type is PrimitiveType.F4E2M1FN:
        return lambda x: total_order_key(unsigned(x) << np.uint8(4))  # the sign is the top one of four bits
    return total_order_key
