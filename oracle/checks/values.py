"""Does the program still compute what it computed?

The evaluator runs the module before and after each pass on each input set. Both sides are the same engine, so a
pass that promises bit equality is held to it, NaN payloads aside.
"""

from __future__ import annotations

from collections.abc import Sequence

from hlo import HloFuzzError, HloModule, Value
from hlo.evaluator import EvaluationLimit, Evaluator
from oracle.checks.base import PassRun
from oracle.checks.tokens import TokenWatch
from oracle.compare import BITWISE, compare
from oracle.stopwatch import Stopwatch
from oracle.tolerance import tolerance_of
from oracle.verdict import Finding, Kind, Mismatch
from passes import Exactness

CHECK = "values"

InputSets = Sequence[tuple[Value, ...]]


def described(mismatch: Mismatch) -> str:
    """A mismatch in a line."""
    where = f"result{''.join(f'.{i}' for i in mismatch.leaf)}{list(mismatch.index)}"
    note = f" ({mismatch.note})" if mismatch.note else ""
    wrong = f"{mismatch.count} of {mismatch.total} differ"
    return f"{where} is {mismatch.actual}, not {mismatch.expected}; {wrong}{note}"


class Values:
    """What the evaluator gives for each input set: of the original, and after each pass."""

    def __init__(self, original: HloModule, inputs: InputSets, watch: Stopwatch) -> None:
        """Evaluates the original. Raises what the evaluator raises."""
        self._inputs = inputs
        self._watch = watch
        self.original = self._evaluated(original, None)
        self.stages: list[list[Value]] = []
        """The values after each pass so far."""

    @property
    def current(self) -> list[Value]:
        """The values of the module after the last pass."""
        return self.stages[-1] if self.stages else self.original

    def __call__(self, run: PassRun) -> Finding | None:
        """Compare after with before, and tokens with starts. Raises EvaluationLimit."""
        watch = TokenWatch.of(run)
        after = self.current
        if watch is not None or run.really_changed:
            try:
                after = self._evaluated(run.after, watch)
            except EvaluationLimit:
                raise  # it costs more than the original, which is no fault
            except HloFuzzError as error:
                message = f"the result cannot be evaluated although the original can: {error}"
                return run.finding(CHECK, Kind.EVALUATION, message)
            if found := self._differs(run, after):
                return found
        self.stages.append(after)
        return None if watch is None else watch.finding()

    def results(self, module: HloModule) -> list[Value]:
        """What `module` gives for each input set. Raises what the evaluator raises."""
        return self._evaluated(module, None)

    def _differs(self, run: PassRun, after: list[Value]) -> Finding | None:
        allowed = BITWISE if run.pass_.promise is Exactness.BITWISE else tolerance_of(run.before)
        with self._watch.measure("compare"):
            for inputs, old, new in zip(self._inputs, self.current, after, strict=True):
                found = compare(
                    old, new, tolerance=allowed, left="evaluator, before", right="evaluator, after"
                )
                if found is not None:
                    return run.finding(CHECK, Kind.VALUE, described(found), inputs=inputs, mismatch=found)
        return None

    def _evaluated(self, module: HloModule, tokens: TokenWatch | None) -> list[Value]:
        results: list[Value] = []
        with self._watch.measure("evaluate"):
            evaluator = Evaluator(module, observer=None if tokens is None else tokens.observe)
            for inputs in self._inputs:
                if tokens is not None:
                    tokens.inputs = inputs
                results.append(evaluator.run(inputs))
        return results
