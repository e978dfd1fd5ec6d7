"""How are the transformations applied, and when is the result final?

Greedily: a candidate that is simpler, verifies and still fails in the same way becomes the case, and the
transformation goes on from the place it had reached. Rounds follow each other until one changes nothing, which
is a fixpoint, or until time is up.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice

from fuzz.case import Case, fits
from fuzz.reduce.calls import fewer_calls
from fuzz.reduce.cost import cost
from fuzz.reduce.decoration import less_decoration, plain_names, shorter_op_names
from fuzz.reduce.dimensions import smaller_dimensions
from fuzz.reduce.editing import Candidate, Transformation
from fuzz.reduce.instructions import no_dead_code, simpler_instructions
from fuzz.reduce.literals import plainer_constants, plainer_inputs
from fuzz.reduce.loops import flat_loop_states, smaller_loop_states
from fuzz.reduce.outputs import smaller_root
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


@dataclass(frozen=True, eq=False)
class Reduction:
    """The smallest failing case found, in how many attempts; `complete` unless time ran out first."""

    case: Case
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
) -> Reduction:
    """The simplest case for which `holds` that the transformations lead to from `case`, for which it holds.

    `seconds` is the time after which no new attempt begins.
    """
    search = _Search(case, holds, clock, clock() + seconds)
    started = clock()
    complete = True
    try:
        while sum(search.apply(transformation) for transformation in transformations):
            pass
    except _OutOfTime:
        complete = False
    return Reduction(search.case, search.attempts, search.taken, clock() - started, complete)


class _Search:
    def __init__(self, case: Case, holds: Holds, clock: Callable[[], float], end: float) -> None:
        self.case = case
        self.attempts = 0
        self.taken = 0
        self._cost = cost(case)
        self._is_flagged = is_flagged_as_inferred(case.module)
        self._holds = holds
        self._clock = clock
        self._end = end

    def apply(self, transformation: Transformation) -> int:
        """Take every candidate that helps. Returns how many did."""
        position: int | None = 0
        taken_before = self.taken
        while position is not None:
            position = self._take_next(transformation, position)
        return self.taken - taken_before

    def _take_next(self, transformation: Transformation, skip: int) -> int | None:
        """Take the first candidate from place `skip` on that helps; None if none does."""
        # The candidates before this place were refused by a case that differed by what was taken since: the
        # next round asks them again.
        for place, candidate in enumerate(islice(transformation(self.case), skip, None), start=skip):
            if self._clock() >= self._end:
                raise _OutOfTime
            if self._try(candidate):
                return place
        return None

    def _try(self, candidate: Candidate) -> bool:
        try:
            case = candidate()
        except IllegalRewrite:
            return False
        if case is None:
            return False
        new_cost = cost(case)
        if new_cost >= self._cost or not _is_sound(case):
            return False
        if self._is_flagged and not is_flagged_as_inferred(case.module):
            return False  # the verifier leaves open which dimensions are dynamic
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
