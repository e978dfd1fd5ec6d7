"""What do slices, gathers and scatters give on arrays cut to their sizes? Starts are clamped to what is there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hlo import HloInstruction, Opcode
from hlo.attributes import GatherDimensions, ScatterDimensions, SliceBounds, SliceSizes
from oracle.true_size.agreement import common_sizes, cut_to
from oracle.true_size.leaf import Sized, UndefinedSizes
from oracle.true_size.rule import Rule
from oracle.true_size.tracing import Tracer, filled


def _slice(tracer: Tracer, inst: HloInstruction, leaves: Sequence[Sized]) -> Sized:
    """What lies beyond the size is not taken. One element (which is what `x[i:i+1]` asks for) must be there."""
    (leaf,) = leaves
    bounds = inst.attributes
    assert isinstance(bounds, SliceBounds)
    starts = tuple(map(min, bounds.starts, leaf.sizes))
    limits = tuple(
        max(low, min(high, n)) for low, high, n in zip(starts, bounds.limits, leaf.sizes, strict=True)
    )
    new = tracer.emit(inst, [tracer.cut(leaf)], attributes=replace(bounds, starts=starts, limits=limits))
    dynamic: list[bool] = []
    for d, (size, wanted) in enumerate(
        zip(new.array_shape.dimensions, inst.array_shape.dimensions, strict=True)
    ):
        dynamic.append(leaf.dynamic[d] and wanted != 1)
        if size != wanted and not dynamic[d]:
            raise UndefinedSizes(
                inst, f"element {bounds.starts[d]} of dimension {d} is beyond its size {leaf.sizes[d]}"
            )
    return filled(new, dynamic)


def _whole(taken: int, bound: int) -> bool:
    """Whether taking `taken` of a dynamic dimension means all of it, whatever its size (section 3.4)."""
    return taken == bound and taken != 1


def _dynamic_slice(tracer: Tracer, inst: HloInstruction, leaves: Sequence[Sized]) -> Sized:
    leaf, *starts = leaves
    wanted, bounds = inst.dynamic_slice_sizes, inst.operand(0).array_shape.dimensions
    whole = [leaf.dynamic[d] and _whole(size, bounds[d]) for d, size in enumerate(wanted)]
    sizes = tuple(leaf.sizes[d] if whole[d] else size for d, size in enumerate(wanted))
    operands = [tracer.cut(leaf), *(start.inst for start in starts)]
    return filled(tracer.emit(inst, operands, attributes=SliceSizes(sizes)), whole)


def _dynamic_update_slice(tracer: Tracer, inst: HloInstruction, leaves: Sequence[Sized]) -> Sized:
    base, update, *starts = leaves
    operands = [tracer.cut(base), tracer.cut(update), *(start.inst for start in starts)]
    flags = [base.dynamic[d] or inst.array_shape.is_dynamic_dimension(d) for d in range(len(base.sizes))]
    return filled(tracer.emit(inst, operands), flags)


def _gather(tracer: Tracer, inst: HloInstruction, leaves: Sequence[Sized]) -> Sized:
    operand, indices = leaves
    numbers = inst.attributes
    assert isinstance(numbers, GatherDimensions)
    bounds = inst.operand(0).array_shape.dimensions
    whole = [operand.dynamic[d] and _whole(size, bounds[d]) for d, size in enumerate(numbers.slice_sizes)]
    sizes = tuple(operand.sizes[d] if whole[d] else size for d, size in enumerate(numbers.slice_sizes))
    attributes = replace(numbers, slice_sizes=sizes)
    new = tracer.emit(inst, [tracer.cut(operand), tracer.cut(indices)], attributes=attributes)
    dropped = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
    windows = iter([whole[d] for d in range(len(sizes)) if d not in dropped])
    batches = iter([flag for d, flag in enumerate(indices.dynamic) if d != numbers.index_vector_dim])
    rank = new.array_shape.rank
    return filled(new, [next(windows if d in numbers.offset_dims else batches) for d in range(rank)])


def _scatter(tracer: Tracer, inst: HloInstruction, leaves: Sequence[Sized]) -> Sized | tuple[Sized, ...]:
    count = len(leaves) // 2
    numbers = inst.attributes
    assert isinstance(numbers, ScatterDimensions)
    arrays, indices, updates = leaves[:count], leaves[count], leaves[count + 1 :]
    sizes, dynamic = common_sizes(inst, arrays)
    update_sizes = _update_sizes(inst, numbers, indices, updates, sizes)
    operands = [
        *(cut_to(tracer, leaf, sizes) for leaf in arrays),
        tracer.cut(indices),
        *(cut_to(tracer, leaf, update_sizes) for leaf in updates),
    ]
    new = tracer.emit(inst, operands)
    if count == 1:
        return filled(new, dynamic)
    return tuple(filled(tracer.element(new, i), dynamic) for i in range(count))


def _update_sizes(
    inst: HloInstruction,
    numbers: ScatterDimensions,
    indices: Sized,
    updates: Sequence[Sized],
    sizes: tuple[int, ...],
) -> tuple[int, ...]:
    """Updates whose sizes were not set at run time follow the indices, and the array they go into."""
    mine, set_ = common_sizes(inst, updates)
    bounds = inst.operand(0).array_shape.dimensions
    declared = inst.operand(len(updates) + 1).array_shape.dimensions
    dropped = {*numbers.inserted_window_dims, *numbers.input_batching_dims}
    windows = iter([d for d in range(len(sizes)) if d not in dropped])
    batches = iter([size for d, size in enumerate(indices.sizes) if d != numbers.index_vector_dim])
    result: list[int] = []
    for d, size in enumerate(mine):
        if d in numbers.update_window_dims:
            to = next(windows)
            follows = declared[d] == bounds[to] and sizes[to] < size
            result.append(sizes[to] if follows and not set_[d] else size)
        else:
            length = next(batches)
            result.append(size if set_[d] else length)
    return tuple(result)


RULES: dict[Opcode, Rule] = {
    Opcode.DYNAMIC_SLICE: _dynamic_slice,
    Opcode.DYNAMIC_UPDATE_SLICE: _dynamic_update_slice,
    Opcode.GATHER: _gather,
    Opcode.SCATTER: _scatter,
    Opcode.SLICE: _slice,
}
