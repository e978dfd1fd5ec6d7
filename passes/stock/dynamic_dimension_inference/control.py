"""How do sizes get into loops and branches, and out again?

Source: `stock_passes.md` sections 4.12 and 4.13: the tuples that go in and come out are widened by one s32[] for
each dynamic dimension.
"""

from __future__ import annotations

from collections.abc import Sequence

from hlo import ArrayShape, HloComputation, HloInstruction, Opcode, TupleShape, leaves
from hlo.builder import Builder
from passes.stock.dynamic_dimension_inference.bridges import pad_to_static
from passes.stock.dynamic_dimension_inference.custom_calls import custom_call
from passes.stock.dynamic_dimension_inference.sizes import SIZE, Index, leaf
from passes.stock.dynamic_dimension_inference.state import Rule, State

Place = tuple[Index, int]
"""A shape index and a dimension."""


def _while(state: State, inst: HloInstruction) -> None:
    """Every carried array that is dynamic at first has its size carried along, and must have one at the end."""
    init = inst.operand(0)
    carried = [((index, dimension), size) for index, dimension, size in state.sizes.of(init)]
    body, condition = (_own(inst, k) for k in range(2))
    if not carried:
        for callee in (body, condition):
            state.visit(callee)
        _refuse_new_sizes(state, inst, body)
        pad_to_static(state, inst)
        return
    places = [place for place, _ in carried]
    width = len(init.tuple_shape.elements)
    wide_init = _widened(state, init, [size for _, size in carried])
    for callee in (body, condition):
        _widen_parameter(state, callee, 0, places)
        state.visit(callee)
    _widen_root(state, body, [_size_at_root(state, inst, body, place) for place in places])
    outer = inst.parent
    wide = outer.add(
        Opcode.WHILE,
        wide_init.shape,
        (wide_init,),
        inst.attributes,
        called_computations=(body, condition),
        name=inst.name,
        like=inst,
    )
    _replace(state, inst, wide, width, places)


def _conditional(state: State, inst: HloInstruction) -> None:
    """Each branch gets the sizes of its argument and gives one for every dimension that is dynamic in some branch."""
    branches = [_own(inst, k) for k in range(len(inst.called_computations))]
    arguments: list[HloInstruction] = []
    for number, branch in enumerate(branches):
        argument = inst.operand(number + 1)
        carried = [((index, dimension), size) for index, dimension, size in state.sizes.of(argument)]
        if carried:
            if not isinstance(argument.shape, TupleShape):
                state.refuse(inst, "a branch takes a dynamic array that is in no tuple", operand=number + 1)
            argument = _widened(state, argument, [size for _, size in carried])
            _widen_parameter(state, branch, 0, [place for place, _ in carried])
        state.visit(branch)
        arguments.append(argument)
    for branch in branches:
        _refuse_dynamic_array(state, inst, branch)
    places = sorted({(index, d) for branch in branches for index, d, _ in state.sizes.of(branch.root)})
    if not places and all(a is b for a, b in zip(arguments, inst.operands[1:], strict=True)):
        return
    if places and not isinstance(inst.shape, TupleShape):
        state.refuse(inst, "the branches give a dynamic array that is in no tuple")
    for branch in branches:
        root = branch.root
        sizes = [
            state.sizes.size(root, *place) or state.arithmetic(root).constant(_bound(root, place))
            for place in places
        ]
        _widen_root(state, branch, sizes)
    outer = inst.parent
    wide = outer.add(
        Opcode.CONDITIONAL,
        branches[0].root.shape,
        (inst.operand(0), *arguments),
        inst.attributes,
        called_computations=branches,
        name=inst.name,
        like=inst,
    )
    if not places:
        outer.replace_instruction(inst, wide)
        state.sizes.changed = True
        state.trace.fire(f"widen-{wide.opcode}")
        return
    _replace(state, inst, wide, len(inst.tuple_shape.elements), places)


def _own(inst: HloInstruction, number: int) -> HloComputation:
    """A callee that nobody else calls: it is about to change."""
    callee = inst.called_computations[number]
    callers = callee.caller_instructions
    if len(callers) == 1 and callers[0].called_computations.count(callee) == 1:
        return callee
    copy = _copied(callee)
    called = list(inst.called_computations)
    called[number] = copy
    inst.parent.replace_called_computations(inst, called)
    return copy


def _copied(computation: HloComputation) -> HloComputation:
    copy = computation.module.add_computation(f"wide.{computation.name}")
    at: dict[HloInstruction, HloInstruction] = {}
    for inst in computation.make_instruction_post_order():
        at[inst] = copy.add_clone(inst, [at[operand] for operand in inst.operands])
    for inst, twin in at.items():
        for before in inst.control_predecessors:
            copy.add_control_dependency(at[before], twin)
    copy.set_root(at[computation.root])
    return copy


def _widened(state: State, source: HloInstruction, sizes: Sequence[HloInstruction]) -> HloInstruction:
    """A tuple of the elements of `source`, with their sizes recorded, and of `sizes`."""
    builder = Builder(source.parent)
    elements = [builder.gte(source, i) for i in range(len(source.tuple_shape.elements))]
    wide = builder.tuple_(*elements, *sizes)
    for index, dimension, size in tuple(state.sizes.of(source)):
        state.record(wide, dimension, size, index)
    return wide


def _widen_parameter(state: State, computation: HloComputation, number: int, places: Sequence[Place]) -> None:
    """Let the parameter have one more s32[] for each of `places`, which are its sizes there."""
    parameter = computation.parameters[number]
    old = parameter.tuple_shape
    users = parameter.users
    parameter.shape = TupleShape((*old.elements, *[SIZE] * len(places)))
    builder = Builder(computation)
    for i, (index, dimension) in enumerate(places):
        size = builder.gte(parameter, len(old.elements) + i)
        state.record(parameter, dimension, size, index)
    narrow: HloInstruction | None = None
    for user in users:
        if user.opcode is Opcode.GET_TUPLE_ELEMENT:
            user.shape = parameter.tuple_shape.elements[user.tuple_index]
            continue
        narrow = narrow or _narrow(state, parameter, len(old.elements))
        for operand_number, operand in enumerate(user.operands):
            if operand is parameter:
                computation.replace_operand(user, operand_number, narrow, accept_different_shape=True)
    if computation.root is parameter:
        narrow = narrow or _narrow(state, parameter, len(old.elements))
        computation.set_root(narrow, accept_different_shape=True)


def _narrow(state: State, wide: HloInstruction, width: int) -> HloInstruction:
    """A tuple of the first `width` elements of `wide`, with their sizes."""
    builder = Builder(wide.parent)
    narrow = builder.tuple_(*[builder.gte(wide, i) for i in range(width)])
    for index, dimension, size in tuple(state.sizes.of(wide)):
        state.record(narrow, dimension, size, index)
    return narrow


def _widen_root(state: State, computation: HloComputation, sizes: Sequence[HloInstruction]) -> None:
    root = computation.root
    if not sizes:
        return
    computation.set_root(_widened(state, root, sizes), accept_different_shape=True)


def _size_at_root(state: State, loop: HloInstruction, body: HloComputation, place: Place) -> HloInstruction:
    size = state.sizes.size(body.root, *place)
    if size is None:
        state.refuse(
            loop,
            f"element {list(place[0])} is dynamic at first and not after an iteration",
            dimension=place[1],
        )
    return size


def _refuse_new_sizes(state: State, loop: HloInstruction, body: HloComputation) -> None:
    for index, dimension, _ in state.sizes.of(body.root):
        state.refuse(loop, f"element {list(index)} is dynamic only after an iteration", dimension=dimension)


def _refuse_dynamic_array(state: State, inst: HloInstruction, branch: HloComputation) -> None:
    """An array from what the back end runs on dynamic ones: other branches would have to give such, too."""
    for index, shape in leaves(branch.root.shape):
        flags = shape.dynamic if isinstance(shape, ArrayShape) else ()
        for dimension, flag in enumerate(flags):
            if flag and state.sizes.size(branch.root, index, dimension) is None:
                state.refuse(inst, f"{branch.name} gives an array that has no size beside it")


def _bound(inst: HloInstruction, place: Place) -> int:
    index, dimension = place
    return leaf(inst.shape, index).dimensions[dimension]


def _replace(
    state: State, old: HloInstruction, wide: HloInstruction, width: int, places: Sequence[Place]
) -> None:
    """Put the first `width` elements of `wide` in the place of `old`; the others are their sizes."""
    outer = old.parent
    builder = Builder(outer)
    elements = [builder.gte(wide, i) for i in range(width)]
    narrow = builder.tuple_(*elements)
    for i, (index, dimension) in enumerate(places):
        size = builder.gte(wide, width + i)
        state.record(narrow, dimension, size, index)
        state.record(wide, dimension, size, index)
        if index:
            state.record(elements[index[0]], dimension, size, index[1:])
    for user in old.users:
        if user.opcode is Opcode.GET_TUPLE_ELEMENT:
            user.shape = narrow.tuple_shape.elements[user.tuple_index]
    outer.replace_all_uses_with(old, narrow)
    outer.relay_control_dependencies(old)
    outer.remove_instruction(old)
    state.sizes.forget(old)
    pad_to_static(state, narrow)
    state.sizes.changed = True
    state.trace.fire(f"widen-{wide.opcode}")


def _parameter(state: State, inst: HloInstruction) -> None:
    """Those of called computations have had their sizes recorded by the caller."""
    if inst.parent.is_entry:
        pad_to_static(state, inst)


def _tuple(state: State, inst: HloInstruction) -> None:
    for number, index, dimension, size in state.operand_sizes(inst):
        state.record(inst, dimension, size, (number, *index))


def _get_tuple_element(state: State, inst: HloInstruction) -> None:
    for _, index, dimension, size in state.operand_sizes(inst):
        if index[0] == inst.tuple_index:
            state.record(inst, dimension, size, index[1:])


RULES: dict[Opcode, Rule] = {
    Opcode.CONDITIONAL: _conditional,
    Opcode.CUSTOM_CALL: custom_call,
    Opcode.GET_TUPLE_ELEMENT: _get_tuple_element,
    Opcode.PARAMETER: _parameter,
    Opcode.TUPLE: _tuple,
    Opcode.WHILE: _while,
}
