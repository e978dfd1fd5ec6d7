"""What shape does an instruction have that rearranges, joins or spreads elements?"""

from __future__ import annotations

from collections.abc import Sequence

from hlo.attributes import Attributes, Dimensions, PaddingConfig, Rotation
from hlo.infer.common import (
    Rule,
    ShapeError,
    Signature,
    array,
    check_dimensions,
    declared_array,
    expect,
    only_dimension,
    result,
)
from hlo.opcode import Opcode
from hlo.primitive_type import PrimitiveType
from hlo.shape import ArrayShape, Shape


def _same_element_type(shape: ArrayShape, operand: ArrayShape) -> None:
    if shape.element_type is not operand.element_type:
        raise ShapeError(f"{operand} and {shape} differ in element type")


def _broadcast(
    operands: Sequence[Shape], attributes: Attributes, _c: Sequence[Signature], declared: Shape | None
) -> Shape:
    """Dimension i of the operand is dimension `dimensions[i]` of the result and has its bound.

    Unlike at the level of XlaBuilder or StableHLO, a dimension of size 1 is not stretched. Whether mapped
    dimensions agree in their dynamic flags is left to the author, as upstream's verifier does.
    """
    operand, shape = array(operands[0]), declared_array(declared)
    mapping = expect(attributes, Dimensions).dimensions
    _same_element_type(shape, operand)
    if len(mapping) != operand.rank:
        raise ShapeError(f"dimensions {list(mapping)} are not one for each dimension of {operand}")
    check_dimensions(mapping, shape.rank)
    for size, to in zip(operand.dimensions, mapping, strict=True):
        if shape.dimensions[to] != size:
            raise ShapeError(f"dimension {to} of {shape} is not {size} as in {operand}")
    return shape


def _reshape(
    operands: Sequence[Shape], _a: Attributes, _c: Sequence[Signature], declared: Shape | None
) -> Shape:
    operand, shape = array(operands[0]), declared_array(declared)
    _same_element_type(shape, operand)
    if shape.element_count != operand.element_count:
        raise ShapeError(f"{operand} has {operand.element_count} elements, {shape} {shape.element_count}")
    return shape


def _bitcast(
    operands: Sequence[Shape], _a: Attributes, _c: Sequence[Signature], declared: Shape | None
) -> Shape:
    """The same bytes read as another shape; their number must not change."""
    operand, shape = array(operands[0]), declared_array(declared)
    old = operand.element_count * operand.element_type.bit_width
    new = shape.element_count * shape.element_type.bit_width
    if old != new:
        raise ShapeError(f"{operand} has {old} bits, {shape} {new}")
    return shape


def _transpose(
    operands: Sequence[Shape], attributes: Attributes, _c: Sequence[Signature], declared: Shape | None
) -> Shape:
    operand = array(operands[0])
    permutation = expect(attributes, Dimensions).dimensions
    if len(permutation) != operand.rank:
        raise ShapeError(f"dimensions {list(permutation)} do not permute those of {operand}")
    check_dimensions(permutation, operand.rank)
    flags = tuple(operand.dynamic[d] for d in permutation) if operand.dynamic else ()
    return result(operand.element_type, tuple(operand.dimensions[d] for d in permutation), flags, declared)


def _reverse(
    operands: Sequence[Shape], attributes: Attributes, _c: Sequence[Signature], _d: Shape | None
) -> Shape:
    operand = array(operands[0])
    check_dimensions(expect(attributes, Dimensions).dimensions, operand.rank)
    return operand


def _concatenate(
    operands: Sequence[Shape], attributes: Attributes, _c: Sequence[Signature], declared: Shape | None
) -> Shape:
    """Bounds add up along the dimension and agree elsewhere; flags of all operands are merged."""
    shapes = [array(operand) for operand in operands]
    if not shapes:
        raise ShapeError("expected at least one operand")
    first = shapes[0]
    along = only_dimension(expect(attributes, Dimensions).dimensions, first.rank)
    before, after = first.dimensions[:along], first.dimensions[along + 1 :]
    for shape in shapes:
        _same_element_type(shape, first)
        if (
            shape.rank != first.rank
            or shape.dimensions[:along] != before
            or shape.dimensions[along + 1 :] != after
        ):
            raise ShapeError(f"{first} and {shape} differ in another dimension than {along}")
    total = sum(shape.dimensions[along] for shape in shapes)
    dynamic = [shape.dynamic for shape in shapes if shape.dynamic]
    flags = tuple(any(flag) for flag in zip(*dynamic, strict=True))
    return result(first.element_type, (*before, total, *after), flags, declared)


def _pad(
    operands: Sequence[Shape], attributes: Attributes, _c: Sequence[Signature], declared: Shape | None
) -> Shape:
    """low + size + high + interior for each gap; negative edges crop, after the interior is put in."""
    operand, value = array(operands[0]), array(operands[1])
    padding = expect(attributes, PaddingConfig)
    _same_element_type(value, operand)
    if value.dimensions:
        raise ShapeError(f"the padding value is not a scalar but {value}")
    rank = operand.rank
    if not len(padding.low) == len(padding.high) == len(padding.interior) == rank:
        raise ShapeError(f"the padding is not one for each dimension of {operand}")
    if any(interior < 0 for interior in padding.interior):
        raise ShapeError(f"interior padding {list(padding.interior)} is negative")
    sizes = tuple(
        size + low + high + max(size - 1, 0) * interior
        for size, low, high, interior in zip(
            operand.dimensions, padding.low, padding.high, padding.interior, strict=True
        )
    )
    if any(size < 0 for size in sizes):
        raise ShapeError(f"the padding leaves {list(sizes)} of {operand}")
    return result(operand.element_type, sizes, operand.dynamic, declared)


def _iota(
    _o: Sequence[Shape], attributes: Attributes, _c: Sequence[Signature], declared: Shape | None
) -> Shape:
    shape = declared_array(declared)
    only_dimension(expect(attributes, Dimensions).dimensions, shape.rank)
    if shape.element_type is PrimitiveType.PRED:
        raise ShapeError("iota does not count in pred")
    return shape


def _shuffle(
    operands: Sequence[Shape], attributes: Attributes, _c: Sequence[Signature], _d: Shape | None
) -> Shape:
    operand, rotation = array(operands[0]), expect(attributes, Rotation)
    check_dimensions(rotation.dimensions, operand.rank)
    if len(rotation.shifts) != len(rotation.dimensions):
        raise ShapeError(f"{len(rotation.shifts)} shifts for {len(rotation.dimensions)} dimensions")
    return operand


RULES: dict[Opcode, Rule] = {
    Opcode.BROADCAST: _broadcast,
    Opcode.RESHAPE: _reshape,
    Opcode.BITCAST: _bitcast,
    Opcode.TRANSPOSE: _transpose,
    Opcode.REVERSE: _reverse,
    Opcode.CONCATENATE: _concatenate,
    Opcode.PAD: _pad,
    Opcode.IOTA: _iota,
    Opcode.SHUFFLE: _shuffle,
}
