"""Which opcodes does somebody else see as our evaluator sees them?

An opcode is trusted when engines of two lineages agree with ours on `CASES` cases of this opcode alone, and on no
case do engines of both lineages agree with each other against ours. The table is measured by `benchmarks/trust.py` and
kept in `trust.toml`; a finding whose opcodes are not trusted may be about our semantics. Why an opcode of ours is not
trusted, and why an engine differs on one, is said here (`UNCONFIRMED`, `DISSENT`).
"""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from hlo import Opcode
from hlo.evaluator import GAPS
from oracle.engine import Engine, Lineage
from oracle.single_ops import SingleOp

CASES = 8
"""Cases on which engines of two lineages have to agree with ours."""

_NOT_INTERPRETED = "StableHLO's interpreter does not have it, so that all who confirm it are of XLA's lineage"
_NO_WORD = "StableHLO has no word for it, so that all who confirm it are of XLA's lineage"
_NEWER = "jaxlib 0.10, with which the table was measured, does not have it"

UNCONFIRMED: Mapping[Opcode, str] = MappingProxyType(
    {
        Opcode.BATCH_NORM_GRAD: _NOT_INTERPRETED,
        Opcode.BATCH_NORM_INFERENCE: _NOT_INTERPRETED,
        Opcode.BATCH_NORM_TRAINING: _NOT_INTERPRETED,
        Opcode.CHOLESKY: _NOT_INTERPRETED,
        Opcode.EXP2: _NO_WORD,
        Opcode.FFT: _NOT_INTERPRETED,
        Opcode.LOG2: _NO_WORD,
        Opcode.MULHI: _NO_WORD,
        Opcode.RAGGED_DOT: _NO_WORD,
        Opcode.RNG_BIT_GENERATOR: _NOT_INTERPRETED,
        Opcode.SCALED_DOT: _NO_WORD,
        Opcode.SCAN: _NO_WORD,
        Opcode.SET_DIMENSION_SIZE: _NOT_INTERPRETED,
        Opcode.SHUFFLE: _NEWER,
        Opcode.STOCHASTIC_CONVERT: _NO_WORD,
        Opcode.TRIANGULAR_SOLVE: _NOT_INTERPRETED,
    }
)
"""Why two lineages cannot confirm an opcode that our evaluator has a rule for."""

DISSENT: Mapping[Opcode, str] = MappingProxyType(
    {
        Opcode.BATCH_NORM_TRAINING: "XLA CPU takes the mean of squares less the square of the mean, which cancels",
        Opcode.SORT: "the interpreter compares by value where the total order is asked for",
        Opcode.WHILE: "XLA CPU, optimised, rearranges sums of floats in a loop's body, which rounds otherwise",
    }
)
"""Why some engine differs from ours on an opcode, wherever the table says that one does."""

TABLE = Path(__file__).with_name("trust.toml")


@dataclass
class Trust:
    """What was measured for an opcode: how many `cases` ran, by engine how many agreed with ours and how many did not.

    `outvoted` counts the cases in which engines of two lineages agreed with each other and not with ours; `lineages`
    are those of which some engine agreed on `CASES` cases.
    """

    cases: int = 0
    agree: Counter[str] = field(default_factory=Counter[str])
    differ: Counter[str] = field(default_factory=Counter[str])
    outvoted: int = 0
    lineages: tuple[str, ...] = ()

    @property
    def is_trusted(self) -> bool:
        """Whether two lineages confirm ours and never both deny it."""
        return len(self.lineages) >= 2 and not self.outvoted

    @property
    def reason(self) -> str:
        """Why it is not trusted, or what the trust rests on."""
        if not self.cases:
            return "no cases"
        if self.outvoted:
            return f"outvoted on {self.outvoted} of {self.cases} cases"
        if len(self.lineages) < 2:
            return f"confirmed by {' and '.join(self.lineages) or 'nobody'}, on {self.cases} cases"
        return ", ".join(
            f"{name} {count} of {count + self.differ[name]}" for name, count in self.agree.items()
        )


def read_trust(path: Path = TABLE) -> Mapping[Opcode, Trust]:
    """The measured table; an opcode that was not measured is not in it."""
    rows = tomllib.loads(path.read_text("utf-8"))["opcode"]
    return {
        Opcode(name): Trust(
            row["cases"],
            Counter(row["agree"]),
            Counter(row["differ"]),
            row["outvoted"],
            tuple(row["lineages"]),
        )
        for name, row in rows.items()
    }


def rows() -> list[tuple[str, str, str]]:
    """Opcode, "trusted" or "not trusted", and the reason, for every opcode in the order of the table."""
    known = read_trust()
    found = [(opcode, known.get(opcode, Trust())) for opcode in Opcode]
    return [
        (opcode.value, "trusted" if t.is_trusted else "not trusted", _reason(opcode, t))
        for opcode, t in found
    ]


def _reason(opcode: Opcode, measured: Trust) -> str:
    if opcode in GAPS:
        return f"the evaluator has no rule: {GAPS[opcode]}"
    named = (UNCONFIRMED.get(opcode), DISSENT.get(opcode))
    return "; ".join((measured.reason, *filter(None, named)))


def written(table: Mapping[Opcode, Trust], *, header: str) -> str:
    """The text of a table's file."""
    lines = [f"# {line}" for line in header.splitlines()]
    for opcode in sorted(table):
        row = table[opcode]
        lines += [
            "",
            f"[opcode.{opcode}]",
            f"cases = {row.cases}",
            f"agree = {_inline(row.agree)}",
            f"differ = {_inline(row.differ)}",
            f"outvoted = {row.outvoted}",
            f"lineages = {json.dumps(list(row.lineages))}",
        ]
    return "\n".join(lines) + "\n"


def _inline(counts: Mapping[str, int]) -> str:
    inside = ", ".join(f"{name} = {count}" for name, count in sorted(counts.items()))
    return f"{{ {inside} }}" if inside else "{}"


def measure(cases: Iterable[SingleOp], engines: Sequence[Engine]) -> dict[Opcode, Trust]:
    """Run each case in all `engines`, of which one has the lineage OURS, and count who agrees with it."""
    from oracle.vote import vote  # imports JAX

    (ours,) = (engine.name for engine in engines if engine.lineage is Lineage.OURS)
    lineage = {engine.name: engine.lineage for engine in engines}
    table: dict[Opcode, Trust] = {}
    for case in cases:
        groups = vote(case.module, case.inputs, engines)
        row = table.setdefault(case.opcode, Trust())
        row.cases += 1
        for group in groups.groups:
            counter = row.agree if ours in group.voters else row.differ
            counter.update(name for name in group.voters if name != ours)
            if ours not in group.voters and len({lineage[name] for name in group.voters}) > 1:
                row.outvoted += 1
    for row in table.values():
        confirmed = {lineage[name] for name, count in row.agree.items() if count >= CASES}
        row.lineages = tuple(sorted(found.value for found in confirmed))
    return table
