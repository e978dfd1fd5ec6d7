"""Programs of rolled loops to look at, drawn once for all tests that only look."""

from collections.abc import Callable

import pytest

from fuzz.generators import Program, draw_sample
from fuzz.generators.whiles import WhileProfile, whiles

Sample = Callable[..., list[Program]]


@pytest.fixture(scope="session")
def sample() -> Sample:
    """`sample(count, profile)`: programs of a profile."""

    def draw(count: int, profile: WhileProfile | None = None) -> list[Program]:
        return draw_sample(whiles(profile or WhileProfile()), count)

    return draw


@pytest.fixture(scope="session")
def drawn() -> list[Program]:
    """Programs as a campaign draws them. They are shared: clone a module before changing it."""
    return draw_sample(whiles(), 1000)


@pytest.fixture(scope="session")
def lying() -> list[Program]:
    """Programs of which some tell a wrong number of trips."""
    return draw_sample(whiles(WhileProfile(wrong_trip_counts=True)), 200)
