"""What must the computation look like that reduces elements? Shared by reduce, reduce-window and the scatters.

Source: `VerifyReducerShape` in upstream's shape_inference.cc.
"""

from __future__ import annotations

from collections.abc import Sequence

from hlo.infer.common import ShapeError, Signature, array, same_but_for_float_precision
from hlo.shape import ArrayShape, TupleShape


def accumulators(
    reducer: Signature, inputs: Sequence[ArrayShape], inits: Sequence[ArrayShape]
) -> list[ArrayShape]:
    """What the reducer gives, one scalar an input. Its parameters are the accumulators, then the elements.

    The reducer decides the element type: floats may differ in precision between input, initial value and
    accumulator. Of `inputs` and `inits` only the element types are read.
    """
    count = len(inputs)
    gives = reducer.result.elements if isinstance(reducer.result, TupleShape) else (reducer.result,)
    if len(gives) != count:
        raise ShapeError(f"the reducer gives {reducer.result}, expected {count} scalars")
    if len(reducer.parameters) != 2 * count:
        raise ShapeError(f"the reducer takes {len(reducer.parameters)} parameters, expected {2 * count}")
    scalars = [array(shape) for shape in gives]
    for i, accumulator in enumerate(scalars):
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
    return scalars


def inputs_and_inits(operands: Sequence[ArrayShape]) -> tuple[Sequence[ArrayShape], Sequence[ArrayShape]]:
    """N inputs of the same dimensions, then N scalars to start from."""
    count, rest = divmod(len(operands), 2)
    if rest or not count:
        raise ShapeError(f"{len(operands)} operands are not as many inputs as initial values")
    inputs, inits = operands[:count], operands[count:]
    if any(shape.dimensions != inputs[0].dimensions for shape in inputs):
        raise ShapeError(f"inputs differ in dimensions: {', '.join(map(str, inputs))}")
    if any(init.dimensions for init in inits):
        raise ShapeError(f"initial values are not scalars: {', '.join(map(str, inits))}")
    return inputs, inits
