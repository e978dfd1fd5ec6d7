"""Graphs to look at, drawn once for all tests that only look."""

from collections.abc import Callable

import pytest

from fuzz.generators import Program, draw_sample
from fuzz.generators.graphs import GraphProfile, graphs

Sample = Callable[..., list[Program]]


@pytest.fixture(scope="session")
def sample() -> Sample:
    """`sample(count, profile)`: graphs of a profile."""

    def draw(count: int, profile: GraphProfile | None = None) -> list[Program]:
        return draw_sample(graphs(profile or GraphProfile()), count)

    return draw


@pytest.fixture(scope="session")
def drawn() -> list[Program]:
    """As many graphs as must contain everything. They are shared: clone a module before changing it."""
    return draw_sample(graphs(), 2000)
