"""What does a worker keep of a verdict? The first findings of each kind become files, at once; others are counted."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from fuzz.campaign.plan import Position
from fuzz.case import AnyCase, verdict_text
from fuzz.findings import save_finding, save_unseen
from fuzz.isolate import answer
from fuzz.judging import static_form
from fuzz.report import headline, verdict_line
from oracle.checks.jax_reference import with_votes
from oracle.engines import ENGINES
from oracle.verdict import Agree, Disagree, Kind, Skip, SkipReason, Verdict

_SAVED_PER_VERDICT = 3  # later findings of a worker that fail alike are counted only


class Keeper:
    """Writes findings into `directory` and tells the campaign of them."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._saved: Counter[tuple[str, str]] = Counter()
        self._last_suspect: Position | None = None

    def take(self, case: AnyCase, verdict: Verdict, graph: Position) -> None:
        """Keep what a case came to, if there is something to keep: a finding, or engines that disagree."""
        match verdict:
            case Agree():
                return
            case Disagree(finding):
                if self._is_among_the_first(case, verdict):
                    if finding.inputs:
                        finding = with_votes(finding, static_form(case, finding.inputs), ENGINES)
                    path = save_finding(self._directory, case, finding, verdict_text(verdict))
                    self._tell(case, verdict, path, headline(finding))
            case Skip(SkipReason.ENGINES_DISAGREE):
                # the original's fault: however many pipelines have met it, it is one
                if self._last_suspect != graph and self._is_among_the_first(case, verdict):
                    self._last_suspect = graph
                    why = verdict_line(verdict)
                    path = save_unseen(self._directory, case, verdict_text(verdict), why)
                    self._tell(case, verdict, path, why)
            case Skip():
                return

    def _is_among_the_first(self, case: AnyCase, verdict: Verdict) -> bool:
        key = (str(case.pipeline) if isinstance(verdict, Disagree) else "", verdict_text(verdict))
        self._saved[key] += 1
        return self._saved[key] <= _SAVED_PER_VERDICT

    def _tell(self, case: AnyCase, verdict: Verdict, path: Path, text: str) -> None:
        found = {"pipeline": str(case.pipeline), "expect": verdict_text(verdict), "path": str(path)}
        answer({"finding": {**found, "headline": text, "suspect": is_about_engines(verdict)}})


def is_about_engines(verdict: Verdict) -> bool:
    """Whether a verdict says that engines disagree, which is no fault of a pass."""
    match verdict:
        case Disagree(finding):
            return finding.kind is Kind.ENGINES
        case Skip(reason):
            return reason is SkipReason.ENGINES_DISAGREE
        case Agree():
            return False
