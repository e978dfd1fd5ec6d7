"""What does a loop carry from trip to trip, and how is that laid out as a tuple?"""

from __future__ import annotations

from collections.abc import Sequence

from fuzz.generators.palette import array_shape
from fuzz.generators.whiles.accesses import INDICES_LENGTH, State, parts_of, written_by
from fuzz.generators.whiles.vocabulary import Exit, Habit, Index, Origin, Part, While
from hlo import ArrayShape, HloInstruction, PrimitiveType

SHARED = (Part.MAIN, Part.SECOND, Part.ROW, Part.START, Part.INDICES, Part.INVARIANT)
"""What an inner loop takes from the outer one, and a loop in a call from its caller. In an order, since what is read
first is written first: a set would have the order of this process's hashes."""


def shared_parts(loop: While) -> set[Part]:
    """What of SHARED the loop, or one inside it, looks at."""
    found = {Part.ROW}.union(*map(parts_of, loop.accesses))
    if loop.habits & {Habit.INVARIANT, Habit.INVARIANT_CODE}:
        found.add(Part.INVARIANT)
    if Habit.SWAPPED in loop.habits:
        found |= {Part.MAIN, Part.SECOND}
    return found | shared_parts(loop.inner) if loop.inner else found


def changed_parts(loop: While) -> set[Part]:
    """What of SHARED is another value after a trip."""
    found = {written_by(access) for access in loop.accesses} | {Part.ROW}
    if Habit.SWAPPED in loop.habits:
        found |= {Part.MAIN, Part.SECOND}
    return found | changed_parts(loop.inner) if loop.inner else found


def elements(loop: While, *, inside: bool) -> list[Part]:
    """The elements of the state, in the order of the tuple. `inside` says that there is a loop around."""
    parts = {Part.COUNTER, *shared_parts(loop)}
    count = loop.count
    if count.bound is not Origin.CONSTANT or (inside and loop.depends):
        parts.add(Part.BOUND)
    if count.step_origin is Origin.ELEMENT:
        parts.add(Part.STEP)
    if loop.exit in (Exit.FLAG, Exit.DATA):
        parts.add(Part.FLAG)
    if inside and any(access.index is Index.OUTER for access in loop.accesses):
        parts.add(Part.OUTER)
    if Habit.UNUSED in loop.habits:
        parts.add(Part.UNUSED)
    if Habit.TWICE in loop.habits and Part.MAIN in parts:
        parts.add(Part.TWIN)
    ordered = [part for part in Part if part in parts]
    turn = loop.turned % len(ordered)
    return ordered[turn:] + ordered[:turn]


def shape_of(loop: While, part: Part) -> ArrayShape:
    """The shape of an element."""
    lane, scalar = loop.lane, array_shape(loop.count.kind, ())
    match part:
        case Part.MAIN | Part.SECOND | Part.TWIN:
            return lane.shape(loop.buffer.dimensions)
        case Part.ROW | Part.INVARIANT:
            return lane.shape(loop.sizes)
        case Part.START:
            return lane.index_shape
        case Part.INDICES:
            return array_shape(lane.index, (INDICES_LENGTH,))
        case Part.FLAG:
            return array_shape(PrimitiveType.PRED, ())
        case _:
            return scalar


class Layout:
    """Which element is where in the state's tuple: flat, or the second half in a tuple of its own."""

    def __init__(self, parts: Sequence[Part], nested: bool) -> None:
        self.parts = tuple(parts)
        self.split = len(parts) // 2 if nested and len(parts) > 2 else 0

    def tuple_of(self, scope: State) -> HloInstruction:
        """The state, of the scope's values."""
        values = [scope.read(part) for part in self.parts]
        if self.split:
            values = [*values[: self.split], scope.builder.tuple_(*values[self.split :])]
        return scope.builder.tuple_(*values)

    def offer(self, scope: State, source: HloInstruction) -> None:
        """From now on the elements of `source` are the scope's values."""
        first = self.split or len(self.parts)
        for index, part in enumerate(self.parts[:first]):
            scope.offer(part, source, index)
        if self.split:
            inner = scope.builder.gte(source, self.split)
            for index, part in enumerate(self.parts[first:]):
                scope.offer(part, inner, index)
