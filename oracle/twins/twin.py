"""Do two implementations of one pass do the same to a program?

Both get the same program, in the form in which it reaches XLA. Their results are compared by meaning (evaluated, on the
same inputs), and as text: `hlo.canonical` without names. Where the text differs, the difference must have a name: a
`Difference` is a rewrite after which the two are equal, and the reason why one of them does without it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum

from hlo import HloModule, UnsupportedOpcode, Value
from hlo.canonical import structure
from hlo.evaluator import EvaluationLimit, evaluate
from hlo.verify import verify
from oracle.compare import EQUAL, Mismatch, compare
from oracle.tolerance import tolerance_of
from passes import Exactness, PassCrashed, PassError, Trace, parse_pipeline

Preparation = Callable[[HloModule], None]
Level = Callable[[HloModule, HloModule], None]
"""Changes copies of our result and of theirs, in place."""
InputSets = Sequence[tuple[Value, ...]]

_AS_XLA_HAS_IT = "xla:nothing"
"""The way to XLA and back, which spells some things differently."""


@dataclass(frozen=True)
class Difference:
    """A way in which results may differ, and why. `level` makes the two alike where it is all that differs."""

    name: str
    reason: str
    level: Level


def no_preparation(_module: HloModule) -> None:
    """The program as it is."""


@dataclass(frozen=True)
class Twin:
    """A pass of ours and what does the same in XLA, both as pipelines.

    `prepare` makes work for them, in place. `levelled`: results travel to XLA and back before they are compared, which
    spells both alike and drops what is dead; not for passes that are about what is dead. `differences` are those that
    have a reason. Where `same_text` is false, ours does not claim the same rewrite, and only meaning is compared.
    """

    ours: str
    theirs: str
    differences: tuple[Difference, ...] = ()
    prepare: Preparation = no_preparation
    levelled: bool = True
    same_text: bool = True


class Outcome(Enum):
    """How two results compare, the better the earlier."""

    SAME_TEXT = "same text"
    SAME_MEANING = "same meaning"  # the text differs, for reasons that are known
    BOTH_REFUSE = "both refuse"
    NOT_COMPARED = "not compared"  # the program cannot reach XLA, or its result cannot be evaluated
    DIFFER = "differ"  # values differ, or one refuses, or the text differs for no known reason


@dataclass(frozen=True, eq=False)
class Comparison:
    """What became of one program. `reasons` names the differences; `detail` says what is wrong or was not possible.

    `fired`: ours did something; `theirs_fired`: XLA's did.
    """

    outcome: Outcome
    reasons: tuple[str, ...] = ()
    detail: str = ""
    fired: bool = False
    theirs_fired: bool = False
    program: HloModule | None = None
    ours: HloModule | None = field(default=None, repr=False)
    theirs: HloModule | None = field(default=None, repr=False)


def hold_together(twin: Twin, module: HloModule, inputs: InputSets) -> Comparison:
    """Run both passes of `twin` on copies of `module`, which stays as it is, and compare.

    `inputs` fit `module`. Raises BridgeUnavailable where this jaxlib has no hook for passes.
    """
    program = module.clone()
    try:
        parse_pipeline(_AS_XLA_HAS_IT).run(program, Trace())
        twin.prepare(program)
    except (PassError, PassCrashed) as error:
        return Comparison(Outcome.NOT_COMPARED, detail=str(error))
    ours, we_refuse = _result(twin.ours, program)
    theirs, they_refuse = _result(twin.theirs, program)
    if we_refuse or they_refuse:
        both = bool(we_refuse) and bool(they_refuse)
        detail = f"ours: {we_refuse or 'does it'}; XLA's: {they_refuse or 'does it'}"
        return Comparison(Outcome.BOTH_REFUSE if both else Outcome.DIFFER, detail=detail, program=program)
    return _compared(twin, program, ours, theirs, inputs)


def _result(text: str, program: HloModule) -> tuple[HloModule, str]:
    """What a pipeline makes of a copy of `program`, and why it does not."""
    result = program.clone()
    try:
        parse_pipeline(text, allow_code=True).run(result, Trace())
    except (PassError, PassCrashed) as error:
        return result, str(error)
    return result, ""


def _compared(
    twin: Twin, program: HloModule, ours: HloModule, theirs: HloModule, inputs: InputSets
) -> Comparison:
    start = structure(program, names=False)
    fired, theirs_fired = (structure(result, names=False) != start for result in (ours, theirs))

    def comparison(outcome: Outcome, reasons: tuple[str, ...] = (), detail: str = "") -> Comparison:
        return Comparison(outcome, reasons, detail, fired, theirs_fired, program, ours, theirs)

    for name, result in (("ours", ours), ("XLA's", theirs)):
        if violations := verify(result):
            return comparison(Outcome.DIFFER, detail=f"{name} is not valid HLO: {violations[0]}")
    try:
        if found := _other_values(twin, program, ours, theirs, inputs):
            return comparison(Outcome.DIFFER, detail=found)
        if not twin.same_text:
            return comparison(Outcome.SAME_MEANING)
        if _alike((), ours, theirs) or (twin.levelled and _alike((_WAY,), ours, theirs)):
            return comparison(Outcome.SAME_TEXT)
        reasons = explained(twin.differences, ours, theirs, levelled=twin.levelled)
    except (UnsupportedOpcode, EvaluationLimit, PassError, PassCrashed) as error:
        return comparison(Outcome.NOT_COMPARED, detail=str(error))
    if reasons:
        return comparison(Outcome.SAME_MEANING, reasons)
    return comparison(Outcome.DIFFER, detail="the text differs for no known reason")


def _travel(ours: HloModule, theirs: HloModule) -> None:
    for result in (ours, theirs):
        parse_pipeline(_AS_XLA_HAS_IT).run(result, Trace())


_WAY = Difference("way", "What the way to XLA and back spells otherwise.", _travel)


def _other_values(
    twin: Twin, program: HloModule, ours: HloModule, theirs: HloModule, inputs: InputSets
) -> str:
    """Where values differ from those of `program`, or "". Raises what the evaluator raises."""
    for one_set in inputs:
        expected = evaluate(program, one_set)
        for name, text, result in (("ours", twin.ours, ours), ("XLA's", twin.theirs, theirs)):
            exact = all(
                pass_.promise is Exactness.BITWISE for pass_ in parse_pipeline(text, allow_code=True).passes
            )
            allowed = EQUAL if exact else tolerance_of(program)
            found = compare(
                expected, evaluate(result, one_set), tolerance=allowed, left="the program", right=name
            )
            if found:
                return _described(found)
    return ""


def _described(found: Mismatch) -> str:
    return f"{found.right}: {found.actual} for {found.expected} at {found.leaf}{found.index}"


def explained(
    differences: Sequence[Difference], ours: HloModule, theirs: HloModule, *, levelled: bool = False
) -> tuple[str, ...]:
    """The names of the differences that together are all that differs, as few as will do; none if they are not all.

    `levelled`: the results travel to XLA and back afterwards.
    """
    way = (_WAY,) if levelled else ()
    if not _alike((*differences, *way), ours, theirs):
        return ()
    needed = list(differences)
    for difference in differences:
        fewer = [other for other in needed if other is not difference]
        if _alike((*fewer, *way), ours, theirs):
            needed = fewer
    return tuple(difference.name for difference in needed)


def _alike(differences: Sequence[Difference], ours: HloModule, theirs: HloModule) -> bool:
    one, other = ours.clone(), theirs.clone()
    for difference in differences:
        difference.level(one, other)
    for result in (one, other):
        _use_parameters(result)
    return structure(one, names=False) == structure(other, names=False)


def _use_parameters(module: HloModule) -> None:
    """Parameters that nothing uses are numbered by where they lie in a list, which means nothing."""
    for computation in module.computations:
        if any(not parameter.users for parameter in computation.parameters):
            computation.set_root(
                computation.add_tuple([computation.root, *computation.parameters]),
                accept_different_shape=True,
            )
