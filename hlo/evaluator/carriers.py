"""In which type is a function computed, so that its value in the operands' own type is right?"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hlo.evaluator.conversion import convert, wrap_narrow
from hlo.evaluator.kernels import Array
from hlo.primitive_type import PrimitiveType

Function = Callable[..., Array]


def in_float32(function: Function) -> Function:
    """`function`, computed in F32 for narrower floats and rounded once."""

    def narrow(*operands: Array) -> Array:
        return function(*[operand.astype(np.float32) for operand in operands]).astype(operands[0].dtype)

    return narrow


def contiguous(function: Function) -> Function:
    """`function` of operands that lie in memory one element after another."""

    # NumPy may take another algorithm, which rounds differently, for what lies backwards in memory. The value of
    # an instruction must not depend on how its operand was made.
    def in_order(*operands: Array) -> Array:
        return function(*[np.ascontiguousarray(operand) for operand in operands])

    return in_order


_WIDER = {
    np.dtype(np.complex64): np.complex128,
    np.dtype(np.complex128): np.clongdouble,  # wider where the platform has something wider
}


def precise(function: Function) -> Function:
    """`function`, an approximation, computed in F64 for real numbers and in twice the precision for complex ones."""

    def rounded(*operands: Array) -> Array:
        dtype = operands[0].dtype
        carrier = _WIDER.get(dtype, np.float64)
        return function(*[np.ascontiguousarray(x, carrier) for x in operands]).astype(dtype, copy=False)

    return rounded


def in_bytes(function: Function, element_type: PrimitiveType) -> Function:
    """`function`, computed in whole bytes for a 2- or 4-bit integer type and wrapped to that."""
    carrier = np.int8 if element_type.is_signed else np.uint8

    def narrow(*operands: Array) -> Array:
        return wrap_narrow(function(*[operand.astype(carrier) for operand in operands]), element_type)

    return narrow


def in_bits(function: Callable[..., Array], element_type: PrimitiveType) -> Function:
    """`function(element_type, *bytes)` of the bits of a 2- or 4-bit integer type, wrapped to that."""
    mask = np.uint8((1 << element_type.bit_width) - 1)
    carrier = np.int8 if element_type.is_signed else np.uint8

    def narrow(*operands: Array) -> Array:
        low = [operand.astype(carrier).view(np.uint8) & mask for operand in operands]
        return wrap_narrow(function(element_type, *low).view(carrier), element_type)

    return narrow


def in_unsigned_exponents(function: Function) -> Function:
    """`function` of F8E8M0FNU, computed in F64 and rounded once to a power of two, of two equally near the larger.

    The type has neither sign nor zero: what would be negative or zero is NaN, as XLA CPU has it too, while StableHLO's
    interpreter drops the sign and takes the least number for zero. What is too small for the type is its least number.
    """

    def rounded(*operands: Array) -> Array:
        result = function(*[operand.astype(np.float64) for operand in operands])
        if result.dtype != np.float64:
            return result
        return convert(result, PrimitiveType.F64, PrimitiveType.F8E8M0FNU)

    return rounded
