"""Which dimension of a reshape's result takes up which size?

Source: `stock_passes.md` section 4.10. Where upstream guesses (the last flagged dimension of a group, an earlier
reshape the other way round) or lets a size disappear, this refuses.
"""

from __future__ import annotations

import math
from itertools import pairwise

from hlo import HloInstruction
from hlo.infer import common_factors
from passes.stock.dynamic_dimension_inference.state import State


def reshape(state: State, inst: HloInstruction) -> None:
    """Group by group of dimensions with equal products of bounds (section 1.3)."""
    before, after = inst.operand(0).array_shape, inst.array_shape
    sizes = dict(state.array_sizes(inst, 0))
    arithmetic = state.arithmetic(inst)
    for (i, j), (i_end, j_end) in pairwise(common_factors(before.dimensions, after.dimensions)):
        dynamic = [d for d in range(i, i_end) if d in sizes]
        if not dynamic:
            continue
        to = _taking_up(state, inst, range(j, j_end), dynamic[0])
        if (i_end - i, j_end - j) == (1, 1):
            state.record(inst, j, sizes[i])
            continue
        elements = sizes[dynamic[0]]
        for d in dynamic[1:]:
            elements = arithmetic.multiply(elements, sizes[d])
        elements = arithmetic.multiply(
            elements, math.prod(before.dimensions[d] for d in range(i, i_end) if d not in sizes)
        )
        others = math.prod(after.dimensions[d] for d in range(j, j_end) if d != to)
        state.record(inst, to, arithmetic.divide(elements, others) if others else elements)


def _taking_up(state: State, inst: HloInstruction, group: range, operand_dimension: int) -> int:
    """The dimension of the result's `group` that is as large as the other ones leave."""
    flagged = [d for d in group if inst.array_shape.is_dynamic_dimension(d)]
    if len(flagged) != 1:
        reason = "several dimensions of the result" if flagged else "no dimension of the result"
        state.refuse(inst, f"{reason} could take up the size", operand=0, dimension=operand_dimension)
    return flagged[0]
