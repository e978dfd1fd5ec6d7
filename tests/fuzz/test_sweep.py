import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from fuzz.__main__ import main
from fuzz.campaign import GRAPHS, HarnessError, Plan, Result, Statistics, Table
from fuzz.campaign.reductions import Bucket
from fuzz.commands import Exit
from fuzz.commands.sweep import sweep, sweep_json, sweep_lines, sweep_status
from fuzz.isolate import TIME_LIMIT
from hlo import InvalidInput
from passes import Pipeline

NAMES = ("cse", "dce", "algsimp")
PLAN = Plan(
    pipeline=Pipeline(),
    environment={},
    seed=1,
    workers=1,
    directory=Path("found"),
    cache=Path("cache"),
    examples=10,
)


def campaign(findings: str = "", skips: str = "", stop_at: str = "") -> Callable[[Plan], Result]:
    """A campaign that finds something with one pass, and skips everything with another."""

    def run(plan: Plan) -> Result:
        name = str(plan.pipeline)
        statistics = Statistics()
        statistics[Table.TOTAL][GRAPHS] = 4
        statistics[Table.FIRED_GRAPHS][f"{name}:rewrite"] = 3
        buckets: tuple[Bucket, ...] = ()
        if findings and findings in name:
            statistics[Table.FINDINGS]["disagree values/value it"] = 2
            buckets = (Bucket("disagree values/value it", "it is wrong", Path("found/it.hlo"), working=1),)
        if skips and skips in name:
            statistics[Table.SKIPS]["refused"] = 4
        return Result(plan, statistics, 1.0, buckets, interrupted=bool(stop_at) and stop_at in name, notes=())

    return run


def test_each_pass_gets_its_share_of_the_graphs() -> None:
    plans: list[Plan] = []
    run = campaign()
    sweep(PLAN, lambda plan: plans.append(plan) or run(plan), NAMES)
    assert [str(plan.pipeline) for plan in plans] == ["xla:cse", "xla:dce", "xla:algsimp"]
    assert {plan.examples for plan in plans} == {4}
    assert {plan.directory for plan in plans} == {Path("found")}
    assert {plan.time_limit for plan in plans} == {TIME_LIMIT + 90}


def test_each_pass_gets_its_share_of_the_time() -> None:
    plans: list[Plan] = []
    run = campaign()
    timed = replace(PLAN, examples=None, seconds=90.0)
    sweep(timed, lambda plan: plans.append(plan) or run(plan), NAMES)
    assert {plan.seconds for plan in plans} == {30.0}
    with pytest.raises(InvalidInput, match=r"50 s is too short for 3 passes; give 60s or more"):
        sweep(replace(timed, seconds=50.0), run, NAMES)


def test_a_sweep_without_findings_preserves() -> None:
    shares = sweep(PLAN, campaign(), NAMES)
    assert sweep_status(shares) is Exit.PRESERVED
    assert list(sweep_lines(shares)) == [
        "pass     graphs  fired  findings  buckets  skips",
        "cse           4      3         0        0      0",
        "dce           4      3         0        0      0",
        "algsimp       4      3         0        0      0",
    ]


def test_one_finding_is_a_finding_of_the_sweep_and_told() -> None:
    shares = sweep(PLAN, campaign(findings="dce"), NAMES)
    assert sweep_status(shares) is Exit.FINDING
    lines = list(sweep_lines(shares))
    assert any("found/it.hlo" in line for line in lines)
    assert "dce           4      3         2        1      0" in lines
    told = sweep_json(shares, PLAN)
    assert json.loads(json.dumps(told)) == told
    assert told["findings"] == 2
    assert told["graphs"] == 12
    assert told["passes"]["dce"]["found"][0]["path"] == "found/it.hlo"


def test_a_pass_that_is_not_judged_leaves_the_sweep_unjudged() -> None:
    shares = sweep(PLAN, campaign(skips="cse"), NAMES)
    assert sweep_status(shares) is Exit.NOT_JUDGED
    assert list(sweep_lines(shares))[-1] == "not judged on enough graphs: cse"


def test_an_interrupted_sweep_tells_what_it_has() -> None:
    assert [share.name for share in sweep(PLAN, campaign(stop_at="dce"), NAMES)] == ["cse", "dce"]


def test_an_error_of_ours_with_one_pass_does_not_end_the_sweep(capsys) -> None:
    run = campaign()

    def fail_at_dce(plan: Plan) -> Result:
        if "dce" in str(plan.pipeline):
            raise HarnessError("ours")
        return run(plan)

    shares = sweep(PLAN, fail_at_dce, NAMES)
    assert [share.is_judged for share in shares] == [True, False, True]
    assert sweep_status(shares) is Exit.NOT_JUDGED
    assert "an error of the harness itself, not of xla:dce: ours" in capsys.readouterr().err
    assert sweep_json(shares, PLAN)["passes"]["dce"]["graphs"] == 0


def test_a_sweep_is_typed_as_a_pipeline(capsys, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("fuzz.commands.sweep.sweep_passes", lambda: ("dce",))
    monkeypatch.chdir(tmp_path)
    status = main(["run", "--passes", "xla:*", "--examples", "3", "-n", "1", "--seed", "1", "--json"])
    last = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert status == 0
    assert list(last["passes"]) == ["dce"]
    assert last["graphs"] == last["passes"]["dce"]["graphs"] == 3
