"""How are the transformations applied, and when is the result final?

Greedily: a candidate that is simpler, verifies and still fails in the same way becomes the case, and the
transformation goes on from the place it had reached. Rounds follow each other until one changes nothing, which
is a fixpoint, or until time is up.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Generic, TypeVar

from fuzz.case import Case, fits
from fuzz.reduce.calls import fewer_calls
from fuzz.reduce.cost import cost
from fuzz.reduce.decoration import less_decoration, plain_names, shorter_op_names
from fuzz.reduce.dimensions import smaller_dimensions
from fuzz.reduce.editing import Transformation
from fuzz.reduce.instructions import no_dead_code, simpler_instructions
from fuzz.reduce.literals import plainer_constants, plainer_inputs
from fuzz.reduce.loops import flat_loop_states, smaller_loop_states
from fuzz.reduce.outputs import smaller_root
from fuzz.reduce.ranks import fewer_dimensions
from fuzz.reduce.recipe import default_options, fewer_inputs, fewer_passes, fewer_switches
from fuzz.reduce.signatures import fewer_parameters, fewer_results
from fuzz.reduce.sizes import is_flagged_as_inferred, smaller_sizes
from fuzz.reduce.types import plainer_types
from hlo import IllegalRewrite
from hlo.verify import verify

TRANSFORMATIONS: tuple[Transformation, ...] = (
    # what makes every later attempt cheaper comes first
    fewer_inputs,
    fewer_passes,
    default_options,
    fewer_switches,
    no_dead_code,
    smaller_root,
    simpler_instructions,
    fewer_calls,
    fewer_results,
    fewer_parameters,
    flat_loop_states,
    smaller_loop_states,
    fewer_dimensions,
    smaller_dimensions,
    smaller_sizes,
    plainer_types,
    less_decoration,
    shorter_op_names,
    plainer_constants,
    plainer_inputs,
    plain_names,
)

Holds = Callable[[Case], bool]
"""Whether a case still fails in the same way."""


T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Reduction(Generic[T]):
    """The smallest failing case found, in how many attempts; `complete` unless time ran out first."""

    case: T
    attempts: int
    taken: int
    seconds: float
    complete: bool


class _OutOfTime(Exception):
    pass


def reduce_case(
    case: Case,
    holds: Holds,
    *,
    seconds: float = 60.0,
    transformations: Sequence[Transformation] = TRANSFORMATIONS,
    clock: Callable[[], float] = time.monotonic,
) -> Reduction[Case]:
    """The simplest case for which `holds` that the transformations lead to from `case`, for which it holds.

    `seconds` is the time after which no new attempt begins.
    """
    is_flagged = is_flagged_as_inferred(case.module)

    def is_sound(edited: Case) -> bool:
        # where the flags of dynamic dimensions are not as inferred, the verifier leaves open which are dynamic
        return _is_sound(edited) and (not is_flagged or is_flagged_as_inferred(edited.module))

    return search(case, holds, transformations, cost, is_sound, seconds=seconds, clock=clock)


def search(
    case: T,
    holds: Callable[[T], bool],
    transformations: Sequence[Callable[[T], Iterator[Callable[[], T | None]]]],
    cost_of: Callable[[T], Any],
    is_sound: Callable[[T], bool],
    *,
    seconds: float,
    clock: Callable[[], float] = time.monotonic,
) -> Reduction[T]:
    """As `reduce_case`, for cases of any form: `cost_of` orders them, `is_sound` says which edits left a case."""
    found = _Search(case, holds, cost_of, is_sound, clock, clock() + seconds)
    started = clock()
    complete = True
    try:
        while sum(found.apply(transformation) for transformation in transformations):
            pass
    except _OutOfTime:
        complete = False
    return Reduction(found.case, found.attempts, found.taken, clock() - started, complete)


class _Search(Generic[T]):
    def __init__(
        self,
        case: T,
        holds: Callable[[T], bool],
        cost_of: Callable[[T], Any],
        is_sound: Callable[[T], bool],
        clock: Callable[[], float],
        end: float,
    ) -> None:
        self.case = case
        self.attempts = 0
        self.taken = 0
        self._cost_of = cost_of
        self._cost = cost_of(case)
        self._is_sound = is_sound
        self._holds = holds
        self._clock = clock
        self._end = end

    def apply(self, transformation: Callable[[T], Iterator[Callable[[], T | None]]]) -> int:
        """Take every candidate that helps. Returns how many did."""
        position: int | None = 0
        taken_before = self.taken
        while position is not None:
            position = self._take_next(transformation, position)
        return self.taken - taken_before

    def _take_next(
        self, transformation: Callable[[T], Iterator[Callable[[], T | None]]], skip: int
    ) -> int | None:
        """Take the first candidate from place `skip` on that helps; None if none does."""
        # The candidates before this place were refused by a case that differed by what was taken since: the
        # next round asks them again.
        for place, candidate in enumerate(islice(transformation(self.case), skip, None), start=skip):
            if self._clock() >= self._end:
                raise _OutOfTime
            if self._try(candidate):
                return place
        return None

    def _try(self, candidate: Callable[[], T | None]) -> bool:
        try:
            case = candidate()
        except IllegalRewrite:
            return False
        if case is None:
            return False
        new_cost = self._cost_of(case)
        if new_cost >= self._cost or not self._is_sound(case):
            return False
        self.attempts += 1
        if not self._holds(case):
            return False
        self.case, self._cost = case, new_cost
        self.taken += 1
        return True


def _is_sound(case: Case) -> bool:
    """Whether the edit left a valid module whose inputs fit: what fails must be a pass, not the reducer."""
    if verify(case.module):
        return False
    shapes = [parameter.shape for parameter in case.module.entry_computation.parameters]
    return all(len(inputs) == len(shapes) and all(map(fits, inputs, shapes)) for inputs in case.inputs)
