"""What is known of sizes: when two are equal, and how large one can be."""

import pytest

from passes.neuron.bound_dynamic_dimensions.extent import ANY, Extent, Unknowns


def test_sums_and_products_are_equal_in_any_order() -> None:
    unknowns = Unknowns()
    a, b = unknowns.new((0, 5)), unknowns.new((0, 3))
    two = Extent.of(2)
    assert (a + b) * two == b * two + a + a
    assert (a * b - b * a).constant == 0
    assert (a + two).constant is None


@pytest.mark.parametrize(
    ("build", "within"),
    [
        (lambda a, b: a + b, (1, 8)),
        (lambda a, b: a * b, (0, 15)),
        (lambda a, b: Extent.of(7) - a, (2, 6)),
        (lambda a, b: a * b - b, (-3, 15)),
        (lambda a, b: Extent.of(-2) * a, (-10, -2)),
    ],
)
def test_a_range_follows_from_those_of_the_unknowns(build, within: tuple[int, int]) -> None:
    unknowns = Unknowns()
    extent = build(unknowns.new((1, 5)), unknowns.new((0, 3)))
    assert unknowns.range(extent) == within


def test_of_what_nothing_is_known_the_range_is_open_at_both_ends() -> None:
    unknowns = Unknowns()
    assert unknowns.range(unknowns.new() * unknowns.new()) == ANY


def test_the_same_computation_gives_the_same_unknown() -> None:
    unknowns = Unknowns()
    a, b = unknowns.new((0, 9)), unknowns.new((0, 9))
    half = unknowns.combined("half", (a,), lambda n: n // 2)
    assert half == unknowns.combined("half", (a,), lambda n: n // 2)
    assert half != unknowns.combined("half", (b,), lambda n: n // 2)
    assert unknowns.range(half) == (0, 4)
    assert unknowns.combined("half", (Extent.of(7),), lambda n: n // 2).constant == 3


def test_what_is_equated_is_equal_wherever_it_is_part_of_something() -> None:
    unknowns = Unknowns()
    a, b, c = unknowns.new((0, 5)), unknowns.new((0, 3)), unknowns.new((0, 9))
    unknowns.equate(b, a)
    assert unknowns.same(b * c, c * a)
    assert unknowns.range(b) == unknowns.range(a) == (0, 3)
    assert not unknowns.same(a, c)
    unknowns.equate(c, a + b)
    assert unknowns.same(c, a + a)


def test_what_is_equated_with_a_constant_is_that_constant() -> None:
    unknowns = Unknowns()
    a = unknowns.new((0, 5))
    unknowns.equate(Extent.of(4), a)
    assert unknowns.settled(a + a).constant == 8
    assert unknowns.range(a) == (4, 4)


def test_an_unknown_is_never_told_by_itself() -> None:
    unknowns = Unknowns()
    a = unknowns.new((0, 5))
    unknowns.equate(a, a * a)
    assert unknowns.settled(a) == a


def test_what_may_not_run_makes_nothing_equal() -> None:
    unknowns = Unknowns()
    a, b = unknowns.new((0, 5)), unknowns.new((0, 5))
    with unknowns.uncertain():
        unknowns.equate(a, b)
    assert not unknowns.same(a, b)
    unknowns.equate(a, b)
    assert unknowns.same(a, b)
