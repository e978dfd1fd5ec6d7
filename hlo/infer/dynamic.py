"""What shape do the instructions have that ask for, set or use the size of a dynamic dimension?

Source: `stock_passes.md` sections 3.1, 3.2, 3.8 and, for what a reshape does to dynamic dimensions, 3.9.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

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


def common_factors(left: tuple[int, ...], right: tuple[int, ...]) -> list[tuple[int, int]]:
    """Where two dimension lists can be cut alike: pairs of positions, between which the products are equal.

    Source: `stock_passes.md` section 1.3. Size-1 dimensions form groups that are empty on one side.
    """
    ends = (len(left), len(right))
    prefix = next((k for k, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(ends))
    cuts = [(k, k) for k in range(prefix + 1)]
    if math.prod(left[prefix:]) != math.prod(right[prefix:]):
        return [(0, 0), ends]
    if not math.prod(left[prefix:]):
        return [*cuts, ends]
    i = j = prefix
    so_far, so_far_right = 1, 1
    while (i, j) != ends:
        level = so_far == so_far_right
        more, more_right = i < len(left), j < len(right)
        # at level, the smaller next dimension goes first, and equal ones go together
        next_left = so_far < so_far_right or (more and (not more_right or (level and left[i] <= right[j])))
        next_right = so_far_right < so_far or (more_right and (not more or (level and right[j] <= left[i])))
        if next_left:
            so_far *= left[i]
            i += 1
        if next_right:
            so_far_right *= right[j]
            j += 1
        if so_far == so_far_right:
            cuts.append((i, j))
    return cuts


def reshape_flags(operand: ArrayShape, dimensions: tuple[int, ...]) -> tuple[bool, ...]:
    """Which of the result's `dimensions` a reshape of `operand` makes dynamic.

    Raises ShapeError where upstream cannot tell. A dynamic dimension that is split into several parts bigger
    than 1 flags none of them: upstream lets the dynamism disappear.
    """
    flagged = {_flagged_dimension(operand, d, dimensions) for d, flag in enumerate(operand.dynamic) if flag}
    return tuple(d in flagged for d in range(len(dimensions)))


def _flagged_dimension(operand: ArrayShape, dimension: int, dimensions: tuple[int, ...]) -> int | None:
    last = operand.rank - 1
    if operand.dimensions[dimension] == 1:
        if dimension not in (0, last):
            raise ShapeError(f"dynamic dimension {dimension} of {operand} is 1 and neither first nor last")
        return len(dimensions) - 1 if dimension == last else 0
    cuts = common_factors(operand.dimensions, dimensions)
    (i, j), (i_end, j_end) = next(pair for pair in pairwise(cuts) if pair[0][0] <= dimension < pair[1][0])
    if i_end - i > 1 and j_end - j > 1:
        raise ShapeError(f"dynamic dimension {dimension} of {operand} is both split and combined")
    while (i, j - 1) in cuts:
        j -= 1
    while (i_end, j_end + 1) in cuts:
        j_end += 1
    bigger = [d for d in range(j, j_end) if dimensions[d] != 1]
    return bigger[0] if len(bigger) == 1 else None


RULES: dict[Opcode, Rule] = {
    Opcode.GET_DIMENSION_SIZE: _get_dimension_size,
    Opcode.SET_DIMENSION_SIZE: _set_dimension_size,
    Opcode.DYNAMIC_RESHAPE: _dynamic_reshape,
}
