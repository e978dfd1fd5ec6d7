"""Holds `canonicalize-dynamism` beside MHLO's canonicaliser and StableHLO's pass, and writes docs/stablehlo_twins.md.

    python benchmarks/stablehlo_twins.py [PROGRAMS] [--modules DIR] [--seed N] [--write]

Each goes over the programs of `oracle.twins.DYNAMISM_CASES`, PROGRAMS generated ones (default 200), and the `.mlir`
files of DIR (`stablehlo/testdata` in StableHLO's repository). What has no known reason is printed with its program, and
makes the exit status 1.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import jaxlib
import numpy as np

from fuzz.generators import draw_sample
from fuzz.generators.stablehlo import symbolics
from hlo import InvalidInput
from hlo.stablehlo import StableHloModule, dialect, ir
from oracle.symbolic import Assignment, draw_sizes
from oracle.twins import (
    DYNAMISM_CASES,
    FAILURES,
    MHLO,
    REASONS,
    STABLEHLO,
    CanonicalisersCompared,
    Folded,
    compare_canonicalisers,
)

PAGE = Path(__file__).resolve().parents[1] / "docs" / "stablehlo_twins.md"
JAXLIB = jaxlib.__version__
_SEED, _INPUTS = 1, 3
_BEGIN, _END = "<!-- measured: begin {} -->", "<!-- measured: end {} -->"
Compared = Mapping[str, CanonicalisersCompared]


@dataclass(frozen=True)
class Case:
    """A program as text, and sizes that fit it; none where they are to be drawn."""

    text: str
    assignments: tuple[Assignment, ...] = ()


def with_known_dimensions(text: str, seed: int) -> str:
    """The program with constants for the integers that its shapes are computed from; as it is if there are none."""
    program = StableHloModule.read(text)
    drawn = draw_sizes(program, seed, 1).assignments
    (body,) = program.entry.regions[0].blocks
    for number, elements in drawn[0].known if drawn else ():
        kind = program.parameters[number].array_shape()
        array = np.array(elements).astype(kind.element_type.numpy).reshape(kind.dimensions)
        argument = body.arguments[number]
        with body.owner.context, ir().Location.unknown(), ir().InsertionPoint.at_block_begin(body):
            value = ir().DenseElementsAttr.get(array, type=argument.type.element_type, shape=array.shape)
            argument.replace_all_uses_with(dialect().constant(value))
    return program.text


def compare_all(programs: Mapping[str, Case], seed: int) -> Compared:
    """Each program by name. What is no program is left out, and said."""
    found: dict[str, CanonicalisersCompared] = {}
    for name, case in programs.items():
        try:
            program = StableHloModule.read(case.text)
        except InvalidInput as error:
            print(f"{name}: {error}", file=sys.stderr)
            continue
        found[name] = compare_canonicalisers(program, seed, _INPUTS, case.assignments)
    return found


def lines(sets: Mapping[str, Compared]) -> Iterator[str]:
    """The measured part of the page."""
    everything = [comparison for found in sets.values() for comparison in found.values()]
    yield f"jaxlib {JAXLIB}, {len(everything)} programs, up to {_INPUTS} sizes each:"
    yield ""
    yield "| programs | | dynamic operations | both | only ours | only theirs | none | unexplained |"
    yield "|---|---|---|---|---|---|---|---|"
    for name, found in sets.items():
        folded = Counter(operation.folded for one in found.values() for operation in one.operations)
        numbers = [len(found), folded.total(), *(folded[kind] for kind in Folded)]
        unexplained = sum(len(one.unexplained) for one in found.values())
        yield f"| {name} | {' | '.join(map(str, [*numbers, unexplained]))} |"
    yield ""
    yield "| operation | both | by MHLO | by StableHLO | only ours | only theirs | none |"
    yield "|---|---|---|---|---|---|---|"
    operations = [operation for one in everything for operation in one.operations]
    for name in sorted({operation.name for operation in operations}):
        mine = [operation for operation in operations if operation.name == name]
        folded = Counter(operation.folded for operation in mine)
        by = [sum(who in operation.by for operation in mine) for who in (MHLO, STABLEHLO)]
        numbers = [folded[Folded.BOTH], *by, folded[Folded.OURS], folded[Folded.THEIRS], folded[Folded.NONE]]
        yield f"| `{name.removeprefix('stablehlo.')}` | {' | '.join(map(str, numbers))} |"
    yield ""
    yield "| why | operations |"
    yield "|---|---|"
    reasons = Counter(operation.reason.name for operation in operations if operation.reason)
    yield from (f"| {name} | {count} |" for name, count in reasons.most_common())
    yield ""
    wrong = Counter(name for one in everything for name in one.wrong)
    asked = sum(one.inputs > 0 for one in everything)
    yield (
        f"Meaning was compared for {asked} programs: ours is wrong for {wrong['ours']}, MHLO's for {wrong[MHLO]}, "
        f"StableHLO's for {wrong[STABLEHLO]}."
    )
    failures = Counter(failure.name for one in everything for failure in one.failures.values())
    if failures:
        yield ""
        yield "| MHLO's result is invalid because of | programs |"
        yield "|---|---|"
        yield from (f"| {name} | {count} |" for name, count in failures.most_common())


def reasons() -> Iterator[str]:
    """The tables of what differences there are."""
    yield "| reason | folded by | |"
    yield "|---|---|---|"
    for reason in REASONS:
        yield f"| {reason.name} | {'only ours' if reason.ours else 'only theirs'} | {reason.text} |"
    yield ""
    yield "| MHLO's result is invalid because of | |"
    yield "|---|---|"
    yield from (f"| {failure.name} | {failure.text} |" for failure in FAILURES)


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
    parser.add_argument("programs", nargs="?", type=int, default=200)
    parser.add_argument("--modules", type=Path, help="a folder of .mlir files")
    parser.add_argument("--seed", type=int, default=_SEED)
    parser.add_argument("--write", action="store_true", help=f"replace the measured part of {PAGE.name}")
    options = parser.parse_args()
    programs = {"one for each pattern": {name: Case(text) for name, text in DYNAMISM_CASES.items()}}
    if options.programs:
        drawn = draw_sample(symbolics(), options.programs, options.seed)
        programs["generated"] = {
            f"program {n}": Case(one.module.text, one.assignments) for n, one in enumerate(drawn)
        }
    if options.modules:
        files = sorted(options.modules.glob("*.mlir"))
        exported = {file.name: file.read_text("utf-8") for file in files}
        programs["exported by JAX"] = {name: Case(text) for name, text in exported.items()}
        programs["… dimensions known"] = {
            name: Case(with_known_dimensions(text, options.seed)) for name, text in exported.items()
        }
    sets = {name: compare_all(texts, options.seed) for name, texts in programs.items()}
    text = "\n".join(lines(sets))
    print(text)
    unexplained = 0
    for kind, found in sets.items():
        for name, one in found.items():
            if one.unexplained or "ours" in one.wrong:
                unexplained += 1
                print(
                    f"\n{name}: {one.unexplained} {dict(one.wrong)}\n{programs[kind][name].text}",
                    file=sys.stderr,
                )
    if options.write:
        page = replaced(PAGE.read_text("utf-8"), "reasons", "\n".join(reasons()))
        PAGE.write_text(replaced(page, JAXLIB, text), "utf-8")
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
