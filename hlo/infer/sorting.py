"""What shape do a sort and a topk have, and what must a comparator look like?"""

from __future__ import annotations

from collections.abc import Sequence

from hlo.attributes import Attributes, SortDimension, TopKOptions
from hlo.infer.common import Rule, ShapeError, Signature, array, check_dimension, expect, result
from hlo.opcode import Opcode
from hlo.primitive_type import PrimitiveType
from hlo.shape import ArrayShape, Shape, TupleShape

_PRED = ArrayShape(PrimitiveType.PRED)


def _sort(
    operands: Sequence[Shape], attributes: Attributes, called: Sequence[Signature], declared: Shape | None
) -> Shape:
    """Operands of the same dimensions; the comparator takes two elements of each, side by side.

    One operand gives an array, several give a tuple. Source: `ShapeVerifier::HandleSort` upstream.
    """
    if not operands:
        raise ShapeError("expected at least one operand")
    shapes = [array(operand) for operand in operands]
    if any(shape.dimensions != shapes[0].dimensions for shape in shapes):
        raise ShapeError(f"operands differ in dimensions: {', '.join(map(str, shapes))}")
    check_dimension(expect(attributes, SortDimension).dimension, shapes[0].rank)
    comparator = called[0]
    takes = tuple(ArrayShape(shape.element_type) for shape in shapes for _ in range(2))
    if comparator.parameters != takes:
        actual, expected = ", ".join(map(str, comparator.parameters)), ", ".join(map(str, takes))
        raise ShapeError(f"the comparator takes ({actual}), expected ({expected})")
    if comparator.result != _PRED:
        raise ShapeError(f"the comparator gives {comparator.result}, not pred[]")
    if len(shapes) == 1:
        return shapes[0]
    shape = TupleShape(tuple(shapes))
    return declared if declared is not None and declared == shape else shape


def _topk(
    operands: Sequence[Shape], attributes: Attributes, _c: Sequence[Signature], _d: Shape | None
) -> Shape:
    """The k values and their indices in the last dimension, whose flag goes. Source: `InferTopKShape` upstream."""
    operand = array(operands[0])
    k = expect(attributes, TopKOptions).k
    if not operand.dimensions:
        raise ShapeError("a scalar has no last dimension")
    if not 0 <= k <= operand.dimensions[-1]:
        raise ShapeError(f"k {k} is not in [0, {operand.dimensions[-1]}], the last dimension of {operand}")
    sizes = (*operand.dimensions[:-1], k)
    flags = (*operand.dynamic[:-1], False) if operand.dynamic else ()
    values = result(operand.element_type, sizes, flags, None)
    return TupleShape((values, result(PrimitiveType.S32, sizes, flags, None)))


RULES: dict[Opcode, Rule] = {Opcode.SORT: _sort, Opcode.TOPK: _topk}
