"""What lies in the padding of what is reduced, contracted or sorted?

Source: `stock_passes.md` sections 5.4, 5.5 and 5.8.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hlo import ArrayShape, HloComputation, HloInstruction, Opcode, PrimitiveType, TupleShape
from hlo.attributes import ConvolutionDimensions, DotDimensions, SortDimension, Window
from hlo.builder import Builder
from passes.stock.dynamic_padder.masking import is_live, masked, zero
from passes.stock.dynamic_padder.reducers import identities, lowest
from passes.stock.dynamic_padder.state import Rewrite, State


def _reduce(state: State, inst: HloInstruction) -> None:
    """An identity of the reducer, so that padding counts for nothing.

    Upstream takes the initial value instead, which may be none, and leaves inputs alone that have no size themselves.
    """
    count = len(inst.operands) // 2
    sizes = _shared_sizes(state, inst, count)
    reduced = {d: size for d, size in sizes.items() if d in inst.dimensions}
    if reduced:
        _mask_inputs(state, inst, count, reduced, fillers(state, inst, inst.called_computations[0], count))


def fillers(state: State, inst: HloInstruction, reducer: HloComputation, count: int) -> list[HloInstruction]:
    if not state.sound.reducer_identity:
        return list(inst.operands[count : 2 * count])
    values = identities(reducer, count)
    if values is None:
        state.refuse(inst, f"the identity of {reducer.name} is not known")
    return [state.builder(inst).constant(value) for value in values]


def _reduce_window(state: State, inst: HloInstruction) -> None:
    """An identity of the reducer: what a window finds beyond the edge counts for nothing."""
    window = inst.attributes
    assert isinstance(window, Window)
    count = len(inst.operands) // 2
    sizes = _shared_sizes(state, inst, count)
    inside = {d: size for d, size in sizes.items() if window.dimensions[d].size != 1 or _moves(window, d)}
    if inside:
        _mask_inputs(state, inst, count, inside, fillers(state, inst, inst.called_computations[0], count))


def _moves(window: Window, dimension: int) -> bool:
    row = window.dimensions[dimension]
    return (row.padding_low, row.padding_high, row.base_dilation) != (0, 0, 1)


def _shared_sizes(state: State, inst: HloInstruction, count: int) -> dict[int, HloInstruction]:
    """The size of each dynamic dimension of the inputs, which have the same ones."""
    found: dict[int, HloInstruction] = {}
    for operand in inst.operands[:count]:
        for d in range(operand.array_shape.rank):
            size = state.size(operand, d)
            if size is not None:
                found.setdefault(d, size)
    return found


def _mask_inputs(
    state: State,
    inst: HloInstruction,
    count: int,
    sizes: dict[int, HloInstruction],
    fillers: list[HloInstruction],
) -> None:
    for number in range(count):
        operand = inst.operand(number)
        mine = {
            d: size
            for d, size in sizes.items()
            if state.sound.mask_static_inputs or state.size(operand, d) is not None
        }
        _mask(state, inst, number, mine, fillers[number])


def _mask(
    state: State,
    inst: HloInstruction,
    number: int,
    sizes: Mapping[int, HloInstruction],
    filler: HloInstruction,
) -> None:
    """Put `filler` into the padding of one operand."""
    operand = result = inst.operand(number)
    for d, size in sizes.items():
        result = masked(state.builder(inst), result, d, size, filler)
        state.trace.fire(f"mask-{inst.opcode}")
    inst.parent.replace_operand(inst, number, result, accept_different_shape=True)
    if result is not operand:
        state.sizes.forward(operand, result)


def mask_selected(
    state: State, inst: HloInstruction, inside: Sequence[int], places: Mapping[int, HloInstruction]
) -> None:
    """Upstream's way with a select-and-scatter: the least value in the padding, the initial one in the source's."""
    operand, _, init = inst.operands
    least = lowest(operand.array_shape.element_type)
    if least is None or not _is_greater_or_equal(inst.called_computations[0]):
        state.refuse(inst, "only the largest element may be selected", operand=0, dimension=min(inside))
    sizes = {d: size for d in inside if (size := state.size(operand, d)) is not None}
    _mask(state, inst, 0, sizes, state.builder(inst).constant(least))
    _mask(state, inst, 1, places, init)


def _is_greater_or_equal(select: HloComputation) -> bool:
    root = select.root
    return (
        root.opcode is Opcode.COMPARE
        and getattr(root.attributes, "direction", "") == "GE"
        and [getattr(o.attributes, "number", None) for o in root.operands] == [0, 1]
    )


def _dot(state: State, inst: HloInstruction) -> None:
    """Zeros on both sides of what is contracted. Upstream only where a side has the size: 0 times NaN is NaN."""
    numbers = inst.attributes
    assert isinstance(numbers, DotDimensions)
    _mask_contracted(state, inst, list(zip(numbers.lhs_contracting, numbers.rhs_contracting, strict=True)))


def _convolution(state: State, inst: HloInstruction) -> None:
    numbers = inst.attributes
    assert isinstance(numbers, ConvolutionDimensions)
    _mask_contracted(state, inst, [(numbers.input_feature, numbers.kernel_input_feature)])


def _mask_contracted(state: State, inst: HloInstruction, pairs: Sequence[tuple[int, int]]) -> None:
    sides: tuple[dict[int, HloInstruction], dict[int, HloInstruction]] = ({}, {})
    for left, right in pairs:
        mine = state.size(inst.operand(0), left), state.size(inst.operand(1), right)
        size = mine[0] or mine[1]
        for side, dimension in enumerate((left, right)):
            if size is not None and (state.sound.mask_both_sides or mine[side] is not None):
                sides[side][dimension] = mine[side] or size
    for number, sizes in enumerate(sides):
        if sizes:
            kind = inst.operand(number).array_shape.element_type
            _mask(state, inst, number, sizes, zero(state.builder(inst), kind))


def _pad(state: State, inst: HloInstruction) -> None:
    """The padding value, which is what follows the last element."""
    operand = inst.operand(0)
    sizes = {d: size for d in range(operand.array_shape.rank) if (size := state.size(operand, d)) is not None}
    if sizes:
        _mask(state, inst, 0, sizes, inst.operand(1))


def _sort(state: State, inst: HloInstruction) -> None:
    """One more operand says which elements are there, and those come first."""
    options = inst.attributes
    assert isinstance(options, SortDimension)
    dimension = options.dimension
    sizes = [size for operand in inst.operands if (size := state.size(operand, dimension)) is not None]
    if not sizes:
        return
    builder = state.builder(inst)
    shape = inst.operand(0).array_shape.to_static()
    live = is_live(builder, shape, dimension, sizes[0])
    count = len(inst.operands)
    comparator = _live_first(inst.called_computations[0], count)
    elements = [operand.array_shape.to_static() for operand in inst.operands]
    sort = inst.parent.add(
        Opcode.SORT,
        TupleShape((*elements, live.array_shape)),
        (*inst.operands, live),
        options,
        called_computations=(comparator,),
        name=inst.name,
        like=inst,
    )
    parts = [builder.gte(sort, i) for i in range(count)]
    state.replace(inst, parts[0] if count == 1 else builder.tuple_(*parts), "sort")


def _live_first(comparator: HloComputation, count: int) -> HloComputation:
    """`comparator` of elements with a flag: what is there comes before what is not, otherwise as before."""
    copy = comparator.module.add_computation(comparator.name)
    at: dict[HloInstruction, HloInstruction] = {}
    for inst in comparator.make_instruction_post_order():
        at[inst] = copy.add_clone(inst, [at[operand] for operand in inst.operands])
    builder = Builder(copy)
    left, right = (
        builder.parameter(2 * count + i, ArrayShape(PrimitiveType.PRED), name=name)
        for i, name in enumerate(("inbound_lhs", "inbound_rhs"))
    )
    first = builder.op(Opcode.OR, at[comparator.root], builder.op(Opcode.NOT, right))
    copy.set_root(builder.op(Opcode.AND, left, first))
    return copy


RULES: dict[Opcode, Rewrite] = {
    Opcode.CONVOLUTION: _convolution,
    Opcode.DOT: _dot,
    Opcode.PAD: _pad,
    Opcode.REDUCE: _reduce,
    Opcode.REDUCE_WINDOW: _reduce_window,
    Opcode.SORT: _sort,
}
