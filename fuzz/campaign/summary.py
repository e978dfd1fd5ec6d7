"""How is a campaign told, in a line while it runs, in a page at its end, and as JSON?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from fuzz.campaign.campaign import Progress, Result
from fuzz.campaign.contents import SHAPES
from fuzz.campaign.reductions import Bucket
from fuzz.campaign.statistics import SWITCHED, VOTED, Statistics, Table
from fuzz.generators import Feature
from fuzz.generators.dynamic import DynamicFeature
from fuzz.generators.stablehlo import SymbolicFeature
from fuzz.report import environment_text, table
from passes import SWITCHES

SKIP_BUDGET = 0.20
"""The share of graphs that may go unjudged before a campaign says nothing about the passes."""


def progress_line(progress: Progress) -> str:
    """Where a campaign is, in a line."""
    statistics = progress.statistics
    parts = [
        f"{progress.seconds:.0f} s",
        f"{statistics.graphs} graphs",
        f"{statistics.graphs / max(progress.seconds, 1e-9):.0f}/s",
        f"{statistics[Table.FINDINGS].total()} findings",
        f"{statistics[Table.SKIPS].total()} skipped",
    ]
    if progress.reducing:
        parts.append(f"reducing {progress.reducing}")
    return ", ".join(parts)


def is_judged(result: Result) -> bool:
    """Whether enough graphs were judged to say anything."""
    graphs = result.statistics.graphs
    return graphs > 0 and result.statistics[Table.SKIPS].total() <= SKIP_BUDGET * graphs


def summary_lines(result: Result) -> Iterator[str]:
    """A campaign in a page."""
    statistics, plan = result.statistics, result.plan
    graphs = statistics.graphs
    yield f"passes: {' | '.join(map(str, plan.pipelines))}"
    yield f"environment: {environment_text(plan.environment) or 'each graph draws its own'}; seed: {plan.seed}"
    stopped = ", stopped early" if result.interrupted else ""
    rate = graphs / max(result.seconds, 1e-9)
    yield f"{graphs} graphs in {result.seconds:.1f} s ({rate:.0f}/s, {plan.workers} workers){stopped}"
    yield from (f"note: {note}" for note in result.notes)
    yield from _finding_lines(result)
    yield from suspect_lines(result)
    yield from _skip_lines(statistics)
    yield from _rule_lines(result)
    yield "kill-switches (graphs):"
    yield from table(
        [(name, _share(count, graphs)) for name, count in sorted(statistics[Table.SWITCHES].items())]
    )
    seconds = statistics[Table.SECONDS]
    yield f"time: {', '.join(f'{stage} {_share(spent, seconds.total())}' for stage, spent in seconds.most_common())}"
    yield from _content_lines(statistics)


_KINDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("loops", tuple(Feature)),
    ("dynamic arrays", tuple(DynamicFeature)),
    ("unknown sizes", tuple(SymbolicFeature)),
)
_NAMED = Counter(str(feature) for _, features in _KINDS for feature in features)
"""A name that two kinds of programs have says nothing about which kind one was."""


def _content_lines(statistics: Statistics) -> Iterator[str]:
    """What was in the graphs. Features are those of unrolled loops, of dynamic arrays, and of unknown sizes.

    They are left out where none was.
    """
    graphs = statistics.graphs
    features = statistics[Table.FEATURES]
    for title, known in _KINDS:
        if any(features[feature] for feature in known if _NAMED[feature] == 1):
            yield f"features of {title} (graphs):"
            yield from _columns([f"{feature} {_share(features[feature], graphs)}" for feature in known])
    counted = [(word, count) for word in SHAPES if (count := statistics[Table.SHAPES][word])]
    for title, counts in (
        ("shapes", counted),
        ("element types", statistics[Table.TYPES].most_common()),
        ("operations", statistics[Table.OPCODES].most_common()),
    ):
        yield f"{title} (graphs):"
        yield from _columns([f"{name} {_share(count, graphs)}" for name, count in counts])


def _finding_lines(result: Result) -> Iterator[str]:
    findings = result.statistics[Table.FINDINGS]
    if not findings:
        yield "no findings"
        return
    yield f"{findings.total()} findings in {sum(not bucket.suspect for bucket in result.buckets)} buckets:"
    yield from bucket_lines(result)


def bucket_lines(result: Result) -> Iterator[str]:
    """What was found: each verdict, and under it the files that are kept."""
    for verdict, count in result.statistics[Table.FINDINGS].most_common():
        yield f"  {verdict}: {count} graphs"
        yield from _file_lines([bucket for bucket in result.buckets if bucket.verdict == verdict])


def suspect_lines(result: Result) -> Iterator[str]:
    """Where engines see the original differently: the evaluator, the reference or an engine is wrong, not a pass."""
    voted, differed = result.statistics[Table.TOTAL][VOTED], result.statistics[Table.SUSPECTS]
    if voted:
        yield f"all engines voted on {voted} graphs without a finding; {differed.total()} times they disagreed"
    if suspects := [bucket for bucket in result.buckets if bucket.suspect]:
        yield "engines that see an original differently, which is no fault of a pass:"
        for verdict in dict.fromkeys(bucket.verdict for bucket in suspects):
            yield f"  {verdict}"
            yield from _file_lines([bucket for bucket in suspects if bucket.verdict == verdict])


def _file_lines(buckets: Sequence[Bucket]) -> Iterator[str]:
    for bucket in buckets:
        yield f"    {bucket.path}{_bucket_text(bucket)}"
        whose = "" if bucket.pipeline in bucket.verdict or not bucket.pipeline else f"{bucket.pipeline}: "
        yield f"      {whose}{bucket.headline}"


def _bucket_text(bucket: Bucket) -> str:
    size = (
        f" ({bucket.working} instructions beside parameters and constants)"
        if bucket.working is not None
        else ""
    )
    return size + (f" ({bucket.note})" if bucket.note else "")


def _skip_lines(statistics: Statistics) -> Iterator[str]:
    skips = statistics[Table.SKIPS]
    if not skips:
        yield "nothing skipped"
        return
    yield f"skipped {_share(skips.total(), statistics.graphs)} of graphs ({skips.total()}):"
    yield from table([(reason, str(count)) for reason, count in skips.most_common()])
    most = statistics[Table.SKIP_DETAILS].most_common(5)
    yield from (f"    {count} × {detail}" for detail, count in most)


def _rule_lines(result: Result) -> Iterator[str]:
    statistics = result.statistics
    graphs = statistics.graphs
    yield "rules fired (times, share of graphs):"
    fired, fired_graphs = statistics[Table.FIRED], statistics[Table.FIRED_GRAPHS]
    rows = [(rule, str(fired[rule]), _share(fired_graphs[rule], graphs)) for rule in sorted(fired)]
    yield from table(rows)
    if never := never_fired(result):
        yield f"  never fired: {', '.join(never)}"
    declined = statistics[Table.DECLINED]
    if declined:
        switched = statistics[Table.TOTAL][SWITCHED]
        yield f"rewrites declined (times, share of graphs, share of the {switched} graphs with a switch on):"
        by_graph, by_switched = statistics[Table.DECLINED_GRAPHS], statistics[Table.DECLINED_SWITCHED]
        yield from table(
            [
                (
                    rule,
                    str(declined[rule]),
                    _share(by_graph[rule], graphs),
                    _share(by_switched[rule], switched),
                )
                for rule in sorted(declined)
            ]
        )


def never_fired(result: Result) -> list[str]:
    """The rules of the pipeline's passes that no graph made fire, as "pass:rule"."""
    rules = [
        f"{pass_.name}:{rule}"
        for pipeline in result.plan.pipelines
        for pass_ in pipeline.passes
        for rule in pass_.rules
    ]
    return [rule for rule in dict.fromkeys(rules) if not result.statistics[Table.FIRED][rule]]


def _share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "–"


def _columns(cells: Sequence[str], per_line: int = 4) -> Iterator[str]:
    width = max(map(len, cells), default=0) + 2
    for i in range(0, len(cells), per_line):
        yield "  " + "".join(cell.ljust(width) for cell in cells[i : i + per_line]).rstrip()


def summary_json(result: Result) -> dict[str, Any]:
    """A campaign as one object; counts are of graphs unless their name says otherwise."""
    statistics, plan = result.statistics, result.plan
    return {
        "graphs": statistics.graphs,
        "seconds": round(result.seconds, 3),
        "findings": statistics[Table.FINDINGS].total(),
        "skips": statistics[Table.SKIPS].total(),
        "fired": _sorted(statistics[Table.FIRED]),
        "split": {stage: round(spent, 4) for stage, spent in statistics[Table.SECONDS].most_common()},
        "passes": ",".join(map(str, plan.pipelines)),
        "environment": dict(plan.environment),
        "seed": plan.seed,
        "workers": plan.workers,
        "interrupted": result.interrupted,
        "notes": list(result.notes),
        "buckets": [bucket_json(bucket) for bucket in result.buckets if not bucket.suspect],
        "voted": statistics[Table.TOTAL][VOTED],
        "suspects": [bucket_json(bucket) for bucket in result.buckets if bucket.suspect],
        "suspects_by_verdict": _sorted(statistics[Table.SUSPECTS]),
        "findings_by_verdict": _sorted(statistics[Table.FINDINGS]),
        "skips_by_reason": _sorted(statistics[Table.SKIPS]),
        "fired_graphs": _sorted(statistics[Table.FIRED_GRAPHS]),
        "never_fired": never_fired(result),
        "declined": _sorted(statistics[Table.DECLINED]),
        "declined_graphs": _sorted(statistics[Table.DECLINED_GRAPHS]),
        "switched_graphs": statistics[Table.TOTAL][SWITCHED],
        "declined_switched_graphs": _sorted(statistics[Table.DECLINED_SWITCHED]),
        "switches": {switch.variable: _switch_json(statistics, switch.variable) for switch in SWITCHES},
        "features": _sorted(statistics[Table.FEATURES]),
        "opcodes": _sorted(statistics[Table.OPCODES]),
        "types": _sorted(statistics[Table.TYPES]),
        "shapes": _sorted(statistics[Table.SHAPES]),
    }


def _sorted(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items()))


def _switch_json(statistics: Statistics, variable: str) -> dict[str, int]:
    return {state: statistics[Table.SWITCHES][f"{variable} {state}"] for state in ("on", "off", "absent")}


def bucket_json(bucket: Bucket) -> dict[str, Any]:
    """A bucket as one object."""
    return {
        "verdict": bucket.verdict,
        "headline": bucket.headline,
        "path": str(bucket.path),
        "working_instructions": bucket.working,
        "reduced": bucket.reduced,
        "note": bucket.note,
    }
