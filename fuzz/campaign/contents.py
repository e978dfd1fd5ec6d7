"""What is in a graph, whoever drew it? Counted for graphs of all operations, whose generator notes no features."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hlo import ArrayShape, HloModule, Opcode, PrimitiveType, leaves

_SHAPES: Mapping[str, Callable[[ArrayShape], bool]] = {
    "scalar": lambda shape: shape.rank == 0,
    "empty": lambda shape: shape.element_count == 0,
    "single element": lambda shape: shape.rank > 0 and shape.element_count == 1,
    "rank 1": lambda shape: shape.rank == 1,
    "rank 2": lambda shape: shape.rank == 2,
    "rank 3": lambda shape: shape.rank == 3,
    "rank 4 or more": lambda shape: shape.rank > 3,
    "dynamic": lambda shape: not shape.is_static,
}
SHAPES = tuple(_SHAPES)
"""What is told of the shapes in a graph."""


@dataclass(frozen=True)
class Contents:
    """The opcodes, the element types and, in the words of `SHAPES`, the shapes of all instructions."""

    opcodes: frozenset[Opcode]
    types: frozenset[PrimitiveType]
    shapes: frozenset[str]


def contents(module: HloModule) -> Contents:
    """What is in all computations of `module`."""
    instructions = [inst for computation in module.computations for inst in computation.instructions]
    arrays = {
        shape for inst in instructions for _, shape in leaves(inst.shape) if isinstance(shape, ArrayShape)
    }
    return Contents(
        opcodes=frozenset(inst.opcode for inst in instructions),
        types=frozenset(shape.element_type for shape in arrays),
        shapes=frozenset(word for word, fits in _SHAPES.items() if any(map(fits, arrays))),
    )
