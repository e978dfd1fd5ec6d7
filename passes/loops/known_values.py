"""Which scalars are known before the program runs, seen through tuples, copies, calls and loops?

Nothing is rewritten and nothing is cloned: a value is followed to where it is made, into the computations that
calls call and out of them again, and what depends on constants only is evaluated. Source: the preparation that
`stock_passes.md` section 11.2 asks of the unroller (scalar CSE, TupleSimplifier, WhileLoopConstantSinking), as
questions instead of rewrites.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from hlo import (
    SPECS,
    ArrayShape,
    Family,
    HloComputation,
    HloInstruction,
    HloModule,
    Opcode,
    UnsupportedOpcode,
    Value,
    same_bits,
)
from hlo.evaluator import EvaluationLimit, evaluate_instruction

Array = np.ndarray[Any, np.dtype[Any]]

_ELEMENTS = 64
"""The most elements of an array that is worth evaluating here: counters are scalars, now and then in a vector."""
_DEPTH = 64
"""The longest chain of operations that is evaluated. Tuples, copies and calls on the way do not count."""
_STEPS = 20_000
"""The most places that one question looks at: programs can share operands so that paths multiply."""

_EVALUATED = frozenset({Family.ELEMENTWISE, Family.SHAPE, Family.INDEXING})
_PASSES_ON = frozenset({Opcode.COPY, Opcode.OPTIMIZATION_BARRIER})


@dataclass(frozen=True, eq=False)
class Frame:
    """One execution of a computation: what its parameters are, and where those come from. Interned: has identity."""

    arguments: tuple[HloInstruction, ...]
    outer: Frame | None


@dataclass(frozen=True)
class Place:
    """The element `path` (tuple indices, outermost first) of what `inst` gives in the execution `frame`.

    Without a frame it is any execution: what is known of it holds of all.
    """

    inst: HloInstruction
    path: tuple[int, ...] = ()
    frame: Frame | None = None


class KnownValues:
    """Answers about one module, which must not change in the meantime."""

    def __init__(self, module: HloModule) -> None:
        self._module = module
        self._frames: dict[tuple[tuple[HloInstruction, ...], Frame | None], Frame] = {}
        self._values: dict[Place, Array | None] = {}
        self._invariant: dict[tuple[HloInstruction, tuple[int, ...]], bool] = {}
        self._callers: dict[HloComputation, list[HloInstruction]] | None = None
        self._steps_left = 0

    def frame(self, arguments: tuple[HloInstruction, ...], outer: Frame | None = None) -> Frame:
        """The execution of a computation on `arguments`, which belong to the execution `outer`."""
        return self._frames.setdefault((arguments, outer), Frame(arguments, outer))

    def source(self, place: Place) -> Place:
        """Where the value at `place` is made: up through tuples, copies and calls, and past loops that keep it."""
        inst, path, frame = place.inst, place.path, place.frame
        while True:
            opcode = inst.opcode
            if opcode is Opcode.TUPLE and path:
                inst, path = inst.operand(path[0]), path[1:]
            elif opcode is Opcode.GET_TUPLE_ELEMENT:
                inst, path = inst.operand(0), (inst.tuple_index, *path)
            elif opcode in _PASSES_ON or (opcode is Opcode.BITCAST and inst.shape == inst.operand(0).shape):
                inst = inst.operand(0)
            elif opcode is Opcode.CALL:
                frame = self.frame(inst.operands, frame)
                inst = inst.called_computations[0].root
            elif opcode is Opcode.PARAMETER and frame is not None:
                inst, frame = frame.arguments[inst.parameter_number], frame.outer
            elif opcode is Opcode.WHILE and self.is_invariant(inst, path):
                inst = inst.operand(0)
            else:
                return Place(inst, path, frame)

    def is_invariant(self, loop: HloInstruction, path: tuple[int, ...]) -> bool:
        """Whether the element `path` of a loop's state is what it was before the loop, in every iteration."""
        key = (loop, path)
        if key not in self._invariant:
            body = loop.called_computations[0]
            self._invariant[key] = False  # for a loop that would have to be asked about itself
            made = self.source(Place(body.root, path))
            self._invariant[key] = made == Place(body.parameters[0], path)
        return self._invariant[key]

    def value(self, place: Place) -> Array | None:
        """The value at `place` where it is an array of few elements that depends on constants only."""
        self._steps_left = _STEPS
        return self._value(place, _DEPTH)

    def integer(self, place: Place) -> int | None:
        """The `value` of an integer scalar."""
        value = self.value(place)
        if value is None or value.shape or value.dtype == np.bool_:
            return None
        try:
            return int(value)
        except (TypeError, ValueError, OverflowError):  # complex; NaN; infinite
            return None

    def _value(self, place: Place, depth: int) -> Array | None:
        place = self.source(place)
        if place in self._values:
            return self._values[place]
        self._steps_left -= 1
        if depth == 0 or self._steps_left < 0:
            return None  # not remembered: another question may come by a shorter way
        known = self._made(place, depth)
        if known is not None or self._steps_left >= 0:
            self._values[place] = known
        return known

    def _made(self, place: Place, depth: int) -> Array | None:
        inst, path = place.inst, place.path
        if inst.opcode is Opcode.CONSTANT:
            return _small(_element(inst.literal.value, path))
        if inst.opcode is Opcode.PARAMETER:
            return self._argument(place, depth)
        if path or not _is_evaluated(inst):
            return None
        operands: list[Value] = []
        for operand in inst.operands:
            value = self._value(Place(operand, (), place.frame), depth - 1)
            if value is None:
                return None
            operands.append(value)
        try:
            made = evaluate_instruction(inst, operands)
        except (UnsupportedOpcode, EvaluationLimit):
            return None
        return made if isinstance(made, np.ndarray) else None

    def _argument(self, place: Place, depth: int) -> Array | None:
        """A parameter is known where everyone who calls gives it the same value, and every iteration keeps it."""
        found: Array | None = None
        for given in self._given(place):
            value = None if given is None else self._value(given, depth - 1)
            if value is None or (found is not None and not same_bits(found, value)):
                return None
            found = value
        return found

    def _given(self, place: Place) -> Iterator[Place | None]:
        """What each caller gives for a parameter without a frame; None for a caller that nothing is known of."""
        for caller in self._callers_of(place.inst.parent):
            if caller.opcode is Opcode.CALL:
                yield Place(caller.operand(place.inst.parameter_number), place.path)
            elif caller.opcode is Opcode.WHILE and self.is_invariant(caller, place.path):
                yield Place(caller.operand(0), place.path)
            else:
                yield None

    def _callers_of(self, computation: HloComputation) -> list[HloInstruction]:
        if self._callers is None:
            self._callers = {}
            for caller in self._module.computations:
                for inst in caller.instructions:
                    for callee in inst.called_computations:
                        self._callers.setdefault(callee, []).append(inst)
        return self._callers.get(computation, [])


def _is_evaluated(inst: HloInstruction) -> bool:
    """Whether the instruction is cheap, without effect, and says by its operands alone what it gives."""
    if SPECS[inst.opcode].family not in _EVALUATED or inst.called_computations or inst.has_side_effect:
        return False
    return all(
        isinstance(shape, ArrayShape) and shape.is_static and shape.element_count <= _ELEMENTS
        for shape in (inst.shape, *(operand.shape for operand in inst.operands))
    )


def _element(value: Value, path: tuple[int, ...]) -> Value:
    for index in path:
        assert isinstance(value, tuple)
        value = value[index]
    return value


def _small(value: Value) -> Array | None:
    return value if isinstance(value, np.ndarray) and value.size <= _ELEMENTS else None
