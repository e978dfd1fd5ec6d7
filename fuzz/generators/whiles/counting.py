"""How does a loop count? From what is asked for to numbers that end, then to instructions.

A loop that nothing ends is no program to judge. So the numbers are tried out here, in the arithmetic of the
counter's type, and give way to plain ones where they would count too long.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from fuzz.generators.whiles.features import WhileFeature
from fuzz.generators.whiles.vocabulary import Begin, Count, Origin, Way
from hlo import PrimitiveType

MOST_TRIPS = 130
"""More than twice what an unroller takes, and half of what a counter of eight bits can count."""
_LATEST = 6  # behind every bound that an input may have, which is 1 to 5

_HOLDS: Mapping[str, Callable[[int, int], bool]] = MappingProxyType(
    {
        "LT": operator.lt,
        "LE": operator.le,
        "GT": operator.gt,
        "GE": operator.ge,
        "NE": operator.ne,
        "EQ": operator.eq,
    }
)
FLIPPED: Mapping[str, str] = MappingProxyType(
    {"LT": "GT", "LE": "GE", "GT": "LT", "GE": "LE", "NE": "NE", "EQ": "EQ"}
)
_COMPARISON_FEATURES = {
    "LT": WhileFeature.LESS,
    "LE": WhileFeature.LESS_OR_EQUAL,
    "GT": WhileFeature.GREATER,
    "GE": WhileFeature.GREATER_OR_EQUAL,
    "NE": WhileFeature.NOT_EQUAL,
    "EQ": WhileFeature.EQUAL,
}
_WAY_FEATURES = {
    Way.UP: WhileFeature.COUNTED_UP,
    Way.DOWN: WhileFeature.COUNTED_DOWN,
    Way.DOUBLING: WhileFeature.DOUBLED,
    Way.HALVING: WhileFeature.HALVED,
}


@dataclass(frozen=True, slots=True)
class Numbers:
    """What a loop counts with. `trips` is None where they depend on an input; `step` is what is added."""

    count: Count
    init: int
    bound: int
    step: int
    trips: int | None
    wraps: bool = False

    @property
    def middle(self) -> int:
        """A number that the counter has on its way, if it has any."""
        if self.count.way in (Way.DOUBLING, Way.HALVING):
            return 2
        trips = 2 if self.trips is None else self.trips
        return self.init + self.step * (trips // 2)


def limits(kind: PrimitiveType) -> tuple[int, int]:
    """The least and the largest number of an integer type."""
    width = kind.bit_width
    return (-(1 << (width - 1)), (1 << (width - 1)) - 1) if kind.is_signed else (0, (1 << width) - 1)


def wrapped(value: int, kind: PrimitiveType) -> int:
    """`value` as the type holds it."""
    low, high = limits(kind)
    return (value - low) % (high - low + 1) + low


def advanced(value: int, numbers: Numbers) -> int:
    """The counter after one more trip, before it wraps."""
    match numbers.count.way:
        case Way.DOUBLING:
            return value * 2
        case Way.HALVING:
            return value // 2
        case _:
            return value + numbers.step


def settled(count: Count) -> Numbers:
    """Numbers for `count` with which the loop ends, as near to what it asks for as that allows."""
    if count.way in (Way.DOUBLING, Way.HALVING):
        return _geometric(count)
    if Origin.PARAMETER in (count.init, count.bound):
        return _data_dependent(count)
    if count.begin is Begin.WRAPPING and count.comparison not in ("NE", "EQ"):
        # long steps: so many numbers behind the bound are passed over, and so few are needed to come round to it
        count = replace(count, step=max(count.step, 5), uneven=max(count.uneven, 2))
    plain = replace(count, begin=Begin.ZERO, uneven=0)
    short = replace(
        plain, step=1, trips=min(count.trips, 5), comparison="LT" if count.way is Way.UP else "GT"
    )
    for attempt in (count, plain, short):
        numbers = _tried(_numbers(attempt))
        if numbers.trips is not None:
            return numbers
    raise AssertionError("five steps of one end in every type")


def _tried(numbers: Numbers) -> Numbers:
    """With the trips that there are, and whether the counter wraps on the way; no trips where it is too long."""
    count, value = numbers.count, numbers.init
    holds, wraps = _HOLDS[count.comparison], False
    for trips in range(MOST_TRIPS):
        if not holds(value, numbers.bound):
            return replace(numbers, trips=trips, wraps=wraps)
        further = advanced(value, numbers)
        value = wrapped(further, count.kind)
        wraps |= value != further
    return replace(numbers, trips=None)


def _numbers(count: Count) -> Numbers:
    """The first value and the bound, for as many trips as `count` asks for."""
    sign = 1 if count.way is Way.UP else -1
    step, low_high = sign * count.step, limits(count.kind)
    first, behind = 0, step * count.trips
    uneven = sign * (count.uneven % count.step)
    match count.comparison:
        case "LT" | "GT":
            bound = behind - uneven
        case "LE" | "GE":
            bound = behind - sign - uneven
        case "EQ":
            bound = first if count.trips else behind + 1
        case _:
            bound = behind
    if not count.trips and count.comparison in ("LT", "GT"):
        bound -= sign * count.uneven  # the loop begins behind its bound
    least, most = min(first, bound), max(first, bound)
    match count.begin:
        case Begin.ZERO:
            shift = 0 if count.way is Way.UP and least >= 0 else -least
        case Begin.SMALL:
            shift = 3 - least
        case Begin.NEGATIVE:
            shift = -4 if count.kind.is_signed else -least
        case Begin.LIMIT:
            shift = low_high[1] - most if count.way is Way.UP else low_high[0] - least
        case Begin.WRAPPING:
            # the bound of an order lies where the last step goes past the type's end instead of past the bound
            edge = first if count.comparison in ("NE", "EQ") else bound
            shift = (low_high[1] - 1 if count.way is Way.UP else low_high[0] + 1) - edge
    init, bound = (wrapped(value + shift, count.kind) for value in (first, bound))
    return Numbers(count, init, bound, step, None)


def _data_dependent(count: Count) -> Numbers:
    """An input is 1 to 5 where a loop is bounded by it."""
    up = count.way is Way.UP
    both = count.init is count.bound is Origin.PARAMETER
    comparison = count.comparison
    if comparison == "EQ" or (comparison == "NE" and both):
        comparison = "LT" if up else "GT"
    if comparison in ("LT", "LE", "GT", "GE"):
        comparison = ("L" if up else "G") + comparison[1]
    if not up and comparison == "GE" and not count.kind.is_signed and count.bound is not Origin.PARAMETER:
        comparison = "GT"  # nothing unsigned is below 0
    # a longer step would miss a number, or the way below 0 of what has no sign
    exact = comparison == "NE" or not (up or count.kind.is_signed)
    step = 1 if exact else min(count.step, 3)
    numbers = replace(count, comparison=comparison, step=step)
    first, last = (0, _LATEST) if up else (_LATEST, 0)
    return Numbers(numbers, first, last, step if up else -step, None)


def _geometric(count: Count) -> Numbers:
    """Doubled until a bound, or halved until nothing is left. A doubled counter may begin with an input."""
    most = limits(count.kind)[1]
    if count.way is Way.DOUBLING:
        trips = min(count.trips, 5)
        init = Origin.CONSTANT if count.init is Origin.ELEMENT else count.init
        plain = replace(count, comparison="LT", bound=_not_given(count.bound), init=init)
        numbers = Numbers(plain, 1, min(1 << trips, most), 0, trips)
        return replace(numbers, trips=None) if init is Origin.PARAMETER else numbers
    comparison = "NE" if count.comparison == "NE" else "GT"
    plain = replace(count, comparison=comparison, bound=_not_given(count.bound))
    numbers = Numbers(plain, min(1 << min(count.trips, 6), most), 0, 0, None)
    return numbers if count.init is Origin.PARAMETER else _tried(numbers)


def _not_given(origin: Origin) -> Origin:
    return Origin.ELEMENT if origin is Origin.PARAMETER else origin


def features(numbers: Numbers) -> set[WhileFeature]:
    """What is worth counting about a loop's numbers."""
    count = numbers.count
    found = {
        _WAY_FEATURES[count.way],
        _COMPARISON_FEATURES[count.comparison],
        WhileFeature[f"{count.kind.text.upper()}_COUNTER"],
    }
    low, high = limits(count.kind)
    told = [*([numbers.init] * (count.init is not Origin.PARAMETER)), numbers.bound]
    if abs(numbers.step) > 1:
        found.add(WhileFeature.LONGER_STEP)
        if numbers.trips and (numbers.bound - numbers.init) % numbers.step:
            found.add(WhileFeature.UNEVEN_STEP)
    if min(told) < 0:
        found.add(WhileFeature.NEGATIVE_COUNTER)
    if max(told) >= high - 1 or (count.kind.is_signed and min(told) <= low + 1):
        found.add(WhileFeature.COUNTER_NEAR_LIMIT)
    if numbers.wraps:
        found.add(WhileFeature.COUNTER_WRAPS)
    if numbers.trips is not None:
        found.add(_trips_feature(numbers.trips))
    return found


def _trips_feature(trips: int) -> WhileFeature:
    if trips < 2:
        return WhileFeature.ONE_TRIP if trips else WhileFeature.NO_TRIP
    return WhileFeature.OVER_64_TRIPS if trips > 64 else WhileFeature.SEVERAL_TRIPS
