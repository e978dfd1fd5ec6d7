"""What is in a graph, whoever drew it? Counted for graphs of all operations, whose generator notes no features."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hlo import ArrayShape, HloModule, InvalidInput, leaves
from hlo.stablehlo import StableHloModule, TensorType, type_of
from passes import AnyProgram

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
    """The opcodes, the element types and, in the words of `SHAPES`, the shapes of all instructions.

    Operations of StableHLO are called as HLO's opcodes are, in its spelling: `dynamic_iota`.
    """

    opcodes: frozenset[str]
    types: frozenset[str]
    shapes: frozenset[str]


def contents(module: AnyProgram) -> Contents:
    """What is in all computations of `module`, or all its functions."""
    return _of_hlo(module) if isinstance(module, HloModule) else _of_stablehlo(module)


def _of_stablehlo(module: StableHloModule) -> Contents:
    operations = [op for op in module.operations() if op.name.startswith("stablehlo.")]
    kinds = [kind for op in operations for result in op.results if (kind := _kind(result)) is not None]
    shapes = {kind.array_shape() for kind in kinds if kind.is_static}
    words = {word for word, fits in _SHAPES.items() if any(map(fits, shapes))}
    return Contents(
        opcodes=frozenset(op.name.removeprefix("stablehlo.") for op in operations),
        types=frozenset(kind.element_type.text for kind in kinds),
        shapes=frozenset(words | {"dynamic"} if any(not kind.is_static for kind in kinds) else words),
    )


def _kind(value: Any) -> TensorType | None:
    try:
        return type_of(value.type)
    except InvalidInput:
        return None


def _of_hlo(module: HloModule) -> Contents:
    instructions = [inst for computation in module.computations for inst in computation.instructions]
    arrays = {
        shape for inst in instructions for _, shape in leaves(inst.shape) if isinstance(shape, ArrayShape)
    }
    return Contents(
        opcodes=frozenset(str(inst.opcode) for inst in instructions),
        types=frozenset(shape.element_type.text for shape in arrays),
        shapes=frozenset(word for word, fits in _SHAPES.items() if any(map(fits, arrays))),
    )
