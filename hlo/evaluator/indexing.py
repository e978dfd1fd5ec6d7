"""What do slices give, and where do dynamic ones really start?

A start index is clamped to [0, dimension - size], so that the window always lies inside. The index is the number
that its type says: a U64 of 2^63 or more is large and clamps to the maximum. (Upstream's HloEvaluator widens it to
a negative int64 first and clamps it to 0; the operation's definition does not.)
"""

from __future__ import annotations

from hlo.attributes import SliceBounds
from hlo.evaluator.kernels import Array, Kernel, Machine, Rule, identity, sealed
from hlo.graph import HloInstruction
from hlo.opcode import Opcode


def _slice(inst: HloInstruction, _machine: Machine) -> Kernel:
    bounds = inst.attributes
    if not isinstance(bounds, SliceBounds):
        raise TypeError(f"{inst.name} has no slice bounds")
    if not bounds.starts:
        return identity
    window = tuple(map(slice, bounds.starts, bounds.limits, bounds.strides))
    return lambda x: x[window]


def _dynamic_slice(inst: HloInstruction, _machine: Machine) -> Kernel:
    sizes = inst.dynamic_slice_sizes
    if not sizes:
        return identity
    operands = inst.operands
    limits = _limits(operands[0].array_shape.dimensions, sizes)
    if _is_vector_of_starts(operands[1:]):
        return lambda x, starts: x[_window(starts, limits)]
    return lambda x, *starts: x[_window(starts, limits)]


def _dynamic_update_slice(inst: HloInstruction, _machine: Machine) -> Kernel:
    operands = inst.operands
    sizes = operands[1].array_shape.dimensions
    if not sizes:
        return lambda _x, update, *_starts: update
    limits = _limits(operands[0].array_shape.dimensions, sizes)
    is_vector = _is_vector_of_starts(operands[2:])

    def dynamic_update_slice(x: Array, update: Array, *starts: Array) -> Array:
        result = x.copy()
        result[_window(starts[0] if is_vector else starts, limits)] = update
        return sealed(result)

    return dynamic_update_slice


def _is_vector_of_starts(starts: tuple[HloInstruction, ...]) -> bool:
    """Whether it is the old form of the instruction, with all start indices in one operand of rank 1."""
    return len(starts) == 1 and not starts[0].array_shape.is_scalar


def _limits(dimensions: tuple[int, ...], sizes: tuple[int, ...]) -> list[tuple[int, int]]:
    """The highest start in each dimension, and the size."""
    return [(dimension - size, size) for dimension, size in zip(dimensions, sizes, strict=True)]


def _window(starts: Array | tuple[Array, ...], limits: list[tuple[int, int]]) -> tuple[slice, ...]:
    window: list[slice] = []
    for (limit, size), start in zip(limits, starts):  # noqa: B905  # checked by the verifier; this runs most
        at = start.item()
        if at < 0:
            at = 0
        elif at > limit:
            at = limit
        window.append(slice(at, at + size))
    return tuple(window)


RULES: dict[Opcode, Rule] = {
    Opcode.SLICE: _slice,
    Opcode.DYNAMIC_SLICE: _dynamic_slice,
    Opcode.DYNAMIC_UPDATE_SLICE: _dynamic_update_slice,
}
