"""Does a case still behave as its corpus file says?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fuzz.case import verdict_text
from fuzz.corpus import CorpusCase, load, naming
from fuzz.isolate import ChildVerdict, judge_in_child, needs_child
from fuzz.judging import judge_case
from fuzz.report import verdict_line


@dataclass(frozen=True)
class ReplayResult:
    """What a corpus file promised and what happened, in the words of `fuzz.case.verdict_text`."""

    path: Path
    name: str
    why: str
    expect: str
    verdict: str
    detail: str

    @property
    def as_expected(self) -> bool:
        """Whether the case got the verdict that its file expects."""
        return self.expect == self.verdict


def replay(path: Path, *, allow_code: bool = False) -> ReplayResult:
    """Judge the case in a file with its own passes, switches and inputs. Raises as `fuzz.corpus.load` does."""
    entry = load(path, allow_code=allow_code)
    with naming(path):
        verdict = judge_again(entry)
    return ReplayResult(path, entry.name, entry.why, entry.expected_here, verdict.verdict, verdict.detail)


def judge_again(entry: CorpusCase) -> ChildVerdict:
    """The verdict of a case now, judged in a child if it is known to take its process along."""
    if needs_child(entry.expect):
        return judge_in_child(entry)
    verdict = judge_case(entry.case, entry.expect).verdict
    return ChildVerdict(verdict_text(verdict), verdict_line(verdict))
