import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from fuzz.campaign import VOTED, Campaign, HarnessError, Table
from fuzz.campaign.summary import summary_lines
from fuzz.corpus import case_files, comments_of, load
from fuzz.replay import replay
from hlo.canonical import structure

SCRIPT = Path(__file__).with_name("misbehaving.py")


def alone(graphs) -> tuple[int, int]:
    """The position, not among the first, and the number of instructions of a graph that no other shares."""
    counts = Counter(graph.instruction_count for graph in graphs)
    return next(
        (i, graph.instruction_count)
        for i, graph in enumerate(graphs)
        if i > 4 and counts[graph.instruction_count] == 1
    )


def test_good_passes_give_no_finding_and_full_counts(run_campaign) -> None:
    result = run_campaign("neuron-dus-ds-index-simplifier,dynamic-slice-mover")
    statistics = result.statistics
    assert statistics.graphs == 25
    assert result.buckets == ()
    assert not statistics[Table.SKIPS]
    assert statistics[Table.FIRED_GRAPHS]["neuron-dus-ds-index-simplifier:tag-ds"] > 5
    assert {"generate", "passes", "evaluate", "jax", "compare"} <= set(statistics[Table.SECONDS])
    assert statistics[Table.SWITCHES].total() == 25
    assert not list(result.plan.directory.rglob("*"))


def test_the_graphs_do_not_depend_on_how_many_workers_share_them(run_campaign) -> None:
    one, two = (run_campaign("dce", workers=workers, examples=50).statistics for workers in (1, 2))
    for table in (Table.TOTAL, Table.FEATURES, Table.FIRED, Table.SWITCHES):
        assert one[table] == two[table]


def test_a_wrong_pass_is_found_reduced_and_told(run_campaign) -> None:
    result = run_campaign("dce,test-drops-updates")
    smallest = min(result.buckets, key=lambda bucket: bucket.working or 99)
    entry = load(smallest.path)
    assert smallest.working == 1
    assert str(entry.case.pipeline) == "test-drops-updates"
    assert entry.expect.startswith("disagree values/value test-drops-updates")
    assert any(
        line.startswith("- ") and "dynamic-update-slice" in line
        for line in comments_of(smallest.path.read_text())
    )
    assert result.statistics[Table.FINDINGS].total() > len(result.buckets)
    assert len(case_files([result.plan.directory])) == len(result.buckets)
    for path in case_files([result.plan.directory]):
        assert replay(path).as_expected


def test_a_pass_that_ends_the_process_loses_no_graph(run_campaign, graphs) -> None:
    position, count = alone(graphs)
    result = run_campaign(f"test-exits{{instructions={count}}}", reduce_seconds=4.0)
    assert result.statistics.graphs == 25
    (bucket,) = result.buckets
    assert bucket.verdict == "disagree process/crash pipeline"
    assert "status 7" in bucket.headline
    assert replay(bucket.path).as_expected
    # the reducer keeps the number of instructions, which the failure needs
    assert load(bucket.path).hlo.module.instruction_count == graphs[position].instruction_count


def test_a_pass_that_hangs_loses_no_graph(run_campaign, graphs, monkeypatch) -> None:
    position, count = alone(graphs)
    pipeline = f"test-sleeps{{instructions={count}}}"
    result = run_campaign(pipeline, time_limit=6.0, reduce_seconds=0.0)
    assert result.statistics.graphs == 25
    (bucket,) = result.buckets
    assert bucket.verdict == "disagree time-limit/crash pipeline"
    assert structure(load(bucket.path).hlo.module) == structure(graphs[position])


def test_a_pass_that_ends_the_process_leaves_the_other_passes_of_a_campaign_alone(
    run_campaign, graphs
) -> None:
    _, count = alone(graphs)
    exits = f"test-exits{{instructions={count}}}"
    result = run_campaign("dce", exits, "test-drops-updates", reduce_seconds=0.0)
    statistics = result.statistics
    assert statistics.graphs == 25
    assert statistics[Table.JUDGED] == {"dce": 25, exits: 25, "test-drops-updates": 25}
    assert statistics[Table.FOUND][exits] == 1
    assert statistics[Table.FOUND]["test-drops-updates"] > 5
    assert statistics[Table.FOUND]["dce"] == 0
    verdicts = {bucket.verdict for bucket in result.buckets if bucket.pipeline == exits}
    assert verdicts == {"disagree process/crash pipeline"}
    assert statistics[Table.CHANGED]["test-drops-updates"] > statistics[Table.CHANGED]["dce"] == 0


def test_a_pass_that_always_ends_the_process_is_given_up_and_the_others_go_on(
    run_campaign, graphs, monkeypatch
) -> None:
    monkeypatch.setattr("fuzz.campaign.campaign._MOST_DEATHS", 1)
    _, count = alone(graphs)
    exits = f"test-exits{{instructions={count}}}"
    result = run_campaign(exits, "dce", reduce_seconds=0.0)
    assert result.statistics[Table.JUDGED]["dce"] == 25
    assert result.statistics[Table.JUDGED][exits] < 25
    assert result.notes == (f"{exits} was given up: 1 graphs ended a worker",)


def test_many_pipelines_find_what_each_finds_by_itself(run_campaign) -> None:
    together = run_campaign("dce", "test-drops-updates", reduce_seconds=0.0).statistics
    for pipeline in ("dce", "test-drops-updates"):
        lone = run_campaign(pipeline, reduce_seconds=0.0).statistics
        for table in (Table.JUDGED, Table.CHANGED, Table.FOUND, Table.SKIPPED):
            assert together[table][pipeline] == lone[table][pipeline]


def test_an_error_of_ours_with_one_of_many_pipelines_is_noted_and_the_others_go_on(run_campaign) -> None:
    result = run_campaign("dce", "test-harness-fault", "tuple-simplifier", examples=3)
    statistics = result.statistics
    assert statistics[Table.ERRORS] == {"test-harness-fault": 3}
    assert statistics[Table.JUDGED] == {"dce": 3, "tuple-simplifier": 3, "test-harness-fault": 3}
    assert not statistics[Table.FINDINGS]
    assert all("not of test-harness-fault" in note and "AttributeError" in note for note in result.notes)
    assert load(Path(result.notes[0].splitlines()[-1])).expect == "agree"


def contrary_engine() -> dict[str, object]:
    """Processes in which one engine is wrong, and all graphs are voted on."""
    commands = {role: (sys.executable, str(SCRIPT), f"contrary-{role}") for role in ("worker", "reducer")}
    return {"voted": 1.0, **{f"{role}_command": command for role, command in commands.items()}}


def test_engines_that_see_agreeing_graphs_differently_are_kept_and_no_pass_is_blamed(run_campaign) -> None:
    result = run_campaign("dce", **contrary_engine())
    statistics = result.statistics
    verdict = "disagree vote/engines contrary"
    assert 0 < statistics[Table.SUSPECTS][verdict] < statistics[Table.TOTAL][VOTED] == 25
    assert not statistics[Table.FINDINGS]
    assert all(bucket.suspect for bucket in result.buckets)
    bucket = min(result.buckets, key=lambda bucket: bucket.working or 99)
    assert bucket.working == 1
    entry = load(bucket.path)
    assert entry.expect == verdict
    assert any("crashed: contrary (it adds)" in line for line in comments_of(bucket.path.read_text()))
    assert any(str(bucket.path) in line for line in summary_lines(result))


def test_no_engine_votes_unless_graphs_are_sampled(run_campaign) -> None:
    result = run_campaign("dce", **(contrary_engine() | {"voted": 0.0}))
    assert result.statistics[Table.TOTAL][VOTED] == 0
    assert result.buckets == ()


def dying_worker(marker: Path, times: int) -> dict[str, object]:
    """A worker that ends while it draws graph 6, the first `times` times."""
    return {"worker_command": (sys.executable, str(SCRIPT), "dying-worker", str(marker), str(times))}


def test_a_worker_that_ends_while_it_draws_is_replaced(run_campaign, tmp_path) -> None:
    result = run_campaign("dce", **dying_worker(tmp_path / "deaths", times=1))
    assert result.statistics.graphs == 25
    assert result.buckets == ()
    assert result.notes == (
        "a worker ended while drawing graph 6 of batch 0: the process ended itself with status 9; another went on",
    )


def test_a_graph_that_always_ends_the_worker_that_draws_it_is_an_error_of_ours(
    run_campaign, tmp_path
) -> None:
    with pytest.raises(HarnessError, match="drawing graph 6 of batch 0 ends a worker"):
        run_campaign("dce", **dying_worker(tmp_path / "deaths", times=9))


def test_an_error_of_ours_is_not_counted_but_raised_with_the_graph(run_campaign) -> None:
    with pytest.raises(HarnessError, match=r"AttributeError[\s\S]*\.hlo") as error:
        run_campaign("test-harness-fault")
    path = Path(str(error.value).splitlines()[-1])
    assert load(path).expect == "agree"


def test_an_interrupted_campaign_gives_what_it_has(make_plan) -> None:
    def interrupt(progress) -> None:
        if progress.statistics.graphs:
            raise KeyboardInterrupt

    plan = make_plan("dce", examples=None, seconds=300.0)
    result = Campaign(plan, interrupt).run()
    assert result.interrupted
    assert result.statistics.graphs > 0
    assert result.seconds < 100
    assert not list(plan.directory.rglob("*"))


def children_of(process: int) -> set[int]:
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[1]) == process and fields[0] != "Z":
            found.add(int(stat.parent.name))
    return found


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks processes up in /proc")
def test_killing_the_campaign_loses_no_finding_and_leaves_no_process(tmp_path) -> None:
    root = Path(__file__).resolve().parents[3]
    command = [
        sys.executable,
        "-m",
        "fuzz",
        "run",
        "--time",
        "300",
        "-n",
        "1",
        "--seed",
        "3",
        "--out",
        str(tmp_path),
    ]
    wrong = "neuron-dus-ds-index-simplifier{unanimous=false},dynamic-slice-mover"
    with subprocess.Popen(
        [*command, "--passes", wrong], cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as campaign:
        try:
            end = time.monotonic() + 120
            while not case_files([tmp_path]):
                assert campaign.poll() is None
                assert time.monotonic() < end
                time.sleep(0.05)
            children = children_of(campaign.pid)
            assert children
        finally:
            campaign.send_signal(signal.SIGKILL)
    while any(map(is_running, children)):
        assert time.monotonic() < end
        time.sleep(0.1)
    files = case_files([tmp_path])
    assert files
    for path in files:
        assert replay(path).as_expected
    assert os.listdir(tmp_path)
