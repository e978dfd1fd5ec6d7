"""How is a loop's plan drawn? As plain values, read from a tape (`tape.py`) of fixed layout.

Options stand simplest first and are repeated to make them likelier. Nothing here looks at a module.
"""

from __future__ import annotations

from dataclasses import replace

from fuzz.generators.palette import Lane
from fuzz.generators.profile import Form, Profile
from fuzz.generators.tape import Tape, weighted
from fuzz.generators.vocabulary import (
    Action,
    Counting,
    Loop,
    Offset,
    Place,
    Rest,
    Sink,
    Source,
    Spelling,
    Step,
    Target,
    Twist,
    Update,
)

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
