"""Where do arrays that are really smaller than their bounds become static ones with sizes beside them?

Source: `stock_passes.md` sections 4.5 and 4.6. An array that only operations use that run on such arrays stays.
"""

from __future__ import annotations

from hlo import ArrayShape, HloInstruction, Opcode, TupleShape
from hlo.attributes import CustomCallTarget
from hlo.builder import Builder
from hlo.evaluator import PAD_TO_STATIC
from passes.stock.dynamic_dimension_inference.sizes import SIZE, Index
from passes.stock.dynamic_dimension_inference.state import State, Support


def is_pad_to_static(inst: HloInstruction) -> bool:
    """Whether `inst` is the custom-call that makes an array static."""
    return inst.opcode is Opcode.CUSTOM_CALL and inst.custom_call_target == PAD_TO_STATIC


def pad_to_static(state: State, inst: HloInstruction) -> HloInstruction:
    """Make the dynamic arrays of `inst` static where somebody needs that; what stands in its place is returned."""
    if inst.shape.is_static:
        return inst
    users = inst.users
    was_root = inst.is_root
    replaced = _made_static(state, inst, inst, ())
    if replaced is inst:
        return inst
    computation = inst.parent
    for user in users:
        for number, operand in enumerate(user.operands):
            if operand is inst:
                computation.replace_operand(user, number, replaced, accept_different_shape=True)
    if was_root:
        computation.set_root(replaced, accept_different_shape=True)
    state.trace.fire("pad-to-static")
    return replaced


def _made_static(state: State, inst: HloInstruction, whole: HloInstruction, index: Index) -> HloInstruction:
    """`inst`, which is what is at `index` of `whole`; itself where nothing below is to be made static."""
    shape = inst.shape
    if shape.is_static:
        return inst
    if isinstance(shape, TupleShape):
        builder = Builder(inst.parent)
        parts = [builder.gte(inst, i) for i in range(len(shape.elements))]
        for below, dimension, size in tuple(state.sizes.of(inst)):
            state.record(parts[below[0]], dimension, size, below[1:])
        made = [_made_static(state, part, whole, (*index, i)) for i, part in enumerate(parts)]
        if all(new is old for new, old in zip(made, parts, strict=True)):
            for part in parts:
                inst.parent.remove_instruction(part)
            return inst
        rebuilt = builder.tuple_(*made)
        for i, part in enumerate(made):
            for below, dimension, size in tuple(state.sizes.of(part)):
                state.record(rebuilt, dimension, size, (i, *below))
        return rebuilt
    assert isinstance(shape, ArrayShape)
    if not _is_needed(state, whole, index):
        return inst
    return _padded(state, inst, shape)


def _padded(state: State, inst: HloInstruction, shape: ArrayShape) -> HloInstruction:
    builder = Builder(inst.parent)
    result = TupleShape((shape.to_static(), *[SIZE] * shape.rank))
    attributes = CustomCallTarget(PAD_TO_STATIC)
    call = builder.op(
        Opcode.CUSTOM_CALL, inst, attributes=attributes, shape=result, name=f"{inst.name}.padded"
    )
    data = builder.gte(call, 0, name=f"{inst.name}.data")
    for dimension, flag in enumerate(shape.dynamic):
        if flag:
            state.record(data, dimension, builder.gte(call, dimension + 1, name=f"{inst.name}.size"))
    state.sizes.changed = True
    return data


def _is_needed(state: State, inst: HloInstruction, index: Index) -> bool:
    """Whether a user of what is at `index` of `inst` cannot take an array that is smaller than its bound."""
    for user in inst.users:
        if user.opcode is Opcode.GET_TUPLE_ELEMENT:
            if index and user.tuple_index == index[0] and _is_needed(state, user, index[1:]):
                return True
        elif user.opcode is Opcode.TUPLE:
            places = [i for i, operand in enumerate(user.operands) if operand is inst]
            if any(_is_needed(state, user, (i, *index)) for i in places):
                return True
        elif user.opcode is Opcode.WHILE:
            if not _is_carried_on(state, user, index):
                return True
        elif not is_pad_to_static(user) and state.supports(user) is Support.NONE:
            return True
    return False


def _is_carried_on(state: State, loop: HloInstruction, index: Index) -> bool:
    """Whether a loop never asks for the size of the array at `index` of its state.

    Then nothing in it needs the array padded, and its body gives such an array again.
    """
    body, condition = loop.called_computations
    return _gives_dynamic_array(state, body.root, index) and not any(
        _is_needed(state, callee.parameters[0], index) for callee in (body, condition)
    )


def _gives_dynamic_array(state: State, inst: HloInstruction, index: Index) -> bool:
    """Whether what is at `index` of `inst` comes from a parameter or from what runs on dynamic arrays, unchanged."""
    while True:
        if inst.opcode is Opcode.TUPLE and index:
            inst, index = inst.operand(index[0]), index[1:]
        elif inst.opcode is Opcode.GET_TUPLE_ELEMENT:
            inst, index = inst.operand(0), (inst.tuple_index, *index)
        else:
            return inst.opcode is Opcode.PARAMETER or state.supports(inst) is not Support.NONE
