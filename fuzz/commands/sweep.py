"""`hlofuzz run --passes 'xla:*'`: which of the installed XLA's passes keep the meaning of random graphs?

Each pass that keeps every program's meaning (`passes.xla.sweep_passes`) gets a campaign of its own, with an equal
share of the graphs or of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fuzz.campaign import HarnessError, Plan, Result, Table
from fuzz.campaign.summary import bucket_json, bucket_lines, is_judged
from fuzz.commands.common import Exit
from fuzz.isolate import case_limit
from fuzz.report import complain, say, table
from hlo import InvalidInput
from passes import Pipeline
from passes.xla import sweep_passes, xla_pass

SWEEP = "xla:*"
"""What is typed in place of a pipeline."""

GRAPHS_A_PASS = 100
"""The share of a pass where neither graphs nor time are limited."""

SHORTEST = 20.0
"""Seconds that a pass needs at least: its workers take some of them to start."""


@dataclass(frozen=True)
class Share:
    """What one pass did with its share. `result` is absent where an error of ours ended it."""

    name: str
    result: Result | None

    @property
    def counts(self) -> Mapping[str, int]:
        """The pass's row of the table. `fired` counts the graphs that it changed."""
        if self.result is None:
            return dict.fromkeys(("graphs", "fired", "findings", "buckets", "skips"), 0)
        statistics = self.result.statistics
        return {
            "graphs": statistics.graphs,
            "fired": max(statistics[Table.FIRED_GRAPHS].values(), default=0),
            "findings": statistics[Table.FINDINGS].total(),
            "buckets": len(self.result.buckets),
            "skips": statistics[Table.SKIPS].total(),
        }

    @property
    def is_judged(self) -> bool:
        """Whether enough graphs were judged to say anything of the pass."""
        return self.result is not None and is_judged(self.result)


def sweep(plan: Plan, run: Callable[[Plan], Result], names: Sequence[str] | None = None) -> list[Share]:
    """Share out `plan` between the passes, one campaign after another; its pipeline does not matter.

    `run` runs one campaign; one that is interrupted is the last. `names` are all unless told. Raises
    BridgeUnavailable where this jaxlib has no hook for passes, InvalidInput where the time is too short.
    """
    names = sweep_passes() if names is None else names
    shares: list[Share] = []
    for name, part in _parts(plan, names):
        say(f"{part.pipeline}: {len(shares) + 1} of {len(names)}")
        try:
            result = run(part)
        except HarnessError as error:
            complain(f"hlofuzz: an error of the harness itself, not of {part.pipeline}: {error}")
            shares.append(Share(name, None))
            continue
        shares.append(Share(name, result))
        if result.interrupted:
            break
    return shares


def _parts(plan: Plan, names: Sequence[str]) -> Iterator[tuple[str, Plan]]:
    if plan.seconds is not None and plan.seconds < SHORTEST * len(names):
        raise InvalidInput(
            f"{plan.seconds:g} s is too short for {len(names)} passes; give {SHORTEST * len(names):g}s or more"
        )
    examples, seconds = plan.examples, plan.seconds
    if examples is not None:
        examples = -(-examples // len(names))  # a graph too many rather than a pass without any
    if seconds is not None:
        seconds /= len(names)
    for name in names:
        pipeline = Pipeline((xla_pass(name)(),))
        limit = case_limit(pipeline)
        yield (
            name,
            replace(plan, pipeline=pipeline, examples=examples, seconds=seconds, time_limit=limit),
        )


def sweep_status(shares: Sequence[Share]) -> Exit:
    """A finding of any pass is one of the sweep, which says nothing where a pass was not judged."""
    if any(share.counts["findings"] for share in shares):
        return Exit.FINDING
    return Exit.PRESERVED if shares and all(share.is_judged for share in shares) else Exit.NOT_JUDGED


def sweep_lines(shares: Sequence[Share]) -> Iterator[str]:
    """The sweep in one table, and what was found."""
    for share in shares:
        if share.result is not None:
            yield from (f"{share.name}: note: {note}" for note in share.result.notes)
            yield from bucket_lines(share.result)
    header = ("pass", *Share("", None).counts)
    yield from table([header, *((share.name, *map(str, share.counts.values())) for share in shares)], "")
    if vague := [share.name for share in shares if not share.is_judged]:
        yield f"not judged on enough graphs: {', '.join(vague)}"


def sweep_json(shares: Sequence[Share], plan: Plan) -> dict[str, Any]:
    """The sweep as one object. `fired` counts graphs, `found` lists the buckets."""
    return {
        "passes": {share.name: _share_json(share) for share in shares},
        **{key: sum(share.counts[key] for share in shares) for key in Share("", None).counts},
        "seed": plan.seed,
        "workers": plan.workers,
        "environment": dict(plan.environment),
    }


def _share_json(share: Share) -> dict[str, Any]:
    row: dict[str, Any] = {**share.counts, "judged": share.is_judged}
    if share.result is not None:
        row["found"] = [bucket_json(bucket) for bucket in share.result.buckets]
        row["skips_by_reason"] = dict(share.result.statistics[Table.SKIPS])
        row["seconds"] = round(share.result.seconds, 3)
    return row
