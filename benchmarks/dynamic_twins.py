"""Holds our `dynamic-padder` against XLA's, and writes the table of docs/dynamic_twins.md.

    python benchmarks/dynamic_twins.py [PROGRAMS] [--seed N] [--write]

PROGRAMS bounded-dynamic programs (default 300) with four input sets each: a minute on an idle machine, more on a busy
one. The page has one table for each version of jaxlib; `--write` replaces that of the installed one. A result of ours
that is wrong, and a wrong result of XLA's for no known reason, is printed with its program and makes the exit status 1.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from fuzz.generators import draw_sample
from fuzz.generators.dynamic import CUSTOM_CALLS, DynamicProfile, dynamics
from hlo.interchange import write_text
from oracle import draw_inputs
from oracle.twins import DEPARTURES, DynamicOutcome, PaddersCompared, compare_padders

TABLE = Path(__file__).resolve().parents[1] / "docs" / "dynamic_twins.md"
JAXLIB = version("jaxlib")
PROGRAMS = dynamics(DynamicProfile(without=CUSTOM_CALLS))
"""StableHLO, by which programs get to XLA, does not carry what most of the custom-calls say."""
_INPUTS = 4
_SEED = 1
_BEGIN, _END = "<!-- measured: begin {} -->", "<!-- measured: end {} -->"
_PLACES = (
    (re.compile(r"\(external\S*\)|, metadata=.*|\n.*"), ""),
    (re.compile(r"(dynamic input unexpectedly found for unsupported instruction).*", re.IGNORECASE), r"\1"),
    (re.compile(r"(Asked to propagate a dynamic dimension) from .* (\w[\w-]*)\(.*"), r"\1 to \2"),
    (re.compile(r"(has sizes?|element|elements|size) \[?[\d, ]+\]?"), r"\1 …"),
    (re.compile(r"\b[\w.-]+ \((?=[a-z-]+[,)])"), "("),
    (re.compile(r"\b(?:pred|[suf]\d+|bf16|c\d+)\[[^]]*\]"), "an array"),
    (re.compile(r"\d+"), "…"),
)
"""What tells one message from another and does not matter."""


def lines(found: list[PaddersCompared], number: int) -> Iterator[str]:
    """The measured part of the page."""
    outcomes = Counter(comparison.outcome for comparison in found)
    reasons = Counter(c.departure.name if c.departure else "not known" for c in found if is_wrong(c))
    yield f"jaxlib {JAXLIB}, {len(found)} programs, {_INPUTS} input sets each, seed {number}:"
    yield ""
    yield "| outcome | programs |"
    yield "|---|---|"
    yield from (f"| {outcome.value} | {outcomes[outcome]} |" for outcome in DynamicOutcome)
    yield ""
    yield "| why XLA's is wrong or fails | programs |"
    yield "|---|---|"
    yield from (f"| {name} | {count} |" for name, count in reasons.most_common())
    yield ""
    yield "| who | says | programs |"
    yield "|---|---|---|"
    said = Counter(
        (comparison.outcome.value, general(text))
        for comparison in found
        for text in (comparison.ours, comparison.theirs)
        if text and comparison.outcome in _REFUSALS
    )
    yield from (f"| {who} | {text} | {count} |" for (who, text), count in said.most_common())


_REFUSALS = frozenset(
    {
        DynamicOutcome.BOTH_REFUSE,
        DynamicOutcome.WE_REFUSE,
        DynamicOutcome.WE_REFUSE_THEY_DEPART,
        DynamicOutcome.THEY_REFUSE,
        DynamicOutcome.NOT_COMPARED,
    }
)


def general(message: str) -> str:
    """A message without the names and numbers of one program."""
    for pattern, instead in _PLACES:
        message = pattern.sub(instead, message)
    return message.replace("|", "\\|").strip()[:160]


def is_wrong(comparison: PaddersCompared) -> bool:
    """Whether XLA's result has to be explained."""
    return comparison.outcome in (DynamicOutcome.THEY_DEPART, DynamicOutcome.THEY_FAIL)


def departures() -> Iterator[str]:
    """The table of reasons."""
    yield "| reason | what XLA's does | section 15.2 | checked by |"
    yield "|---|---|---|---|"
    for departure in DEPARTURES:
        items = ", ".join(map(str, departure.items)) or "new"
        checked = f"ours without `{departure.guard}`" if departure.guard else "instruction and sizes"
        yield f"| {departure.name} | {departure.reason} | {items} | {checked} |"


def replaced(page: str, part: str, text: str) -> str:
    """`page` with another text between the marks of `part`, which are put at the end if there are none."""
    begin, end = _BEGIN.format(part), _END.format(part)
    if begin not in page:
        page = f"{page.rstrip()}\n\n{begin}\n{end}\n"
    head, _, rest = page.partition(begin)
    return f"{head}{begin}\n{text}\n{end}{rest.partition(end)[2]}"


def main() -> int:
    """Measure, print, and write if asked to."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("programs", nargs="?", type=int, default=300)
    parser.add_argument("--seed", type=int, default=_SEED)
    parser.add_argument("--write", action="store_true", help=f"replace the measured part of {TABLE.name}")
    options = parser.parse_args()
    found = [
        compare_padders(case.module, draw_inputs(case.module, case.input_seed, _INPUTS))
        for case in draw_sample(PROGRAMS, options.programs, options.seed)
    ]
    text = "\n".join(lines(found, options.seed))
    print(text)
    wrong = [c for c in found if (is_wrong(c) and not c.departure) or c.outcome is DynamicOutcome.WE_DEPART]
    for comparison in wrong:
        print(f"\n{comparison.ours}\n{comparison.theirs}", file=sys.stderr)
        if comparison.program is not None:
            print(write_text(comparison.program), file=sys.stderr)
    if options.write:
        page = replaced(TABLE.read_text("utf-8"), "reasons", "\n".join(departures()))
        TABLE.write_text(replaced(page, JAXLIB, text), "utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
