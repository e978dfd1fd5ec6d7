"""Which value may be reduced any number of times without a trace?"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from hlo import HloComputation, HloInstruction, Opcode, PrimitiveType

Scalar = np.ndarray[Any, np.dtype[Any]]


def identities(reducer: HloComputation, count: int) -> list[Scalar] | None:
    """The identity of each of `count` results, or None where a result is not one plain operation on its two elements.

    A reducer takes `count` accumulators, then as many elements.
    """
    root = reducer.root
    parts = list(root.operands) if root.opcode is Opcode.TUPLE else [root]
    if len(parts) != count:
        return None
    found = [_identity(part, number, count) for number, part in enumerate(parts)]
    values = [value for value in found if value is not None]
    return values if len(values) == count else None


def _identity(part: HloInstruction, number: int, count: int) -> Scalar | None:
    if len(part.operands) != 2 or any(o.opcode is not Opcode.PARAMETER for o in part.operands):
        return None
    if {operand.parameter_number for operand in part.operands} != {number, number + count}:
        return None
    return identity(part.opcode, part.array_shape.element_type)


def identity(opcode: Opcode, kind: PrimitiveType) -> Scalar | None:
    """The value `e` for which `e op x` is `x`, bit for bit, for all `x` but NaN. None for other operations."""
    if opcode is Opcode.ADD:
        return np.array(-0.0 if kind.is_float else 0).astype(kind.numpy)
    if opcode is Opcode.MULTIPLY:
        return np.array(1).astype(kind.numpy)
    if opcode is Opcode.MAXIMUM:
        return lowest(kind)
    if opcode is Opcode.MINIMUM:
        return highest(kind)
    if kind is PrimitiveType.PRED or kind.is_integral:
        if opcode in (Opcode.OR, Opcode.XOR):
            return np.zeros((), kind.numpy)
        if opcode is Opcode.AND:
            ones = np.array(True) if kind is PrimitiveType.PRED else ~np.zeros((), kind.numpy)
            return np.asarray(ones)
    return None


def lowest(kind: PrimitiveType) -> Scalar | None:
    """The least value of the type, -inf where it has one; None for complex types."""
    return _extreme(kind, "min", -1)


def highest(kind: PrimitiveType) -> Scalar | None:
    """The greatest value of the type, inf where it has one; None for complex types."""
    return _extreme(kind, "max", 1)


def _extreme(kind: PrimitiveType, which: str, sign: int) -> Scalar | None:
    if kind is PrimitiveType.PRED:
        return np.array(sign > 0)
    if kind.is_integral:
        return np.array(getattr(ml_dtypes.iinfo(kind.numpy), which)).astype(kind.numpy)
    if not kind.is_float:
        return None
    infinite = np.array(sign * np.inf).astype(kind.numpy)
    if np.isinf(infinite.astype(np.float64)):
        return infinite
    return np.array(getattr(ml_dtypes.finfo(kind.numpy), which)).astype(kind.numpy)
