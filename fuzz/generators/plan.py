"""Which decisions make up a loop? Every one of them, as plain values, before anything is built.

A plan is read from tapes (`tape.py`) of fixed layout. Options stand simplest first and are repeated to make them
likelier. Nothing here looks at a module: what a plan means is decided in `indices`, `bodies` and `loops`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum, auto

from fuzz.generators.palette import Buffer, Lane
from fuzz.generators.profile import Form, Profile
from fuzz.generators.tape import Tape, weighted


class Role(Enum):
    """What an element of the loop's state is for. The order is that of the tuple."""

    COUNTER = auto()  # the iteration, index type
    START = auto()  # a start that the caller computed
    DYNAMIC = auto()  # a start that comes from outside
    INDICES = auto()  # a vector of starts
    MAIN = auto()  # the buffer that is sliced
    SECOND = auto()  # another of the same shape
    ACCUMULATOR = auto()  # of the shape of a slice


INDEX_ROLES = frozenset({Role.COUNTER, Role.START, Role.DYNAMIC, Role.INDICES})


class Spelling(Enum):
    """How a start index is written."""

    LITERAL = auto()
    COUNTER = auto()
    ELEMENT = auto()
    CONVERTED = auto()
    CLAMPED = auto()
    REMAINDER = auto()
    SELECTED = auto()
    # not constant, however much is inlined and folded
    DYNAMIC = auto()
    SHIFTED = auto()
    INDICES = auto()
    LOADED = auto()
    DATA = auto()
    BARRIER = auto()


class Offset(Enum):
    """A start, relative to a dimension of size n of which s elements are sliced."""

    ZERO = auto()
    ONE = auto()
    LAST = auto()  # n - s, the last one in range
    PAST = auto()  # n - s + 1, the first to be clamped
    MINUS_ONE = auto()
    SIZE = auto()  # n
    BEYOND = auto()  # n + 1
    TYPE_MIN = auto()
    TYPE_MAX = auto()


class Action(Enum):
    """What a step of a body does."""

    SLICE = auto()
    UPDATE = auto()


class Target(Enum):
    """What it does it to."""

    MAIN = auto()
    SECOND = auto()
    LATEST = auto()  # what the step before gave


class Sink(Enum):
    """Where the result of a slice goes."""

    RETURN = auto()
    ADD = auto()  # to the accumulator, by the commutative operation
    SUBTRACT = auto()  # … by the other one


class Update(Enum):
    """What an update writes."""

    CONSTANT = auto()
    LATEST = auto()  # the latest slice, where it has the right shape
    ACCUMULATOR = auto()


class Rest(Enum):
    """How the starts of the dimensions after the first are written."""

    ZERO = auto()
    LITERAL = auto()
    SAME = auto()  # as the first one's, with their own offset


class Source(Enum):
    """Where a buffer comes from."""

    PARAMETER = auto()
    SAME_PARAMETER = auto()  # one that is there already
    TUPLE_PARAMETER = auto()
    COMPUTED = auto()
    CONSTANT = auto()
    LOOP_RESULT = auto()  # what an earlier loop left, where the shape is right


class Counting(Enum):
    """Where the counter's value comes from."""

    LITERAL = auto()  # the caller gives each call its number
    CARRIED = auto()  # the body returns counter + 1
    ADDED = auto()  # the caller adds 1
    DYNAMIC = auto()  # as carried, but the first value is an entry parameter


class Twist(Enum):
    """Something that makes a slice harder to move, illegal to move, or wrong to move."""

    NONE = auto()
    PASS = auto()
    PASS_UNREAD = auto()
    PASS_BY_SECOND_GTE = auto()
    PASS_MARKED = auto()
    PASS_SWAPPED = auto()
    USE_WHOLE = auto()
    SLICE_AGAIN = auto()
    SLICE_AGAIN_BY_GTE = auto()
    CALL_ELSEWHERE = auto()
    RETURN_PARAMETER = auto()
    REUSE_OPERAND = auto()
    BARRIER_OPERAND = auto()
    SEPARATE_OPERANDS = auto()
    NEST_TUPLE = auto()
    COPY_INPUT = auto()
    BARRIER_INPUT = auto()
    TUPLE_INPUT = auto()
    BARE_ROOT = auto()
    MARK_OPERAND = auto()
    MARK_PARAMETER = auto()
    MARK_ROOT = auto()
    MARK_RESULT = auto()
    MARK_INPUT = auto()
    MARK_SLICE = auto()
    MARK_SOURCE = auto()


class Place(Enum):
    """Whether a step is there, and where."""

    ABSENT = auto()
    INNER = auto()  # in the innermost body
    OUTER = auto()  # in the outermost wrapper, where there is one


@dataclass(frozen=True, slots=True)
class Step:
    """One slice or update."""

    action: Action
    target: Target
    size: int  # which of the buffer's slice sizes
    spelling: Spelling
    stride: int
    rest: Rest
    offsets: tuple[Offset, Offset, Offset, Offset]  # one for each dimension there may be
    sink: Sink
    update: Update
    salt: int  # which constant an update writes
    place: Place


@dataclass(frozen=True, slots=True)
class Loop:
    """An unrolled loop."""

    lane: Lane
    buffer: Buffer
    form: Form
    iterations: int
    depth: int  # calls around the body, 0 to 3
    counting: Counting
    source: Source
    second_source: Source
    accumulates_parameter: bool  # the accumulator starts as an entry parameter, not at zero
    spelled_start: bool  # the caller computes the start element with operations
    reversed_state: bool
    twists: frozenset[Twist]
    steps: tuple[Step, ...]


MAX_STEPS = 3

_ACTIONS = weighted({Action.SLICE: 5, Action.UPDATE: 2})
_TARGETS = weighted({Target.MAIN: 5, Target.SECOND: 1, Target.LATEST: 2})
_SPELLINGS = weighted(
    {
        Spelling.LITERAL: 14,
        Spelling.COUNTER: 16,
        Spelling.ELEMENT: 12,
        Spelling.CONVERTED: 5,
        Spelling.CLAMPED: 3,
        Spelling.REMAINDER: 3,
        Spelling.SELECTED: 3,
        Spelling.DYNAMIC: 1,
        Spelling.SHIFTED: 1,
        Spelling.INDICES: 1,
        Spelling.LOADED: 1,
        Spelling.DATA: 1,
        Spelling.BARRIER: 1,
    }
)
_STRIDES = (1, 1, 1, 2, 0, -1)
_OFFSETS = weighted(
    {
        Offset.ZERO: 5,
        Offset.ONE: 3,
        Offset.LAST: 2,
        Offset.PAST: 1,
        Offset.MINUS_ONE: 2,
        Offset.SIZE: 1,
        Offset.BEYOND: 1,
        Offset.TYPE_MIN: 1,
        Offset.TYPE_MAX: 1,
    }
)
_RESTS = weighted({Rest.ZERO: 3, Rest.LITERAL: 2, Rest.SAME: 2})
_SINKS = weighted({Sink.RETURN: 2, Sink.ADD: 1, Sink.SUBTRACT: 1})
_UPDATES = weighted({Update.CONSTANT: 1, Update.LATEST: 2, Update.ACCUMULATOR: 1})
_SOURCES = weighted(
    {
        Source.PARAMETER: 10,
        Source.SAME_PARAMETER: 3,
        Source.TUPLE_PARAMETER: 2,
        Source.COMPUTED: 3,
        Source.CONSTANT: 1,
        Source.LOOP_RESULT: 3,
    }
)
_COUNTINGS = weighted({Counting.LITERAL: 6, Counting.CARRIED: 3, Counting.ADDED: 2, Counting.DYNAMIC: 1})
_RARE_TWISTS = frozenset(  # … in their effect: each asks for something else to be there as well
    {
        Twist.SLICE_AGAIN_BY_GTE,
        Twist.CALL_ELSEWHERE,
        Twist.REUSE_OPERAND,
        Twist.NEST_TUPLE,
        Twist.RETURN_PARAMETER,
        Twist.MARK_PARAMETER,
        Twist.PASS_SWAPPED,
    }
)
_TWISTS = weighted({twist: 1 + (twist in _RARE_TWISTS) for twist in Twist} | {Twist.NONE: 220})
_PLACES = weighted({Place.ABSENT: 5, Place.INNER: 4, Place.OUTER: 1})
# whether steps keep apart, and whether the state is in reverse order
_ARRANGEMENTS = weighted({(True, False): 12, (False, False): 2, (True, True): 5, (False, True): 1})


def read_loop(tape: Tape, lanes: tuple[Lane, ...], profile: Profile) -> Loop:
    """The loop on a tape, which it reads to the end. `lanes` are the graph's own."""
    choice = tape.choice
    lane = choice(lanes)
    apart, reversed_state = choice(_ARRANGEMENTS)
    loop = Loop(
        lane=lane,
        buffer=choice(lane.buffers),
        form=choice(profile.forms),
        iterations=choice(profile.iterations),
        depth=choice(profile.depths),
        counting=choice(_COUNTINGS),
        source=choice(_SOURCES),
        second_source=choice(_SOURCES),
        accumulates_parameter=choice((False, True)),
        spelled_start=choice((False, True)),
        reversed_state=reversed_state,
        twists=frozenset({choice(_TWISTS), choice(_TWISTS)}) - {Twist.NONE},
        steps=(),
    )
    every = [_read_step(tape) for _ in range(MAX_STEPS)]
    steps = tuple(step for step in every[: profile.max_steps] if step.place is not Place.ABSENT) or (
        every[0],
    )
    return _made_possible(replace(loop, steps=_keep_apart(steps, lane) if apart else steps))


def _read_step(tape: Tape) -> Step:
    choice = tape.choice
    return Step(
        action=choice(_ACTIONS),
        target=choice(_TARGETS),
        size=choice((0, 0, 1)),
        spelling=choice(_SPELLINGS),
        stride=choice(_STRIDES),
        rest=choice(_RESTS),
        offsets=(choice(_OFFSETS), choice(_OFFSETS), choice(_OFFSETS), choice(_OFFSETS)),
        sink=choice(_SINKS),
        update=choice(_UPDATES),
        salt=choice((1, 2, 3)),
        place=choice(_PLACES),
    )


def _made_possible(loop: Loop) -> Loop:
    """`loop` with whatever its form and twists ask for."""
    if loop.form is Form.ROLLED:
        loop = replace(loop, counting=Counting.CARRIED)
    if Twist.BARE_ROOT in loop.twists:
        loop = _one_result(loop)
    returns_state = loop.form is Form.ROLLED or Twist.REUSE_OPERAND in loop.twists
    return _state_in_state_out(loop) if returns_state else loop


def _keep_apart(steps: tuple[Step, ...], lane: Lane) -> tuple[Step, ...]:
    """`steps` with at most one slice of each buffer and no update of a sliced one: all that a slice needs to move.

    Where nothing is sliced, the first step is made a slice. A slice that finds no buffer left is taken of the
    latest value, or left out where the lane does not have that.
    """
    if all(step.action is Action.UPDATE for step in steps):
        steps = (replace(steps[0], action=Action.SLICE), *steps[1:])
    free = [Target.MAIN, *(() if any(step.action is Action.UPDATE for step in steps) else (Target.SECOND,))]
    apart: list[Step] = []
    for step in steps:
        latest = bool(apart) and step.target is Target.LATEST and lane.rich
        if step.action is Action.UPDATE:
            apart.append(replace(step, target=Target.LATEST if latest else Target.SECOND))
        elif free and not latest:
            apart.append(replace(step, target=free.pop(0)))
        elif lane.rich:
            apart.append(replace(step, target=Target.LATEST))
    return tuple(apart)


def _one_result(loop: Loop) -> Loop:
    """`loop` with a body that has a single slice to return."""
    step = replace(loop.steps[0], action=Action.SLICE, sink=Sink.RETURN)
    return replace(loop, steps=(step,), twists=frozenset({Twist.BARE_ROOT}), counting=Counting.LITERAL)


def _state_in_state_out(loop: Loop) -> Loop:
    """`loop` with a body that has nothing to return but its state, so that a result can be the next operand."""
    steps = tuple(
        replace(
            step,
            size=0,
            target=Target.MAIN if step.target is Target.LATEST else step.target,
            sink=Sink.ADD if step.sink is Sink.RETURN else step.sink,
        )
        for step in loop.steps
    )
    returning = {Twist.USE_WHOLE, Twist.RETURN_PARAMETER, Twist.SLICE_AGAIN, Twist.SLICE_AGAIN_BY_GTE}
    return replace(loop, steps=steps, twists=loop.twists - returning)
