"""Which sizes has a slice, a gather or a scatter?"""

from __future__ import annotations

from hlo import HloInstruction, Opcode
from hlo.attributes import GatherDimensions, ScatterDimensions, SliceBounds
from passes.stock.dynamic_dimension_inference.state import Rule, State


def _slice(state: State, inst: HloInstruction) -> None:
    """What of `start:limit:stride` is there. A result of one element has no size: the element must be there.

    Upstream forgets the limit, and that a size may be less than the start.
    """
    bounds = inst.attributes
    assert isinstance(bounds, SliceBounds)
    arithmetic = state.arithmetic(inst)
    for d, size in state.array_sizes(inst, 0):
        start, limit, stride = bounds.starts[d], bounds.limits[d], bounds.strides[d]
        if inst.array_shape.dimensions[d] == 1:
            continue
        taken = size
        if state.sound.slice_limit:
            if limit < inst.operand(0).array_shape.dimensions[d]:
                taken = arithmetic.minimum(taken, limit)
            if start:
                taken = arithmetic.maximum(arithmetic.subtract(taken, start), 0)
        else:
            taken = arithmetic.subtract(taken, start)
        state.record(inst, d, arithmetic.ceiling_divide(taken, stride))


def _dynamic_slice(state: State, inst: HloInstruction) -> None:
    bounds = inst.operand(0).array_shape.dimensions
    for number, _, d, size in state.operand_sizes(inst):
        taken = inst.dynamic_slice_sizes[d]
        if number or (taken > 1 and taken != bounds[d]):
            state.refuse(inst, "only a part of a dynamic dimension is taken", operand=number, dimension=d)
        if taken > 1:
            state.record(inst, d, size)


def _dynamic_update_slice(state: State, inst: HloInstruction) -> None:
    """The array keeps its sizes. Upstream takes those of an update that spans a whole dimension instead."""
    base, update = inst.operand(0).array_shape, inst.operand(1).array_shape
    written = {
        d: size for d, size in state.array_sizes(inst, 1) if update.dimensions[d] == base.dimensions[d]
    }
    for d, size in state.array_sizes(inst, 0):
        if state.sound.update_keeps_size or d not in written:
            state.record(inst, d, size)
    for d, size in written.items():
        if not state.sound.update_keeps_size:
            state.record(inst, d, size)
        elif state.sizes.size(inst, (), d) is None:
            state.record(inst, d, state.arithmetic(inst).constant(base.dimensions[d]))


def _gather(state: State, inst: HloInstruction) -> None:
    numbers = inst.attributes
    assert isinstance(numbers, GatherDimensions)
    operand, rank = inst.operand(0).array_shape, inst.array_shape.rank
    dropped = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
    windows = [d for d in range(operand.rank) if d not in dropped]
    batches = [d for d in range(rank) if d not in numbers.offset_dims]
    for d, size in state.array_sizes(inst, 0):
        if d in numbers.operand_batching_dims:
            state.refuse(inst, "a batching dimension is dynamic", operand=0, dimension=d)
        taken = numbers.slice_sizes[d]
        if taken <= 1:
            continue
        if taken != operand.dimensions[d]:
            state.refuse(inst, "only a part of a dynamic dimension is taken", operand=0, dimension=d)
        state.record(inst, numbers.offset_dims[windows.index(d)], size)
    for d, size in state.array_sizes(inst, 1):
        if d == numbers.index_vector_dim:
            state.refuse(inst, "the index vectors are dynamic", operand=1, dimension=d)
        if d in numbers.start_indices_batching_dims:
            state.refuse(inst, "a batching dimension is dynamic", operand=1, dimension=d)
        state.record(inst, batches[d - (d > numbers.index_vector_dim)], size)


def _scatter(state: State, inst: HloInstruction) -> None:
    """The array keeps its sizes; updates beyond theirs are dropped by whoever pads."""
    numbers = inst.attributes
    assert isinstance(numbers, ScatterDimensions)
    if len(inst.operands) != 3:
        state.refuse(inst, "several arrays are scattered into")
    base, updates = inst.operand(0).array_shape, inst.operand(2).array_shape
    dropped = {*numbers.inserted_window_dims, *numbers.input_batching_dims}
    windows = [d for d in range(base.rank) if d not in dropped]
    for d, size in state.array_sizes(inst, 0):
        if d in numbers.input_batching_dims:
            state.refuse(inst, "a batching dimension is dynamic", operand=0, dimension=d)
        state.record(inst, d, size)
    for d, _ in state.array_sizes(inst, 1):
        if d == numbers.index_vector_dim or d in numbers.scatter_indices_batching_dims:
            state.refuse(inst, "the index vectors or their batches are dynamic", operand=1, dimension=d)
    for d, size in state.array_sizes(inst, 2):
        if d not in numbers.update_window_dims:
            continue
        to = windows[numbers.update_window_dims.index(d)]
        if updates.dimensions[d] != base.dimensions[to] or state.sizes.size(inst.operand(0), (), to) not in (
            None,
            size,
        ):
            state.refuse(inst, "a window is dynamic and not as large as its array", operand=2, dimension=d)


RULES: dict[Opcode, Rule] = {
    Opcode.DYNAMIC_SLICE: _dynamic_slice,
    Opcode.DYNAMIC_UPDATE_SLICE: _dynamic_update_slice,
    Opcode.GATHER: _gather,
    Opcode.SCATTER: _scatter,
    Opcode.SLICE: _slice,
}
