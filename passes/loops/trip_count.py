"""How often does a while loop run?

Source: `stock_passes.md` section 11.4 and 11.5. A loop counts if its condition compares one element of its state,
the counter, with a bound that no iteration changes, and its body adds a constant to the counter. Beyond that section:
the bound may stand on either side, the counter may count down, and NE and EQ are understood where they are exact.
All arithmetic is in Python's integers, and a counter that would leave its type before the loop ends is refused: the
loop then runs on with the wrapped counter, as often as it takes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum

from hlo import HloInstruction, Opcode, PrimitiveType
from hlo.attributes import Comparison
from passes.carried import backend_config
from passes.loops.known_values import KnownValues, Place

_MIRRORED = {"LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE", "EQ": "EQ", "NE": "NE"}


class CountRefused(Enum):
    """Why the number of trips is not known."""

    CONDITION = "condition-form"  # not one comparison of an element of the state with a bound
    BOUND = (
        "bound-not-known"  # what the counter is compared with changes, or is known only when the program runs
    )
    COUNTER = "counter-form"  # the element compared is no integer, or no constant is added to it
    INIT = "init-not-known"  # where the counter starts is not known
    DIRECTION = "never-ends"  # the counter moves away from the bound, or steps over what it must meet
    WRAPS = "no_wrap"  # the counter leaves its type before the loop ends


@dataclass(frozen=True)
class Counter:
    """A loop that runs while `value <direction> bound`: the value starts at `init` and `step` is added each time.

    `index` is the element of the loop's state. All numbers are what the type holds, so that a step of 255 in u8 may
    also be a step of -1.
    """

    index: int
    element_type: PrimitiveType
    init: int
    step: int
    direction: str
    bound: int

    def value(self, trip: int) -> int:
        """The counter in iteration `trip`, 0-based, before wrapping to its type."""
        return self.init + trip * self.moved

    @property
    def moved(self) -> int:
        """The step as a signed distance: in an unsigned type, towards the bound."""
        size = 1 << self.element_type.bit_width
        up, down = self.step % size, self.step % size - size
        if self.element_type.is_signed:
            return up if up < size // 2 else down
        if self.direction in ("LT", "LE", "EQ"):
            return up
        return down if self.direction in ("GT", "GE") or self.bound < self.init else up


@dataclass(frozen=True)
class Trips:
    """`count` iterations. `counter` is None where the count was told by something else than a counter."""

    count: int
    counter: Counter | None


def trips_of(loop: HloInstruction, *, no_wrap: bool = True) -> Trips | CountRefused:
    """The number of iterations of the while instruction `loop`, if it is known before the program runs.

    A condition that is false at once, whatever its form, means no iteration. Without `no_wrap` a counter that wraps is
    counted as section 11.5 does, as if integers had no width: wrong, if it wraps before the loop ends.
    """
    known = KnownValues(loop.parent.module)
    _, condition = loop.called_computations
    first = known.value(Place(condition.root, (), known.frame(loop.operands)))
    if first is not None and not first:
        return Trips(0, None)
    counter = _counter(loop, known)
    if isinstance(counter, CountRefused):
        return counter
    count = count_trips(counter, no_wrap=no_wrap)
    return count if isinstance(count, CountRefused) else Trips(count, counter)


def count_trips(counter: Counter, *, no_wrap: bool = True) -> int | CountRefused:
    """How often the loop of `counter` runs."""
    distance, step = counter.bound - counter.init, counter.moved
    if not _holds(counter.direction, counter.init, counter.bound):
        return 0
    if counter.direction == "EQ":
        return 1 if step else CountRefused.DIRECTION
    upwards = distance > 0 if counter.direction == "NE" else counter.direction in ("LT", "LE")
    if step == 0 or upwards != (step > 0):
        return CountRefused.DIRECTION
    if counter.direction == "NE":
        if distance % step:
            return CountRefused.DIRECTION
        count = distance // step
    elif counter.direction in ("LE", "GE"):
        count = abs(distance) // abs(step) + 1
    else:
        count = -(-abs(distance) // abs(step))
    if no_wrap and not _fits(counter.value(count), counter.element_type):
        return CountRefused.WRAPS
    return count


def known_trip_count(loop: HloInstruction) -> int | None:
    """What `backend_config` says of the number of iterations, `{"known_trip_count":{"n":"5"}}`: a claim."""
    text = backend_config(loop)
    if not text:
        return None
    try:
        count = json.loads(text)["known_trip_count"]["n"]
        return int(count)
    except (ValueError, KeyError, TypeError):
        return None


def _holds(direction: str, value: int, bound: int) -> bool:
    return {
        "LT": value < bound,
        "LE": value <= bound,
        "GT": value > bound,
        "GE": value >= bound,
        "EQ": value == bound,
        "NE": value != bound,
    }[direction]


def _fits(value: int, element_type: PrimitiveType) -> bool:
    width = element_type.bit_width
    lowest = -(1 << (width - 1)) if element_type.is_signed else 0
    return lowest <= value < lowest + (1 << width)


def _counter(loop: HloInstruction, known: KnownValues) -> Counter | CountRefused:
    body, condition = loop.called_computations
    test = known.source(Place(condition.root))
    if (
        test.inst.opcode is not Opcode.COMPARE
        or test.path
        or not isinstance(test.inst.attributes, Comparison)
    ):
        return CountRefused.CONDITION
    left, right = (known.source(Place(operand, (), test.frame)) for operand in test.inst.operands)
    direction = test.inst.attributes.direction
    if not _is_counter(left, loop, known):
        left, right, direction = right, left, _MIRRORED[direction]
        if not _is_counter(left, loop, known):
            return CountRefused.CONDITION
    (index,) = left.path
    element_type = test.inst.operand(0).array_shape.element_type
    if not element_type.is_integral:
        return CountRefused.COUNTER
    bound = known.integer(right)
    if bound is None:
        return CountRefused.BOUND
    step = _step(known, Place(body.root, (index,)), Place(body.parameters[0], (index,)))
    if step is None:
        return CountRefused.COUNTER
    init = known.integer(Place(loop.operand(0), (index,)))
    if init is None:
        return CountRefused.INIT
    return Counter(index, element_type, init, step, direction, bound)


def _is_counter(place: Place, loop: HloInstruction, known: KnownValues) -> bool:
    """Whether it is an element of the loop's state, on its top level, that iterations change."""
    parameter = loop.called_computations[1].parameters[0]
    return (
        place.inst is parameter
        and place.frame is None
        and len(place.path) == 1
        and not known.is_invariant(loop, place.path)
    )


def _step(known: KnownValues, after: Place, before: Place) -> int | None:
    """What an iteration adds to the counter, if it is a constant."""
    made = known.source(after)
    if made.path or made.inst.opcode not in (Opcode.ADD, Opcode.SUBTRACT):
        return None
    left, right = (known.source(Place(operand, (), made.frame)) for operand in made.inst.operands)
    if made.inst.opcode is Opcode.ADD and right == before:
        left, right = right, left
    if left != before:
        return None
    step = known.integer(right)
    if step is None or made.inst.opcode is Opcode.ADD:
        return step
    return -step
