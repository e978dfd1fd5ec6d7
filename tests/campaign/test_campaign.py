"""The campaign inside pytest, cut into shards so that `pytest -n auto` spreads it over all workers.

The Hypothesis profile sizes it: nightly's 20,000 graphs are shared among the shards. ci's are too few to share: a
shard takes at least as many graphs as fill its JAX cache.
"""

import contextlib
import secrets
from pathlib import Path

import hypothesis
import pytest
from hypothesis import given

from fuzz.campaign.worker import case_of
from fuzz.case import Case, verdict_text
from fuzz.findings import save_finding
from fuzz.generators import Program, programs
from fuzz.reduce import reduce_case
from fuzz.report import render_text
from oracle.judge import judge
from oracle.verdict import Disagree, Skip
from passes import DEFAULT_PIPELINE, parse_pipeline

SHARDS = 8
FEWEST = 40
PIPELINE = parse_pipeline(DEFAULT_PIPELINE)
REDUCE_SECONDS = 30.0


class FoundSomething(Exception):
    """A graph whose meaning was not preserved."""


def graphs_of_a_shard() -> int:
    return max(FEWEST, hypothesis.settings().max_examples // SHARDS)


def report(case: Case, directory: Path) -> str:
    """The finding that `case` is, reduced, and saved in `directory`."""
    wanted = verdict_text(judge(case.module, case.pipeline, case.inputs, case.environment).verdict)

    def fails_alike(other: Case) -> bool:
        return (
            verdict_text(judge(other.module, other.pipeline, other.inputs, other.environment).verdict)
            == wanted
        )

    small = reduce_case(case, fails_alike, seconds=REDUCE_SECONDS).case
    verdict = judge(small.module, small.pipeline, small.inputs, small.environment).verdict
    assert isinstance(verdict, Disagree)
    path = save_finding(directory, small, verdict.finding, wanted)
    return render_text(verdict.finding, small, str(path))


@pytest.mark.parametrize("shard", range(SHARDS))
def test_random_graphs_keep_their_meaning(shard: int, tmp_path: Path) -> None:
    # ci looks at the same graphs every time, each shard at others; nightly and dev at new ones.
    seed = shard if hypothesis.settings().derandomize else secrets.randbits(32)
    failing: list[Case] = []
    judged = skipped = 0

    @hypothesis.seed(seed)
    @hypothesis.settings(max_examples=graphs_of_a_shard())
    @given(programs())
    def keeps_its_meaning(program: Program) -> None:
        nonlocal judged, skipped
        case = case_of(program, PIPELINE, {})
        verdict = judge(case.module, case.pipeline, case.inputs, case.environment).verdict
        judged += 1
        skipped += isinstance(verdict, Skip)
        if isinstance(verdict, Disagree):
            failing[:] = [case]  # Hypothesis shrinks: the last one is the smallest that it found
            raise FoundSomething(verdict_text(verdict))

    with contextlib.suppress(FoundSomething):
        keeps_its_meaning()
    if failing:
        pytest.fail(f"seed {seed}\n{report(failing[0], tmp_path)}", pytrace=False)
    assert skipped <= 0.2 * judged
