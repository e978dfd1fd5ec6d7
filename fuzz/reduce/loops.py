"""Which elements of a loop's state does the failure not need, and do they have to lie in tuples of their own?

That a loop runs at all is asked in `calls`, what its body computes in `instructions`, how often it runs in `literals`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from fuzz.case import Case
from fuzz.reduce.editing import Candidate, cloned, computations_from_entry, drop_if_dead
from fuzz.reduce.signatures import InputSets, narrow, narrow_inputs, narrowed, set_operands, without
from hlo import HloComputation, HloInstruction, Opcode, TupleShape, Value
from hlo.attributes import TupleIndex

T = TypeVar("T")


def smaller_loop_states(case: Case) -> Iterator[Candidate]:
    """One element of a loop's state gone that the loop only passes on or never reads; last ones first.

    Who reads it afterwards reads what it was at first.
    """
    for computation in computations_from_entry(case.module):
        for inst in computation.make_instruction_post_order():
            if inst.opcode is Opcode.WHILE and _is_readable(inst):
                for element in reversed(range(len(inst.tuple_shape.elements))):
                    if all(_is_spare(c, element) for c in inst.called_computations):
                        yield partial(_without_element, case, inst, element)


def _is_readable(loop: HloInstruction) -> bool:
    """Whether its computations are its own, and only single elements of its result are read."""
    own = all(len(list(c.caller_instructions)) == 1 for c in loop.called_computations)
    elementwise = all(user.opcode is Opcode.GET_TUPLE_ELEMENT for user in loop.users)
    return own and elementwise and (loop.parent.is_entry or not loop.is_root)


def _is_spare(computation: HloComputation, element: int) -> bool:
    """Whether nothing but the same element of the result is made of an element of the state."""
    (parameter,) = computation.parameters
    root = computation.root
    for user in parameter.users:
        if user.opcode is not Opcode.GET_TUPLE_ELEMENT:
            return False
        if user.tuple_index == element and any(
            reader is not root or root.opcode is not Opcode.TUPLE for reader in user.users
        ):
            return False
        if user.tuple_index == element and [
            place for place, operand in enumerate(root.operands) if operand is user
        ] not in ([], [element]):
            return False
    returns_state = isinstance(root.shape, TupleShape)
    return not returns_state or root is parameter or root.opcode is Opcode.TUPLE


def _without_element(case: Case, loop: HloInstruction, element: int) -> Case:
    case, copies = cloned(case)
    twin = copies[loop]
    init = twin.operand(0)
    for reader in list(twin.users):
        if reader.tuple_index == element:
            first = init.operand(element) if init.opcode is Opcode.TUPLE else None
            first = first or twin.parent.add_get_tuple_element(init, element)
            twin.parent.replace_all_uses_with(reader, first)
            drop_if_dead(reader)
    if twin.is_removed:  # nobody read anything else
        case.module.remove_unused_computations()
        return case
    for computation in twin.called_computations:
        _narrow_state(computation, element)
    case = _narrow_init(case, twin, element)
    narrow(twin, element)
    return case


def _narrow_state(computation: HloComputation, element: int) -> None:
    (parameter,) = computation.parameters
    root = computation.root
    if root.opcode is Opcode.TUPLE and isinstance(root.shape, TupleShape):
        computation.set_root(
            computation.add_tuple(without(root.operands, element)), accept_different_shape=True
        )
        drop_if_dead(root)
    for user in list(parameter.users):
        if user.tuple_index == element:
            drop_if_dead(user)
    narrow(parameter, element)


def _narrow_init(case: Case, loop: HloInstruction, element: int) -> Case:
    """What the loop begins with, without an element; also as an input, where it is one of its own."""
    init = loop.operand(0)
    if init.opcode is Opcode.PARAMETER and init.parent.is_entry and init.use_count == 1:
        init.shape = TupleShape(tuple(without(init.tuple_shape.elements, element)))
        return replace(case, inputs=narrow_inputs(case.inputs, init.parameter_number, element))
    set_operands(loop, [narrowed(init, element)])
    return case


def flat_loop_states(case: Case) -> Iterator[Candidate]:
    """A tuple among the elements of a loop's state gone: its elements are elements of the state."""
    for computation in computations_from_entry(case.module):
        for inst in computation.make_instruction_post_order():
            if inst.opcode is Opcode.WHILE and _is_readable(inst) and _is_read_by_element(inst):
                for element, shape in enumerate(inst.tuple_shape.elements):
                    if isinstance(shape, TupleShape):
                        yield partial(_flattened, case, inst, element)


def _is_read_by_element(loop: HloInstruction) -> bool:
    """Whether the loop's computations read single elements of the state only."""
    readers = [user for c in loop.called_computations for p in c.parameters for user in p.users]
    return all(user.opcode is Opcode.GET_TUPLE_ELEMENT for user in readers)


def _flattened(case: Case, loop: HloInstruction, element: int) -> Case:
    case, copies = cloned(case)
    twin = copies[loop]
    body = twin.called_computations[0]
    inner = twin.tuple_shape.elements[element]
    assert isinstance(inner, TupleShape)
    init, root = twin.operand(0), body.root
    if init.opcode is Opcode.PARAMETER and init.parent.is_entry and init.use_count == 1:
        init.shape = TupleShape(_put_in_place(init.tuple_shape.elements, element, inner.elements))
        case = replace(case, inputs=_flat_inputs(case.inputs, init.parameter_number, element))
    else:
        set_operands(twin, [init.parent.add_tuple(_spread(init, element))])
    body.set_root(body.add_tuple(_spread(root, element)), accept_different_shape=True)
    drop_if_dead(root)
    for holder in (*(c.parameters[0] for c in twin.called_computations), twin):
        holder.shape = body.root.shape
        _read_flat(holder, element, len(inner.elements))
    return case


def _put_in_place(items: Sequence[T], element: int, parts: Iterable[T]) -> tuple[T, ...]:
    """The items with `parts` instead of one of them."""
    return (*items[:element], *parts, *items[element + 1 :])


def _flat_inputs(inputs: InputSets, number: int, element: int) -> InputSets:
    """The input sets, with parameter `number` flat."""
    return tuple(_put_in_place(given, number, [_flat_value(given[number], element)]) for given in inputs)


def _flat_value(value: Value, element: int) -> Value:
    assert isinstance(value, tuple)
    parts = value[element]
    assert isinstance(parts, tuple)
    return _put_in_place(value, element, parts)


def _spread(made: HloInstruction, element: int) -> tuple[HloInstruction, ...]:
    """The elements of a tuple, with the elements of one of them in its place."""
    elements = _elements(made)
    return _put_in_place(elements, element, _elements(elements[element]))


def _elements(made: HloInstruction) -> tuple[HloInstruction, ...]:
    if made.opcode is Opcode.TUPLE:
        return made.operands
    count = len(made.tuple_shape.elements)
    return tuple(made.parent.add_get_tuple_element(made, index) for index in range(count))


def _read_flat(holder: HloInstruction, element: int, count: int) -> None:
    """Let the readers of a state that is flat now read the same values of it."""
    computation = holder.parent
    readers = list(holder.users)
    parts = [computation.add_get_tuple_element(holder, element + index) for index in range(count)]
    for user in readers:
        if user.tuple_index > element:
            user.attributes = TupleIndex(user.tuple_index + count - 1)
        elif user.tuple_index == element:
            for reader in list(user.users):
                if reader.opcode is Opcode.GET_TUPLE_ELEMENT:
                    computation.replace_all_uses_with(reader, parts[reader.tuple_index])
                    drop_if_dead(reader)
            if not user.is_removed and (user.users or user.is_root):
                computation.replace_all_uses_with(user, computation.add_tuple(parts))
                drop_if_dead(user)
    for part in parts:
        drop_if_dead(part)
