"""How is the case of a corpus file reduced?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from fuzz.case import AGREE, AnyCase, Case, SymbolicCase, verdict_text
from fuzz.corpus import CorpusCase
from fuzz.findings import save_finding, save_unseen
from fuzz.isolate import judge_in_child, needs_child
from fuzz.judging import judge_case
from fuzz.reduce.driver import Reduction, reduce_case
from fuzz.reduce.narrowing import narrowed
from fuzz.reduce.symbolic import reduce_symbolic
from fuzz.report import verdict_line
from hlo import InvalidInput
from oracle.verdict import Disagree

_CHILD_TIME_LIMIT = 8.0  # seconds for one attempt: a case that hangs is tried often


Holds = Callable[[AnyCase], bool]


def reduce_entry(entry: CorpusCase, *, seconds: float) -> Reduction[Case] | Reduction[SymbolicCase]:
    """The smallest case found that gets the verdict which `entry` expects. Raises InvalidInput if it does not."""
    if entry.expect == AGREE:
        raise InvalidInput("the case is expected to agree: there is no failure to reduce")
    holds = _failing_like(entry)
    if isinstance(entry.case, Case):
        return reduce_case(entry.case, holds, seconds=seconds)
    return reduce_symbolic(entry.case, holds, seconds=seconds)


def save_reduced(entry: CorpusCase, case: AnyCase, path: Path) -> Path:
    """Write a reduced case of `entry` to `path`, with its report, for which all engines vote.

    Where it fails in a pass inside XLA, it is written with that pass in place of the whole (`fuzz.reduce.narrowing`).
    """
    if needs_child(entry.expect):
        return save_unseen(path.parent, case, entry.expect, entry.why, path=path, jaxlib=entry.jaxlib)
    case, expect = _narrowed(case, entry.expect)
    verdict = judge_case(case, expect, voting=True).verdict
    if not isinstance(verdict, Disagree):  # no finding, but a skip that is expected
        why = verdict_line(verdict)
        return save_unseen(path.parent, case, entry.expect, why, path=path, jaxlib=entry.jaxlib)
    finding = verdict.finding
    if expect != entry.expect:
        found = f"found with {entry.case.pipeline}, which ends in: {entry.expect}"
        finding = replace(finding, details=(*finding.details, found))
    return save_finding(path.parent, case, finding, expect, path=path, jaxlib=entry.jaxlib)


def _narrowed(case: AnyCase, expect: str) -> tuple[AnyCase, str]:
    """The case with fewer passes inside XLA (`fuzz.reduce.narrowing`), where that can be, and its verdict."""

    def verdict_of(narrower: Case) -> str:
        return verdict_text(judge_case(narrower, expect, use_jax=False).verdict)

    if not isinstance(case, Case):
        return case, expect
    return narrowed(case, expect, verdict_of) or (case, expect)


def _failing_like(entry: CorpusCase) -> Holds:
    if needs_child(entry.expect):
        attempts = [_in_child(entry)]
    else:
        # JAX costs most of the time, and only some checks ask it.
        attempts = [_here(entry.expect, use_jax=False), _here(entry.expect, use_jax=True)]
    for holds in attempts:
        if holds(entry.case):
            return holds
    raise InvalidInput(f"the case does not get the verdict that it expects: {entry.expect}")


def _here(expect: str, use_jax: bool) -> Holds:
    def holds(case: AnyCase) -> bool:
        return verdict_text(judge_case(case, expect, use_jax=use_jax).verdict) == expect

    return holds


def _in_child(entry: CorpusCase) -> Holds:
    def holds(case: AnyCase) -> bool:
        verdict = judge_in_child(replace(entry, case=case), time_limit=_CHILD_TIME_LIMIT)
        return verdict.verdict == entry.expect

    return holds
