"""Programs to look at, drawn once for all tests that only look."""

from collections.abc import Callable

import pytest

from fuzz.generators import DEFAULT, Profile, Program, draw_sample, programs

Sample = Callable[..., list[Program]]


@pytest.fixture(scope="session")
def sample() -> Sample:
    """`sample(count, profile)`: programs of a profile."""

    def draw(count: int, profile: Profile = DEFAULT) -> list[Program]:
        return draw_sample(programs(profile), count)

    return draw


@pytest.fixture(scope="session")
def drawn() -> list[Program]:
    """Programs as a campaign draws them. They are shared: clone a module before changing it."""
    return draw_sample(programs(), 1000)
