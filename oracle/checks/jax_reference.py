"""What does JAX say?

Every graph that passed all other checks meets the reference: JAX on the original against the evaluator on the
result. And every finding about values gets it as a second opinion, with
a vote of further engines where the caller names some. Where JAX and the evaluator disagree about the
original, the finding is about an engine and not about a pass.

Importing this module imports JAX, which takes a second: `oracle.judge` does so when it is first needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hlo import HloModule, UnsupportedOpcode, Value
from hlo.evaluator import EvaluationLimit
from oracle.checks.base import PassRun
from oracle.checks.values import Values, blamed, described
from oracle.compare import Tolerance, compare
from oracle.elsewhere import Elsewhere, elsewhere
from oracle.engines import Engine, NumpyEvaluator, Ran
from oracle.original import Original
from oracle.reference import run_jax
from oracle.running import Runner, evaluated, static_program
from oracle.stopwatch import Stopwatch
from oracle.tolerance import tolerance_of
from oracle.verdict import Agree, Disagree, Finding, Mismatch, Skip, SkipReason, Verdict
from oracle.vote import vote

CHECK = "jax"

_SAME = Tolerance(flushed=True)  # XLA CPU flushes subnormals, everywhere
_LEFT, _RIGHT = "jax, original", "evaluator, result"


def meets_jax(
    original: Original,
    values: Values,
    runs: Sequence[PassRun],
    watch: Stopwatch,
    engines: Sequence[Engine] = (),
) -> tuple[Verdict, list[str]]:
    """JAX on the original against what the evaluator gave after the last pass; and remarks.

    Where the two disagree, `engines` vote, and the verdict lists the groups. Raises UnsupportedOpcode (or a kind
    of it) and EvaluationLimit from JAX's side.
    """
    remarks: list[str] = []
    for number in original.referred:
        one_set, module = original.inputs[number], original.program(number)
        with watch.measure("jax"):
            expected = original.expected(number)
        with watch.measure("compare"):
            found = _difference(module, expected, values.current[number])
            if found is None:
                continue
            if _difference(module, expected, values.original[number]) is None:
                run = _first_apart(module, expected, values, runs, number)
                source = _elsewhere(run, values, number, one_set)
                if source is not None and not source.stage:
                    remarks.append(f"{run.pass_.name} {source.why}: {described(found)}")
                    continue
                finding = blamed(run, source, CHECK, found, one_set)
                with watch.measure("vote"):
                    return Disagree(with_votes(finding, module, engines)), remarks
        with watch.measure("jax"):
            where = original.seen_differently(number)
        if where is not None:
            with watch.measure("vote"):
                said = "; ".join(
                    [f"{where}; in the end {described(found)}", *_vote(module, one_set, engines)]
                )
            return Skip(SkipReason.ENGINES_DISAGREE, said), remarks
        remarks.append(
            f"rounding grew past its estimate: {described(found)}; no instruction is seen differently"
        )
    return Agree(), remarks


def second_opinion(finding: Finding, module: HloModule, engines: Sequence[Engine] = ()) -> Verdict:
    """What becomes of a finding about values once JAX has seen the original, and `engines` have voted on it."""
    if finding.mismatch is None or finding.after is None:
        return Disagree(finding)
    module = static_program(module, finding.inputs)
    verdict = _confirmed_by_jax(finding, module)
    if isinstance(verdict, Disagree):
        return Disagree(with_votes(verdict.finding, module, engines))
    return replace(verdict, detail="; ".join((verdict.detail, *_votes(module, finding, engines))))


def with_votes(finding: Finding, module: HloModule, engines: Sequence[Engine]) -> Finding:
    """`finding` with what `engines` make of the original `module`, where it is one about values of a result."""
    if finding.mismatch is None or finding.after is None:
        return finding
    return _with(finding, *_votes(module, finding, engines))


def _confirmed_by_jax(finding: Finding, module: HloModule) -> Disagree | Skip:
    assert finding.after is not None
    try:
        expected = run_jax(module, finding.inputs)
    except (UnsupportedOpcode, EvaluationLimit) as error:
        return Disagree(_with(finding, f"unconfirmed: JAX cannot run the original ({error})"))
    against_original = _difference(module, expected, evaluated(module, finding.inputs))
    after = [_difference(module, expected, value) for value in Runner(finding.after).readings(finding.inputs)]
    against_result = next((found for found in after if found), None)
    if against_original is None:
        near = " (and within rounding the result, too)" if against_result is None else ""
        return Disagree(_with(finding, f"confirmed: JAX on the original agrees with the evaluator{near}"))
    if against_result is None:
        detail = f"JAX on the original gives what the result gives: {described(against_original)}"
        return Skip(SkipReason.ENGINES_DISAGREE, detail)
    return Disagree(_with(finding, f"JAX on the original agrees with neither: {described(against_original)}"))


def _difference(module: HloModule, expected: Value, actual: Value) -> Mismatch | None:
    found = compare(expected, actual, tolerance=_SAME, left=_LEFT, right=_RIGHT)
    if found is None:
        return None
    # what rounding may do costs a walk through the module: only asked where it is needed
    return compare(expected, actual, tolerance=tolerance_of(module), left=_LEFT, right=_RIGHT)


def _first_apart(
    module: HloModule, expected: Value, values: Values, runs: Sequence[PassRun], number: int
) -> PassRun:
    """The first pass after which the evaluator no longer agrees with JAX."""
    stages = (stage[number] for stage in values.stages)
    return next(r for r, stage in zip(runs, stages, strict=True) if _difference(module, expected, stage))


def _elsewhere(run: PassRun, values: Values, number: int, inputs: tuple[Value, ...]) -> Elsewhere | None:
    new = values.stages[run.index][number]
    old = values.stages[run.index - 1][number] if run.index else values.original[number]
    return elsewhere(run.pass_, run.before, run.after, inputs, old, new)


def _votes(module: HloModule, finding: Finding, engines: Sequence[Engine]) -> tuple[str, ...]:
    """What the engines make of the original, and with whom the result sides."""
    if not engines or finding.after is None:
        return ()
    result = NumpyEvaluator().run(finding.after, finding.inputs)
    others = {f"result of {finding.pass_name}": result.value} if isinstance(result, Ran) else {}
    return vote(module, finding.inputs, engines, others).lines()


def _vote(module: HloModule, inputs: tuple[Value, ...], engines: Sequence[Engine]) -> tuple[str, ...]:
    return vote(module, inputs, engines).lines() if engines else ()


def _with(finding: Finding, *details: str) -> Finding:
    return replace(finding, details=(*finding.details, *details))
