import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from fuzz.__main__ import main
from fuzz.campaign import GRAPHS, Plan, Result, Statistics, Table
from fuzz.campaign.reductions import Bucket
from fuzz.commands import Exit
from fuzz.commands.sweep import sweep_json, sweep_lines, sweep_plan, sweep_status
from fuzz.isolate import TIME_LIMIT
from passes import Pipeline

NAMES = ("cse", "dce", "algsimp")
PLAN = Plan(
    pipelines=(Pipeline(),),
    environment={},
    seed=1,
    workers=1,
    directory=Path("found"),
    cache=Path("cache"),
    examples=10,
)
VERDICT = "disagree values/value it"
MakeResult = Callable[..., Result]


@pytest.fixture
def swept() -> MakeResult:
    """`swept(findings=…, skips=…, errors=…)`: a sweep of ten graphs in which these passes did something wrong."""

    def make(findings: str = "", skips: str = "", errors: str = "", interrupted: bool = False) -> Result:
        plan = sweep_plan(PLAN, NAMES)
        statistics = Statistics()
        statistics[Table.TOTAL][GRAPHS] = 10
        for pipeline in map(str, plan.pipelines):
            statistics[Table.JUDGED][pipeline] = 10
            statistics[Table.CHANGED][pipeline] = 3 if pipeline != "xla:cse" else 0
        buckets: tuple[Bucket, ...] = ()
        if findings:
            statistics[Table.FINDINGS][VERDICT] = 2
            statistics[Table.FOUND][findings] = 2
            buckets = (
                Bucket(findings, VERDICT, "it is wrong", Path("found/it.hlo"), working=1),
                Bucket(findings, "skip engines disagree", "jax is", Path("found/jax.hlo"), suspect=True),
            )
        statistics[Table.SKIPPED].update({skips: 4} if skips else {})
        statistics[Table.ERRORS].update({errors: 1} if errors else {})
        return Result(plan, statistics, 1.0, buckets, interrupted, notes=("a note",))

    return make


def test_a_sweep_is_one_campaign_with_a_pipeline_for_each_pass() -> None:
    plan = sweep_plan(PLAN, NAMES)
    assert list(map(str, plan.pipelines)) == ["xla:cse", "xla:dce", "xla:algsimp"]
    assert plan.examples == PLAN.examples
    assert plan.time_limit == TIME_LIMIT + 90
    assert not plan.reduce_beside


def test_a_sweep_without_findings_preserves(swept) -> None:
    result = swept()
    assert sweep_status(result) is Exit.PRESERVED
    assert list(sweep_lines(result)) == [
        "note: a note",
        "pass     graphs  fired  findings  buckets  skips",
        "cse          10      0         0        0      0",
        "dce          10      3         0        0      0",
        "algsimp      10      3         0        0      0",
        "10 graphs in 1 s (1 workers), seed 1",
        "never fired: cse",
    ]


def test_one_finding_is_a_finding_of_the_sweep_and_told(swept) -> None:
    result = swept(findings="xla:dce", skips="xla:cse")
    assert sweep_status(result) is Exit.FINDING
    lines = list(sweep_lines(result))
    assert any("found/it.hlo" in line for line in lines)
    assert any("found/jax.hlo" in line for line in lines)
    assert "dce          10      3         2        1      0" in lines
    told = sweep_json(result)
    assert json.loads(json.dumps(told)) == told
    assert told["findings"] == 2
    assert told["drawn"] == 10
    assert [found["path"] for found in told["passes"]["dce"]["found"]] == ["found/it.hlo"]
    assert told["passes"]["algsimp"]["found"] == []
    assert [found["path"] for found in told["suspects"]] == ["found/jax.hlo"]


@pytest.mark.parametrize("wrong", [{"skips": "xla:cse"}, {"errors": "xla:cse"}])
def test_a_pass_that_is_not_judged_leaves_the_sweep_unjudged(swept, wrong) -> None:
    result = swept(**wrong)
    assert sweep_status(result) is Exit.NOT_JUDGED
    assert list(sweep_lines(result))[-1] == "not judged on enough graphs: cse"


def test_a_sweep_that_was_stopped_says_nothing(swept) -> None:
    assert sweep_status(swept(interrupted=True)) is Exit.NOT_JUDGED
    assert sweep_status(replace(swept(), plan=sweep_plan(PLAN, ()))) is Exit.NOT_JUDGED


def test_a_sweep_is_typed_as_a_pipeline(capsys, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("fuzz.commands.sweep.sweep_passes", lambda: ("dce", "cse"))
    monkeypatch.chdir(tmp_path)
    status = main(["run", "--passes", "xla:*", "--examples", "3", "-n", "1", "--seed", "1", "--json"])
    last = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert status == 0
    assert list(last["passes"]) == ["dce", "cse"]
    assert last["drawn"] == last["passes"]["dce"]["graphs"] == last["passes"]["cse"]["graphs"] == 3
