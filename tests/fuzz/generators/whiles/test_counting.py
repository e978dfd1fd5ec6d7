"""Does every loop end, whatever is asked for? All types, ways, comparisons and places, tried out number by number."""

import operator
from collections.abc import Iterator
from itertools import product

import pytest

from fuzz.generators.whiles.counting import MOST_TRIPS, Numbers, advanced, limits, settled, wrapped
from fuzz.generators.whiles.vocabulary import Begin, Count, Origin, Spelling, Way
from hlo import PrimitiveType

KINDS = [
    kind for kind in PrimitiveType if kind.text in ("s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64")
]
HOLDS = {
    "LT": operator.lt,
    "LE": operator.le,
    "GT": operator.gt,
    "GE": operator.ge,
    "NE": operator.ne,
    "EQ": operator.eq,
}


def counts(kind: PrimitiveType, init: Origin, bound: Origin) -> Iterator[Count]:
    options = product(Way, (1, 2, 3, 4), HOLDS, (0, 1, 2, 7, 12, 70), Begin, (0, 1, 2))
    for way, step, comparison, trips, begin, uneven in options:
        yield Count(
            kind=kind,
            way=way,
            step=step,
            comparison=comparison,
            flipped=False,
            trips=trips,
            begin=begin,
            uneven=uneven,
            spelling=Spelling.PLAIN,
            init=init,
            bound=bound,
            step_origin=Origin.CONSTANT,
        )


def trips_of(numbers: Numbers, init: int, bound: int) -> int | None:
    """By counting, in the arithmetic of the type; None where the loop is too long."""
    value = init
    for trips in range(MOST_TRIPS):
        if not HOLDS[numbers.count.comparison](value, bound):
            return trips
        value = wrapped(advanced(value, numbers), numbers.count.kind)
    return None


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.text)
def test_a_loop_of_constants_makes_the_trips_that_it_says(kind: PrimitiveType) -> None:
    low, high = limits(kind)
    for count in counts(kind, Origin.CONSTANT, Origin.CONSTANT):
        numbers = settled(count)
        assert low <= numbers.init <= high
        assert low <= numbers.bound <= high
        assert numbers.trips is not None
        assert trips_of(numbers, numbers.init, numbers.bound) == numbers.trips


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.text)
def test_a_loop_makes_the_trips_that_are_asked_for_where_the_comparison_goes_its_way(
    kind: PrimitiveType,
) -> None:
    own = {Way.UP: ("LT", "LE", "NE"), Way.DOWN: ("GT", "GE", "NE")}
    for count in counts(kind, Origin.CONSTANT, Origin.CONSTANT):
        if count.comparison in own.get(count.way, ()) and count.trips <= 12 and count.begin is Begin.SMALL:
            assert settled(count).trips == count.trips


@pytest.mark.parametrize(
    ("init", "bound"),
    [
        (Origin.PARAMETER, Origin.CONSTANT),
        (Origin.CONSTANT, Origin.PARAMETER),
        (Origin.PARAMETER, Origin.PARAMETER),
    ],
)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.text)
def test_a_loop_with_inputs_ends_for_whatever_bounds_are_drawn(
    kind: PrimitiveType, init: Origin, bound: Origin
) -> None:
    given = range(1, 6)
    for count in counts(kind, init, bound):
        numbers = settled(count)
        firsts = given if numbers.count.init is Origin.PARAMETER else (numbers.init,)
        bounds = given if numbers.count.bound is Origin.PARAMETER else (numbers.bound,)
        for first, last in product(firsts, bounds):
            assert trips_of(numbers, first, last) is not None


def test_a_number_wraps_as_its_type_does() -> None:
    assert wrapped(128, PrimitiveType.S8) == -128
    assert wrapped(-1, PrimitiveType.U8) == 255
    assert wrapped(1 << 64, PrimitiveType.U64) == 0
    assert wrapped(5, PrimitiveType.S16) == 5
