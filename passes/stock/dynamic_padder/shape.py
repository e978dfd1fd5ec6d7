"""How are joined, reversed and reshaped arrays put together so that no padding comes between?

Source: `stock_passes.md` sections 5.6, 5.7 and 5.13 to 5.15. A reshape differs from upstream, which has one way to
split a dimension, another to combine some, and refuses or guesses elsewhere: here each element of the result finds
its place in the operand by counting as the sizes count.
"""

from __future__ import annotations

import math
from itertools import pairwise

from hlo import ArrayShape, HloInstruction, Opcode, PrimitiveType
from hlo.attributes import Dimensions, GatherDimensions, SliceSizes
from hlo.builder import Builder
from hlo.infer import common_factors
from passes.stock.dynamic_padder.masking import zero
from passes.stock.dynamic_padder.state import Rewrite, State


def _concatenate(state: State, inst: HloInstruction) -> None:
    """Each operand is written where the one before it ends; what follows it is overwritten by the next."""
    (joined,) = inst.dimensions
    if state.size(inst, joined) is None:
        return
    builder, arithmetic = state.builder(inst), state.arithmetic(inst)
    nothing = arithmetic.constant(0)
    result, offset = inst, nothing
    for operand in inst.operands:
        starts = [offset if d == joined else nothing for d in range(inst.array_shape.rank)]
        result = builder.op(Opcode.DYNAMIC_UPDATE_SLICE, result, operand, *starts, shape=inst.shape)
        offset = arithmetic.add(offset, state.bound_or_size(operand, joined))
    state.replace(inst, result, "concatenate")


def _reverse(state: State, inst: HloInstruction) -> None:
    """Reversed, the padding comes first: slice it off, after padding at the other end by as much."""
    turned = [d for d in inst.dimensions if state.size(inst, d) is not None]
    if not turned:
        return
    builder, arithmetic = state.builder(inst), state.arithmetic(inst)
    shape = inst.array_shape
    high = tuple(bound if d in turned else 0 for d, bound in enumerate(shape.dimensions))
    wide = builder.pad(inst, zero(builder, shape.element_type), (0,) * shape.rank, high)
    starts = [
        arithmetic.subtract(arithmetic.constant(bound), state.bound_or_size(inst, d))
        if d in turned
        else arithmetic.constant(0)
        for d, bound in enumerate(shape.dimensions)
    ]
    new = builder.op(
        Opcode.DYNAMIC_SLICE, wide, *starts, attributes=SliceSizes(shape.dimensions), shape=inst.shape
    )
    state.replace(inst, new, "reverse")


def _reshape(state: State, inst: HloInstruction) -> None:
    """Group by group of dimensions with equal products of bounds; a dynamic-reshape is one group."""
    operand, shape = inst.operand(0), inst.array_shape
    before, after = operand.array_shape.dimensions, shape.dimensions
    if inst.opcode is Opcode.DYNAMIC_RESHAPE:
        cuts = [(0, 0), (len(before), len(after))]
    else:
        cuts = common_factors(before, after)
    groups = [
        (range(i, i_end), range(j, j_end))
        for (i, j), (i_end, j_end) in pairwise(cuts)
        if _is_scattered(state, inst, range(i, i_end), range(j, j_end))
    ]
    result = operand
    builder = state.builder(inst)
    for mine, theirs in groups:
        result = _gathered(state, inst, result, mine, theirs)
        state.trace.fire(_what_becomes(inst, mine, theirs))
    if not groups and inst.opcode is Opcode.RESHAPE:
        return
    new = builder.op(Opcode.RESHAPE, result, shape=shape.to_static())
    state.replace(inst, new, str(inst.opcode))


def _is_scattered(state: State, inst: HloInstruction, mine: range, theirs: range) -> bool:
    """Whether padding lies between elements on either side: a dimension that is not the outermost is dynamic.

    Outer dimensions of one element do not count.
    """
    operand = inst.operand(0)
    return any(state.size(operand, d) is not None for d in _inner(operand, mine)) or any(
        state.size(inst, d) is not None for d in _inner(inst, theirs)
    )


def _inner(inst: HloInstruction, group: range) -> list[int]:
    return _real(inst, group)[1:]


def _real(inst: HloInstruction, group: range) -> list[int]:
    dims = inst.array_shape.dimensions
    return [d for d in group if dims[d] != 1]


def _what_becomes(inst: HloInstruction, mine: range, theirs: range) -> str:
    """The rule for a group of dimensions: one is split, some are combined, or some become others."""
    before, after = _real(inst.operand(0), mine), _real(inst, theirs)
    if len(before) <= 1:
        return "split"
    return "combine" if len(after) <= 1 else "regroup"


def _gathered(
    state: State, inst: HloInstruction, x: HloInstruction, mine: range, theirs: range
) -> HloInstruction:
    """`x` with the elements of one group of its dimensions in the places that they have in the result.

    The bounds of `x` stay as they are. What falls into the padding of the result is any element.
    """
    builder = state.builder(inst)
    dims = x.array_shape.dimensions
    elements = math.prod(dims[d] for d in mine)
    outer, inner = dims[: mine.start], dims[mine.stop :]
    flat = builder.reshape(x, (*outer, elements, *inner))
    places = _places(state, inst, mine, theirs, elements)
    at = len(outer)
    numbers = GatherDimensions(
        offset_dims=tuple(d for d in range(len(outer) + 1 + len(inner)) if d != at),
        collapsed_slice_dims=(at,),
        start_index_map=(at,),
        index_vector_dim=1,
        slice_sizes=(*outer, 1, *inner),
    )
    return builder.reshape(builder.gather(flat, places, numbers), dims)


def _places(state: State, inst: HloInstruction, mine: range, theirs: range, elements: int) -> HloInstruction:
    """For each place of the group in the result, s32[elements], the place in the operand that belongs there."""
    count = _Counting(state.builder(inst), elements)
    operand = inst.operand(0)
    lin = count.iota()
    number: HloInstruction | None = None
    for d in theirs:  # which element it is, counted by the result's sizes
        coordinate, lin = count.split(lin, _volume(inst, theirs, d))
        if number is not None:
            whole = count.multiply(number, count.spread(state.bound_or_size(inst, d)))
            coordinate = count.add(whole, coordinate)
        number = coordinate
    number = lin if number is None else number
    place: HloInstruction | None = None
    stride = 1
    for d in reversed(mine):  # where that is, counted by the operand's
        size = count.spread(state.bound_or_size(operand, d))
        step = count.remainder(number, size)
        if stride != 1:
            step = count.multiply(step, count.constant(stride))
        place = step if place is None else count.add(place, step)
        number = count.divide(number, size)
        stride *= operand.array_shape.dimensions[d]
    return number if place is None else place


def _volume(inst: HloInstruction, group: range, dimension: int) -> int:
    """How many places of the group lie behind one another within one index of `dimension`."""
    return math.prod(inst.array_shape.dimensions[d] for d in group if d > dimension)


class _Counting:
    """Arithmetic on s32 vectors of one length. Dividing by 0 gives what the type says: no element has that place."""

    def __init__(self, builder: Builder, length: int) -> None:
        self._builder = builder
        self._shape = ArrayShape(PrimitiveType.S32, (length,))

    def iota(self) -> HloInstruction:
        return self._builder.iota(self._shape, 0)

    def spread(self, scalar: HloInstruction) -> HloInstruction:
        return self._builder.op(Opcode.BROADCAST, scalar, attributes=Dimensions(()), shape=self._shape)

    def constant(self, value: int) -> HloInstruction:
        return self.spread(self._builder.constant(value, PrimitiveType.S32))

    def add(self, left: HloInstruction, right: HloInstruction) -> HloInstruction:
        return self._builder.op(Opcode.ADD, left, right)

    def multiply(self, left: HloInstruction, right: HloInstruction) -> HloInstruction:
        return self._builder.op(Opcode.MULTIPLY, left, right)

    def divide(self, left: HloInstruction, right: HloInstruction) -> HloInstruction:
        return self._builder.op(Opcode.DIVIDE, left, right)

    def remainder(self, left: HloInstruction, right: HloInstruction) -> HloInstruction:
        return self._builder.op(Opcode.REMAINDER, left, right)

    def split(self, lin: HloInstruction, volume: int) -> tuple[HloInstruction, HloInstruction]:
        """The index in a dimension, and what is left for those inside it."""
        if volume == 1:
            return lin, self.constant(0)
        inside = self.constant(volume)
        return self.divide(lin, inside), self.remainder(lin, inside)


RULES: dict[Opcode, Rewrite] = {
    Opcode.CONCATENATE: _concatenate,
    Opcode.DYNAMIC_RESHAPE: _reshape,
    Opcode.RESHAPE: _reshape,
    Opcode.REVERSE: _reverse,
}
