"""What shape does a reduce have, and what must its computation look like?

Types follow `InferReduceShape` upstream: the reducer decides the element type, and floats may differ in
precision between input, initial value and accumulator.
"""

from __future__ import annotations

from collections.abc import Sequence

from hlo.attributes import Attributes, Dimensions
from hlo.infer.common import (
    Rule,
    ShapeError,
    Signature,
    array,
    check_dimensions,
    expect,
    result,
    same_but_for_float_precision,
    with_flags_of,
)
from hlo.opcode import Opcode
from hlo.shape import ArrayShape, Shape, TupleShape


def _accumulators(
    reducer: Signature, inputs: Sequence[ArrayShape], inits: Sequence[ArrayShape]
) -> list[ArrayShape]:
    """What the reducer gives, one scalar an input. Its parameters are the accumulators, then the elements."""
    count = len(inputs)
    gives = reducer.result.elements if isinstance(reducer.result, TupleShape) else (reducer.result,)
    if len(gives) != count:
        raise ShapeError(f"the reducer gives {reducer.result}, expected {count} scalars")
    if len(reducer.parameters) != 2 * count:
        raise ShapeError(f"the reducer takes {len(reducer.parameters)} parameters, expected {2 * count}")
    accumulators = [array(shape) for shape in gives]
    for i, accumulator in enumerate(accumulators):
        if accumulator.dimensions:
            raise ShapeError(f"the reducer gives {reducer.result}, expected {count} scalars")
        if reducer.parameters[i] != accumulator:
            raise ShapeError(f"parameter {i} of the reducer is {reducer.parameters[i]}, not {accumulator}")
        element = array(reducer.parameters[count + i])
        if element.dimensions or not same_but_for_float_precision(
            element.element_type, inputs[i].element_type
        ):
            raise ShapeError(
                f"parameter {count + i} of the reducer is {element}, not an element of {inputs[i]}"
            )
        for shape in (element, inits[i]):
            if not same_but_for_float_precision(shape.element_type, accumulator.element_type):
                raise ShapeError(f"the reducer accumulates {accumulator}, but meets {shape}")
    return accumulators


def _reduce(
    operands: Sequence[Shape], attributes: Attributes, called: Sequence[Signature], declared: Shape | None
) -> Shape:
    """N inputs, then N initial values. An array or a tuple of arrays, as the reducer gives a scalar or a tuple."""
    count, rest = divmod(len(operands), 2)
    if rest or not count:
        raise ShapeError(f"{len(operands)} operands are not as many inputs as initial values")
    inputs = [array(operand) for operand in operands[:count]]
    inits = [array(operand) for operand in operands[count:]]
    first = inputs[0]
    if any(shape.dimensions != first.dimensions for shape in inputs):
        raise ShapeError(f"inputs differ in dimensions: {', '.join(map(str, inputs))}")
    if any(init.dimensions for init in inits):
        raise ShapeError(f"initial values are not scalars: {', '.join(map(str, inits))}")
    dimensions = expect(attributes, Dimensions).dimensions
    check_dimensions(dimensions, first.rank)
    accumulators = _accumulators(called[0], inputs, inits)
    kept = [d for d in range(first.rank) if d not in dimensions]
    sizes = tuple(first.dimensions[d] for d in kept)
    merged = with_flags_of(first, inputs[1:]).dynamic
    flags = tuple(merged[d] for d in kept) if merged else ()
    if not isinstance(called[0].result, TupleShape):
        return result(accumulators[0].element_type, sizes, flags, declared)
    shapes = tuple(result(accumulator.element_type, sizes, flags, None) for accumulator in accumulators)
    return TupleShape(shapes)


RULES: dict[Opcode, Rule] = {Opcode.REDUCE: _reduce}
