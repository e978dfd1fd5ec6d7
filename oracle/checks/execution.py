"""Does the program, compiled and executed by XLA CPU as a whole, compute what it means?

`xla:cpu` is judged by its values alone: there is no program to look at behind it. JAX, operation by operation, is
asked who is right. It shares XLA's code generator, so that StableHLO's interpreter has the last word where JAX
sides with XLA. Importing this module imports JAX.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hlo import HloModule, UnsupportedOpcode, Value
from hlo.evaluator import EvaluationLimit
from oracle.checks.values import InputSets, described
from oracle.compare import Tolerance, compare
from oracle.elsewhere import open_case
from oracle.engines import Engine, Ran, StableHloInterpreter
from oracle.execution import executed
from oracle.first_stage import located
from oracle.reference import run_jax
from oracle.tolerance import tolerance_of
from oracle.verdict import Agree, Disagree, Finding, Kind, Mismatch, Skip, SkipReason, Verdict
from oracle.vote import vote
from passes.xla import XlaExecution

CHECK = "execution"

_SAME = Tolerance(flushed=True)  # XLA CPU flushes subnormals


def executes_alike(
    pass_: XlaExecution,
    index: int,
    module: HloModule,
    inputs: InputSets,
    values: Sequence[Value],
    engines: Sequence[Engine] = (),
) -> Verdict:
    """Whether executing `module` gives `values`, the evaluator's, for each input set.

    `module` is one that a compiler takes (`oracle.execution.compilable`). `index` is the place of `pass_` in its
    pipeline; `engines` vote where the values differ. Raises PassError and PassCrashed as `oracle.execution.executed`.
    """
    skip: Skip | None = None
    for one_set, expected, actual in zip(inputs, values, executed(pass_, module, inputs), strict=True):
        wrong = _difference(module, expected, actual)
        if wrong is None:
            continue
        finding = Finding(
            check=CHECK,
            kind=Kind.VALUE,
            message=f"{pass_.name}: {described(wrong)}",
            pass_index=index,
            pass_name=pass_.name,
            before=module,
            after=None,
            inputs=one_set,
            mismatch=wrong,
        )
        if reason := _not_to_blame(finding, expected, actual):
            skip = skip or Skip(SkipReason.ENGINES_DISAGREE, f"{described(wrong)}; {reason}")
            continue
        votes = vote(module, one_set, engines, {pass_.name: actual}).lines() if engines else ()
        finding = replace(finding, details=(*finding.details, *votes))
        return Disagree(located(finding, module, pass_))
    return skip or Agree()


def _not_to_blame(finding: Finding, expected: Value, actual: Value) -> str:
    """Why the compiler's other value is no fault of its own; empty where it is."""
    module = finding.before
    if reason := open_case(module, finding.inputs, expected, actual, tolerance_of(module)):
        return f"open by definition: {reason}"
    try:
        jax = run_jax(module, finding.inputs)
    except (UnsupportedOpcode, EvaluationLimit):
        return ""
    if _difference(module, expected, jax) is None:
        return ""
    third = StableHloInterpreter().run(module, finding.inputs)
    if isinstance(third, Ran) and _difference(module, expected, third.value) is None:
        return ""
    return "JAX, operation by operation, does not agree with the evaluator either"


def _difference(module: HloModule, expected: Value, actual: Value) -> Mismatch | None:
    names = {"left": "evaluator", "right": "execution"}
    found = compare(expected, actual, tolerance=_SAME, **names)
    return None if found is None else compare(expected, actual, tolerance=tolerance_of(module), **names)
