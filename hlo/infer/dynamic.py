"""What shape do the instructions have that ask for, set or use the size of a dynamic dimension?

Source: `stock_passes.md` sections 3.1, 3.2 and 3.8.
"""

from __future__ import annotations

from collections.abc import Sequence

from hlo.attributes import Attributes, Dimensions
from hlo.infer.common import (
    Rule,
    ShapeError,
    Signature,
    array,
    declared_array,
    expect,
    only_dimension,
    result,
)
from hlo.opcode import Opcode
from hlo.primitive_type import PrimitiveType
from hlo.shape import ArrayShape, Shape

SIZE = ArrayShape(PrimitiveType.S32)
LARGEST = 2**31 - 1


def _dimension(shape: ArrayShape, attributes: Attributes) -> int:
    """The dimension worked on, whose bound must fit the s32 that its size comes in."""
    dimension = only_dimension(expect(attributes, Dimensions).dimensions, shape.rank)
    if shape.dimensions[dimension] > LARGEST:
        raise ShapeError(f"dimension {dimension} of {shape} does not fit s32")
    return dimension


def _get_dimension_size(
    operands: Sequence[Shape], attributes: Attributes, _c: Sequence[Signature], _d: Shape | None
) -> Shape:
    _dimension(array(operands[0]), attributes)
    return SIZE


def _set_dimension_size(
    operands: Sequence[Shape], attributes: Attributes, _c: Sequence[Signature], declared: Shape | None
) -> Shape:
    operand, size = array(operands[0]), array(operands[1])
    dimension = _dimension(operand, attributes)
    if size != SIZE:
        raise ShapeError(f"the size is {size}, not s32[]")
    flags = tuple(operand.is_dynamic_dimension(d) or d == dimension for d in range(operand.rank))
    return result(operand.element_type, operand.dimensions, flags, declared)


def _dynamic_reshape(
    operands: Sequence[Shape], _a: Attributes, _c: Sequence[Signature], declared: Shape | None
) -> Shape:
    """An operand, then the size of each result dimension as s32[]; the declared shape has the bounds.

    Upstream's check of the sizes lets s64[] and s32[3] pass, which its own text forbids; we do not.
    """
    if not operands:
        raise ShapeError("expected an operand and the sizes")
    operand, shape = array(operands[0]), declared_array(declared)
    if shape.element_type is not operand.element_type or shape.element_count != operand.element_count:
        raise ShapeError(f"{operand} and {shape} differ in element type or number of elements")
    if len(operands) != shape.rank + 1 or any(size != SIZE for size in operands[1:]):
        raise ShapeError(f"the sizes are not one s32[] for each dimension of {shape}")
    return shape


RULES: dict[Opcode, Rule] = {
    Opcode.GET_DIMENSION_SIZE: _get_dimension_size,
    Opcode.SET_DIMENSION_SIZE: _set_dimension_size,
    Opcode.DYNAMIC_RESHAPE: _dynamic_reshape,
}
