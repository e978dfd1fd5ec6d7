"""Does a kill-switch change only what is done, never what is computed?

Each switch that a pass of the pipeline reads is turned to its other position, and the pipeline run again from that
pass on. The result must be valid and compute what the result with the first position computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from hlo import HloFuzzError, HloModule
from hlo.canonical import structure
from hlo.evaluator import EvaluationLimit
from hlo.verify import verify
from oracle.checks.base import PassRun
from oracle.checks.values import InputSets, Values, described
from oracle.compare import BITWISE, compare
from oracle.guarded import Crash, run_guarded
from oracle.tolerance import tolerance_of
from oracle.verdict import Finding, Kind
from passes import SWITCHES, Exactness, Pass, PassError, Switch, Trace

CHECK = "switches"


def turned(pass_: Pass) -> Iterator[tuple[Switch, Pass]]:
    """`pass_` with each of its switches in the other position."""
    for switch in SWITCHES:
        if switch.pass_name == pass_.name and hasattr(pass_, switch.option):
            yield switch, replace(pass_, **{switch.option: not getattr(pass_, switch.option)})


def first_switch_that_matters(
    runs: Sequence[PassRun], values: Values | None, inputs: InputSets
) -> Finding | None:
    """What is wrong with the first switch that is not harmless, or None.

    `runs` are all passes of the pipeline, in order. Without `values` results are not compared. A pass that refuses
    in the other position is left alone: what it refuses is documented. Raises EvaluationLimit.
    """
    for run in runs:
        for switch, other in turned(run.pass_):
            followers = [later.pass_ for later in runs[run.index + 1 :]]
            result = _rerun(run, [other, *followers])
            if isinstance(result, Crash):
                message = f"{_position(switch, other)}: {result.error}"
                return run.finding(CHECK, Kind.SWITCH, message, details=result.lines)
            if result is None or structure(result) == runs[-1].structure_after:
                continue
            found = replace(run, after=result)
            if finding := _judged(found, f"{_position(switch, other)}: ", runs, values, inputs):
                return finding
    return None


def _rerun(run: PassRun, passes: Sequence[Pass]) -> HloModule | Crash | None:
    module = run.before.clone()
    for pass_ in passes:
        try:
            outcome = run_guarded(pass_, module, Trace())
        except PassError:
            return None
        if isinstance(outcome, Crash):
            return outcome
    return module


def _judged(
    found: PassRun, position: str, runs: Sequence[PassRun], values: Values | None, inputs: InputSets
) -> Finding | None:
    if violations := verify(found.after):
        return found.finding(CHECK, Kind.SWITCH, f"{position}the result is not valid HLO: {violations[0]}")
    if values is None:
        return None
    try:
        results = values.results(found.after)
    except EvaluationLimit:
        raise
    except HloFuzzError as error:
        return found.finding(CHECK, Kind.SWITCH, f"{position}the result cannot be evaluated: {error}")
    exact = all(run.pass_.promise is Exactness.BITWISE for run in runs)
    allowed = BITWISE if exact else tolerance_of(found.before)
    for one_set, here, there in zip(inputs, values.current, results, strict=True):
        wrong = compare(here, there, tolerance=allowed, left="switch as given", right="switch turned")
        if wrong is not None:
            message = f"{position}{described(wrong)}"
            return found.finding(CHECK, Kind.SWITCH, message, inputs=one_set, mismatch=wrong)
    return None


def _position(switch: Switch, other: Pass) -> str:
    on = getattr(other, switch.option)
    return f"with {switch.variable}={switch.on_value}" if on else f"without {switch.variable}"
