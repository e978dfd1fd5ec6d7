"""After which step inside a compiler does a program's value depart?

XLA tells what each of its passes left. The evaluator runs every one of these programs on the input set at hand and
compares it with the one before: the first that departs names the pass. Where all agree and the execution differs,
it is what comes behind the passes: scheduling and code generation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hlo import HloFuzzError, HloModule, Value
from hlo.evaluator import evaluate
from oracle.checks.values import described
from oracle.compare import Tolerance, compare
from oracle.first_instruction import first_bad_instruction
from oracle.tolerance import tolerance_of
from oracle.verdict import Finding, Mismatch
from passes import PassCrashed, PassError, Trace
from passes.xla import Stage, XlaExecution, XlaPass, pipeline_stages, xla_pass

CODE_GENERATION = "code generation"

_SAME = Tolerance(flushed=True)


@dataclass(frozen=True, eq=False)
class Departure:
    """The first stage whose value differs from that of the program before it.

    `number` counts from 1 among the `total` stages that changed the program; `before` and `after` are the programs
    around it. `unseen` names the stages before it that the evaluator could not run.
    """

    stage: Stage
    number: int
    total: int
    before: HloModule
    mismatch: Mismatch
    unseen: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Unanimous:
    """No stage departs. `unseen` names those that the evaluator could not run."""

    last: HloModule
    unseen: tuple[str, ...] = ()


def first_bad_stage(
    module: HloModule, inputs: Sequence[Value], stages: Sequence[Stage]
) -> Departure | Unanimous:
    """Walk `stages`, which a compiler made of `module` one after the other. Raises what evaluating `module` raises."""
    before, expected = module, evaluate(module, inputs)
    unseen: list[str] = []
    for number, stage in enumerate(stages, start=1):
        try:
            value = evaluate(stage.module, inputs)
        except HloFuzzError:  # an operation that the evaluator does not have, or not enough patience
            unseen.append(stage.name)
            continue
        if wrong := _difference(before, expected, value):
            return Departure(stage, number, len(stages), before, wrong, tuple(unseen))
        before, expected = stage.module, value
    return Unanimous(before, tuple(unseen))


def located(finding: Finding, module: HloModule, pass_: XlaPass) -> Finding:
    """`finding`, about values of XLA's whole pipeline or compile of `module`, with the pass inside named.

    The name of the pass becomes, for example, `xla:cpu (algsimp)`, and the programs those around it. Of a crash it
    only says whether it comes in the passes or behind them.
    """
    try:
        stages = pipeline_stages(module, timeout=pass_.timeout)
        if finding.mismatch is None:
            line = f"{CODE_GENERATION}: the passes go through it"
            return _named(finding, CODE_GENERATION, line)
        found = first_bad_stage(module, finding.inputs, stages)
    except (PassError, PassCrashed, HloFuzzError) as error:
        return replace(finding, details=(*finding.details, f"first bad stage: not to be seen ({error})"))
    if isinstance(found, Unanimous):
        if not isinstance(pass_, XlaExecution):
            return finding  # each step stayed within its tolerance, all together did not
        line = f"first bad stage: {CODE_GENERATION}: all {len(stages)} programs on the way agree"
        stage, alone = _code_generation(module, finding.inputs, pass_)
        return _named(finding, stage, line, alone, *_unseen(found.unseen))
    return replace(
        _named(finding, found.stage.name, *_lines(found, finding.inputs, pass_)),
        before=found.before,
        after=found.stage.module,
    )


def _code_generation(module: HloModule, inputs: Sequence[Value], pass_: XlaExecution) -> tuple[str, str]:
    """The name of the stage, with the operation that is wrong by itself where there is one, and a line about it."""
    from oracle.engines import XlaCpu

    alone = first_bad_instruction(module, inputs, XlaCpu(time_limit=pass_.timeout))
    if alone is None:
        return CODE_GENERATION, "no operation is wrong by itself: it takes several together"
    return f"{CODE_GENERATION} of {alone.opcode}", f"{alone.name} is wrong by itself, too"


def _named(finding: Finding, stage: str, *details: str) -> Finding:
    name = f"{finding.pass_name} ({stage})"
    message = finding.message.removeprefix(f"{finding.pass_name}: ")
    return replace(
        finding, pass_name=name, message=f"{name}: {message}", details=(*finding.details, *details)
    )


def _lines(found: Departure, inputs: Sequence[Value], pass_: XlaPass) -> list[str]:
    where = f" in {found.stage.pipeline}" if found.stage.pipeline else ""
    place = f"number {found.number} of {found.total} that changed the program"
    lines = [f"first bad stage: xla:{found.stage.name}{where}, {place}: {described(found.mismatch)}"]
    lines.append(_alone(found, inputs, pass_))
    return [*lines, *_unseen(found.unseen)]


def _unseen(names: Sequence[str]) -> list[str]:
    return [f"not to be evaluated: what {', '.join(dict.fromkeys(names))} left"] if names else []


def _alone(found: Departure, inputs: Sequence[Value], pass_: XlaPass) -> str:
    """Whether the one pass alone, on the program before it, departs, too."""
    single = xla_pass(found.stage.name)(timeout=pass_.timeout)
    copy = found.before.clone()
    try:
        single.run(copy, Trace())
        value = evaluate(copy, inputs)
    except (PassError, PassCrashed, HloFuzzError) as error:
        return f"{single.name} alone on the program before it: not to be seen ({error})"
    wrong = _difference(found.before, evaluate(found.before, inputs), value)
    said = "departs, too" if wrong is not None else "does not depart: it needs what runs with it"
    return f"{single.name} alone on the program before it {said}"


def _difference(module: HloModule, expected: Value, actual: Value) -> Mismatch | None:
    found = compare(expected, actual, tolerance=_SAME, left="evaluator, before", right="evaluator, after")
    if found is None:
        return None
    allowed = tolerance_of(module)
    return compare(expected, actual, tolerance=allowed, left="evaluator, before", right="evaluator, after")
