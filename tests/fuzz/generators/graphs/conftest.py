"""Graphs to look at, drawn once for all tests that only look."""

import pytest

from fuzz.generators import Program
from fuzz.generators.graphs import GraphProfile, graphs
from tests.fuzz.generators.sampling import Sample, draw_sample


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
