"""Which sizes has a dot or a convolution?"""

from __future__ import annotations

from hlo import HloInstruction, Opcode
from hlo.attributes import ConvolutionDimensions, DotDimensions
from passes.stock.dynamic_dimension_inference.state import Rule, State


def _dot(state: State, inst: HloInstruction) -> None:
    """The result has the batches, then the free dimensions of the left side, then those of the right."""
    numbers = inst.attributes
    assert isinstance(numbers, DotDimensions)
    left, right = (operand.array_shape.rank for operand in inst.operands[:2])
    free_left = [d for d in range(left) if d not in (*numbers.lhs_batch, *numbers.lhs_contracting)]
    free_right = [d for d in range(right) if d not in (*numbers.rhs_batch, *numbers.rhs_contracting)]
    sides = (
        (numbers.lhs_batch, free_left, len(numbers.lhs_batch)),
        (numbers.rhs_batch, free_right, len(numbers.lhs_batch) + len(free_left)),
    )
    found: dict[int, HloInstruction] = {}
    for number, (batch, free, offset) in enumerate(sides):
        for d, size in state.array_sizes(inst, number):
            if d in batch:
                found[batch.index(d)] = size  # of two sizes the right side's counts
            elif d in free:
                found[offset + free.index(d)] = size
    for dimension, size in sorted(found.items()):
        state.record(inst, dimension, size)


def _convolution(state: State, inst: HloInstruction) -> None:
    numbers = inst.attributes
    assert isinstance(numbers, ConvolutionDimensions)
    grouped = numbers.feature_group_count != 1 or numbers.batch_group_count != 1
    for number, _, d, size in state.operand_sizes(inst):
        feature = (numbers.input_feature, numbers.kernel_input_feature)[number]
        if not grouped and number == 0 and d == numbers.input_batch:
            state.record(inst, numbers.output_batch, size)
        elif grouped or d != feature:
            state.refuse(inst, "a dimension that is neither batch nor feature", operand=number, dimension=d)


RULES: dict[Opcode, Rule] = {Opcode.CONVOLUTION: _convolution, Opcode.DOT: _dot}
