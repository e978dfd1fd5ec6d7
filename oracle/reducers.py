"""Is a called computation one of those that everybody writes: a plain reducer, a plain comparator?"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from hlo import HloComputation, HloInstruction, Opcode, PrimitiveType
from hlo.attributes import Comparison

Array = np.ndarray[Any, np.dtype[Any]]

_PLAIN = frozenset(
    {Opcode.ADD, Opcode.AND, Opcode.MAXIMUM, Opcode.MINIMUM, Opcode.MULTIPLY, Opcode.OR, Opcode.XOR}
)
_SWAPPED = {"LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE", "EQ": "EQ", "NE": "NE"}


def plain_reducer(computation: HloComputation) -> Opcode | None:
    """The commutative opcode that `computation` applies to its two parameters, and nothing else; or None."""
    root = computation.root
    both = set(computation.parameters)
    return root.opcode if root.opcode in _PLAIN and len(both) == 2 and set(root.operands) == both else None


def keeps_the_second(computation: HloComputation) -> bool:
    """Whether `computation` gives the second of its two parameters, as a scatter that overwrites does."""
    return len(computation.parameters) == 2 and computation.root is computation.parameters[1]


def plain_comparison(comparator: HloComputation) -> tuple[int, Comparison] | None:
    """The operand of a sort that alone is its key, and how two of its elements are compared; or None.

    A comparator takes two elements of each operand: parameters 2 k and 2 k + 1 are of operand k.
    """
    root = comparator.root
    attributes = root.attributes
    if root.opcode is not Opcode.COMPARE or not isinstance(attributes, Comparison):
        return None
    left, right = root.operands
    if left.opcode is not Opcode.PARAMETER or right.opcode is not Opcode.PARAMETER:
        return None
    first, second = left.parameter_number, right.parameter_number
    if first // 2 != second // 2 or first == second:
        return None
    if first > second:
        attributes = Comparison(_SWAPPED[attributes.direction], attributes.type)
    return first // 2, attributes


def orders_all_floats(comparator: HloComputation) -> bool:
    """Whether NaNs have their place in the order: every comparison of floats is by the total order."""
    return all(map(_is_total, comparator.instructions))


def _is_total(inst: HloInstruction) -> bool:
    attributes = inst.attributes
    if not isinstance(attributes, Comparison) or not inst.operand(0).array_shape.element_type.is_float:
        return True
    return attributes.type == "TOTALORDER"


def identity(opcode: Opcode, element_type: PrimitiveType) -> Array | None:
    """The scalar e with `opcode`(e, x) = x for every x of `element_type`; None where there is none."""
    dtype = element_type.numpy
    match opcode:
        case Opcode.ADD | Opcode.OR | Opcode.XOR:
            return np.zeros((), dtype)
        case Opcode.MULTIPLY:
            return np.ones((), dtype)
        case Opcode.AND:
            return np.array(True) if element_type is PrimitiveType.PRED else np.array(~np.zeros((), dtype))
        case Opcode.MAXIMUM | Opcode.MINIMUM if not element_type.is_complex:
            return _end(element_type, lowest=opcode is Opcode.MAXIMUM)
        case _:
            return None


def _end(element_type: PrimitiveType, *, lowest: bool) -> Array:
    """The least or the greatest value of a type: an infinity where it has one."""
    dtype = element_type.numpy
    if element_type is PrimitiveType.PRED:
        return np.array(not lowest)
    if element_type.is_integral:
        info = ml_dtypes.iinfo(dtype)
        return np.array(info.min if lowest else info.max, dtype)
    limit = ml_dtypes.finfo(dtype)
    with np.errstate(all="ignore"):
        infinity = np.array(-np.inf if lowest else np.inf).astype(dtype)
    wanted = -np.inf if lowest else np.inf
    return infinity if float(infinity) == wanted else np.array(limit.min if lowest else limit.max, dtype)
