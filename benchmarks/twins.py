"""Holds our stock passes against XLA's own, and writes the table of docs/twins.md.

    python benchmarks/twins.py [GRAPHS] [--write]

GRAPHS programs of each generator go through each pair of `oracle.twins.TWINS` (default 100, some minutes). An outcome
without a reason is printed with its program, and makes the exit status 1.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import jaxlib

from fuzz.generators import Program, draw_sample, programs
from fuzz.generators.graphs import graphs
from hlo.interchange import write_text
from oracle import draw_inputs
from oracle.twins import ALONE, TWINS, Comparison, Difference, Outcome, Twin, hold_together

TABLE = Path(__file__).resolve().parents[1] / "docs" / "twins.md"
_INPUTS = 2
_BEGIN, _END = "<!-- measured: begin -->", "<!-- measured: end -->"


def compare_all(twin: Twin, cases: list[Program]) -> list[Comparison]:
    """One pair on all programs."""
    return [
        hold_together(twin, case.module, draw_inputs(case.module, case.input_seed, _INPUTS)) for case in cases
    ]


def row(twin: Twin, found: list[Comparison]) -> str:
    """A line of the table."""
    outcomes = Counter(comparison.outcome for comparison in found)
    reasons = Counter(name for comparison in found for name in comparison.reasons)
    fired = sum(comparison.fired for comparison in found)
    why = ", ".join(f"{name} {count}" for name, count in sorted(reasons.items()))
    numbers = [len(found), fired, *(outcomes[outcome] for outcome in Outcome)]
    return f"| `{twin.ours}` | `{twin.theirs}` | {' | '.join(map(str, numbers))} | {why} |"


def lines(results: dict[Twin, list[Comparison]]) -> Iterator[str]:
    """The measured part of the page."""
    graphs_each = max(map(len, results.values()))
    yield f"Measured with jaxlib {jaxlib.__version__}, {graphs_each} programs a pair:"
    yield ""
    names = ["ours", "XLA's", "programs", "fired", *(outcome.value for outcome in Outcome), "why"]
    yield f"| {' | '.join(names)} |"
    yield "|---" * len(names) + "|"
    for twin, found in results.items():
        yield row(twin, found)
    yield ""
    yield "What a program could not be compared for:"
    yield ""
    details = Counter(
        comparison.detail.partition(":")[2].strip()[:60] or comparison.detail
        for found in results.values()
        for comparison in found
        if comparison.outcome is Outcome.NOT_COMPARED
    )
    yield from (f"- {count} × {detail}" for detail, count in details.most_common())
    yield ""
    yield "| difference | reason |"
    yield "|---|---|"
    known: dict[str, Difference] = {d.name: d for twin in TWINS for d in twin.differences}
    yield from (f"| {name} | {difference.reason} |" for name, difference in sorted(known.items()))
    yield ""
    yield "| without a twin | reason |"
    yield "|---|---|"
    yield from (f"| `{name}` | {reason} |" for name, reason in sorted(ALONE.items()))


def main() -> int:
    """Measure, print, and write if asked to."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("graphs", nargs="?", type=int, default=100)
    parser.add_argument("--write", action="store_true", help=f"replace the measured part of {TABLE.name}")
    options = parser.parse_args()
    cases = draw_sample(graphs(), options.graphs) + draw_sample(programs(), options.graphs)
    results = {twin: compare_all(twin, cases) for twin in TWINS}
    text = "\n".join(lines(results))
    print(text)
    wrong = [(t, c) for t, found in results.items() for c in found if c.outcome is Outcome.DIFFER]
    for twin, comparison in wrong:
        print(f"\n{twin.ours}: {comparison.detail}", file=sys.stderr)
        if comparison.program is not None:
            print(write_text(comparison.program), file=sys.stderr)
    if options.write:
        page = TABLE.read_text("utf-8")
        head, _, rest = page.partition(_BEGIN)
        _, _, tail = rest.partition(_END)
        TABLE.write_text(f"{head}{_BEGIN}\n{text}\n{_END}{tail}", "utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
