"""`hlofuzz run --passes 'xla:*'`: which of the installed XLA's passes keep the meaning of random graphs?

One campaign, in which each pass that keeps every program's meaning (`passes.xla.sweep_passes`) runs alone on every
graph.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fuzz.campaign import Plan, Result, Table
from fuzz.campaign.summary import SKIP_BUDGET, bucket_json, bucket_lines, suspect_lines
from fuzz.commands.common import Exit
from fuzz.isolate import case_limit
from fuzz.report import table
from passes import Pipeline
from passes.xla import sweep_passes, xla_pass

SWEEP = "xla:*"
"""What is typed in place of a pipeline."""

GRAPHS = 100
"""How many graphs there are where neither their number nor the time is limited."""

_SHOWN_DETAILS = 100


@dataclass(frozen=True)
class Row:
    """What one pass did: a row of the table. `fired` counts the graphs that it changed."""

    name: str
    pipeline: str
    graphs: int
    fired: int
    findings: int
    buckets: int
    skips: int
    errors: int
    """Errors of ours."""

    @property
    def cells(self) -> dict[str, int]:
        """The columns of the table."""
        return {name: getattr(self, name) for name in _COLUMNS}

    @property
    def is_judged(self) -> bool:
        """Whether enough graphs were judged to say anything of the pass."""
        return self.graphs > 0 and not self.errors and self.skips <= SKIP_BUDGET * self.graphs


_COLUMNS = ("graphs", "fired", "findings", "buckets", "skips")


def sweep_plan(plan: Plan, names: Sequence[str] | None = None) -> Plan:
    """`plan` with a pipeline for each pass in `names`, which are all unless told.

    Raises BridgeUnavailable where this jaxlib has no hook for passes.
    """
    names = sweep_passes() if names is None else names
    pipelines = tuple(Pipeline((xla_pass(name)(),)) for name in names)
    limit = max(map(case_limit, pipelines), default=plan.time_limit)
    # afterwards, because a pass that is broken would otherwise take the processor from those that are not
    return replace(plan, pipelines=pipelines, time_limit=limit, reduce_beside=False, voted=0.0)


def rows(result: Result) -> list[Row]:
    """The table: what each pass did."""
    statistics = result.statistics
    return [
        Row(
            name=pipeline.passes[0].name.partition(":")[2],
            pipeline=text,
            graphs=statistics[Table.JUDGED][text],
            fired=statistics[Table.CHANGED][text],
            findings=statistics[Table.FOUND][text],
            buckets=sum(bucket.pipeline == text and not bucket.suspect for bucket in result.buckets),
            skips=statistics[Table.SKIPPED][text],
            errors=statistics[Table.ERRORS][text],
        )
        for pipeline in result.plan.pipelines
        for text in [str(pipeline)]
    ]


def sweep_status(result: Result) -> Exit:
    """A finding of any pass is one of the sweep, which says nothing where a pass was not judged."""
    table_rows = rows(result)
    if any(row.findings for row in table_rows):
        return Exit.FINDING
    judged = table_rows and not result.interrupted and all(row.is_judged for row in table_rows)
    return Exit.PRESERVED if judged else Exit.NOT_JUDGED


def sweep_lines(result: Result) -> Iterator[str]:
    """The sweep in one table, and what was found."""
    yield from (f"note: {note}" for note in result.notes)
    yield from bucket_lines(result)
    yield from suspect_lines(result)
    table_rows = rows(result)
    yield from table(
        [("pass", *_COLUMNS), *((row.name, *map(str, row.cells.values())) for row in table_rows)], ""
    )
    plan, graphs = result.plan, result.statistics.graphs
    yield f"{graphs} graphs in {result.seconds:.0f} s ({plan.workers} workers), seed {plan.seed}"
    if idle := [row.name for row in table_rows if not row.fired]:
        yield f"never fired: {', '.join(idle)}"
    if vague := [row.name for row in table_rows if not row.is_judged]:
        yield f"not judged on enough graphs: {', '.join(vague)}"


def sweep_json(result: Result) -> dict[str, Any]:
    """The sweep as one object. `fired` counts graphs, `found` lists the buckets."""
    statistics, plan = result.statistics, result.plan
    table_rows = rows(result)
    return {
        "passes": {row.name: _row_json(row, result) for row in table_rows},
        **{column: sum(row.cells[column] for row in table_rows) for column in _COLUMNS},
        "drawn": statistics.graphs,
        "seconds": round(result.seconds, 3),
        "split": {stage: round(spent, 4) for stage, spent in statistics[Table.SECONDS].most_common()},
        "suspects": [bucket_json(bucket) for bucket in result.buckets if bucket.suspect],
        "skips_by_reason": dict(statistics[Table.SKIPS]),
        "skip_details": dict(statistics[Table.SKIP_DETAILS].most_common(_SHOWN_DETAILS)),
        "notes": list(result.notes),
        "seed": plan.seed,
        "workers": plan.workers,
        "environment": dict(plan.environment),
    }


def _row_json(row: Row, result: Result) -> dict[str, Any]:
    found = [b for b in result.buckets if b.pipeline == row.pipeline and not b.suspect]
    return {**row.cells, "judged": row.is_judged, "found": [bucket_json(bucket) for bucket in found]}
