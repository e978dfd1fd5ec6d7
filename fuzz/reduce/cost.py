"""When is one case simpler than another?

A candidate is only taken where its cost is lower, so reducing ends, and no two transformations undo each other.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from fuzz.case import Case
from hlo import ArrayShape, HloInstruction, Opcode, PrimitiveType, Token, Value, leaves
from hlo.stablehlo import StableHloModule
from passes import AnyProgram

_SIMPLE_TYPES = (PrimitiveType.PRED, PrimitiveType.S32, PrimitiveType.F32, PrimitiveType.S64)
_LARGE = 64  # above, one less is no simpler
WITHOUT_WORK = frozenset({Opcode.PARAMETER, Opcode.CONSTANT})
"""What a program starts from."""

_NO_WORK = ("builtin.module", "func.func", "func.return", "stablehlo.return", "stablehlo.constant")


@dataclass(frozen=True, order=True)
class Cost:
    """Compared field by field, the first that differs decides: what a reader must understand comes first."""

    passes: int
    """In the pipeline, and one for each option that differs from its default."""
    switches: int
    input_sets: int
    working: int
    """Instructions beside parameters and constants."""
    instructions: int
    computations: int
    elements: int
    """Of all values at their bounds: the dimensions, a dynamic one twice."""
    types: int
    text: int
    """Characters of names and metadata, bytes carried along, control edges."""
    digits: int
    """Characters of the inputs' and constants' elements that are not zero."""
    size: int
    """Of the inputs' and constants' whole numbers, each at most _LARGE: the trips of loops, and places."""


def cost(case: Case) -> Cost:
    """How much there is to understand in a case."""
    module = case.module
    instructions = [inst for computation in module.computations for inst in computation.instructions]
    arrays = [
        shape for inst in instructions for _, shape in leaves(inst.shape) if isinstance(shape, ArrayShape)
    ]
    constants = [inst.literal.value for inst in instructions if inst.opcode is Opcode.CONSTANT]
    return Cost(
        passes=sum(1 + changed_options(pass_) for pass_ in case.pipeline.passes),
        switches=len(case.environment),
        input_sets=len(case.inputs),
        working=working_instructions(module),
        instructions=len(instructions),
        computations=len(module.computations),
        elements=sum(shape.element_count + shape.rank + sum(shape.dynamic) for shape in arrays),
        types=sum(_type_cost(shape.element_type) for shape in arrays),
        text=sum(map(_text, instructions))
        + len(module.carried)
        + sum(len(c.name) for c in module.computations),
        digits=sum(map(digits, constants)) + sum(digits(value) for inputs in case.inputs for value in inputs),
        size=sum(map(_size, constants)) + sum(_size(value) for inputs in case.inputs for value in inputs),
    )


def working_instructions(module: AnyProgram) -> int:
    """Instructions of all computations beside parameters and constants."""
    if isinstance(module, StableHloModule):
        return sum(op.name not in _NO_WORK for op in module.operations())
    return sum(inst.opcode not in WITHOUT_WORK for c in module.computations for inst in c.instructions)


def changed_options(pass_: object) -> int:
    """How many options of a pass differ from their defaults."""
    return sum(getattr(pass_, option.name) != option.default for option in fields(pass_))  # pyright: ignore[reportArgumentType]


def _type_cost(element_type: PrimitiveType) -> int:
    return _SIMPLE_TYPES.index(element_type) if element_type in _SIMPLE_TYPES else len(_SIMPLE_TYPES)


def _text(inst: HloInstruction) -> int:
    metadata = inst.metadata
    attributes = sum(len(key) + len(value) + 1 for key, value in inst.frontend_attributes.items())
    carried = len(metadata.carried) + len(inst.carried)
    edges = len(inst.control_predecessors)
    return len(inst.name) + len(metadata.op_name) + len(metadata.op_type) + attributes + carried + edges


def digits(value: Value) -> int:
    """Characters of the elements that are not zero."""
    if isinstance(value, tuple):
        return sum(map(digits, value))
    if isinstance(value, Token) or not value.size:
        return 0
    return sum(len(str(element)) for element in value[np.not_equal(value, 0)].reshape(-1))


def _size(value: Value) -> int:
    if isinstance(value, tuple):
        return sum(map(_size, value))
    if isinstance(value, Token) or value.dtype.kind not in "iu":
        return 0
    low = -_LARGE if value.dtype.kind == "i" else 0
    return int(np.abs(np.clip(value, low, _LARGE).astype(np.int64)).sum())
