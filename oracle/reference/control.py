"""What do the opcodes do that call computations, or only pass values on?

Control flow is walked in Python; no JAX operation is involved, so these rules make steps, not kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from hlo import TOKEN, ArrayShape, HloComputation, HloInstruction, Opcode, Shape, TupleShape, Value
from hlo.attributes import ScanOptions
from hlo.evaluator import ForeignCustomCall, is_identity
from oracle.reference.kernels import WHERE, Step


class Walker(Protocol):
    """Runs computations."""

    def spend_iteration(self, loop: HloInstruction) -> None:
        """Count one iteration of `loop`. Raises EvaluationLimit."""
        ...

    def run(self, computation: HloComputation, arguments: tuple[Value, ...]) -> Value:
        """The value of `computation`'s root."""
        ...


Array = np.ndarray[Any, np.dtype[Any]]
ControlRule = Callable[[HloInstruction, Walker], Step]


def _identity(inst: HloInstruction, walker: Walker) -> Step:
    return lambda operand, *others: operand


def _constant(inst: HloInstruction, walker: Walker) -> Step:
    value = inst.literal.value
    return lambda: value


def _tuple(inst: HloInstruction, walker: Walker) -> Step:
    return lambda *elements: elements


def _get_tuple_element(inst: HloInstruction, walker: Walker) -> Step:
    index = inst.tuple_index
    return lambda elements: elements[index]


def _after_all(inst: HloInstruction, walker: Walker) -> Step:
    return lambda *tokens: TOKEN


def _call(inst: HloInstruction, walker: Walker) -> Step:
    (callee,) = inst.called_computations
    return lambda *arguments: walker.run(callee, arguments)


def _while(inst: HloInstruction, walker: Walker) -> Step:
    body, condition = inst.called_computations

    def loop(state: Value) -> Value:
        while walker.run(condition, (state,)):
            walker.spend_iteration(inst)
            state = walker.run(body, (state,))
        return state

    return loop


def _scan(inst: HloInstruction, walker: Walker) -> Step:
    """Slice after slice, from either end. Their results are stacked along the dimension that was taken away."""
    scan = inst.attributes
    assert isinstance(scan, ScanOptions)
    (body,) = inst.called_computations
    shapes = inst.shape.elements if isinstance(inst.shape, TupleShape) else (inst.shape,)
    outputs = shapes[: len(shapes) - scan.num_carries]
    size = inst.operand(0).array_shape.dimensions[scan.dimension]

    def loop(*operands: Value) -> Value:
        count = len(operands) - scan.num_carries
        carries = operands[count:]
        made: list[tuple[Value, ...]] = []
        for place in reversed(range(size)) if scan.is_reverse else range(size):
            walker.spend_iteration(inst)
            slices = [np.asarray(np.take(_checked_array(x), place, scan.dimension)) for x in operands[:count]]
            given = walker.run(body, (*slices, *carries))
            given = given if isinstance(given, tuple) else (given,)
            made.append(given[: len(outputs)])
            carries = given[len(outputs) :]
        if scan.is_reverse:
            made.reverse()
        stacked = [_stacked([row[i] for row in made], shape, scan) for i, shape in enumerate(outputs)]
        return (*stacked, *carries) if isinstance(inst.shape, TupleShape) else (*stacked, *carries)[0]

    return loop


def _checked_array(value: Value) -> Array:
    assert isinstance(value, np.ndarray)
    return value


def _stacked(elements: list[Value], shape: Shape, scan: ScanOptions) -> Value:
    assert isinstance(shape, ArrayShape)
    if not elements:
        return np.empty(shape.dimensions, shape.element_type.numpy)
    return np.stack([_checked_array(element) for element in elements], scan.dimension)


def _conditional(inst: HloInstruction, walker: Walker) -> Step:
    """By a predicate: true takes branch 0. By an s32: out of range takes the last branch."""
    branches = inst.called_computations

    def choose(selector: Value, *arguments: Value) -> Value:
        assert isinstance(selector, np.ndarray)
        index = int(selector)
        if selector.dtype == np.bool_:
            index = 1 - index
        elif not 0 <= index < len(branches):
            index = len(branches) - 1
        return walker.run(branches[index], (arguments[index],))

    return choose


def _custom_call(inst: HloInstruction, walker: Walker) -> Step:
    if not is_identity(inst):
        raise ForeignCustomCall(inst.custom_call_target, WHERE)
    return _identity(inst, walker)


RULES: Mapping[Opcode, ControlRule] = {
    Opcode.ADD_DEPENDENCY: _identity,
    Opcode.AFTER_ALL: _after_all,
    Opcode.CALL: _call,
    Opcode.CONDITIONAL: _conditional,
    Opcode.CONSTANT: _constant,
    Opcode.COPY: _identity,
    Opcode.CUSTOM_CALL: _custom_call,
    Opcode.DOMAIN: _identity,
    Opcode.FUSION: _call,
    Opcode.GET_TUPLE_ELEMENT: _get_tuple_element,
    Opcode.OPTIMIZATION_BARRIER: _identity,
    Opcode.SCAN: _scan,
    Opcode.TUPLE: _tuple,
    Opcode.WHILE: _while,
}
