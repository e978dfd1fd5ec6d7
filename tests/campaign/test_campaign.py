"""The campaign inside pytest, cut into shards so that `pytest -n auto` spreads it over all workers.

The Hypothesis profile sizes it: nightly's 20,000 graphs are shared among the shards. ci's are too few to share: a
shard takes at least as many graphs as fill its JAX cache.
"""

import contextlib
import secrets
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis import given
from hypothesis.strategies import SearchStrategy

from fuzz.campaign.worker import case_of
from fuzz.case import AnyCase, Case, verdict_text
from fuzz.findings import save_finding
from fuzz.generators import programs
from fuzz.generators.stablehlo import symbolics
from fuzz.judging import judge_any
from fuzz.reduce import reduce_case, reduce_symbolic
from fuzz.report import render_text
from oracle.verdict import Disagree, Skip
from passes import DEFAULT_PIPELINE, Pipeline, parse_pipeline

SHARDS = 8
SYMBOLIC_SHARDS = 2
FEWEST = 40
PIPELINE = parse_pipeline(DEFAULT_PIPELINE)
STABLEHLO = parse_pipeline("canonicalize-dynamism,canonicalize-for-tensorizer")
REDUCE_SECONDS = 30.0


class FoundSomething(Exception):
    """A graph whose meaning was not preserved."""


def graphs_of_a_shard() -> int:
    return max(FEWEST, hypothesis.settings().max_examples // SHARDS)


def report(case: AnyCase, directory: Path) -> str:
    """The finding that `case` is, reduced, and saved in `directory`."""
    wanted = verdict_text(judge_any(case).verdict)

    def fails_alike(other: AnyCase) -> bool:
        return verdict_text(judge_any(other).verdict) == wanted

    reduction = (
        reduce_case(case, fails_alike, seconds=REDUCE_SECONDS)
        if isinstance(case, Case)
        else reduce_symbolic(case, fails_alike, seconds=REDUCE_SECONDS)
    )
    verdict = judge_any(reduction.case).verdict
    assert isinstance(verdict, Disagree)
    path = save_finding(directory, reduction.case, verdict.finding, wanted)
    return render_text(verdict.finding, reduction.case, str(path))


def hold_to_their_meaning(
    strategy: SearchStrategy[Any], pipeline: Pipeline, graphs: int, shard: int, directory: Path
) -> None:
    # ci looks at the same graphs every time, each shard at others; nightly and dev at new ones.
    seed = shard if hypothesis.settings().derandomize else secrets.randbits(32)
    failing: list[AnyCase] = []
    judged = skipped = 0

    @hypothesis.seed(seed)
    @hypothesis.settings(max_examples=graphs)
    @given(strategy)
    def keeps_its_meaning(program: Any) -> None:
        nonlocal judged, skipped
        case = case_of(program, pipeline, {})
        verdict = judge_any(case).verdict
        judged += 1
        skipped += isinstance(verdict, Skip)
        if isinstance(verdict, Disagree):
            failing[:] = [case]  # Hypothesis shrinks: the last one is the smallest that it found
            raise FoundSomething(verdict_text(verdict))

    with contextlib.suppress(FoundSomething):
        keeps_its_meaning()
    if failing:
        pytest.fail(f"seed {seed}\n{report(failing[0], directory)}", pytrace=False)
    assert skipped <= 0.2 * judged


@pytest.mark.parametrize("shard", range(SHARDS))
def test_random_graphs_keep_their_meaning(shard: int, tmp_path: Path) -> None:
    hold_to_their_meaning(programs(), PIPELINE, graphs_of_a_shard(), shard, tmp_path)


@pytest.mark.parametrize("shard", range(SYMBOLIC_SHARDS))
def test_random_programs_with_unknown_sizes_keep_their_meaning(shard: int, tmp_path: Path) -> None:
    hold_to_their_meaning(symbolics(), STABLEHLO, graphs_of_a_shard(), shard, tmp_path)


def test_what_does_not_keep_its_meaning_is_reported_small(tmp_path: Path) -> None:
    folding = parse_pipeline("canonicalize-for-tensorizer{static_dims_only=false}")
    with pytest.raises(pytest.fail.Exception, match=r"hlofuzz replay .*\.mlir") as told:
        hold_to_their_meaning(symbolics(), folding, 40, 0, tmp_path)
    assert "sizes: " in str(told.value)
