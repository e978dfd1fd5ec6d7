"""Where do a campaign's graphs come from? Hypothesis draws them; nothing is shrunk or kept by it here."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Mapping
from types import MappingProxyType

import hypothesis
from hypothesis import HealthCheck, Phase, given
from hypothesis.strategies import SearchStrategy, one_of

from fuzz.campaign.plan import Programs
from fuzz.generators import Program, programs
from fuzz.generators.dynamic import dynamics
from fuzz.generators.graphs import graphs
from fuzz.generators.whiles import WhileProfile, whiles

_COMPLAINTS = (
    HealthCheck.too_slow,
    HealthCheck.data_too_large,
    HealthCheck.filter_too_much,
    HealthCheck.large_base_example,
)


class StopDrawing(BaseException):
    """Raised by a visitor to end a batch early. Not an Exception: Hypothesis would take it for a failure."""


_STRATEGIES: Mapping[Programs, SearchStrategy[Program]] = MappingProxyType(
    {
        Programs.LOOPS: programs(),
        Programs.GRAPHS: graphs(),
        Programs.WHILES: whiles(),
        Programs.ALL: one_of(programs(), graphs(), whiles()),
        Programs.DYNAMIC: dynamics(),
        Programs.WRONG_COUNTS: whiles(WhileProfile(wrong_trip_counts=True)),
    }
)


def for_each_program(
    seed: int,
    batch: int,
    size: int,
    visit: Callable[[int, Program], None],
    kind: Programs = Programs.LOOPS,
) -> None:
    """Call `visit(number, program)` for each of up to `size` programs of a batch, which `seed` determines."""
    number = itertools.count()
    failures: list[BaseException] = []

    # Everything that a profile could change is said here: the graphs must depend on the arguments only.
    @hypothesis.seed(seed * 1_000_003 + batch)
    @hypothesis.settings(
        max_examples=size,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        derandomize=False,
        suppress_health_check=_COMPLAINTS,
        print_blob=False,
        backend="hypothesis",
    )
    @given(_STRATEGIES[kind])
    def visit_next(program: Program) -> None:
        if failures:  # Hypothesis runs what failed once more, which must not be taken for the next program
            raise failures[0]
        try:
            visit(next(number), program)
        except BaseException as error:
            failures.append(error)
            raise

    with contextlib.suppress(StopDrawing):
        visit_next()
