"""Between which two rewrites of a pass does a program's value depart?

A pass of ours tells its trace of each rewrite. It is run again on copies of the program and stopped at the first
rewrite, at the second, and so on: what it has left by then is a program, or no program yet, and is evaluated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hlo import HloFuzzError, HloModule, Value
from hlo.verify import verify
from oracle.compare import BITWISE, Tolerance, compare
from oracle.guarded import run_guarded
from oracle.running import Runner, evaluated
from oracle.tolerance import tolerance_of
from passes import Exactness, Pass, PassError, Trace

MOST_REWRITES = 200
"""After so many the search gives up: each costs a run of the pass."""


class _Stop(BaseException):
    """Ends a pass at a rewrite. Not an Exception: a pass must not catch it, nor `run_guarded` take it for a crash."""


class _Limited(Trace):
    """Lets a pass get to its rewrite `limit` (from 1) and no further."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._left = limit
        self.rules: list[str] = []

    def fire(self, rule: str) -> None:
        super().fire(rule)
        self.rules.append(rule)
        self._left -= 1
        if not self._left:
            raise _Stop


def first_bad_rewrite(pass_: Pass, before: HloModule, inputs: Sequence[Value]) -> str | None:
    """Where `pass_`, run on `before`, first makes it give other values for `inputs`, in a line; None: not to be seen.

    Some rules tell of a rewrite when it is done and some when it begins, so that two are named.
    """
    expected = evaluated(before, inputs)
    allowed = BITWISE if pass_.promise is Exactness.BITWISE else tolerance_of(before)
    good = ""
    for limit in range(1, MOST_REWRITES + 1):
        module, trace = before.clone(), _Limited(limit)
        stopped = _stopped(pass_, module, trace)
        place = f"rewrite {limit} ({trace.rules[-1]})" if stopped else "the end"
        agrees = _agrees(module, inputs, expected, allowed)
        if agrees is False:
            return f"the values depart between {good or 'the start'} and {place}"
        if not stopped:
            return None
        if agrees:
            good = place
    return None


def _stopped(pass_: Pass, module: HloModule, trace: Trace) -> bool:
    """Run a pass on `module`, in place; whether the trace stopped it."""
    try:
        run_guarded(pass_, module, trace)
    except _Stop:
        return True
    except PassError:
        return False
    return False


def _agrees(
    module: HloModule,
    inputs: Sequence[Value],
    expected: Value,
    allowed: Tolerance | Mapping[tuple[int, ...], Tolerance],
) -> bool | None:
    """Whether `module` gives `expected`; None where it is no program yet."""
    if verify(module):
        return None
    try:
        values = Runner(module).readings(inputs)
    except HloFuzzError:
        return None
    return all(
        compare(expected, value, tolerance=allowed, left="before", right="after") is None for value in values
    )
