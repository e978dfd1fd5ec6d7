"""What shape does a slice have, static or dynamic, and which start indices may it take?

Flags: `stock_passes.md` section 3.3 to 3.5.
"""

from __future__ import annotations

from collections.abc import Sequence

from hlo.attributes import Attributes, SliceBounds, SliceSizes
from hlo.infer.common import Rule, ShapeError, Signature, array, expect, result
from hlo.opcode import Opcode
from hlo.shape import ArrayShape, Shape


def _slice(
    operands: Sequence[Shape], attributes: Attributes, _c: Sequence[Signature], declared: Shape | None
) -> Shape:
    operand = array(operands[0])
    bounds = expect(attributes, SliceBounds)
    if not len(bounds.starts) == len(bounds.limits) == len(bounds.strides) == operand.rank:
        raise ShapeError(f"the slice is not one for each dimension of {operand}")
    sizes: list[int] = []
    for bound, start, limit, stride in zip(
        operand.dimensions, bounds.starts, bounds.limits, bounds.strides, strict=True
    ):
        if not 0 <= start <= limit <= bound or stride < 1:
            raise ShapeError(f"[{start}:{limit}:{stride}] does not slice a dimension of {bound} in {operand}")
        sizes.append(-((start - limit) // stride))
    flags: tuple[bool, ...] = ()
    if operand.dynamic:
        flags = tuple(flag and size != 1 for flag, size in zip(operand.dynamic, sizes, strict=True))
    return result(operand.element_type, tuple(sizes), flags, declared)


def _check_starts(starts: Sequence[Shape], rank: int) -> None:
    """One integral scalar for each dimension, all of one type; or, the older form, one vector of them all."""
    shapes = [array(start) for start in starts]
    if len(shapes) == 1 and shapes[0].rank == 1:
        if shapes[0].dimensions != (rank,):
            raise ShapeError(f"the start indices {shapes[0]} are not one for each of {rank} dimensions")
    elif len(shapes) != rank:
        raise ShapeError(f"{len(shapes)} start indices for {rank} dimensions")
    else:
        for shape in shapes:
            if shape.dimensions:
                raise ShapeError(f"the start indices {', '.join(map(str, shapes))} are not scalars")
    for shape in shapes:
        if not shape.element_type.is_integral or shape.element_type is not shapes[0].element_type:
            raise ShapeError(f"the start indices {', '.join(map(str, shapes))} are not of one integral type")


def _check_fits(sizes: tuple[int, ...], operand: ArrayShape) -> None:
    if len(sizes) != len(operand.dimensions):
        raise ShapeError(f"the sizes {list(sizes)} are not one for each dimension of {operand}")
    for size, bound in zip(sizes, operand.dimensions, strict=True):
        if not 0 <= size <= bound:
            raise ShapeError(f"size {size} does not fit a dimension of {bound} in {operand}")


def _dynamic_slice(
    operands: Sequence[Shape], attributes: Attributes, _c: Sequence[Signature], declared: Shape | None
) -> Shape:
    if not operands:
        raise ShapeError("expected an operand and its start indices")
    operand = array(operands[0])
    sizes = expect(attributes, SliceSizes).sizes
    _check_fits(sizes, operand)
    _check_starts(operands[1:], len(operand.dimensions))
    flags: tuple[bool, ...] = ()
    if operand.dynamic:
        kept = zip(operand.dynamic, sizes, operand.dimensions, strict=True)
        flags = tuple(flag and 1 < size == bound for flag, size, bound in kept)
    return result(operand.element_type, sizes, flags, declared)


def _dynamic_update_slice(
    operands: Sequence[Shape], _a: Attributes, _c: Sequence[Signature], declared: Shape | None
) -> Shape:
    if len(operands) < 2:
        raise ShapeError("expected an operand, an update and the start indices")
    operand, update = array(operands[0]), array(operands[1])
    if operand.element_type is not update.element_type:
        raise ShapeError(f"{operand} and its update {update} differ in element type")
    _check_fits(update.dimensions, operand)
    _check_starts(operands[2:], len(operand.dimensions))
    if not update.dynamic:
        return operand
    flags = tuple(
        operand.is_dynamic_dimension(d) or (update.dynamic[d] and update.dimensions[d] == bound)
        for d, bound in enumerate(operand.dimensions)
    )
    return result(operand.element_type, operand.dimensions, flags, declared)


RULES: dict[Opcode, Rule] = {
    Opcode.SLICE: _slice,
    Opcode.DYNAMIC_SLICE: _dynamic_slice,
    Opcode.DYNAMIC_UPDATE_SLICE: _dynamic_update_slice,
}
