"""Graphs to look at: the same ones each time, drawn once for all tests that only look."""

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from fuzz.generators import Program
from fuzz.generators.graphs import GraphProfile, graphs

Sample = Callable[..., list[Program]]


def draw_sample(count: int, profile: GraphProfile | None = None) -> list[Program]:
    drawn: list[Program] = []

    @seed(1)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(graphs(profile or GraphProfile()))
    def collect(program: Program) -> None:
        drawn.append(program)

    collect()
    return drawn


@pytest.fixture(scope="session")
def sample() -> Sample:
    """`sample(count, profile)`: graphs of a profile."""
    return draw_sample


@pytest.fixture(scope="session")
def drawn() -> list[Program]:
    """As many graphs as must contain everything. They are shared: clone a module before changing it."""
    return draw_sample(2000)
