"""How is a rolled loop's plan drawn? As plain values, read from a tape (`fuzz.generators.tape`) of fixed layout.

Options stand simplest first and are repeated to make them likelier. Nothing here looks at a module.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

from fuzz.generators.palette import Lane
from fuzz.generators.tape import Tape, weighted
from fuzz.generators.vocabulary import Source
from fuzz.generators.whiles.accesses import OFFSETS
from fuzz.generators.whiles.profile import WhileProfile
from fuzz.generators.whiles.vocabulary import (
    Access,
    Action,
    Annotation,
    Begin,
    Count,
    Exit,
    Habit,
    Index,
    Origin,
    Place,
    Spelling,
    Style,
    Way,
    While,
)
from hlo import PrimitiveType

WHILE_BYTES = 60  # what a loop and the one in its body take
MAX_ACCESSES = 3
_MAX_INNER_ACCESSES = 2
# Each of an inner loop's trips is an unrolled body in the end, and that is what judging costs.
_MOST_NESTED_TRIPS = 16
_MOST_TRIPS_AROUND = 5  # of a loop whose counter is the bound inside: 10 to 15 trips there

_T = PrimitiveType
_KINDS = (None,) * 24 + (_T.S32, _T.S8, _T.U8, _T.S16, _T.U16, _T.U32, _T.S64, _T.U64)
_WAYS = weighted({Way.UP: 14, Way.DOWN: 6, Way.DOUBLING: 1, Way.HALVING: 1})
_STEPS = (1,) * 8 + (2, 2, 3, 3, 4)
# with the counter on the left, for a loop that counts up; turned for one that counts down
_COMPARISONS = weighted({"LT": 10, "LE": 5, "NE": 5, "GT": 1, "GE": 1, "EQ": 1})
_TURNED = {"LT": "GT", "LE": "GE", "GT": "LT", "GE": "LE", "NE": "NE", "EQ": "EQ"}
_BEGINS = weighted({Begin.ZERO: 12, Begin.SMALL: 3, Begin.NEGATIVE: 2, Begin.LIMIT: 3, Begin.WRAPPING: 1})
_SPELLINGS = weighted({Spelling.PLAIN: 8, Spelling.LEFT: 2, Spelling.SUBTRACTED: 2, Spelling.TUPLE: 1})
_INITS = weighted({Origin.CONSTANT: 10, Origin.PARAMETER: 1})
_BOUNDS = weighted({Origin.CONSTANT: 10, Origin.ELEMENT: 4, Origin.PARAMETER: 2})
_STEP_ORIGINS = weighted({Origin.CONSTANT: 12, Origin.ELEMENT: 1})
_EXITS = weighted({Exit.NONE: 14, Exit.FLAG: 1, Exit.DATA: 1, Exit.SECOND: 1})
_STYLES = weighted({Style.FREE: 10, Style.FORI: 3, Style.SCAN: 3})
_PLACES = weighted({Place.HERE: 12, Place.CALL: 2, Place.CALL_TWICE: 1})
_ACTIONS = weighted({Action.READ: 5, Action.WRITE: 4, Action.STACK: 2, Action.MOVE: 2, Action.SHIFT: 1})
_INDICES = weighted(
    {
        Index.COUNTER: 10,
        Index.OFFSET: 4,
        Index.REVERSED: 3,
        Index.RING: 3,
        Index.NORMALISED: 3,
        Index.SCALED: 2,
        Index.CLAMPED: 2,
        Index.OUTER: 3,
        Index.LITERAL: 1,
        Index.EXTREME: 1,
        Index.PARAMETER: 1,
        Index.LOADED: 1,
    }
)
_HABITS = weighted({Habit.NONE: 24, **{habit: 1 for habit in Habit if habit is not Habit.NONE}})
_ANNOTATIONS = weighted({Annotation.NONE: 5, Annotation.RIGHT: 2})
_SOURCES = weighted(
    {
        Source.PARAMETER: 6,
        Source.LOOP_RESULT: 5,
        Source.SAME_PARAMETER: 2,
        Source.COMPUTED: 1,
        Source.CONSTANT: 1,
        Source.TUPLE_PARAMETER: 1,
    }
)
_NESTING = (False,) * 9 + (True,) * 3
# whether an access is there; whether it is to the second buffer; whether it counts in every dimension
_SHAPES = tuple(product((False, True), (False, False, True), (False, False, False, True)))


def read_while(tape: Tape, lanes: Sequence[Lane], profile: WhileProfile) -> While:
    """The loop on a tape. `lanes` are the program's own."""
    choice = tape.choice
    lane = choice(lanes)
    buffers = [buffer for buffer in lane.buffers if buffer.rank] or lane.buffers
    buffer = choice(buffers)
    annotations = (*_ANNOTATIONS, *([Annotation.WRONG] * 3 if profile.wrong_trip_counts else []))
    loop = While(
        lane=lane,
        buffer=buffer,
        sizes=choice((buffer.sizes[0], *buffer.sizes)),
        count=_read_count(tape, lane, profile.trips),
        exit=choice(_EXITS),
        annotation=choice(annotations),
        style=choice(_STYLES),
        source=choice(_SOURCES),
        second_source=choice(_SOURCES),
        row_is_parameter=choice((True, False)),
        turned=choice((0, 0, 0, 1, 2, 3)),
        habits=frozenset({choice(_HABITS), choice(_HABITS), choice(_HABITS)}) - {Habit.NONE},
        place=choice(_PLACES),
        accesses=_read_accesses(tape, MAX_ACCESSES)[: profile.max_accesses],
        inner=None,
        depends=False,
    )
    loop = _styled(loop)
    nested, depends = choice(_NESTING), choice((False, True))
    inner = _inner(
        loop, _read_count(tape, lane, (2, 1, 3, 4, 0)), _read_accesses(tape, _MAX_INNER_ACCESSES), depends
    )
    return replace(loop, inner=inner) if nested and profile.nested else loop


def _read_count(tape: Tape, lane: Lane, trips: Sequence[int]) -> Count:
    choice = tape.choice
    kind, way, step = choice(_KINDS) or lane.index, choice(_WAYS), choice(_STEPS)
    comparison, begin = choice(_COMPARISONS), choice(_BEGINS)
    if begin is Begin.WRAPPING and comparison not in ("NE", "EQ"):
        kind = _T.S8 if kind.is_signed else _T.U8  # in a wider type nothing ends the way around
    return Count(
        kind=kind,
        way=way,
        step=step,
        comparison=_TURNED[comparison] if way is Way.DOWN else comparison,
        flipped=choice((False, False, False, True)),
        trips=choice(trips),
        begin=begin,
        uneven=choice((0, 0, 1, 2)),
        spelling=choice(_SPELLINGS),
        init=choice(_INITS),
        bound=choice(_BOUNDS),
        step_origin=choice(_STEP_ORIGINS),
    )


def _read_accesses(tape: Tape, count: int) -> tuple[Access, ...]:
    every = [_read_access(tape) for _ in range(count)]
    present = tuple(access for access, is_there in every if is_there)
    return present or (every[0][0],)


def _read_access(tape: Tape) -> tuple[Access, bool]:
    choice = tape.choice
    action, index, offset = choice(_ACTIONS), choice(_INDICES), choice(range(OFFSETS))
    is_there, second, everywhere = choice(_SHAPES)
    return Access(action, index, offset, second, everywhere), is_there


def _styled(loop: While) -> While:
    """`loop` as JAX would write it, where that is its style."""
    if loop.style is Style.FREE:
        return loop
    bound = Origin.CONSTANT
    accesses = tuple(
        replace(access, index=Index.NORMALISED if access.index is Index.COUNTER else access.index)
        for access in loop.accesses
    )
    if loop.style is Style.FORI:
        bound = Origin.PARAMETER if loop.count.bound is Origin.PARAMETER else Origin.ELEMENT
    else:
        reading = Access(Action.READ, Index.NORMALISED, 0, second=False, everywhere=False)
        stacking = Access(Action.STACK, Index.NORMALISED, 0, second=True, everywhere=False)
        accesses = (reading, stacking, *accesses[2:])
    whole = loop.buffer.dimensions[0] // max(loop.sizes[0], 1)
    stacks_all = loop.style is Style.SCAN and not loop.count.uneven
    count = replace(
        loop.count,
        trips=whole if stacks_all else loop.count.trips,  # a scan gives as many rows as its result has
        way=Way.UP,
        step=1,
        comparison="LT",
        flipped=False,
        begin=Begin.ZERO,
        spelling=Spelling.PLAIN,
        init=Origin.CONSTANT,
        bound=bound,
        step_origin=Origin.CONSTANT,
    )
    return replace(loop, count=count, accesses=accesses, exit=Exit.NONE, turned=0)


def _inner(loop: While, count: Count, accesses: tuple[Access, ...], depends: bool) -> While:
    """A loop for the body of `loop`. It depends on the outer counter only where that stays small."""
    outer = loop.count
    small = outer.begin in (Begin.ZERO, Begin.SMALL) and outer.trips <= _MOST_TRIPS_AROUND and outer.step == 1
    depends = depends and small and outer.way in (Way.UP, Way.DOWN) and outer.comparison[0] in "LG"
    if count.begin is Begin.WRAPPING:
        count = replace(count, comparison="NE")  # as many trips as were asked for, in whatever type
    count = replace(
        count,
        kind=outer.kind,
        trips=min(count.trips, max(1, _MOST_NESTED_TRIPS // max(outer.trips, 1))),
        init=Origin.CONSTANT,
        bound=Origin.ELEMENT if count.bound is Origin.PARAMETER else count.bound,
    )
    if count.trips * outer.trips > _MOST_NESTED_TRIPS or outer.trips > 12:
        count = replace(count, begin=Begin.ZERO, uneven=0)
    if depends:
        comparison = count.comparison if count.comparison in ("LT", "LE") else "LT"
        count = replace(count, way=Way.UP, comparison=comparison, begin=Begin.ZERO, bound=Origin.CONSTANT)
    return replace(
        loop,
        count=count,
        exit=Exit.NONE,
        style=Style.FREE,
        accesses=accesses,
        habits=frozenset(),
        place=Place.HERE,
        depends=depends,
    )
