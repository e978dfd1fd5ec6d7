"""Which dynamic operations do our `canonicalize-dynamism`, MHLO's canonicaliser and StableHLO's own pass fold?

Each gets the same program, whose operations are told apart by their locations: what a pattern makes has the location
of what it replaces. An operation is folded if no dynamic one with its location is left. Where only ours folds one, or
only theirs, that must have a reason that can be checked; and what each makes of the program must mean the same as
before, for each of several sizes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

from hlo import InvalidInput, UnsupportedOpcode, Value
from hlo.evaluator import EvaluationLimit, evaluate
from hlo.interchange.mlir import run_mlir_passes
from hlo.stablehlo import StableHloModule
from oracle.compare import EQUAL, compare
from oracle.symbolic import Assignment, assignment_of, draw_sized_inputs, specialise
from oracle.twins.dynamism_reasons import FAILURES, REASONS, Case, Failure, Reason, place_of
from oracle.twins.shape_dialects import in_stablehlo
from passes import Trace
from passes.stock import CanonicalizeDynamism
from passes.stock.canonicalize_dynamism import DYNAMIC_OPERATIONS

MHLO: Final = "MHLO"
STABLEHLO: Final = "StableHLO"
THEIRS: Final[Mapping[str, str]] = {
    MHLO: "builtin.module(stablehlo-legalize-to-hlo,canonicalize,hlo-legalize-to-stablehlo)",
    STABLEHLO: "builtin.module(func.func(stablehlo-canonicalize-dynamism))",
}
"""Those of the installed jaxlib, as MLIR spells pipelines."""


class Folded(Enum):
    """Who folds one dynamic operation."""

    BOTH = "both"  # ours, and at least one of theirs
    OURS = "only ours"
    THEIRS = "only theirs"
    NONE = "none"


@dataclass(frozen=True)
class OperationCompared:
    """One dynamic operation of a program: `by` says which of theirs fold it, `reason` why not the same ones do."""

    name: str
    folded: Folded
    by: frozenset[str] = frozenset()
    reason: Reason | None = None

    @property
    def is_unexplained(self) -> bool:
        """Whether somebody folds it and somebody not, for no known reason."""
        return self.folded in (Folded.OURS, Folded.THEIRS) and self.reason is None


@dataclass(frozen=True)
class CanonicalisersCompared:
    """What became of one program.

    `wrong` says, of "ours" and each of THEIRS, where what it made of the program means something else; `failed`, why
    one of THEIRS gave no program, and `failures` which known way of failing that is. `inputs` counts the input sets, of
    different sizes, on which meaning was compared.
    """

    operations: tuple[OperationCompared, ...]
    wrong: Mapping[str, str] = field(default_factory=dict[str, str])
    failed: Mapping[str, str] = field(default_factory=dict[str, str])
    failures: Mapping[str, Failure] = field(default_factory=dict[str, Failure])
    inputs: int = 0

    @property
    def unexplained(self) -> list[str]:
        """What has no known reason: operations that not all treat alike, failures, and other meanings."""
        reasons = [operation.reason for operation in self.operations if operation.reason]
        excused = {name for reason in reasons for name in reason.wrong}
        return [
            *(operation.name for operation in self.operations if operation.is_unexplained),
            *(f"{name}: {said}" for name, said in self.failed.items() if name not in self.failures),
            *(f"{name}: {said}" for name, said in self.wrong.items() if name not in excused),
        ]


def compare_canonicalisers(
    program: StableHloModule, seed: int, inputs: int = 6, assignments: Sequence[Assignment] = ()
) -> CanonicalisersCompared:
    """Run all three on copies of `program`, which stays as it is; compare meaning on up to `inputs` input sets.

    These have the sizes of `assignments`, which fit the program, or else drawn ones.
    """
    located = StableHloModule.read(program.text)  # each operation gets its line and column
    ours = located.clone()
    CanonicalizeDynamism().rewrite(ours, Trace())
    results, failed = {"ours": ours}, dict[str, str]()
    for name, pipeline in THEIRS.items():
        result = located.clone()
        try:
            run_mlir_passes(result.mlir, pipeline)
            results[name] = result
        except InvalidInput as error:
            failed[name] = error.message
    wrong, count = _other_meanings(located, results, seed, inputs, assignments)
    left = {name: set(map(place_of, _dynamic(result))) for name, result in results.items()}
    operations = tuple(_compared(op, located, left, frozenset(wrong)) for op in _dynamic(located))
    failures = {
        name: failure for name, said in failed.items() for failure in FAILURES if failure.holds(located, said)
    }
    return CanonicalisersCompared(operations, wrong, failed, failures, count)


def _dynamic(program: StableHloModule) -> list[Any]:
    return [op for op in program.operations() if op.name in DYNAMIC_OPERATIONS]


_FOLDED: Final = {
    (True, True): Folded.BOTH,
    (True, False): Folded.OURS,
    (False, True): Folded.THEIRS,
    (False, False): Folded.NONE,
}


def _compared(
    op: Any, program: StableHloModule, left: Mapping[str, set[str]], wrong: frozenset[str]
) -> OperationCompared:
    place = place_of(op)
    by = frozenset(name for name, places in left.items() if place not in places and name != "ours")
    folded = _FOLDED[place not in left["ours"], bool(by)]
    if folded in (Folded.BOTH, Folded.NONE):
        return OperationCompared(op.name, folded, by)
    case = Case(program, op, THEIRS, by, wrong)
    reason = next((r for r in REASONS if r.ours == (folded is Folded.OURS) and r.holds(case)), None)
    return OperationCompared(op.name, folded, by, reason)


def _other_meanings(
    program: StableHloModule,
    results: Mapping[str, StableHloModule],
    seed: int,
    count: int,
    assignments: Sequence[Assignment],
) -> tuple[dict[str, str], int]:
    """Which results mean something else than `program`, and on how many input sets that was asked."""
    wrong: dict[str, str] = {}
    try:
        plain = in_stablehlo(program)
        sets, _ = draw_sized_inputs(plain, seed, count, assignments=assignments)
    except InvalidInput:
        return wrong, 0
    asked = 0
    for inputs in sets:
        assignment = assignment_of(plain, inputs)
        try:
            expected = evaluate(specialise(plain, assignment), inputs)
        except (InvalidInput, EvaluationLimit, UnsupportedOpcode):
            continue
        asked += 1
        for name, result in results.items():
            if name not in wrong and (found := _departure(result, expected, inputs)):
                wrong[name] = f"{assignment}: {found}"
    return wrong, asked


def _departure(result: StableHloModule, expected: Value, inputs: Sequence[Value]) -> str:
    try:
        plain = in_stablehlo(result)
        static = specialise(plain, assignment_of(plain, inputs))
    except InvalidInput as error:
        return error.message
    found = compare(expected, evaluate(static, tuple(inputs)), tolerance=EQUAL, left="before", right="after")
    return "" if found is None else f"{found.actual} for {found.expected} at {found.leaf}{found.index}"
