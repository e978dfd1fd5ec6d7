"""Which sizes has the result of a reduction, a window or a sort?"""

from __future__ import annotations

from hlo import HloInstruction, Opcode, TupleShape
from hlo.attributes import Window, WindowDimension
from passes.stock.dynamic_dimension_inference.sizes import Index
from passes.stock.dynamic_dimension_inference.state import Rule, State
from passes.stock.dynamic_dimension_inference.windows import places, valid_places

TRIVIAL = WindowDimension()


def results(inst: HloInstruction) -> list[Index]:
    """Where the arrays of the result are: one alone, or the elements of a flat tuple."""
    if isinstance(inst.shape, TupleShape):
        return [(i,) for i in range(len(inst.shape.elements))]
    return [()]


def _record_everywhere(state: State, inst: HloInstruction, dimension: int, size: HloInstruction) -> None:
    """In all results, whichever operand the size came from; the first one to come counts."""
    for index in results(inst):
        if state.sizes.size(inst, index, dimension) is None:
            state.record(inst, dimension, size, index)


def _reduce(state: State, inst: HloInstruction) -> None:
    inputs = len(inst.operands) // 2
    for number, _, d, size in state.operand_sizes(inst):
        if number < inputs and d not in inst.dimensions:
            _record_everywhere(state, inst, d - sum(reduced < d for reduced in inst.dimensions), size)


def _reduce_window(state: State, inst: HloInstruction) -> None:
    window = inst.attributes
    assert isinstance(window, Window)
    inputs = len(inst.operands) // 2
    arithmetic = state.arithmetic(inst)
    for number, _, d, size in state.operand_sizes(inst):
        if number >= inputs:
            continue
        row = window.dimensions[d]
        if row == TRIVIAL:
            _record_everywhere(state, inst, d, size)
        elif state.sound.window_padding:
            _record_everywhere(state, inst, d, places(arithmetic, size, row))
        else:
            _record_everywhere(state, inst, d, valid_places(arithmetic, size, row))


def _select_and_scatter(state: State, inst: HloInstruction) -> None:
    for d, size in state.array_sizes(inst, 0):
        state.record(inst, d, size)


def _sort(state: State, inst: HloInstruction) -> None:
    for number, _, d, size in state.operand_sizes(inst):
        state.record(inst, d, size, results(inst)[number])


RULES: dict[Opcode, Rule] = {
    Opcode.REDUCE: _reduce,
    Opcode.REDUCE_WINDOW: _reduce_window,
    Opcode.SELECT_AND_SCATTER: _select_and_scatter,
    Opcode.SORT: _sort,
}
