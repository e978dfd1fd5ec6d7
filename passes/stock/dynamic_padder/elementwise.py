"""When is a single element repeated to meet a larger operand?

Source: `stock_passes.md` section 5.9. Upstream does this for operations on two operands only, although its
inference gives the sizes of select, clamp and map in the same way.
"""

from __future__ import annotations

from hlo import HloInstruction, Opcode
from hlo.opcode import ELEMENTWISE_BINARY
from passes.stock.dynamic_padder.masking import repeated
from passes.stock.dynamic_padder.state import Rewrite, State


def _fitted(state: State, inst: HloInstruction) -> None:
    if inst.opcode in _ONLY_OURS and not state.sound.repeat_everywhere:
        return
    rank = inst.array_shape.rank
    builder, arithmetic = state.builder(inst), state.arithmetic(inst)
    for number, operand in enumerate(inst.operands):
        if operand.array_shape.rank != rank:
            continue
        fitted = operand
        for dimension in range(rank):
            mine = state.size(operand, dimension)
            others = {
                state.size(other, dimension): None
                for other in inst.operands
                if other.array_shape.rank == rank
            }
            for theirs in others:
                if mine is None or theirs is None or theirs is mine:
                    continue
                once = arithmetic.is_repeated(mine, theirs)
                everywhere = builder.broadcast(once, fitted.array_shape.dimensions)
                fitted = builder.op(Opcode.SELECT, everywhere, repeated(builder, fitted, dimension), fitted)
        if fitted is not operand:
            inst.parent.replace_operand(inst, number, fitted, accept_different_shape=True)
            state.sizes.forward(operand, fitted)
            state.trace.fire("repeat")


_ONLY_OURS = frozenset({Opcode.CLAMP, Opcode.MAP, Opcode.SELECT})

RULES: dict[Opcode, Rewrite] = dict.fromkeys(
    (*ELEMENTWISE_BINARY, Opcode.COMPARE, Opcode.STOCHASTIC_CONVERT, *_ONLY_OURS), _fitted
)
