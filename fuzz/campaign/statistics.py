"""What did a campaign see? Tables of counts that workers send and the campaign adds up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from fuzz.campaign.contents import contents
from fuzz.case import verdict_text
from fuzz.generators.stablehlo import AnyDrawn
from oracle.verdict import Disagree, Judgement, Kind, Skip
from passes import SWITCHES


class Table(StrEnum):
    """What is counted. Keys of the rule tables are "pass:rule", of the tables by pipeline its text."""

    TOTAL = "total"  # graphs
    SKIPS = "skips"  # graphs, by reason
    SKIP_DETAILS = "skip details"
    FINDINGS = "findings"  # graphs, by verdict text
    SUSPECTS = "suspects"  # graphs that all checks passed and engines see differently, by verdict text
    FIRED = "fired"  # rewrites
    FIRED_GRAPHS = "fired graphs"  # graphs with at least one
    DECLINED = "declined"
    DECLINED_GRAPHS = "declined graphs"
    DECLINED_SWITCHED = "declined graphs with a switch on"
    FEATURES = "features"  # graphs that have it
    OPCODES = "opcodes"  # graphs that have it
    TYPES = "types"  # graphs that have it
    SHAPES = "shapes"  # graphs that have such a one
    SWITCHES = "switches"  # graphs, by "NAME on", "NAME off" or "NAME absent"
    SECONDS = "split"  # by stage
    JUDGED = "judged"  # graphs, by pipeline, skipped ones included
    CHANGED = "changed"  # graphs that it changed, by pipeline
    FOUND = "found"  # findings, by pipeline
    SKIPPED = "skipped"  # graphs, by pipeline
    ERRORS = "errors"  # of ours, by pipeline


GRAPHS = "graphs"
SWITCHED = "graphs with a switch on"
VOTED = "graphs that all engines voted on"


class Statistics:
    """Counts by table and key. Adding two is adding every count."""

    def __init__(self) -> None:
        self._tables: dict[Table, Counter[str]] = {table: Counter() for table in Table}

    def __getitem__(self, table: Table) -> Counter[str]:
        return self._tables[table]

    @property
    def graphs(self) -> int:
        """Graphs judged, skipped ones included."""
        return self._tables[Table.TOTAL][GRAPHS]

    def count_graph(self, program: AnyDrawn, environment: Mapping[str, str]) -> None:
        """Add one graph, once all pipelines have judged it."""
        self[Table.TOTAL][GRAPHS] += 1
        self[Table.FEATURES].update(map(str, program.features))
        inside = contents(program.module)
        self[Table.OPCODES].update(map(str, inside.opcodes))
        self[Table.TYPES].update(inside.types)
        self[Table.SHAPES].update(inside.shapes)
        states = _states(environment)
        self[Table.SWITCHES].update(f"{name} {state}" for name, state in states.items())
        if "on" in states.values():
            self[Table.TOTAL][SWITCHED] += 1

    def count(self, pipeline: str, environment: Mapping[str, str], judgement: Judgement) -> None:
        """Add what one pipeline did to a graph."""
        self[Table.JUDGED][pipeline] += 1
        self[Table.CHANGED].update([pipeline] if judgement.fired else [])
        self[Table.FIRED].update(judgement.fired)
        self[Table.FIRED_GRAPHS].update(judgement.fired.keys())
        self[Table.DECLINED].update(judgement.declined)
        self[Table.DECLINED_GRAPHS].update(judgement.declined.keys())
        self[Table.SECONDS].update(judgement.seconds)
        if "on" in _states(environment).values():
            self[Table.DECLINED_SWITCHED].update(judgement.declined.keys())
        match judgement.verdict:
            case Skip(reason, detail):
                self[Table.SKIPPED][pipeline] += 1
                self[Table.SKIPS][reason.value] += 1
                self[Table.SKIP_DETAILS][f"{reason.value}: {detail}"] += 1
            case Disagree(finding) if finding.kind is Kind.ENGINES:
                self[Table.SUSPECTS][verdict_text(judgement.verdict)] += 1
            case Disagree():
                self.count_finding(pipeline, verdict_text(judgement.verdict))
            case _:
                pass

    def count_finding(self, pipeline: str, verdict: str) -> None:
        """Add a finding."""
        self[Table.FINDINGS][verdict] += 1
        self[Table.FOUND][pipeline] += 1

    def spend(self, stage: str, seconds: float) -> None:
        """Add time to a stage that is not the judge's."""
        self[Table.SECONDS].update({stage: seconds})

    def add(self, other: Mapping[str, Mapping[str, Any]]) -> None:
        """Add what `take` of another gave."""
        for name, counts in other.items():
            self[Table(name)].update(counts)

    def take(self) -> dict[str, dict[str, Any]]:
        """Everything counted, as JSON can hold it; the counts start again from nothing."""
        taken = {str(table): dict(counts) for table, counts in self._tables.items() if counts}
        self._tables = {table: Counter() for table in Table}
        return taken


def _states(environment: Mapping[str, str]) -> dict[str, str]:
    return {switch.variable: _state(environment, switch.variable, switch.on_value) for switch in SWITCHES}


def _state(environment: Mapping[str, str], variable: str, on_value: str) -> str:
    if variable not in environment:
        return "absent"
    return "on" if environment[variable] == on_value else "off"
