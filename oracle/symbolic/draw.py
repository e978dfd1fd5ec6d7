"""For which sizes is a program with unknown sizes judged, and on which inputs?

Its types do not say which unknown sizes are equal, or twice another one. So sizes are drawn and tried: all alike, all
independent, and some alike; those that do not fit the program are left out and counted. Small sizes, because they
cost little and the mistakes are there: none, one, two.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np

from hlo import HloModule, InvalidInput, Value
from hlo.stablehlo import StableHloModule
from oracle.inputs import Mode, draw_inputs
from oracle.symbolic.specialise import Assignment, known_parameters, specialise

_ALIKE: Final = (3, 2, 1, 0, 4, 5)
_DRAWN: Final = (2, 3, 1, 0, 4, 5, 2, 3, 6, 8)
_TRIES: Final = 60
"""Assignments that are tried where few fit; each costs some milliseconds."""
_DRAWS: Final = 500


class _Slot(NamedTuple):
    """An unknown number: a dimension of a parameter, or an element of one that sizes are computed from."""

    parameter: int
    place: int
    bound: int | None


@dataclass(frozen=True)
class Sizes:
    """Assignments that fit a program. `left_out` counts those that do not, by what is said of them."""

    assignments: tuple[Assignment, ...]
    left_out: Mapping[str, int] = field(default_factory=Counter[str])

    def described(self) -> str:
        """What was left out, in a line; empty where nothing was."""
        if not self.left_out:
            return ""
        reason, _ = max(self.left_out.items(), key=lambda item: item[1])
        return f"left out: {sum(self.left_out.values())} assignments of sizes that do not fit (say: {reason})"


def draw_sizes(
    program: StableHloModule, seed: int, count: int, *, most: int | None = None, tries: int = _TRIES
) -> Sizes:
    """Up to `count` different assignments that fit `program`, no size above `most`, in at most `tries` attempts."""
    found: list[Assignment] = []
    left_out = Counter[str]()
    tried: set[Assignment] = set()
    for assignment in _candidates(program, seed):
        if assignment in tried or (most is not None and largest(program, assignment) > most):
            continue
        if len(tried) == tries:
            break
        tried.add(assignment)
        try:
            specialise(program, assignment)
        except InvalidInput as error:
            left_out[error.message] += 1
            continue
        found.append(assignment)
        if len(found) == count:
            break
    return Sizes(tuple(found), left_out)


def _candidates(program: StableHloModule, seed: int) -> Iterator[Assignment]:
    unknown = _Unknown(program)
    if not unknown.slots:
        yield unknown.assigned(())
        return
    rng = np.random.default_rng(seed)
    alike = iter(_ALIKE)
    count = len(unknown.slots)
    for number in range(_DRAWS):
        # one after the other, so that few assignments have some of each kind
        if number % 2 == 0 and (size := next(alike, None)) is not None:
            yield unknown.assigned([size] * count)
            continue
        groups = count if number % 4 == 1 else int(rng.integers(1, count + 1))
        sizes = [_DRAWN[int(n)] for n in rng.integers(len(_DRAWN), size=groups)]
        picked = range(groups) if groups == count else rng.integers(groups, size=count)
        yield unknown.assigned([sizes[int(group)] for group in picked])


def largest(program: StableHloModule, assignment: Assignment) -> int:
    """The greatest number that the types of `program` leave open; 0 where they leave none."""
    sizes = (
        size
        for kind, given in zip(program.parameters, assignment.sizes, strict=True)
        for known, size in zip(kind.dimensions, given, strict=True)
        if known is None
    )
    return max((*sizes, *(element for _, elements in assignment.known for element in elements)), default=0)


class _Unknown:
    """What has to be assigned to specialise a program."""

    def __init__(self, program: StableHloModule) -> None:
        self._kinds = program.parameters
        self._known = known_parameters(program)
        self.slots: list[_Slot] = []
        for number, kind in enumerate(self._kinds):
            pairs = zip(kind.dimensions, kind.bounds, strict=True)
            self.slots += [
                _Slot(number, axis, bound) for axis, (size, bound) in enumerate(pairs) if size is None
            ]
            if number in self._known:
                self.slots += [_Slot(number, place, None) for place in range(self._elements(number))]

    def _elements(self, number: int) -> int:
        return self._kinds[number].array_shape().element_count

    def assigned(self, numbers: Sequence[int]) -> Assignment:
        """With a number for each slot, or its bound where that is less."""
        sizes = [[0 if size is None else size for size in kind.dimensions] for kind in self._kinds]
        known = {number: [0] * self._elements(number) for number in self._known}
        for slot, number in zip(self.slots, numbers, strict=True):
            target = known[slot.parameter] if slot.parameter in known else sizes[slot.parameter]
            target[slot.place] = number if slot.bound is None else min(number, slot.bound)
        return Assignment(
            tuple(map(tuple, sizes)), tuple((number, tuple(found)) for number, found in known.items())
        )


def draw_sized_inputs(
    program: StableHloModule,
    seed: int,
    count: int,
    modes: Sequence[Mode] = (Mode.EXACT,),
    assignments: Sequence[Assignment] = (),
    most: int | None = None,
) -> tuple[list[tuple[Value, ...]], Sizes]:
    """`count` input sets, which take turns with the sizes and the modes (`oracle.inputs.draw_inputs`); and the sizes.

    The sizes are `assignments`, or else drawn, none above `most` where the program does not say it. No sets where no
    sizes fit. Raises InvalidInput where `assignments` do not fit.
    """
    sizes = Sizes(tuple(assignments)) if assignments else draw_sizes(program, seed, count, most=most)
    sets: list[tuple[Value, ...]] = []
    drawn: dict[Assignment, list[tuple[Value, ...]]] = {}
    for number in range(count if sizes.assignments else 0):
        assignment = sizes.assignments[number % len(sizes.assignments)]
        if assignment not in drawn:
            drawn[assignment] = inputs_for(specialise(program, assignment), assignment, seed, count, modes)
        sets.append(drawn[assignment][number])
    return sets, sizes


def inputs_for(
    static: HloModule, assignment: Assignment, seed: int, count: int, modes: Sequence[Mode]
) -> list[tuple[Value, ...]]:
    """Input sets of one assignment, for the program that was specialised for it."""
    sets = draw_inputs(static, seed, count, modes)
    return [_with_known(values, assignment) for values in sets]


def _with_known(values: tuple[Value, ...], assignment: Assignment) -> tuple[Value, ...]:
    given = list(values)
    for number, elements in assignment.known:
        drawn = np.asarray(given[number])
        array = np.array(elements).astype(drawn.dtype).reshape(drawn.shape)
        array.flags.writeable = False
        given[number] = array
    return tuple(given)
