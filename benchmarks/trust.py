"""Which engines see each opcode as the evaluator does? Writes `oracle/trust.toml`.

    python benchmarks/trust.py [--draws N] [--cases N] [--missing] [FOLDER …]

Programs come from the generators (loops, and graphs of every family) and from folders of HLO text and StableHLO test
programs; each is cut into its operations, and each operation is run alone, in all engines, on the values that it met.
An operation with other types, sizes or attributes is another case; what is missing to the number of cases is drawn
anew. What cannot stand alone is in `rare_operations.py`. Takes minutes; with `--missing`, which keeps the rows of
opcodes that are trusted, less.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import jaxlib
from rare_operations import rare_operations

from fuzz.campaign.plan import Programs
from fuzz.campaign.source import for_each_program
from fuzz.generators import Program
from hlo import ArrayShape, HloFuzzError, HloInstruction, HloModule, Opcode, PrimitiveType, leaves
from hlo.builder import Builder
from hlo.evaluator import evaluate
from hlo.infer import ShapeError
from hlo.interchange import read_stablehlo, read_text
from hlo.opcode import ELEMENTWISE_BINARY, ELEMENTWISE_UNARY
from oracle.engines import ENGINES
from oracle.inputs import draw_inputs
from oracle.single_ops import SingleOp, single_ops
from oracle.trust import TABLE, Trust, measure, read_trust, written

P = PrimitiveType
_TYPES = (P.F32, P.S32, P.F64, P.U8, P.BF16, P.S64, P.PRED, P.C64, P.F16, P.U32, P.S8, P.U64)
_MOST_ELEMENTS = 2_000  # of an operand: the interpreter is slow
_HEADER = """\
How many cases of each opcode ran, and how many came out as in our evaluator, by engine.
Written by benchmarks/trust.py with jaxlib {version}."""


class Collector:
    """Takes programs apart, `limit` cases of an opcode at most."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._seen: set[object] = set()
        self._taken: Counter[Opcode] = Counter()
        self.cases: list[SingleOp] = []
        self.left_out = 0

    def take(self, module: HloModule, seed: int) -> None:
        """Its operations, on drawn inputs. A program that the evaluator cannot run is left out."""
        try:
            (inputs,) = draw_inputs(module, seed, 1)
            self.cases += single_ops(module, inputs, self._wants)
        except HloFuzzError:
            self.left_out += 1

    def take_whole(self, opcode: Opcode, module: HloModule, seed: int) -> None:
        """A program that as a whole is a case of `opcode`."""
        if self._taken[opcode] < self._limit:
            (inputs,) = draw_inputs(module, seed, 1)
            self._taken[opcode] += 1
            self.cases.append(SingleOp(opcode, module, inputs))

    def redraw(self) -> None:
        """Run the cases of each opcode on further inputs, until it has as many cases as may be."""
        for case in tuple(self.cases):
            for seed in range(1, self._limit):
                if self._taken[case.opcode] >= self._limit or not case.inputs:
                    break
                try:
                    (inputs,) = draw_inputs(case.module, seed, 2)[1:]
                    evaluate(case.module, inputs)
                except HloFuzzError:
                    break
                self._taken[case.opcode] += 1
                self.cases.append(SingleOp(case.opcode, case.module, inputs))

    def _wants(self, inst: HloInstruction) -> bool:
        key = (
            inst.opcode,
            str(inst.shape),
            tuple(str(o.shape) for o in inst.operands),
            repr(inst.attributes),
        )
        shapes = [shape for i in (inst, *inst.operands) for _, shape in leaves(i.shape)]
        sizes = [getattr(shape, "element_count", 0) for shape in shapes]
        if (
            self._taken[inst.opcode] >= self._limit
            or key in self._seen
            or max(sizes, default=0) > _MOST_ELEMENTS
        ):
            return False
        self._seen.add(key)
        self._taken[inst.opcode] += 1
        return True


def elementwise_programs() -> Iterator[HloModule]:
    """Each elementwise opcode of one or two operands on each type that it takes."""
    for opcode, arity in [(o, 1) for o in ELEMENTWISE_UNARY] + [(o, 2) for o in ELEMENTWISE_BINARY]:
        for element_type in _TYPES:
            module = HloModule("elementwise")
            entry = module.add_computation("main")
            build = Builder(entry)
            operands = [build.parameter(i, ArrayShape(element_type, (12,))) for i in range(arity)]
            try:
                entry.set_root(build.op(opcode, *operands))
            except ShapeError:
                continue
            module.set_entry_computation(entry)
            yield module


def programs_in(folder: Path) -> Iterator[HloModule]:
    """The programs of a folder. Of a test program the checks are taken away: what they check is the result."""
    for path in sorted(folder.iterdir()):
        if path.suffix == ".hlo":
            yield read_text(path.read_text("utf-8"))
        elif path.suffix == ".mlir":
            yield _without_checks(read_stablehlo(path.read_text("utf-8")))


def _without_checks(module: HloModule) -> HloModule:
    entry = module.entry_computation
    checks = [
        i
        for i in entry.instructions
        if i.opcode is Opcode.CUSTOM_CALL and i.custom_call_target.startswith("check.")
    ]
    if checks:
        entry.set_root(entry.add_tuple([check.operand(0) for check in checks]), accept_different_shape=True)
        for check in checks:
            entry.remove_instruction(check)
    return module


def _measured(cases: Sequence[SingleOp]) -> dict[Opcode, Trust]:
    """An opcode at a time, told as it goes: an engine that dies of each case of one makes it slow."""
    table: dict[Opcode, Trust] = {}
    for opcode in dict.fromkeys(case.opcode for case in cases):
        started = time.monotonic()
        table |= measure([case for case in cases if case.opcode is opcode], ENGINES)
        print(f"{opcode} {time.monotonic() - started:.0f} s: {table[opcode].reason}", flush=True)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--draws", type=int, default=1500)
    parser.add_argument("--missing", action="store_true")
    parser.add_argument("--cases", type=int, default=12)
    options = parser.parse_args()
    collector = Collector(options.cases)

    def visit(number: int, program: Program) -> None:
        collector.take(program.module, program.input_seed)

    for number, module in enumerate(elementwise_programs()):
        collector.take(module, number)
    for number, (opcode, module) in enumerate(rare_operations()):
        collector.take_whole(opcode, module, number)
    for folder in options.folders:
        for number, module in enumerate(programs_in(folder)):
            collector.take(module, number)
    for_each_program(0, 0, options.draws, visit, Programs.GRAPHS)
    for_each_program(0, 0, options.draws // 5, visit)
    collector.redraw()
    known = {opcode: row for opcode, row in read_trust().items() if options.missing and row.is_trusted}
    table = {**known, **_measured([case for case in collector.cases if case.opcode not in known])}
    TABLE.write_text(written(table, header=_HEADER.format(version=jaxlib.__version__)), "utf-8")
    trusted = sum(row.is_trusted for row in table.values())
    print(f"{len(collector.cases)} cases, {collector.left_out} programs left out; {trusted} opcodes trusted")
    for opcode, row in sorted(table.items()):
        if not row.is_trusted or row.differ:
            print(f"{opcode}: {row.reason}; differ: {dict(row.differ)}")


if __name__ == "__main__":
    main()
