"""How does the computation of a reduce or map become a JAX function?

Such a computation runs inside the compiled function, on traced scalars, so it cannot be walked in Python as the
rest of a program is. It is copied out of the graph into a small program first: the function outlives the graph
it came from, and must not notice when that graph changes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from hlo import ArrayShape, HloComputation, HloInstruction, Opcode, UnsupportedOpcode
from oracle.reference.kernels import WHERE, JaxFunction
from oracle.reference.rule import Rule

RuleOf = Callable[[Opcode], Rule | None]


def tracer(rule_of: RuleOf) -> Callable[[HloComputation], tuple[JaxFunction, Hashable]]:
    """The `Trace` that looks rules up in `rule_of`."""

    def trace(computation: HloComputation) -> tuple[JaxFunction, Hashable]:
        order = computation.make_instruction_post_order()
        position = {inst: i for i, inst in enumerate(order)}
        steps: list[tuple[JaxFunction, tuple[int, ...]]] = []
        keys: list[Hashable] = []
        for inst in order:
            function, key = _traced(inst, rule_of, trace)
            operands = tuple(position[operand] for operand in inst.operands)
            steps.append((function, operands))
            keys.append((key, operands))
        root = position[computation.root]
        return _function(steps, root), (root, *keys)

    return trace


def _function(steps: list[tuple[JaxFunction, tuple[int, ...]]], root: int) -> JaxFunction:
    def call(*arguments: Any) -> Any:
        values: list[Any] = []
        for function, operands in steps:
            values.append(function(arguments, *[values[i] for i in operands]))
        return values[root]

    return call


def _traced(
    inst: HloInstruction, rule_of: RuleOf, trace: Callable[[HloComputation], tuple[JaxFunction, Hashable]]
) -> tuple[JaxFunction, Hashable]:
    """`inst` as a function of the computation's arguments and its operands, and its key."""
    match inst.opcode:
        case Opcode.PARAMETER:
            number = inst.parameter_number
            return lambda arguments: arguments[number], ("parameter", number)
        case Opcode.CONSTANT:
            value = inst.literal.value
            return lambda arguments: value, ("constant", inst.literal)
        case Opcode.TUPLE:
            return lambda arguments, *elements: elements, "tuple"
        case Opcode.GET_TUPLE_ELEMENT:
            index = inst.tuple_index
            return lambda arguments, elements: elements[index], ("get", index)
        case Opcode.COPY | Opcode.OPTIMIZATION_BARRIER:
            return lambda arguments, operand: operand, "identity"
        case Opcode.CALL | Opcode.FUSION:
            callee, key = trace(inst.called_computations[0])
            return lambda arguments, *operands: callee(*operands), ("call", key)
        case _:
            return _computed(inst, rule_of, trace)


def _computed(
    inst: HloInstruction, rule_of: RuleOf, trace: Callable[[HloComputation], tuple[JaxFunction, Hashable]]
) -> tuple[JaxFunction, Hashable]:
    rule = rule_of(inst.opcode)
    kernel = None if rule is None else rule(inst, trace)
    if kernel is None or kernel.prepare is not None or not isinstance(inst.shape, ArrayShape):
        raise UnsupportedOpcode(f"{inst.opcode} applied element by element", WHERE)
    function = kernel.function
    return lambda arguments, *operands: function(*operands), kernel.key
