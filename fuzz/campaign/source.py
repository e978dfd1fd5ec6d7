"""Where do a campaign's graphs come from? Hypothesis draws them; nothing is shrunk or kept by it here."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import hypothesis
from hypothesis import HealthCheck, Phase, given
from hypothesis.strategies import SearchStrategy, one_of

from fuzz.campaign.plan import Programs
from fuzz.generators import programs
from fuzz.generators.dynamic import DynamicProfile, dynamics
from fuzz.generators.graphs import graphs
from fuzz.generators.stablehlo import AnyDrawn, symbolics
from fuzz.generators.whiles import WhileProfile, whiles

_COMPLAINTS = (
    HealthCheck.too_slow,
    HealthCheck.data_too_large,
    HealthCheck.filter_too_much,
    HealthCheck.large_base_example,
)


class StopDrawing(BaseException):
    """Raised by a visitor to end a batch early. Not an Exception: Hypothesis would take it for a failure."""


_STRATEGIES: Mapping[Programs, SearchStrategy[AnyDrawn]] = MappingProxyType(
    {
        Programs.LOOPS: programs(),
        Programs.GRAPHS: graphs(),
        Programs.WHILES: whiles(),
        Programs.ALL: one_of(programs(), graphs(), whiles()),
        Programs.DYNAMIC: dynamics(),
        Programs.SYMBOLIC: symbolics(),
        Programs.SIZES_OUTSIDE: dynamics(DynamicProfile(refused=(False,), sizes_outside=True)),
        Programs.WRONG_COUNTS: whiles(WhileProfile(wrong_trip_counts=True)),
    }
)


def for_each_program(
    seed: int,
    batch: int,
    size: int,
    visit: Callable[[int, Any], None],
    kind: Programs = Programs.LOOPS,
) -> None:
    """Call `visit(number, program)` for each of up to `size` programs of a batch, which `seed` determines.

    They are `Program`s or, of the kind SYMBOLIC, `SymbolicProgram`s.
    """
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
    def visit_next(program: AnyDrawn) -> None:
        if failures:  # Hypothesis runs what failed once more, which must not be taken for the next program
            raise failures[0]
        try:
            visit(next(number), program)
        except BaseException as error:
            failures.append(error)
            raise

    with contextlib.suppress(StopDrawing):
        visit_next()
