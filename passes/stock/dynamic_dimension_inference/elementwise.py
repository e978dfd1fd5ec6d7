"""Which sizes has the result of an operation on elements?"""

from __future__ import annotations

from hlo import HloInstruction, Opcode
from hlo.opcode import ELEMENTWISE_BINARY, ELEMENTWISE_UNARY
from passes.stock.dynamic_dimension_inference.state import Rule, State


def passed_on(state: State, inst: HloInstruction) -> None:
    """The same dimensions have the same sizes."""
    for _, index, dimension, size in state.operand_sizes(inst):
        state.record(inst, dimension, size, index)


def fitted(state: State, inst: HloInstruction) -> None:
    """Sizes that differ are fitted to each other; an operand without a size in a dimension has no say there."""
    rank = inst.array_shape.rank
    for dimension in range(rank):
        size: HloInstruction | None = None
        for operand in inst.operands:
            if operand.array_shape.rank != rank:
                continue  # the scalar bounds of a clamp, the scalar predicate of a select
            other = state.sizes.size(operand, (), dimension)
            if other is None or other is size:
                continue
            size = other if size is None else _checked(state, inst, dimension, size, other)
        if size is not None:
            state.record(inst, dimension, size)


def _checked(
    state: State, inst: HloInstruction, dimension: int, size: HloInstruction, other: HloInstruction
) -> HloInstruction:
    """Sizes are compared as instructions: two constants of equal value are two sizes (section 4.8)."""
    arithmetic = state.arithmetic(inst)
    if state.shape_check == "compile-time":
        state.refuse(inst, f"{size.name} and {other.name} cannot be proved equal", dimension=dimension)
    if state.shape_check == "run-time":
        state.checks.setdefault(inst.parent, []).append(arithmetic.is_equal(size, other))
    return arithmetic.fitted(size, other)


def _bitcast_convert(state: State, inst: HloInstruction) -> None:
    before, after = inst.operand(0).array_shape, inst.array_shape
    if before.element_type.bit_width != after.element_type.bit_width:
        state.refuse(inst, "the width of an element changes", operand=0)
    passed_on(state, inst)


RULES: dict[Opcode, Rule] = {
    **dict.fromkeys(ELEMENTWISE_UNARY, passed_on),
    **dict.fromkeys(ELEMENTWISE_BINARY, fitted),
    Opcode.BITCAST_CONVERT: _bitcast_convert,
    Opcode.CLAMP: fitted,
    Opcode.COMPARE: fitted,
    Opcode.CONVERT: passed_on,
    Opcode.COPY: passed_on,
    Opcode.DOMAIN: passed_on,
    Opcode.MAP: fitted,
    Opcode.OPTIMIZATION_BARRIER: passed_on,
    Opcode.REDUCE_PRECISION: passed_on,
    Opcode.SELECT: fitted,
    Opcode.STOCHASTIC_CONVERT: fitted,
}
