"""How small can the arrays be?

A size is changed wherever it stands in the module: what belongs together mostly has the same size. Where that
does not fit (a reshape, a concatenation) the verifier says so, and the size stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from fuzz.case import Case
from fuzz.reduce.editing import Candidate, cloned
from fuzz.reduce.sizes import clip_sizes
from hlo import ArrayShape, HloInstruction, Literal, Opcode, Shape, Token, TupleShape, Value, leaves
from hlo.attributes import ConstantValue, SliceBounds, SliceSizes


def smaller_dimensions(case: Case) -> Iterator[Candidate]:
    """One size replaced by a smaller one everywhere: 1, 2, half of it, one less; large sizes first."""
    sizes = {
        size
        for computation in case.module.computations
        for inst in computation.instructions
        for _, shape in leaves(inst.shape)
        if isinstance(shape, ArrayShape)
        for size in shape.dimensions
    }
    for size in sorted(sizes, reverse=True):
        for smaller in sorted({1, 2, 3, size // 2, size - 1}):
            if 0 < smaller < size:
                yield partial(_resize, case, size, smaller)


def _resize(case: Case, size: int, smaller: int) -> Case:
    case, _ = cloned(case)
    for computation in case.module.computations:
        for inst in computation.make_instruction_post_order():
            _resize_instruction(inst, size, smaller)
    wanted = [parameter.shape for parameter in case.module.entry_computation.parameters]
    inputs = tuple(tuple(map(_cut, given, wanted)) for given in case.inputs)
    return clip_sizes(replace(case, inputs=inputs))


def _resize_instruction(inst: HloInstruction, size: int, smaller: int) -> None:
    inst.shape = _resize_shape(inst.shape, size, smaller)
    if inst.opcode is Opcode.CONSTANT:
        inst.attributes = ConstantValue(Literal(_cut(inst.literal.value, inst.shape)))
    elif isinstance(inst.attributes, SliceSizes):
        inst.attributes = SliceSizes(inst.array_shape.dimensions)
    elif isinstance(inst.attributes, SliceBounds):
        inst.attributes = _bounds(inst, inst.attributes)


def _resize_shape(shape: Shape, size: int, smaller: int) -> Shape:
    if isinstance(shape, TupleShape):
        return TupleShape(tuple(_resize_shape(element, size, smaller) for element in shape.elements))
    if not isinstance(shape, ArrayShape) or size not in shape.dimensions:
        return shape
    dimensions = tuple(smaller if dimension == size else dimension for dimension in shape.dimensions)
    return ArrayShape(shape.element_type, dimensions, shape.dynamic)


def _bounds(inst: HloInstruction, old: SliceBounds) -> SliceBounds:
    """As many elements as the new shape has, from the old starts or as near to them as fits."""
    spans = [
        (count - 1) * stride + 1 if count else 0
        for count, stride in zip(inst.array_shape.dimensions, old.strides, strict=True)
    ]
    limits = inst.operand(0).array_shape.dimensions
    starts = [
        max(0, min(start, limit - span)) for start, limit, span in zip(old.starts, limits, spans, strict=True)
    ]
    ends = tuple(start + span for start, span in zip(starts, spans, strict=True))
    return SliceBounds(tuple(starts), ends, old.strides)


def _cut(value: Value, shape: Shape) -> Value:
    """The first elements of `value` in each dimension."""
    if isinstance(value, tuple) and isinstance(shape, TupleShape):
        return tuple(map(_cut, value, shape.elements))
    if isinstance(value, (tuple, Token)) or not isinstance(shape, ArrayShape):
        return value
    return np.asarray(value[tuple(slice(size) for size in shape.dimensions)])  # of rank 0, too, an array
