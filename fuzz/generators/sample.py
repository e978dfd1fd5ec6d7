"""How are programs drawn that are only looked at? The same ones each time, without shrinking."""

from __future__ import annotations

from typing import TypeVar

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy

Drawn = TypeVar("Drawn")


def draw_sample(strategy: SearchStrategy[Drawn], count: int, number: int = 1) -> list[Drawn]:
    """Up to `count` programs of `strategy`; `number` is the seed."""
    drawn: list[Drawn] = []

    @seed(number)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(strategy)
    def collect(program: Drawn) -> None:
        drawn.append(program)

    collect()
    return drawn
