"""What shape does a dot have?"""

from __future__ import annotations

from collections.abc import Sequence

from hlo.attributes import Attributes, DotDimensions
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
    numbers = expect(attributes, DotDimensions)
    check_dimensions((*numbers.lhs_contracting, *numbers.lhs_batch), left.rank)
    check_dimensions((*numbers.rhs_contracting, *numbers.rhs_batch), right.rank)
    for what, lefts, rights in (
        ("contracting", numbers.lhs_contracting, numbers.rhs_contracting),
        ("batch", numbers.lhs_batch, numbers.rhs_batch),
    ):
        if [left.dimensions[d] for d in lefts] != [right.dimensions[d] for d in rights]:
            raise ShapeError(
                f"{what} dimensions {list(lefts)} of {left} and {list(rights)} of {right} differ"
            )
    left_free = _free(left.rank, numbers.lhs_contracting, numbers.lhs_batch)
    right_free = _free(right.rank, numbers.rhs_contracting, numbers.rhs_batch)
    from_left = (*numbers.lhs_batch, *left_free)
    sizes = (*(left.dimensions[d] for d in from_left), *(right.dimensions[d] for d in right_free))
    flags: tuple[bool, ...] = ()
    if left.dynamic or right.dynamic:
        flags = (
            *(left.is_dynamic_dimension(d) for d in from_left),
            *(right.is_dynamic_dimension(d) for d in right_free),
        )
    element_type = product_type(left, right, declared)
    return result(element_type, sizes, flags, declared)


def _free(rank: int, contracting: tuple[int, ...], batch: tuple[int, ...]) -> list[int]:
    return [d for d in range(rank) if d not in contracting and d not in batch]


RULES: dict[Opcode, Rule] = {Opcode.DOT: _dot}
