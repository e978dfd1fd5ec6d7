"""Which parameters, tuple elements and results does nobody need?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from fuzz.case import Case
from fuzz.reduce.editing import Candidate, callers, cloned, computations_from_entry, drop_if_dead
from hlo import HloComputation, HloInstruction, Opcode, TupleShape, Value
from hlo.attributes import ParameterNumber, TupleIndex

InputSets = tuple[tuple[Value, ...], ...]


def fewer_parameters(case: Case) -> Iterator[Candidate]:
    """Without one unused parameter, or one unused element of a tuple parameter."""
    for computation in computations_from_entry(case.module):
        if callers(computation) is None:
            continue
        for parameter in reversed(computation.parameters):
            if parameter.users or parameter.is_root:
                for element in reversed(_unused_elements(parameter)):
                    yield partial(_drop_element, case, parameter, element)
            else:
                yield partial(_drop_parameter, case, parameter)


def fewer_results(case: Case) -> Iterator[Candidate]:
    """Of a called computation's result tuple: one element alone, or one that no caller reads gone or simpler."""
    for computation in computations_from_entry(case.module):
        calls = callers(computation)
        root = computation.root
        if computation.is_entry or calls is None or root.opcode is not Opcode.TUPLE or root.users:
            continue
        read = {_read_element(user) for call in calls for user in call.users}
        elements = range(len(root.operands))
        for element in elements:
            if read <= {element} and all(call.parent.is_entry or not call.is_root for call in calls):
                yield partial(_return_element, case, computation, element)
        # the result of the whole program may become smaller, too
        if None in read or any(call.is_root and not call.parent.is_entry for call in calls):
            continue
        for element in reversed(elements):
            if element not in read:
                yield partial(_drop_result, case, computation, element)
                for inst in _above(root.operand(element)):
                    yield partial(_result_instead, case, computation, element, inst)


def _above(inst: HloInstruction) -> list[HloInstruction]:
    """What `inst` is computed from, the furthest first."""
    found = [inst]
    for below in found:  # grows while it is walked
        found += [operand for operand in dict.fromkeys(below.operands) if operand not in found]
    return list(reversed(found[1:]))


def _read_element(user: HloInstruction) -> int | None:
    return user.tuple_index if user.opcode is Opcode.GET_TUPLE_ELEMENT else None


def _unused_elements(parameter: HloInstruction) -> list[int]:
    """The elements of a tuple parameter that no get-tuple-element reads; none if it is used in other ways."""
    read = {_read_element(user) for user in parameter.users}
    if parameter.is_root or None in read or not isinstance(parameter.shape, TupleShape):
        return []
    return [element for element in range(len(parameter.shape.elements)) if element not in read]


def _drop_parameter(case: Case, parameter: HloInstruction) -> Case:
    case, copies = cloned(case)
    copy = copies[parameter]
    computation, number = copy.parent, copy.parameter_number
    calls = computation.caller_instructions
    computation.relay_control_dependencies(copy)
    computation.remove_instruction(copy)
    for later in computation.parameters[number:]:
        later.attributes = ParameterNumber(later.parameter_number - 1)
    for call in calls:
        set_operands(call, without(call.operands, number))
    if computation.is_entry:
        return replace(case, inputs=tuple(tuple(without(inputs, number)) for inputs in case.inputs))
    return case


def _drop_element(case: Case, parameter: HloInstruction, element: int) -> Case:
    case, copies = cloned(case)
    copy = copies[parameter]
    number = copy.parameter_number
    inputs = case.inputs
    if copy.parent.is_entry:
        inputs = narrow_inputs(inputs, number, element)
    for call in copy.parent.caller_instructions:
        operand = call.operand(number)
        if operand.opcode is Opcode.PARAMETER and operand.parent.is_entry and operand.use_count == 1:
            operand.shape = TupleShape(tuple(without(operand.tuple_shape.elements, element)))
            inputs = narrow_inputs(inputs, operand.parameter_number, element)
        else:
            smaller = narrowed(operand, element)
            set_operands(call, [*call.operands[:number], smaller, *call.operands[number + 1 :]])
    narrow(copy, element)
    return replace(case, inputs=inputs)


def _return_element(case: Case, computation: HloComputation, element: int) -> Case:
    case, copies = cloned(case)
    twin = copies[computation.root].parent
    old = twin.root
    twin.set_root(old.operand(element), accept_different_shape=True)
    drop_if_dead(old)
    for call in twin.caller_instructions:
        call.shape = twin.root.shape
        for user in call.users:  # get-tuple-elements
            user.parent.replace_all_uses_with(user, call)
            drop_if_dead(user)
    return case


def _drop_result(case: Case, computation: HloComputation, element: int) -> Case:
    case, copies = cloned(case)
    twin = copies[computation.root].parent
    old = twin.root
    twin.set_root(twin.add_tuple(without(old.operands, element)), accept_different_shape=True)
    drop_if_dead(old)
    for call in twin.caller_instructions:
        narrow(call, element)
    return case


def _result_instead(case: Case, computation: HloComputation, element: int, inst: HloInstruction) -> Case:
    case, copies = cloned(case)
    twin = copies[computation.root].parent
    old = twin.root
    operands = [*old.operands[:element], copies[inst], *old.operands[element + 1 :]]
    twin.set_root(twin.add_tuple(operands), accept_different_shape=True)
    drop_if_dead(old)
    for call in twin.caller_instructions:
        call.shape = twin.root.shape
    return case


def narrow(inst: HloInstruction, element: int) -> None:
    """Take `element` out of the tuple shape of `inst`, which only get-tuple-elements of others read."""
    inst.shape = TupleShape(tuple(without(inst.tuple_shape.elements, element)))
    for user in inst.users:
        if user.tuple_index > element:
            user.attributes = TupleIndex(user.tuple_index - 1)


def narrowed(operand: HloInstruction, element: int) -> HloInstruction:
    """A tuple of the elements of `operand` but one, in its computation."""
    computation = operand.parent
    if operand.opcode is Opcode.TUPLE:
        return computation.add_tuple(without(operand.operands, element))
    kept = without(range(len(operand.tuple_shape.elements)), element)
    return computation.add_tuple([computation.add_get_tuple_element(operand, index) for index in kept])


def set_operands(call: HloInstruction, operands: Sequence[HloInstruction]) -> None:
    """Give `call` other operands; those that nobody uses then are dropped."""
    old = call.operands
    call.parent.set_operands(call, operands)
    for inst in dict.fromkeys(old):
        drop_if_dead(inst)


def narrow_inputs(inputs: InputSets, number: int, element: int) -> InputSets:
    """The input sets without `element` of parameter `number`."""
    return tuple(
        (*given[:number], _narrow_value(given[number], element), *given[number + 1 :]) for given in inputs
    )


def _narrow_value(value: Value, element: int) -> Value:
    assert isinstance(value, tuple)
    return tuple(without(value, element))


def without(items: Sequence, index: int) -> list:
    """A list of all items but one."""
    return [*items[:index], *items[index + 1 :]]
