"""What shape has an instruction that moves a window over its operand: reduce-window, select-and-scatter?

Source: `InferWindowOutputShape`, `InferReduceWindowShape` and `InferSelectAndScatterShape` upstream. A result
dimension is flagged where the operand's is.
"""

from __future__ import annotations

from collections.abc import Sequence

from hlo.attributes import Attributes, Window, WindowDimension
from hlo.infer.common import (
    Rule,
    ShapeError,
    Signature,
    array,
    expect,
    result,
    same_but_for_float_precision,
    with_flags_of,
)
from hlo.infer.reducers import accumulators, inputs_and_inits
from hlo.opcode import Opcode
from hlo.primitive_type import PrimitiveType
from hlo.shape import ArrayShape, Shape, TupleShape

_PRED = ArrayShape(PrimitiveType.PRED)


def window_counts(dimensions: tuple[int, ...], window: tuple[WindowDimension, ...]) -> tuple[int, ...]:
    """How many places each window dimension has along each of `dimensions`, 0 where it does not fit."""
    if len(window) != len(dimensions):
        raise ShapeError(f"the window has {len(window)} dimensions, expected {len(dimensions)}")
    return tuple(_count(size, row) for size, row in zip(dimensions, window, strict=True))


def _count(size: int, row: WindowDimension) -> int:
    for what, value in (
        ("size", row.size),
        ("stride", row.stride),
        ("window dilation", row.window_dilation),
        ("base dilation", row.base_dilation),
    ):
        if value < 1:
            raise ShapeError(f"{what} {value} of the window is not positive")
    base = row.padding_low + dilated(size, row.base_dilation) + row.padding_high
    reach = dilated(row.size, row.window_dilation)
    return (base - reach) // row.stride + 1 if reach <= base else 0


def dilated(size: int, dilation: int) -> int:
    """How far `size` elements reach that are `dilation` apart."""
    return (size - 1) * dilation + 1 if size else 0


def _reduce_window(
    operands: Sequence[Shape], attributes: Attributes, called: Sequence[Signature], declared: Shape | None
) -> Shape:
    """N inputs, then N initial values. An array or a tuple of arrays, as the reducer gives a scalar or a tuple."""
    inputs, inits = inputs_and_inits([array(operand) for operand in operands])
    scalars = accumulators(called[0], inputs, inits)
    sizes = window_counts(inputs[0].dimensions, expect(attributes, Window).dimensions)
    flags = with_flags_of(inputs[0], inputs[1:]).dynamic
    if not isinstance(called[0].result, TupleShape):
        return result(scalars[0].element_type, sizes, flags, declared)
    return TupleShape(tuple(result(scalar.element_type, sizes, flags, None) for scalar in scalars))


def _select_and_scatter(
    operands: Sequence[Shape], attributes: Attributes, called: Sequence[Signature], _d: Shape | None
) -> Shape:
    """The operand, a source with one element for each place of the window, and a scalar to start from."""
    operand, source, init = (array(shape) for shape in operands)
    select, scatter = called
    element = ArrayShape(operand.element_type)
    if len(select.parameters) != 2 or any(parameter != element for parameter in select.parameters):
        takes = ", ".join(map(str, select.parameters))
        raise ShapeError(f"the selection takes ({takes}), expected two of {element}")
    if select.result != _PRED:
        raise ShapeError(f"the selection gives {select.result}, not pred[]")
    if init.dimensions:
        raise ShapeError(f"the initial value is not a scalar but {init}")
    accumulators(scatter, [source], [init])
    if not same_but_for_float_precision(source.element_type, operand.element_type):
        raise ShapeError(f"{operand} and its source {source} differ in element type")
    counts = window_counts(operand.dimensions, expect(attributes, Window).dimensions)
    if source.dimensions != counts:
        raise ShapeError(f"the source is {source}, but the window has {list(counts)} places in {operand}")
    return operand


RULES: dict[Opcode, Rule] = {
    Opcode.REDUCE_WINDOW: _reduce_window,
    Opcode.SELECT_AND_SCATTER: _select_and_scatter,
}
