"""What shape does a scan have, and what must its computation look like?"""

from __future__ import annotations

from collections.abc import Sequence

from hlo.attributes import Attributes, ScanOptions
from hlo.infer.common import Rule, ShapeError, Signature, array, check_dimension, expect, result
from hlo.opcode import Opcode
from hlo.shape import ArrayShape, Shape, TupleShape


def _scan(
    operands: Sequence[Shape], attributes: Attributes, called: Sequence[Signature], _d: Shape | None
) -> Shape:
    """Inputs, then what each carry starts as; the computation takes a slice of each input, then the carries.

    It gives the elements of the outputs, then the next carries; the scan gives the outputs, with the scanned dimension
    put back, then the last carries. A computation that gives an array makes a scan that gives an array.

    Source: `ScanExpander` upstream.
    """
    scan = expect(attributes, ScanOptions)
    shapes = [array(operand) for operand in operands]
    if not 0 <= scan.num_carries < len(shapes):
        raise ShapeError(f"{len(shapes)} operands are not an input and {scan.num_carries} carries")
    count = len(shapes) - scan.num_carries
    inputs, starts = shapes[:count], shapes[count:]
    for shape in inputs:
        check_dimension(scan.dimension, shape.rank)
        if shape.is_dynamic_dimension(scan.dimension):
            raise ShapeError(f"the scanned dimension of {shape} is dynamic")
    sizes = {shape.dimensions[scan.dimension] for shape in inputs}
    if len(sizes) != 1:
        raise ShapeError(f"inputs differ along dimension {scan.dimension}: {_listed(inputs)}")
    body = called[0]
    takes = (*(_slice(shape, scan.dimension) for shape in inputs), *starts)
    if body.parameters != takes:
        raise ShapeError(f"the computation takes ({_listed(body.parameters)}), expected ({_listed(takes)})")
    gives = body.result.elements if isinstance(body.result, TupleShape) else (body.result,)
    made = len(gives) - scan.num_carries
    if made < 0 or list(gives[made:]) != starts:
        raise ShapeError(
            f"the computation gives ({_listed(gives)}), which does not end in ({_listed(starts)})"
        )
    outputs = [_stacked(array(shape), scan.dimension, sizes.copy().pop()) for shape in gives[:made]]
    whole = (*outputs, *starts)
    return TupleShape(whole) if isinstance(body.result, TupleShape) else whole[0]


def _slice(shape: ArrayShape, dimension: int) -> ArrayShape:
    sizes = shape.dimensions
    flags = shape.dynamic
    return result(
        shape.element_type,
        sizes[:dimension] + sizes[dimension + 1 :],
        flags[:dimension] + flags[dimension + 1 :],
        None,
    )


def _stacked(element: ArrayShape, dimension: int, size: int) -> ArrayShape:
    if dimension > element.rank:
        raise ShapeError(f"{element} has no room for dimension {dimension}")
    sizes = (*element.dimensions[:dimension], size, *element.dimensions[dimension:])
    flags = element.dynamic
    if flags:
        flags = (*flags[:dimension], False, *flags[dimension:])
    return result(element.element_type, sizes, flags, None)


def _listed(shapes: Sequence[Shape]) -> str:
    return ", ".join(map(str, shapes))


RULES: dict[Opcode, Rule] = {Opcode.SCAN: _scan}
