"""How are programs drawn that are only looked at? The same ones each time, without shrinking."""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy

from fuzz.generators.program import Program


def draw_sample(strategy: SearchStrategy[Program], count: int, number: int = 1) -> list[Program]:
    """Up to `count` programs of `strategy`; `number` is the seed."""
    drawn: list[Program] = []

    @seed(number)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(strategy)
    def collect(program: Program) -> None:
        drawn.append(program)

    collect()
    return drawn
