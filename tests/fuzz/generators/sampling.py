"""How do tests that only look at programs draw them? The same ones each time, without shrinking."""

from collections.abc import Callable

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy

from fuzz.generators import Program

Sample = Callable[..., list[Program]]


def draw_sample(strategy: SearchStrategy[Program], count: int) -> list[Program]:
    drawn: list[Program] = []

    @seed(1)
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
