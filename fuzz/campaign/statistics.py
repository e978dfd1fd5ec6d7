"""What did a campaign see? Tables of counts that workers send and the campaign adds up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from fuzz.case import verdict_text
from fuzz.generators import Program
from oracle.verdict import Disagree, Judgement, Skip
from passes import SWITCHES


class Table(StrEnum):
    """What is counted. Keys of the rule tables are "pass:rule"."""

    TOTAL = "total"  # graphs
    SKIPS = "skips"  # graphs, by reason
    SKIP_DETAILS = "skip details"
    FINDINGS = "findings"  # graphs, by verdict text
    FIRED = "fired"  # rewrites
    FIRED_GRAPHS = "fired graphs"  # graphs with at least one
    DECLINED = "declined"
    DECLINED_GRAPHS = "declined graphs"
    DECLINED_SWITCHED = "declined graphs with a switch on"
    FEATURES = "features"  # graphs that have it
    SWITCHES = "switches"  # graphs, by "NAME on", "NAME off" or "NAME absent"
    SECONDS = "split"  # by stage


GRAPHS = "graphs"
SWITCHED = "graphs with a switch on"


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

    def count(self, program: Program, environment: Mapping[str, str], judgement: Judgement) -> None:
        """Add one judged graph."""
        self[Table.TOTAL][GRAPHS] += 1
        self[Table.FEATURES].update(map(str, program.features))
        self[Table.FIRED].update(judgement.fired)
        self[Table.FIRED_GRAPHS].update(judgement.fired.keys())
        self[Table.DECLINED].update(judgement.declined)
        self[Table.DECLINED_GRAPHS].update(judgement.declined.keys())
        self[Table.SECONDS].update(judgement.seconds)
        states = {
            switch.variable: _state(environment, switch.variable, switch.on_value) for switch in SWITCHES
        }
        self[Table.SWITCHES].update(f"{name} {state}" for name, state in states.items())
        if "on" in states.values():
            self[Table.TOTAL][SWITCHED] += 1
            self[Table.DECLINED_SWITCHED].update(judgement.declined.keys())
        match judgement.verdict:
            case Skip(reason, detail):
                self[Table.SKIPS][reason.value] += 1
                self[Table.SKIP_DETAILS][f"{reason.value}: {detail}"] += 1
            case Disagree():
                self[Table.FINDINGS][verdict_text(judgement.verdict)] += 1
            case _:
                pass

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


def _state(environment: Mapping[str, str], variable: str, on_value: str) -> str:
    if variable not in environment:
        return "absent"
    return "on" if environment[variable] == on_value else "off"
