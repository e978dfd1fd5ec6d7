"""How is an operation rewritten whose padding depends on a size at run time, or whose windows select?

Source: `stock_passes.md` section 5.16. The array is padded by more than any size can need and cut again where the
first window of this size begins, so that an ordinary window without padding does the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hlo import ArrayShape, HloComputation, HloInstruction, Opcode, PrimitiveType, TupleShape
from hlo.attributes import ScatterDimensions, SliceSizes, Window, WindowDimension
from hlo.builder import Builder
from hlo.windowed_calls import REDUCE_WINDOW, SELECT_AND_SCATTER
from passes.stock.dynamic_dimension_inference.custom_calls import stated_window
from passes.stock.dynamic_dimension_inference.reduction import TRIVIAL
from passes.stock.dynamic_dimension_inference.windows import (
    reach,
    same_padding,
    same_places,
    without_padding,
)
from passes.stock.dynamic_padder.masking import is_live, masked, zero
from passes.stock.dynamic_padder.reduction import fillers, mask_selected
from passes.stock.dynamic_padder.state import Rewrite, State


@dataclass(frozen=True)
class Shift:
    """Along one dimension: how far the first window reaches before the first element, and what all windows cover.

    `before` is at most `room` and at least `-cropped`. Elements are `spread` apart.
    """

    before: HloInstruction
    covered: int
    room: int
    cropped: int = 0
    spread: int = 1


def shifted(
    state: State, inst: HloInstruction, x: HloInstruction, shifts: Mapping[int, Shift], filler: HloInstruction
) -> HloInstruction:
    """`x` as the windows of `inst` see it along each dimension of `shifts`, with `filler` where there is no element."""
    builder, arithmetic = state.builder(inst), state.arithmetic(inst)
    rank = x.array_shape.rank
    low, high, interior, sizes = [0] * rank, [0] * rank, [0] * rank, list(x.array_shape.dimensions)
    starts = [arithmetic.constant(0)] * rank
    for d, shift in shifts.items():
        bound = sizes[d]
        spread = (bound - 1) * shift.spread + 1 if bound else 0
        low[d], interior[d], sizes[d] = shift.room, shift.spread - 1, shift.covered
        high[d] = max(0, shift.covered + shift.cropped - spread)
        starts[d] = arithmetic.subtract(arithmetic.constant(shift.room), shift.before)
    wide = builder.pad(x, filler, low, high, interior)
    return builder.op(
        Opcode.DYNAMIC_SLICE,
        wide,
        *starts,
        attributes=SliceSizes(tuple(sizes)),
        shape=ArrayShape(x.array_shape.element_type, tuple(sizes)),
    )


def covered(row: WindowDimension, count: int) -> int:
    """How many elements `count` places of the window reach over."""
    return (count - 1) * row.stride + reach(row) if count else 0


def _moving(state: State, inst: HloInstruction, window: Window) -> dict[int, HloInstruction]:
    """The sizes of the dimensions along which padding depends on the size."""
    operand = inst.operand(0)
    return {
        d: size
        for d, row in enumerate(window.dimensions)
        if (size := state.size(operand, d)) is not None and row != TRIVIAL
    }


def _shifts(
    state: State,
    inst: HloInstruction,
    window: Window,
    sizes: Mapping[int, HloInstruction],
    counts: Sequence[int],
) -> dict[int, Shift]:
    arithmetic = state.arithmetic(inst)
    return {
        d: Shift(
            same_padding(arithmetic, size, window.dimensions[d]),
            covered(window.dimensions[d], counts[d]),
            reach(window.dimensions[d]),
        )
        for d, size in sizes.items()
    }


def _unpadded(window: Window, sizes: Mapping[int, HloInstruction]) -> Window:
    rows = enumerate(window.dimensions)
    return Window(tuple(without_padding(row) if d in sizes else row for d, row in rows))


def _reduce_window(state: State, inst: HloInstruction) -> None:
    """What is beyond the edge counts for nothing, as for a reduce-window."""
    window = stated_window(inst)
    sizes = _moving(state, inst, window)
    operand, init = inst.operands
    builder = state.builder(inst)
    reducer = inst.called_computations[0]
    if sizes:
        (filler,) = fillers(state, inst, reducer, 1)
        for d, size in sizes.items():
            operand = masked(builder, operand, d, size, filler)
        counts = inst.array_shape.dimensions
        operand = shifted(state, inst, operand, _shifts(state, inst, window, sizes, counts), filler)
    new = builder.op(
        *(Opcode.REDUCE_WINDOW, operand, init),
        attributes=_unpadded(window, sizes),
        called=(reducer,),
        shape=inst.array_shape.to_static(),
    )
    state.replace(inst, new, "reduce-window-same")


def _select_and_scatter_same(state: State, inst: HloInstruction) -> None:
    window = stated_window(inst)
    sizes = _moving(state, inst, window)
    arithmetic = state.arithmetic(inst)
    places = {d: same_places(arithmetic, size, window.dimensions[d]) for d, size in sizes.items()}
    _scatter_selected(state, inst, window, sizes, places, "select-and-scatter-same")


def _select_and_scatter(state: State, inst: HloInstruction) -> None:
    window = inst.attributes
    assert isinstance(window, Window)
    operand, source, _ = inst.operands
    inside = [
        d for d, row in enumerate(window.dimensions) if state.size(operand, d) is not None and row.size != 1
    ]
    if not inside:
        return
    places = {d: size for d in range(source.array_shape.rank) if (size := state.size(source, d)) is not None}
    if missing := set(inside) - set(places):
        state.refuse(inst, "the source has no size of its own", operand=1, dimension=min(missing))
    if state.sound.reducer_identity:
        _scatter_selected(state, inst, window, {}, places, "select-and-scatter")
    else:
        mask_selected(state, inst, inside, places)


def _scatter_selected(
    state: State,
    inst: HloInstruction,
    window: Window,
    sizes: Mapping[int, HloInstruction],
    places: Mapping[int, HloInstruction],
    rule: str,
) -> None:
    """Each window finds where its selected element is, and the source is scattered there.

    `sizes` are those of the dimensions whose padding depends on the size, `places` says how many places of the window
    count. Upstream fills the padding with the least value and leaves the selection to an ordinary
    select-and-scatter: where an element is that value, or NaN, the padding is selected and the source is lost.
    """
    operand, source, init = inst.operands
    select, scatter = inst.called_computations
    builder = state.builder(inst)
    found = _selected(state, inst, window, sizes, select)
    outside = operand.array_shape.element_count
    nowhere = builder.broadcast(builder.constant(outside, PrimitiveType.S32), source.array_shape.dimensions)
    for d, count in places.items():
        there = is_live(builder, source.array_shape, d, count)
        found = builder.op(Opcode.SELECT, there, found, nowhere)
    count = source.array_shape.element_count
    base = builder.broadcast(init, (outside,))
    numbers = ScatterDimensions((), (0,), (0,), 1)
    scattered = builder.op(
        Opcode.SCATTER,
        *(base, builder.reshape(found, (count, 1)), builder.reshape(source, (count,))),
        attributes=numbers,
        called=(scatter,),
    )
    state.replace(inst, builder.reshape(scattered, inst.array_shape.dimensions), rule)


def _selected(
    state: State,
    inst: HloInstruction,
    window: Window,
    sizes: Mapping[int, HloInstruction],
    select: HloComputation,
) -> HloInstruction:
    """For each place of the window the number of the element selected, row-major, s32; out of bounds where none is."""
    operand, source, _ = inst.operands
    builder = state.builder(inst)
    shape = operand.array_shape.to_static()
    s32, pred = PrimitiveType.S32, PrimitiveType.PRED
    outside = builder.constant(shape.element_count, s32)
    numbers = builder.reshape(builder.iota(ArrayShape(s32, (shape.element_count,)), 0), shape.dimensions)
    no, nothing = builder.constant(False, pred), zero(builder, shape.element_type)
    live = builder.broadcast(builder.constant(True, pred), shape.dimensions)
    for d in range(shape.rank):
        size = state.size(operand, d)
        if size is not None:
            live = builder.op(Opcode.AND, live, is_live(builder, shape, d, size))
    columns = [(operand, nothing), (numbers, outside), (live, no)]
    if sizes:
        shifts = _shifts(state, inst, window, sizes, source.array_shape.dimensions)
        columns = [(shifted(state, inst, x, shifts, filler), filler) for x, filler in columns]
    kinds = (shape.element_type, s32, pred)
    places = source.array_shape.dimensions
    found = builder.op(
        Opcode.REDUCE_WINDOW,
        *(x for x, _ in columns),
        *(filler for _, filler in columns),
        attributes=_unpadded(window, sizes),
        called=(_keeping(select, shape.element_type),),
        shape=TupleShape(tuple(ArrayShape(kind, places) for kind in kinds)),
    )
    nowhere = builder.broadcast(outside, places)
    return builder.op(Opcode.SELECT, builder.gte(found, 2), builder.gte(found, 1), nowhere)


def _keeping(select: HloComputation, kind: PrimitiveType) -> HloComputation:
    """A reducer of (value, number, is it there): what `select` keeps of the elements that are there."""
    body = select.module.add_computation(f"selected.{select.name}")
    builder = Builder(body)
    kinds = (kind, PrimitiveType.S32, PrimitiveType.PRED)
    held, met = (
        [builder.parameter(3 * side + i, ArrayShape(k)) for i, k in enumerate(kinds)] for side in range(2)
    )
    at: dict[HloInstruction, HloInstruction] = {}
    for inst in select.make_instruction_post_order():
        if inst.opcode is Opcode.PARAMETER:
            at[inst] = (held[0], met[0])[inst.parameter_number]
        else:
            at[inst] = body.add_clone(inst, [at[operand] for operand in inst.operands])
    keeps = builder.op(Opcode.AND, held[2], at[select.root])
    taken = builder.op(Opcode.AND, met[2], builder.op(Opcode.NOT, keeps))
    parts = [builder.op(Opcode.SELECT, taken, new, old) for old, new in zip(held, met, strict=True)]
    body.set_root(builder.tuple_(*parts))
    return body


WINDOWED: dict[str, Rewrite] = {
    REDUCE_WINDOW: _reduce_window,
    SELECT_AND_SCATTER: _select_and_scatter_same,
}

RULES: dict[Opcode, Rewrite] = {Opcode.SELECT_AND_SCATTER: _select_and_scatter}
