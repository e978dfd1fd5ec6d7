"""Where do our `dynamic-padder` and XLA's give other results, and which unsound point of upstream is it each time?

Both get the same program. What lies in the padding of their results has no meaning, so that neither text nor plain
values can be held together: each is run under two fillings of the padding and compared with what the program means
on arrays cut to their sizes (`oracle.true_size`).

A departure of XLA's is traced to the first instruction whose own value is wrong, and must have a name there. A
`Departure` either names a guard of ours, and then ours without that guard must do what XLA's did, in every value under
every filling; or it has a condition on that instruction and the true sizes of its operands. The numbers are those of
`stock_passes.md` section 15.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum

from hlo import HloComputation, HloInstruction, HloModule, Opcode, TokenShape, Value
from hlo.evaluator import SizeOutOfBounds
from hlo.verify import verify
from oracle.compare import EQUAL, compare
from oracle.original import Original
from oracle.running import UNABLE, Runner
from oracle.true_size import Tree, UndefinedSizes, specialise
from oracle.twins.departures import DEPARTURES, Departure, Seen
from passes import PassCrashed, PassError, Trace, parse_pipeline
from passes.stock import Dce, DynamicPadder

OURS, THEIRS = DynamicPadder.name, "xla:dynamic_padder"
_WAY = "xla:nothing"

InputSets = Sequence[tuple[Value, ...]]


class DynamicOutcome(Enum):
    """How the two padders compare on one program."""

    BOTH_RIGHT = "both right"
    BOTH_REFUSE = "both refuse"
    WE_REFUSE = "ours refuses"  # XLA's is right
    WE_REFUSE_THEY_DEPART = "ours refuses, XLA's wrong"
    THEY_REFUSE = "XLA's refuses"  # ours is right
    THEY_FAIL = "XLA's fails"  # an internal error, or death; ours is right
    THEY_DEPART = "XLA's wrong"  # ours is right
    WE_DEPART = "ours wrong"
    NOT_COMPARED = "not compared"  # the program cannot reach XLA, or means nothing for the inputs


@dataclass(frozen=True, eq=False)
class PaddersCompared:
    """What became of one program. `departure` explains THEY_DEPART and THEY_FAIL; None is one that nobody knows.

    `ours` and `theirs` say why one refuses or what is wrong with its result; "" if nothing is. `culprit` is the first
    instruction that XLA's result has wrong, `program` the program up to there.
    """

    outcome: DynamicOutcome
    ours: str = ""
    theirs: str = ""
    departure: Departure | None = None
    culprit: HloInstruction | None = None
    program: HloModule | None = field(default=None, repr=False)


def compare_padders(module: HloModule, inputs: InputSets) -> PaddersCompared:
    """Run both padders on copies of `module`, which stays as it is. `inputs` fit it; empty arrays and all.

    Raises BridgeUnavailable where this jaxlib has no hook for passes.
    """
    original = Original(module, inputs)
    if not isinstance(original.values, list):
        return PaddersCompared(DynamicOutcome.NOT_COMPARED, ours=f"no meaning: {original.values}")
    program = module.clone()
    if refused := _run(_WAY, program):
        return PaddersCompared(DynamicOutcome.NOT_COMPARED, theirs=refused.reason)
    # the way there may change types: which dimension of a reshape takes up a size
    original = Original(program, inputs)
    if not isinstance(original.values, list):
        return PaddersCompared(
            DynamicOutcome.NOT_COMPARED, ours=f"no meaning on the way to XLA: {original.values}"
        )
    ours, theirs = program.clone(), program.clone()
    we_refuse, they_refuse = _run(OURS, ours), _run(THEIRS, theirs)
    we_are_wrong = "" if we_refuse else _wrong(ours, original)
    they_are_wrong = "" if they_refuse else _wrong(theirs, original)
    said = (
        we_refuse.reason if we_refuse else we_are_wrong,
        they_refuse.reason if they_refuse else they_are_wrong,
    )
    if we_are_wrong:
        return PaddersCompared(DynamicOutcome.WE_DEPART, *said, program=program)
    if they_refuse and (we_refuse or not they_refuse.failed):
        outcome = DynamicOutcome.BOTH_REFUSE if we_refuse else DynamicOutcome.THEY_REFUSE
        return PaddersCompared(outcome, *said, program=program)
    if not they_refuse and not they_are_wrong:
        outcome = DynamicOutcome.WE_REFUSE if we_refuse else DynamicOutcome.BOTH_RIGHT
        return PaddersCompared(outcome, *said, program=program)
    if we_refuse:
        return PaddersCompared(DynamicOutcome.WE_REFUSE_THEY_DEPART, *said, program=program)
    part = first_wrong(program, original.inputs, fails=they_refuse is not None)
    outcome = DynamicOutcome.THEY_FAIL if they_refuse else DynamicOutcome.THEY_DEPART
    departure = explain(part, original.inputs)
    return PaddersCompared(outcome, *said, departure, part.entry_computation.root, part)


@dataclass(frozen=True)
class _Refusal:
    """`failed`: by what is a fault, and not a word about what is supported."""

    reason: str
    failed: bool


def _run(text: str, module: HloModule) -> _Refusal | None:
    """Run a pipeline on `module`, in place."""
    try:
        parse_pipeline(text).run(module, Trace())
    except (PassError, PassCrashed) as error:
        return _Refusal(str(error), isinstance(error, PassCrashed))
    return None


def _wrong(result: HloModule, original: Original) -> str:
    """How `result` departs from what the program means, or ""."""
    if violations := verify(result):
        return f"not valid HLO: {violations[0]}"
    runner = Runner(result)
    assert isinstance(original.values, list)
    for inputs, expected in zip(original.inputs, original.values, strict=True):
        try:
            readings = runner.readings(inputs)
        except UNABLE as error:
            return str(error)
        for reading in readings:
            if found := compare(expected, reading, tolerance=EQUAL, left="meaning", right="result"):
                return f"{found.actual} for {found.expected} at {found.leaf}{found.index}"
    return ""


# --- which instruction it is, and why ---------------------------------------------------------------------------


def first_wrong(program: HloModule, inputs: InputSets, *, fails: bool) -> HloModule:
    """`program` as far as the first instruction of its entry that XLA's padder gets wrong, which is the root.

    `fails`: the first upon which it fails, instead. What the instruction does not need is left out.
    """
    for number, inst in enumerate(program.entry_computation.make_instruction_post_order()):
        if inst.opcode in (Opcode.PARAMETER, Opcode.CONSTANT) or isinstance(inst.shape, TokenShape):
            continue
        part = program.clone()
        entry = part.entry_computation
        entry.set_root(entry.make_instruction_post_order()[number], accept_different_shape=True)
        Dce().run(part, Trace())
        theirs = part.clone()
        refused = _run(THEIRS, theirs)
        if fails or refused:
            if fails and refused and refused.failed:
                return part
            continue
        original = Original(part, inputs)
        if isinstance(original.values, list) and _wrong(theirs, original):
            return part
    return program


def explain(culprit: HloModule, inputs: InputSets) -> Departure | None:
    """The departure that makes XLA's padder get the root of `culprit` wrong, or None."""
    theirs = culprit.clone()
    if not _run(THEIRS, theirs):
        results = _results(theirs, inputs)
        for departure in DEPARTURES:
            if departure.guard and _same(_unguarded(culprit, departure.guard, inputs), results):
                return departure
    for seen in _sizes_seen(culprit, inputs):
        for departure in DEPARTURES:
            if any(departure.holds(inst, seen) for inst in _within(culprit.entry_computation.root)):
                return departure
    return None


_Results = list[list[Value] | int | type[Exception]]
"""For each input set the readings, or a size that is out of bounds, or the kind of another error."""


def _unguarded(program: HloModule, guard: str, inputs: InputSets) -> _Results:
    ours = program.clone()
    return [] if _run(f"{OURS}{{{guard}=false}}", ours) else _results(ours, inputs)


def _results(module: HloModule, inputs: InputSets) -> _Results:
    found: _Results = []
    runner = Runner(module)
    for one_set in inputs:
        try:
            found.append(runner.readings(one_set))
        except SizeOutOfBounds as error:
            found.append(error.size)
        except UNABLE as error:
            found.append(type(error))
    return found


def _same(ours: _Results, theirs: _Results) -> bool:
    return len(ours) == len(theirs) and all(
        len(one) == len(other)
        and not any(
            compare(a, b, tolerance=EQUAL, left="ours", right="XLA's")
            for a, b in zip(one, other, strict=True)
        )
        if isinstance(one, list) and isinstance(other, list)
        else one == other
        for one, other in zip(ours, theirs, strict=True)
    )


def _sizes_seen(program: HloModule, inputs: InputSets) -> Iterator[Seen]:
    for one_set in inputs:
        seen: dict[HloInstruction, Tree] = {}
        try:
            specialise(program, one_set, watch=seen.__setitem__)
        except UndefinedSizes:
            continue
        yield seen


def _within(inst: HloInstruction) -> Iterator[HloInstruction]:
    """`inst` and all instructions of the computations that it calls."""
    yield inst
    for computation in inst.called_computations:
        yield from _in(computation)


def _in(computation: HloComputation) -> Iterator[HloInstruction]:
    for inst in computation.make_instruction_post_order():
        yield from _within(inst)
