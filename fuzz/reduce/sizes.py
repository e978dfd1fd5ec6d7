"""How small can the sizes be that are known at run time only, and where is none needed?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from fuzz.case import Case
from fuzz.reduce.editing import Candidate, cloned
from hlo import ArrayShape, HloInstruction, HloModule, Literal, Opcode, Shape, TupleShape, Value, compatible
from hlo.attributes import ConstantValue
from hlo.infer import ShapeError, infer_shape
from oracle.true_size import is_dynamic

Index = tuple[int, ...]


def smaller_sizes(case: Case) -> Iterator[Candidate]:
    """One dimension of one input, or all of the same size, shorter; or no longer dynamic where it is full."""
    parameters = case.module.entry_computation.parameters
    dynamic = [p for p in parameters if isinstance(p.shape, ArrayShape) and not p.shape.is_static]
    places = [
        (p.parameter_number, d) for p in dynamic for d, flag in enumerate(p.array_shape.dynamic) if flag
    ]
    for at, inputs in enumerate(case.inputs):
        sizes = [(_shape(inputs[number])[d], number, d) for number, d in places]
        for size in sorted({size for size, _, _ in sizes}, reverse=True):
            alike = [(number, d) for other, number, d in sizes if other == size]
            for smaller in sorted({0, 1, 2, size // 2, size - 1}):
                if 0 <= smaller < size:
                    for chosen in (alike, *([place] for place in alike if len(alike) > 1)):
                        yield partial(_cut, case, at, chosen, smaller)
    for parameter in dynamic:
        if all(
            _shape(inputs[parameter.parameter_number]) == parameter.array_shape.dimensions
            for inputs in case.inputs
        ):
            yield partial(_made_static, case, parameter)


def _shape(value: Value) -> Index:
    return value.shape if isinstance(value, np.ndarray) else ()


def _cut(case: Case, at: int, places: Sequence[tuple[int, int]], size: int) -> Case:
    inputs = list(case.inputs[at])
    for number, dimension in places:
        value = inputs[number]
        assert isinstance(value, np.ndarray)
        inputs[number] = np.ascontiguousarray(value[(slice(None),) * dimension + (slice(size),)])
    return replace(case, inputs=(*case.inputs[:at], tuple(inputs), *case.inputs[at + 1 :]))


def _made_static(case: Case, parameter: HloInstruction) -> Case:
    case, copies = cloned(case)
    copies[parameter].shape = parameter.array_shape.to_static()
    flag_again(case.module)
    return case


def clip_sizes(case: Case) -> Case:
    """`case`, whose module this may change, with no size that is set to more than the bound, where it is given."""
    inputs = [list(given) for given in case.inputs]
    for computation in case.module.computations:
        for inst in computation.instructions:
            for size, bound in _sizes_set(inst):
                if size.opcode is Opcode.CONSTANT:
                    value = size.literal.value
                    assert isinstance(value, np.ndarray)
                    size.attributes = ConstantValue(
                        Literal(np.asarray(np.minimum(value, bound), value.dtype))
                    )
                elif size.opcode is Opcode.PARAMETER and size.parent.is_entry:
                    for given in inputs:
                        value = given[size.parameter_number]
                        assert isinstance(value, np.ndarray)
                        given[size.parameter_number] = np.asarray(np.minimum(value, bound), value.dtype)
    return replace(case, inputs=tuple(map(tuple, inputs)))


def _sizes_set(inst: HloInstruction) -> Iterator[tuple[HloInstruction, int]]:
    if inst.opcode is Opcode.SET_DIMENSION_SIZE:
        yield inst.operand(1), inst.array_shape.dimensions[inst.dimensions[0]]
    elif inst.opcode is Opcode.DYNAMIC_RESHAPE:
        yield from zip(inst.operands[1:], inst.array_shape.dimensions, strict=True)


# which dimensions are dynamic: what operands and attributes say

_DECLARED = frozenset({Opcode.CONSTANT, Opcode.CUSTOM_CALL, Opcode.DYNAMIC_RESHAPE, Opcode.PARAMETER})
"""Their flags are their own."""

_FOLLOW = frozenset({Opcode.BROADCAST, Opcode.CONVERT, Opcode.IOTA, Opcode.RESHAPE})
"""Of static arrays these are static, whatever they declare."""


def flag_again(module: HloModule) -> None:
    """Let the dimensions of each result be dynamic that its operands make so."""
    for computation in module.make_computation_post_order():
        for inst in computation.make_instruction_post_order():
            if (shape := _inferred(inst)) is not None and compatible(shape, inst.shape):
                inst.shape = shape


def is_flagged_as_inferred(module: HloModule) -> bool:
    """Whether no instruction has a dynamic dimension that its operands do not give it, nor lacks one."""
    if not is_dynamic(module):
        return True
    return all(
        shape is None or shape == inst.shape
        for computation in module.computations
        for inst in computation.instructions
        for shape in (_inferred(inst),)
    )


def _inferred(inst: HloInstruction) -> Shape | None:
    if inst.opcode in _DECLARED:
        return None
    declared = inst.shape
    operands = [operand.shape for operand in inst.operands]
    if inst.opcode in _FOLLOW and all(operand.is_static for operand in operands):
        declared = _static(declared)
    elif inst.opcode is Opcode.BROADCAST:
        x = inst.operand(0).array_shape
        dynamic = {to for d, to in enumerate(inst.dimensions) if x.is_dynamic_dimension(d)}
        flags = tuple(d in dynamic for d in range(inst.array_shape.rank))
        declared = ArrayShape(x.element_type, inst.array_shape.dimensions, flags)
    try:
        return infer_shape(inst.opcode, operands, inst.attributes, inst.called_computations, declared)
    except ShapeError:
        return None


def _static(shape: Shape) -> Shape:
    if isinstance(shape, TupleShape):
        return TupleShape(tuple(map(_static, shape.elements)))
    return shape.to_static() if isinstance(shape, ArrayShape) else shape
