"""How is a program run: in which order, with which values in which place, and within which limits?

A computation is turned once into a list of steps, (kernel, where the operands are, where the result goes), when it
is first called; every later call runs the list. All of its instructions run, also those that the root does not
need, as in upstream's HloEvaluator.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from hlo.bound_parameters import materialised
from hlo.errors import InvalidInput, UnsupportedOpcode
from hlo.evaluator.bridges import asks_for_sizes, zeros
from hlo.evaluator.kernels import Fill, Function, Kernel, frozen_value
from hlo.evaluator.limits import DEFAULT_LIMITS, EvaluationLimit, Limits
from hlo.evaluator.rules import RULES
from hlo.graph import HloComputation, HloInstruction
from hlo.literal import Token, Value
from hlo.module import HloModule
from hlo.opcode import Opcode
from hlo.shape import ArrayShape, Shape, TokenShape, TupleShape

Observer = Callable[[HloInstruction, Sequence[Value], Value], None]
Step = tuple[Kernel, int, tuple[int, ...]]

_PARAMETER = Opcode.PARAMETER  # an enum's member is not quick to look up
_CONSTANT = Opcode.CONSTANT


@dataclass(slots=True, eq=False)
class _Plan:
    """A computation made ready. Values live in numbered places: one for each instruction, in post order."""

    order: list[HloInstruction]
    steps: list[Step]
    initial: list[Value | None]
    parameters: list[tuple[int, int]]
    root: int


class Evaluator:
    """Runs one module (or one of its computations) any number of times, preparing each computation once.

    The module must be clean to the verifier, and must not change while the evaluator is in use. `observer` is
    called after each executed instruction, parameters, constants and those of called computations included, with
    the instruction, its operands' values and its own. Of what is applied element by element (by map, reduce, scatter,
    sort, …) it may see nothing: see `mapping`. `fill` says what PadToStatic leaves in the padding.

    The value of an array with dynamic dimensions is as large as the array is. Custom-calls lead from there to static
    arrays and back; any other operation on it is refused unless it fills its bounds.
    """

    def __init__(
        self,
        module: HloModule | HloComputation,
        *,
        observer: Observer | None = None,
        limits: Limits = DEFAULT_LIMITS,
        fill: Fill = zeros,
    ) -> None:
        self._fill = fill
        self._entry = materialised(module).entry_computation if isinstance(module, HloModule) else module
        self._observer = observer
        self._limits = limits
        self._plans: dict[HloComputation, _Plan] = {}
        self._iterations_left = 0
        self._instructions_left = 0

    @property
    def limits(self) -> Limits:
        """What one run may spend."""
        return self._limits

    @property
    def fill(self) -> Fill:
        """What lies in padding."""
        return self._fill

    def run(self, inputs: Sequence[Value]) -> Value:
        """The result for `inputs`, one for each parameter. Every array in it is read-only.

        Raises InvalidInput for inputs that do not fit the parameters, UnsupportedOpcode (or one of its kinds,
        UnsupportedType and ForeignCustomCall) and EvaluationLimit.
        """
        arguments = [frozen_value(value) for value in inputs]
        with self._running():
            _check_arguments(self._entry, self._plan(self._entry), arguments)
            return self.function(self._entry)(arguments)

    def run_instruction(self, inst: HloInstruction, operands: Sequence[Value]) -> Value:
        """The value of `inst` where its operands have the values `operands`."""
        values = [frozen_value(value) for value in operands]
        with self._running():
            return self._kernel(inst)(*values)

    def _running(self) -> np.errstate:
        self._iterations_left = self._limits.while_iterations
        self._instructions_left = self._limits.instructions
        # Infinities and NaNs are values like others. Entered once: it costs as much as an instruction.
        return np.errstate(all="ignore")

    def function(self, computation: HloComputation) -> Function:
        """`computation` as a function of its arguments. Prepared when first called."""
        run = self._run_observed if self._observer is not None else self._run

        def call(arguments: Sequence[Value]) -> Value:
            plan = self._plan(computation)
            self._instructions_left -= len(plan.order)
            if self._instructions_left < 0:
                raise EvaluationLimit("instructions", computation.name)
            return run(plan, arguments)

        return call

    def spend_iteration(self, loop: HloInstruction) -> None:
        """Count one iteration of `loop`. Raises EvaluationLimit."""
        self._iterations_left -= 1
        if self._iterations_left < 0:
            raise EvaluationLimit("while_iterations", loop.name)

    def _plan(self, computation: HloComputation) -> _Plan:
        plan = self._plans.get(computation)
        if plan is None:
            plan = self._plans[computation] = self._prepare(computation)
        return plan

    def _prepare(self, computation: HloComputation) -> _Plan:
        order = computation.make_instruction_post_order()
        place = {inst: i for i, inst in enumerate(order)}
        plan = _Plan(order, [], [None] * len(order), [], place[computation.root])
        for at, inst in enumerate(order):
            opcode = inst.opcode
            if opcode is _PARAMETER:
                plan.parameters.append((inst.parameter_number, at))
            elif opcode is _CONSTANT:
                plan.initial[at] = frozen_value(inst.literal.value)
            else:
                plan.steps.append((self._kernel(inst), at, tuple([place[o] for o in inst.operands])))
        return plan

    def _kernel(self, inst: HloInstruction) -> Kernel:
        rule = RULES.get(inst.opcode)
        if rule is None:
            raise UnsupportedOpcode(str(inst.opcode), "evaluator")
        shape = inst.shape  # a tuple's elements come from arrays that are looked at where they are made
        if isinstance(shape, ArrayShape) and math.prod(shape.dimensions) > self._limits.elements:
            raise EvaluationLimit("elements", inst.name)
        kernel = rule(inst, self)
        return _refusing_smaller(inst, kernel) if asks_for_sizes(inst) else kernel

    @staticmethod
    def _run(plan: _Plan, arguments: Sequence[Value]) -> Value:
        values = plan.initial.copy()
        for number, at in plan.parameters:
            values[at] = arguments[number]
        for kernel, at, operands in plan.steps:
            if len(operands) == 1:
                values[at] = kernel(values[operands[0]])
            elif len(operands) == 2:
                values[at] = kernel(values[operands[0]], values[operands[1]])
            else:
                values[at] = kernel(*[values[i] for i in operands])
        return values[plan.root]  # pyright: ignore[reportReturnType]  # every place has been filled

    def _run_observed(self, plan: _Plan, arguments: Sequence[Value]) -> Value:
        observer = self._observer
        steps = {at: (kernel, operands) for kernel, at, operands in plan.steps}
        values = plan.initial.copy()
        for number, at in plan.parameters:
            values[at] = arguments[number]
        for at, inst in enumerate(plan.order):
            operands: list[Value] = []
            if at in steps:
                kernel, places = steps[at]
                operands = [values[i] for i in places]  # pyright: ignore[reportAssignmentType]
                values[at] = kernel(*operands)
            if observer is not None:
                observer(inst, operands, values[at])  # pyright: ignore[reportArgumentType]
        return values[plan.root]  # pyright: ignore[reportReturnType]


def evaluate(
    module: HloModule,
    inputs: Sequence[Value],
    *,
    observer: Observer | None = None,
    limits: Limits = DEFAULT_LIMITS,
    fill: Fill = zeros,
) -> Value:
    """The result of the entry computation of `module` for `inputs`. See `Evaluator`."""
    return Evaluator(module, observer=observer, limits=limits, fill=fill).run(inputs)


def evaluate_computation(
    computation: HloComputation,
    arguments: Sequence[Value],
    *,
    observer: Observer | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> Value:
    """The result of `computation` for `arguments`. See `Evaluator.run`."""
    return Evaluator(computation, observer=observer, limits=limits).run(arguments)


def evaluate_instruction(
    inst: HloInstruction, operands: Sequence[Value], *, limits: Limits = DEFAULT_LIMITS
) -> Value:
    """The value of `inst` where its operands have the values `operands`; what it calls is evaluated.

    Operand values must have the operands' shapes. Raises as `Evaluator.run`, and InvalidInput for a parameter.
    """
    return Evaluator(inst.parent, limits=limits).run_instruction(inst, operands)


def _refusing_smaller(inst: HloInstruction, kernel: Kernel) -> Kernel:
    """`kernel`, which knows bounds only, for arrays that fill them."""
    bounds = [getattr(operand.shape, "dimensions", None) for operand in inst.operands]

    def checked(*operands: Value) -> Value:
        for operand, bound in zip(operands, bounds, strict=True):
            if isinstance(operand, np.ndarray) and operand.shape != bound:
                raise UnsupportedOpcode(f"{inst.opcode} of arrays smaller than their bounds", "evaluator")
        return kernel(*operands)

    return checked


def _check_arguments(computation: HloComputation, plan: _Plan, arguments: Sequence[Value]) -> None:
    if len(arguments) != len(plan.parameters):
        raise InvalidInput(f"{computation.name} takes {len(plan.parameters)} arguments, not {len(arguments)}")
    for number, at in plan.parameters:
        parameter, argument = plan.order[at], arguments[number]
        if not _fits(argument, parameter.shape):
            raise InvalidInput(
                f"{parameter.name} is {parameter.shape}, and cannot be given {_described(argument)}"
            )


def _fits(value: Value, shape: Shape) -> bool:
    if isinstance(shape, TupleShape):
        return (
            isinstance(value, tuple)
            and len(value) == len(shape.elements)
            and all(map(_fits, value, shape.elements))
        )
    if isinstance(shape, ArrayShape):
        return (
            isinstance(value, np.ndarray)
            and (value.shape == shape.dimensions or _is_smaller(value, shape))
            and value.dtype == shape.element_type.numpy
        )
    return isinstance(shape, TokenShape) and isinstance(value, Token)


def _is_smaller(value: np.ndarray, shape: ArrayShape) -> bool:
    """Whether `value` falls short of `shape` in nothing but dynamic dimensions."""
    return (
        bool(shape.dynamic)
        and value.ndim == shape.rank
        and all(
            size == bound or (flag and size < bound)
            for size, bound, flag in zip(value.shape, shape.dimensions, shape.dynamic, strict=True)
        )
    )


def _described(value: object) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_described, value))})"
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{list(value.shape)}"
    return f"a {type(value).__name__}"
