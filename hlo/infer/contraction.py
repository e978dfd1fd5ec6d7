"""What shape do a dot, a ragged dot and a scaled dot have?"""

from __future__ import annotations

from collections.abc import Sequence

from hlo.attributes import Attributes, DotDimensions, RaggedDotDimensions
from hlo.infer.common import (
    Rule,
    ShapeError,
    Signature,
    array,
    check_dimensions,
    expect,
    result,
    same_but_for_float_precision,
)
from hlo.opcode import Opcode
from hlo.primitive_type import PrimitiveType
from hlo.shape import ArrayShape, Shape


def product_type(left: ArrayShape, right: ArrayShape, declared: Shape | None) -> PrimitiveType:
    """The declared type, where it is no narrower than integral operands; otherwise that of the operands.

    Source: `MaybeUpcast` upstream.
    """
    if not same_but_for_float_precision(left.element_type, right.element_type):
        if (
            left.element_type.is_integral
            and right.element_type.is_integral
            and isinstance(declared, ArrayShape)
        ):
            return declared.element_type  # mixed signedness: only the declared shape says what comes out
        raise ShapeError(f"{left} and {right} differ in element type")
    wider = max(left.element_type, right.element_type, key=lambda t: t.bit_width)
    if not isinstance(declared, ArrayShape) or declared.element_type is wider:
        return wider
    if not wider.is_float and declared.element_type.bit_width < wider.bit_width:
        raise ShapeError(f"{declared.element_type.text} is narrower than {wider.text}")
    return declared.element_type


def _dot(
    operands: Sequence[Shape], attributes: Attributes, _c: Sequence[Signature], declared: Shape | None
) -> Shape:
    """Batch dimensions, then what is left of the left operand, then of the right, each in order."""
    if len(operands) != 2:
        raise ShapeError(f"expected two operands, got {len(operands)}")
    left, right = array(operands[0]), array(operands[1])
    return _product(left, right, expect(attributes, DotDimensions), declared)


def _product(
    left: ArrayShape,
    right: ArrayShape,
    numbers: DotDimensions,
    declared: Shape | None,
    groups: ArrayShape | None = None,
    group_dims: tuple[int, ...] = (),
) -> ArrayShape:
    """A dot. `groups`, an array of one dimension, comes first; `group_dims` of the right operand are left out."""
    check_dimensions((*numbers.lhs_contracting, *numbers.lhs_batch), left.rank)
    check_dimensions((*numbers.rhs_contracting, *numbers.rhs_batch, *group_dims), right.rank)
    for what, lefts, rights in (
        ("contracting", numbers.lhs_contracting, numbers.rhs_contracting),
        ("batch", numbers.lhs_batch, numbers.rhs_batch),
    ):
        if [left.dimensions[d] for d in lefts] != [right.dimensions[d] for d in rights]:
            raise ShapeError(
                f"{what} dimensions {list(lefts)} of {left} and {list(rights)} of {right} differ"
            )
    from_left = (*numbers.lhs_batch, *_free(left.rank, numbers.lhs_contracting, numbers.lhs_batch))
    from_right = _free(right.rank, numbers.rhs_contracting, (*numbers.rhs_batch, *group_dims))
    parts = [(left, d) for d in from_left] + [(right, d) for d in from_right]
    if groups is not None:
        parts.insert(0, (groups, groups.rank - 1))
    flags = tuple(shape.is_dynamic_dimension(d) for shape, d in parts)
    sizes = tuple(shape.dimensions[d] for shape, d in parts)
    return result(product_type(left, right, declared), sizes, flags, declared)


def _ragged_dot(
    operands: Sequence[Shape], attributes: Attributes, _c: Sequence[Signature], declared: Shape | None
) -> Shape:
    """A dot whose left ragged dimension is divided into groups, of the sizes that the third operand lists.

    A ragged dimension that is free meets one slice of the right operand a group; one that is contracted gives one
    product a group, along a first dimension of the result; one that is a batch changes nothing.

    Source: `InferRaggedDotOpShape` upstream; the sizes may also be listed for each place of the dimensions that are
    outside of the ragged one, as in `ragged_dot_rewriter.cc` there.
    """
    left, right, sizes = map(array, operands)
    numbers = expect(attributes, RaggedDotDimensions)
    if len(numbers.lhs_ragged) != 1:
        raise ShapeError(f"expected one ragged dimension, got {list(numbers.lhs_ragged)}")
    (ragged,) = numbers.lhs_ragged
    check_dimensions(numbers.lhs_ragged, left.rank)
    contracted, batch = ragged in numbers.dot.lhs_contracting, ragged in numbers.dot.lhs_batch
    expected = 0 if contracted or batch else 1
    if len(numbers.rhs_group) != expected:
        raise ShapeError(f"expected {expected} group dimensions, got {list(numbers.rhs_group)}")
    if not sizes.element_type.is_integral or not sizes.dimensions:
        raise ShapeError(f"{sizes} does not list the sizes of groups")
    outside = tuple(left.dimensions[d] for d in numbers.outside(left.rank))
    if sizes.dimensions[:-1] not in ((), outside):
        raise ShapeError(f"{sizes} does not list the sizes of groups for each of {list(outside)}")
    shape = _product(left, right, numbers.dot, declared, sizes if contracted else None, numbers.rhs_group)
    if expected and right.dimensions[numbers.rhs_group[0]] != sizes.dimensions[-1]:
        raise ShapeError(f"dimension {numbers.rhs_group[0]} of {right} has no element for each of {sizes}")
    return shape


def _scaled_dot(
    operands: Sequence[Shape], attributes: Attributes, _c: Sequence[Signature], declared: Shape | None
) -> Shape:
    """Two operands, then the scale of each: of the same rank, and each size a divisor of the operand's.

    A scalar stands for no scale. Source: `CheckOperandAndScaleShapes` in upstream's scaled_dot_rewriter.cc.
    """
    left, right, *scales = map(array, operands)
    for operand, scale in zip((left, right), scales, strict=True):
        if not (operand.element_type.is_float and scale.element_type.is_float):
            raise ShapeError(f"{operand} and {scale} are not floats and their scales")
        fits = len(scale.dimensions) in (0, operand.rank) and all(
            size == part or (part and size % part == 0)
            for size, part in zip(operand.dimensions, scale.dimensions, strict=False)
        )
        if not fits:
            raise ShapeError(f"{scale} does not divide {operand} into blocks")
    return _product(left, right, expect(attributes, DotDimensions), declared)


def _free(rank: int, contracting: tuple[int, ...], batch: tuple[int, ...]) -> list[int]:
    return [d for d in range(rank) if d not in contracting and d not in batch]


RULES: dict[Opcode, Rule] = {
    Opcode.DOT: _dot,
    Opcode.RAGGED_DOT: _ragged_dot,
    Opcode.SCALED_DOT: _scaled_dot,
}
