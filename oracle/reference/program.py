"""What does a module compute when JAX runs each of its operations?

The module is walked in Python. A computation is planned once (each instruction becomes a function and the places
of its operands) and may then run many times, with other inputs or as the body of a loop.
"""

from __future__ import annotations

from collections.abc import Sequence

import jax
import numpy as np

from hlo import (
    ArrayShape,
    HloComputation,
    HloInstruction,
    HloModule,
    InvalidInput,
    Opcode,
    Shape,
    TokenShape,
    TupleShape,
    UnsupportedOpcode,
    Value,
    compatible,
    merged,
    value_shape,
)
from hlo.evaluator import EvaluationLimit, Limits
from oracle.reference import (
    contraction,
    control,
    dynamic,
    elementwise,
    gather_scatter,
    indexing,
    linalg,
    random_bits,
    reduction,
    shape,
    sorting,
    windows,
)
from oracle.reference.kernels import WHERE, Step, step
from oracle.reference.trace import tracer

KERNEL_RULES = merged(
    *(elementwise.RULES, shape.RULES, indexing.RULES, gather_scatter.RULES, reduction.RULES, sorting.RULES),
    *(windows.RULES, contraction.RULES, linalg.RULES, dynamic.RULES, random_bits.RULES),
)
CONTROL_RULES = control.RULES

_trace = tracer(KERNEL_RULES.get)

Plan = tuple[list[tuple[int, Step, tuple[int, ...]]], list[int], int, int]


class Reference:
    """A module as JAX computes it. Plans are kept, so the module must not change while this is in use.

    Raises UnsupportedOpcode (or its kinds for element types and custom-calls) when a computation that holds an
    unsupported instruction is first run, EvaluationLimit past the `limits` of loop iterations and of the elements
    of one array, InvalidInput for inputs that are not the entry's parameters.
    """

    def __init__(self, module: HloModule, limits: Limits | None = None) -> None:
        self._module = module
        self._limits = limits or Limits()
        self._plans: dict[HloComputation, Plan] = {}
        self._steps: dict[HloInstruction, Step] = {}
        self._iterations = 0

    def __call__(self, inputs: Sequence[Value]) -> Value:
        """The entry's result, as NumPy arrays, for one input set (a value for each parameter, by number)."""
        entry = self._module.entry_computation
        _check_inputs(entry, inputs)
        self._iterations = 0
        if jax.default_backend() == "cpu":
            return self.run(entry, tuple(inputs))
        with jax.default_device(jax.devices("cpu")[0]):
            return self.run(entry, tuple(inputs))

    def run(self, computation: HloComputation, arguments: tuple[Value, ...]) -> Value:
        """The value of `computation`'s root."""
        steps, parameters, size, root = self._plans.get(computation) or self._planned(computation)
        values: list[Value] = [()] * size
        for position, argument in zip(parameters, arguments, strict=True):
            values[position] = argument
        for position, function, operands in steps:
            values[position] = function(*[values[i] for i in operands])
        return values[root]

    def step_of(self, inst: HloInstruction) -> Step | None:
        """`inst` alone, as a function of its operands; None for what JAX does not compute but Python walks."""
        if inst.opcode not in KERNEL_RULES:
            return None
        step_ = self._steps.get(inst)
        if step_ is None:
            step_ = self._steps[inst] = self._step(inst)
        return step_

    def spend_iteration(self, loop: HloInstruction) -> None:
        """Count one iteration of `loop`. Raises EvaluationLimit."""
        self._iterations += 1
        if self._iterations > self._limits.while_iterations:
            raise EvaluationLimit("while_iterations", loop.name)

    def _planned(self, computation: HloComputation) -> Plan:
        order = computation.make_instruction_post_order()
        position = {inst: i for i, inst in enumerate(order)}
        steps = [
            (position[inst], self._step(inst), tuple(position[operand] for operand in inst.operands))
            for inst in order
            if inst.opcode is not Opcode.PARAMETER
        ]
        parameters = [position[parameter] for parameter in computation.parameters]
        plan = self._plans[computation] = (steps, parameters, len(order), position[computation.root])
        return plan

    def _step(self, inst: HloInstruction) -> Step:
        if control_rule := CONTROL_RULES.get(inst.opcode):
            return control_rule(inst, self)
        rule = KERNEL_RULES.get(inst.opcode)
        if rule is None or not inst.shape.is_static:
            raise UnsupportedOpcode(inst.opcode, WHERE)
        for shape_ in (inst.shape, *(operand.shape for operand in inst.operands)):
            if isinstance(shape_, ArrayShape) and shape_.element_count > self._limits.elements:
                raise EvaluationLimit("elements", inst.name)
        return step(rule(inst, _trace), inst.opcode, inst.shape, [o.shape for o in inst.operands])


def run_jax(module: HloModule, inputs: Sequence[Value], limits: Limits | None = None) -> Value:
    """The result of `module` on one input set; `Reference(module)` is cheaper for several. See `Reference`."""
    return Reference(module, limits)(inputs)


def _check_inputs(entry: HloComputation, inputs: Sequence[Value]) -> None:
    parameters = entry.parameters
    if len(inputs) != len(parameters):
        raise InvalidInput(f"{len(inputs)} inputs for the {len(parameters)} parameters of {entry.name}")
    for parameter, value in zip(parameters, inputs, strict=True):
        if not _has_shape(value, parameter.shape):
            raise InvalidInput(f"the input for {parameter.name} is not a {parameter.shape}")


def _has_shape(value: Value, wanted: Shape) -> bool:
    if isinstance(wanted, TupleShape):
        return (
            isinstance(value, tuple)
            and len(value) == len(wanted.elements)
            and all(_has_shape(v, s) for v, s in zip(value, wanted.elements, strict=True))
        )
    if isinstance(value, np.ndarray):
        return compatible(value_shape(value), wanted)
    return isinstance(wanted, TokenShape)
