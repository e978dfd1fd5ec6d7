"""Where do slices, updates, gathers and scatters start, once an array is larger than what it holds?

Source: `stock_passes.md` sections 5.5 (scatter) and 5.10. Starts are clamped to the size before the operation clamps
them to the bound; upstream leaves that out.
"""

from __future__ import annotations

from hlo import ArrayShape, HloInstruction, Opcode, PrimitiveType
from hlo.attributes import Dimensions, GatherDimensions, ScatterDimensions, SliceSizes
from hlo.builder import Builder
from passes.stock.dynamic_padder.masking import is_live, zero
from passes.stock.dynamic_padder.reducers import highest
from passes.stock.dynamic_padder.state import Rewrite, State


def _dynamic_slice(state: State, inst: HloInstruction) -> None:
    """One element of a dynamic dimension: the last one that is there, at most."""
    if not state.sound.clamp_to_size:
        return
    operand = inst.operand(0)
    for d, taken in enumerate(inst.dynamic_slice_sizes):
        size = state.size(operand, d)
        if size is None or taken != 1:
            continue
        last = state.arithmetic(inst).subtract(size, 1)
        _clamp_start(state, inst, 1 + d, last)


def _clamp_start(state: State, inst: HloInstruction, number: int, last: HloInstruction) -> None:
    """Let a start index be at most the s32[] `last`; a negative `last` is 0."""
    builder, arithmetic = state.builder(inst), state.arithmetic(inst)
    start = inst.operand(number)
    kind = start.array_shape.element_type
    limit = arithmetic.maximum(last, 0)
    inst.parent.replace_operand(
        inst, number, _at_most(builder, start, limit, kind), accept_different_shape=True
    )
    state.trace.fire(f"clamp-{inst.opcode}")


def _at_most(
    builder: Builder, index: HloInstruction, limit: HloInstruction, kind: PrimitiveType
) -> HloInstruction:
    """The smaller of `index`, of the integral type `kind`, and the s32[] `limit`, which is not negative.

    A type that cannot hold the limit has no index beyond it.
    """
    greatest = highest(kind)
    assert greatest is not None
    if int(greatest) < 2**31 - 1:
        limit = builder.op(Opcode.MINIMUM, limit, builder.constant(int(greatest), PrimitiveType.S32))
    converted = limit if kind is PrimitiveType.S32 else builder.convert(limit, kind)
    shape = index.array_shape
    if not shape.is_scalar:
        converted = builder.op(
            Opcode.BROADCAST, converted, attributes=Dimensions(()), shape=ArrayShape(kind, shape.dimensions)
        )
    return builder.op(Opcode.MINIMUM, index, converted)


def _dynamic_update_slice(state: State, inst: HloInstruction) -> None:
    """What is beyond the update's size leaves the array as it is, and starts are clamped by sizes."""
    base, update = inst.operand(0), inst.operand(1)
    rank = base.array_shape.rank
    cut = [d for d in range(rank) if state.size(update, d) is not None]
    dynamic = [d for d in range(rank) if d in cut or state.size(base, d) is not None]
    if not dynamic:
        return
    if not state.sound.clamp_to_size:
        _masked_update(state, inst, cut)
        return
    arithmetic = state.arithmetic(inst)
    for d in dynamic:
        room = arithmetic.subtract(state.bound_or_size(base, d), state.bound_or_size(update, d))
        _clamp_start(state, inst, 2 + d, room)
    if cut:
        _roomy_update(state, inst, cut)


def _masked_update(state: State, inst: HloInstruction, cut: list[int]) -> None:
    """Upstream's: the update's padding is what the array has there, where the update is smaller than the array."""
    builder = state.builder(inst)
    base, update, *starts = inst.operands
    dims = update.array_shape.dimensions
    for d in cut:
        if dims[d] == base.array_shape.dimensions[d]:
            continue
        there = builder.dynamic_slice(base, starts, dims)
        size = state.size(inst.operand(1), d)
        assert size is not None
        live = is_live(builder, update.array_shape, d, size)
        update = builder.op(Opcode.SELECT, live, update, there)
        state.trace.fire("update")
    if update is not inst.operand(1):
        inst.parent.replace_operand(inst, 1, update, accept_different_shape=True)


def _roomy_update(state: State, inst: HloInstruction, cut: list[int]) -> None:
    """Made in an array with room for all of the update, padding included, and cut back to the bounds."""
    builder = state.builder(inst)
    base, update, *starts = inst.operands
    shape, dims = base.array_shape, update.array_shape.dimensions
    high = tuple(dims[d] if d in cut else 0 for d in range(shape.rank))
    room = builder.pad(base, zero(builder, shape.element_type), (0,) * shape.rank, high)
    there = builder.op(
        Opcode.DYNAMIC_SLICE, room, *starts, attributes=SliceSizes(dims), shape=update.array_shape.to_static()
    )
    for d in cut:
        size = state.size(inst.operand(1), d)
        assert size is not None
        live = is_live(builder, update.array_shape, d, size)
        update = builder.op(Opcode.SELECT, live, update, there, shape=update.array_shape.to_static())
    written = builder.dynamic_update_slice(room, update, starts)
    new = builder.slice_(written, (0,) * shape.rank, shape.dimensions)
    state.replace(inst, new, "update")


def _gather(state: State, inst: HloInstruction) -> None:
    """Index vectors are clamped, part by part, so that the window lies within the size."""
    if not state.sound.clamp_to_size:
        return
    numbers = inst.attributes
    assert isinstance(numbers, GatherDimensions)
    operand = inst.operand(0)
    lasts: dict[int, HloInstruction] = {}
    for part, d in enumerate(numbers.start_index_map):
        size = state.size(operand, d)
        if size is not None:
            taken = numbers.slice_sizes[d]
            last = (
                state.arithmetic(inst).subtract(size, 1) if taken == 1 else state.arithmetic(inst).constant(0)
            )
            lasts[part] = last
    if not lasts:
        return
    builder = state.builder(inst)
    indices = inst.operand(1)
    for part, last in lasts.items():
        limit = state.arithmetic(inst).maximum(last, 0)
        indices = _with_part(builder, indices, numbers.index_vector_dim, part, limit)
        state.trace.fire(f"clamp-{inst.opcode}")
    state.sizes.forward(inst.operand(1), indices)
    inst.parent.replace_operand(inst, 1, indices, accept_different_shape=True)


def _with_part(
    builder: Builder, indices: HloInstruction, vector: int, part: int, limit: HloInstruction
) -> HloInstruction:
    """`indices` with one part of every index vector at most `limit`."""
    shape = indices.array_shape
    small = _at_most(builder, indices, limit, shape.element_type)
    if vector == shape.rank:
        return small
    places = builder.iota(ArrayShape(PrimitiveType.S32, shape.dimensions), vector)
    wanted = builder.broadcast(builder.constant(part, PrimitiveType.S32), shape.dimensions)
    return builder.op(Opcode.SELECT, builder.compare(places, wanted, "EQ"), small, indices)


def _scatter(state: State, inst: HloInstruction) -> None:
    """Updates that are not there, or do not lie within the size, are sent out of bounds, where they are dropped."""
    numbers = inst.attributes
    assert isinstance(numbers, ScatterDimensions)
    builder = state.builder(inst)
    base, indices, _ = inst.operands
    _check_windows(state, inst, numbers)
    dropped = _dropped(state, inst, numbers)
    if dropped is None:
        return
    kind = indices.array_shape.element_type
    largest = max(base.array_shape.dimensions, default=0)
    greatest = highest(kind)
    assert greatest is not None
    result = indices
    if state.sound.wide_indices and int(greatest) < largest:
        kind, result = PrimitiveType.S32, builder.convert(indices, PrimitiveType.S32)
        greatest = highest(kind)
        assert greatest is not None
    outside = builder.broadcast(builder.constant(greatest), result.array_shape.dimensions)
    result = builder.op(Opcode.SELECT, dropped, outside, result)
    inst.parent.replace_operand(inst, 1, result, accept_different_shape=True)
    state.trace.fire("scatter")


def _dropped(state: State, inst: HloInstruction, numbers: ScatterDimensions) -> HloInstruction | None:
    """Which indices, pred of their bounds, belong to no update; None where all do."""
    builder = state.builder(inst)
    _, indices, updates = inst.operands
    shape = indices.array_shape
    found: list[HloInstruction] = []
    batches = [d for d in range(updates.array_shape.rank) if d not in numbers.update_window_dims]
    for place, d in enumerate(d for d in range(shape.rank) if d != numbers.index_vector_dim):
        size = state.size(indices, d) or state.size(updates, batches[place])
        if size is not None:
            found.append(builder.op(Opcode.NOT, is_live(builder, shape, d, size)))
    result: HloInstruction | None = None
    for mask in found:
        result = mask if result is None else builder.op(Opcode.OR, result, mask)
    return result


def _check_windows(state: State, inst: HloInstruction, numbers: ScatterDimensions) -> None:
    """A window that lies only partly within the size is dropped whole; refuse where bounds cannot tell."""
    if not state.sound.clamp_to_size:
        return
    base, _, updates = inst.operands
    windows = [
        d
        for d in range(base.array_shape.rank)
        if d not in numbers.inserted_window_dims and d not in numbers.input_batching_dims
    ]
    for mine, d in zip(numbers.update_window_dims, windows, strict=True):
        size, spans = (
            state.size(base, d),
            updates.array_shape.dimensions[mine] == base.array_shape.dimensions[d],
        )
        if size is not None and not spans:
            state.refuse(inst, "a window is smaller than a dynamic dimension", operand=0, dimension=d)
        if size is None and state.size(updates, mine) is not None:
            state.refuse(inst, "a window is dynamic in a static dimension", operand=2, dimension=mine)


RULES: dict[Opcode, Rewrite] = {
    Opcode.DYNAMIC_SLICE: _dynamic_slice,
    Opcode.DYNAMIC_UPDATE_SLICE: _dynamic_update_slice,
    Opcode.GATHER: _gather,
    Opcode.SCATTER: _scatter,
}
