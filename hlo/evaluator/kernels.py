"""What is a rule, what does it give back, and which small tools do all rules share?

A rule looks at an instruction once and returns a kernel: a function of the operand values that does the work.
What attributes and shapes decide is decided in the rule, so that a body that is called a hundred times pays for
it once. A kernel returns a read-only array of exactly the instruction's dtype and shape; it may return an
operand or a view of one, because no value is ever written to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from hlo.evaluator.limits import WORK_PER_ELEMENT, EvaluationLimit, Limits
from hlo.graph import HloComputation, HloInstruction
from hlo.literal import Value, frozen
from hlo.shape import ArrayShape

Array = np.ndarray[Any, np.dtype[Any]]
Kernel = Callable[..., Value]
Function = Callable[[Sequence[Value]], Value]
Fill = Callable[[ArrayShape], Array]
"""A static shape -> what lies in an array of it before anything is written."""


class Machine(Protocol):
    """What a rule may ask of whoever runs its kernel."""

    @property
    def limits(self) -> Limits:
        """What the evaluation may spend."""
        ...

    @property
    def fill(self) -> Fill:
        """What lies in padding."""
        ...

    def function(self, computation: HloComputation) -> Function:
        """`computation` as a function of its arguments. Prepared when first called."""
        ...

    def spend_iteration(self, loop: HloInstruction) -> None:
        """Count one iteration of `loop`. Raises EvaluationLimit."""
        ...


Rule = Callable[[HloInstruction, Machine], Kernel]


def check_work(inst: HloInstruction, machine: Machine, operations: int) -> None:
    """Raise EvaluationLimit if `inst` takes more element operations than `Limits.elements` allows it."""
    if operations > machine.limits.elements * WORK_PER_ELEMENT:
        raise EvaluationLimit("elements", inst.name)


def sealed(array: Array) -> Array:
    """`array`, which the caller just made and nobody else holds, read-only from now on."""
    array.setflags(False)  # pyright: ignore[reportCallIssue]  # by position: half the time of by name
    return array


def frozen_value(value: Value) -> Value:
    """`value` with every array in it read-only; writable ones are copied first, so that nobody else writes."""
    if isinstance(value, tuple):
        return tuple(map(frozen_value, value))
    return frozen(value) if isinstance(value, np.ndarray) else value


def identity(value: Value, *_: Value) -> Value:
    """The first operand."""
    return value


def unsigned(array: Array) -> Array:
    """The bits of `array` as unsigned integers of the same width."""
    return array.view(UNSIGNED_OF_SIZE[array.dtype.itemsize])


UNSIGNED_OF_SIZE = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
SIGNED_OF_SIZE = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}
