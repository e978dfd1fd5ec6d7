"""Which sizes do the operations on sizes give?"""

from __future__ import annotations

import numpy as np

from hlo import HloInstruction, Opcode
from passes.stock.dynamic_dimension_inference.state import Rule, State


def _get_dimension_size(state: State, inst: HloInstruction) -> None:
    """Becomes the size itself, or the bound of a dimension that is static."""
    (dimension,) = inst.dimensions
    operand = inst.operand(0)
    size = state.sizes.size(operand, (), dimension)
    if size is None:
        if operand.array_shape.is_dynamic_dimension(dimension):
            return
        size = state.arithmetic(inst).constant(operand.array_shape.dimensions[dimension])
    state.sizes.replace_size(inst, size)
    inst.parent.replace_instruction(inst, size)
    state.sizes.forget(inst)
    state.sizes.changed = True
    state.trace.fire("size-known")


def refuse_outside(state: State, inst: HloInstruction, number: int, dimension: int) -> None:
    """Refuse an operand, `number`, that is a constant and no size of a dimension of the result. Upstream takes it."""
    size, bound = inst.operand(number), inst.array_shape.dimensions[dimension]
    if size.opcode is not Opcode.CONSTANT:
        return
    value = size.literal.value
    assert isinstance(value, np.ndarray)
    if not 0 <= value <= bound:
        state.refuse(inst, f"the size {value} is not in [0, {bound}]", operand=number, dimension=dimension)


def _set_dimension_size(state: State, inst: HloInstruction) -> None:
    """The size is the operand's; of other dimensions it is what it was. A bound as size of an unflagged one: static."""
    (dimension,) = inst.dimensions
    refuse_outside(state, inst, 1, dimension)
    operand, size = inst.operands
    for index, other, known in tuple(state.sizes.of(operand)):
        if other != dimension:
            state.record(inst, other, known, index)
    shape = inst.array_shape
    is_bound = size.opcode is Opcode.CONSTANT and size.literal.value == shape.dimensions[dimension]
    if is_bound and not shape.is_dynamic_dimension(dimension):
        return
    state.sizes.set_size(inst, (), dimension, size, keep_flag=True)


def _dynamic_reshape(state: State, inst: HloInstruction) -> None:
    """Each flagged dimension has the size that its operand gives."""
    for dimension in range(inst.array_shape.rank):
        refuse_outside(state, inst, dimension + 1, dimension)
        if inst.array_shape.is_dynamic_dimension(dimension):
            state.record(inst, dimension, inst.operand(dimension + 1))


RULES: dict[Opcode, Rule] = {
    Opcode.DYNAMIC_RESHAPE: _dynamic_reshape,
    Opcode.GET_DIMENSION_SIZE: _get_dimension_size,
    Opcode.SET_DIMENSION_SIZE: _set_dimension_size,
}
