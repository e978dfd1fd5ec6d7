"""Programs to look at: the same ones each time, drawn once for all tests that only look."""

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from fuzz.generators import DEFAULT, Profile, Program, programs

Sample = Callable[..., list[Program]]


def draw_sample(count: int, profile: Profile = DEFAULT) -> list[Program]:
    drawn: list[Program] = []

    @seed(1)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow],
    )
    @given(programs(profile))
    def collect(program: Program) -> None:
        drawn.append(program)

    collect()
    return drawn


@pytest.fixture(scope="session")
def sample() -> Sample:
    """`sample(count, profile)`: programs of a profile."""
    return draw_sample


@pytest.fixture(scope="session")
def drawn() -> list[Program]:
    """Programs as a campaign draws them. They are shared: clone a module before changing it."""
    return draw_sample(1000)
