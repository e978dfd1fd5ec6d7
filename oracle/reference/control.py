"""What do the opcodes do that call computations, or only pass values on?

Control flow is walked in Python; no JAX operation is involved, so these rules make steps, not kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

import numpy as np

from hlo import TOKEN, HloComputation, HloInstruction, Opcode, Value
from hlo.evaluator import BOUNDARY_MARKERS, ForeignCustomCall
from oracle.reference.kernels import WHERE, Step


class Walker(Protocol):
    """Runs computations."""

    def spend_iteration(self, loop: HloInstruction) -> None:
        """Count one iteration of `loop`. Raises EvaluationLimit."""
        ...

    def run(self, computation: HloComputation, arguments: tuple[Value, ...]) -> Value:
        """The value of `computation`'s root."""
        ...


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
    if inst.custom_call_target not in BOUNDARY_MARKERS or len(inst.operands) != 1:
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
    Opcode.TUPLE: _tuple,
    Opcode.WHILE: _while,
}
