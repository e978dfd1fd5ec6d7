"""Does the program still compute what it computed?

Of arrays whose sizes are known at run time only, the sizes come first: where they are others, the pass has inferred
them wrongly; where they are right and values differ, it lets padding show, or computes something else.

The evaluator runs the module before and after each pass on each input set. Both sides are the same engine, so a
pass that promises bit equality is held to it, NaN payloads aside. One that may round differently may go past the
estimate of what rounding does, where it is rounding all the same. What comes from elsewhere is no fault of the pass
(`oracle.elsewhere`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hlo import HloFuzzError, HloModule, Value, same_bits
from hlo.evaluator import EvaluationLimit, SizeOutOfBounds
from oracle.checks.base import PassRun
from oracle.checks.tokens import TokenWatch
from oracle.compare import BITWISE, compare
from oracle.elsewhere import Elsewhere, elsewhere
from oracle.running import Runner
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

    def __init__(self, original: list[Value], inputs: InputSets, watch: Stopwatch) -> None:
        """`original` has the original's value for each of `inputs`."""
        self._inputs = inputs
        self._watch = watch
        self._at: tuple[Value, ...] = ()
        self.original = original
        self.stages: list[list[Value]] = []
        """The values after each pass so far."""
        self.remarks: list[str] = []
        """What was no finding."""

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
                readings = self._evaluated(run.after, watch)
            except EvaluationLimit:
                raise  # it costs more than the original, which is no fault
            except SizeOutOfBounds as error:
                message = f"an array gets a size that it cannot have: {error}"
                return run.finding(CHECK, Kind.SIZE, message, inputs=self._at)
            except HloFuzzError as error:
                message = f"the result cannot be evaluated although the original can: {error}"
                return run.finding(CHECK, Kind.EVALUATION, message, inputs=self._at)
            if found := self._differs(run, readings):
                return found
            after = [values[0] for values in readings]
        self.stages.append(after)
        return None if watch is None else watch.finding()

    def results(self, module: HloModule) -> list[Value]:
        """What `module` gives for each input set. Raises what the evaluator raises."""
        return [values[0] for values in self._evaluated(module, None)]

    def _differs(self, run: PassRun, after: list[list[Value]]) -> Finding | None:
        """What is wrong with the values of the result, of which there are several where it has padding."""
        exact = run.pass_.promise is Exactness.BITWISE
        allowed = BITWISE if exact else tolerance_of(run.before)
        places = _live_only(run)
        with self._watch.measure("compare"):
            for inputs, old, readings in zip(self._inputs, self.current, after, strict=True):
                for number, new in enumerate(readings):
                    if places:
                        new = readings[number] = cut_like(new, old)
                    if same_bits(old, new):
                        continue
                    if wrong := sizes_differ(old, new):
                        return run.finding(CHECK, Kind.SIZE, described(wrong), inputs=inputs, mismatch=wrong)
                    found = compare(old, new, tolerance=allowed, left=_BEFORE, right=_AFTER)
                    if found is None:
                        continue
                    source = elsewhere(run.pass_, run.before, run.after, inputs, old, new)
                    if source is None or source.stage:
                        details = (_PADDED[number],) if len(readings) > 1 else ()
                        return blamed(run, source, CHECK, found, inputs, details)
                    self.remarks.append(f"{run.pass_.name} {source.why}: {described(found)}")
        return None

    def _evaluated(self, module: HloModule, tokens: TokenWatch | None) -> list[list[Value]]:
        results: list[list[Value]] = []
        with self._watch.measure("evaluate"):
            runner = Runner(module, observer=None if tokens is None else tokens.observe)
            for inputs in self._inputs:
                self._at = inputs
                if tokens is not None:
                    tokens.inputs = inputs
                results.append(runner.readings(inputs))
        return results


def blamed(
    run: PassRun,
    source: Elsewhere | None,
    check: str,
    mismatch: Mismatch,
    inputs: tuple[Value, ...],
    details: tuple[str, ...] = (),
) -> Finding:
    """The finding that a pass, or the stage in its place that `source` blames, gives another value.

    The stage stands behind the name of the pass, in brackets.
    """
    finding = run.finding(
        check, Kind.VALUE, described(mismatch), inputs=inputs, mismatch=mismatch, details=details
    )
    if source is None:
        return finding
    name = f"{run.pass_.name} ({source.stage})"
    return replace(
        finding,
        pass_name=name,
        message=f"{name}: {described(mismatch)}",
        details=(*details, f"{run.pass_.name} {source.why}"),
    )


_BEFORE, _AFTER = "evaluator, before", "evaluator, after"
_PADDED = ("the padding holds NaNs and extremes", "the padding holds random numbers")


def sizes_differ(expected: Value, actual: Value) -> Mismatch | None:
    """The first array of a value that has not the sizes that it should; element types and ranks are alike."""
    return _sizes_differ(expected, actual, ())


def _sizes_differ(expected: Value, actual: Value, leaf: tuple[int, ...]) -> Mismatch | None:
    if isinstance(expected, tuple) and isinstance(actual, tuple):
        pairs = enumerate(zip(expected, actual, strict=False))
        return next((found for i, (e, a) in pairs if (found := _sizes_differ(e, a, (*leaf, i)))), None)
    if not isinstance(expected, np.ndarray) or not isinstance(actual, np.ndarray):
        return None
    if expected.dtype != actual.dtype or expected.ndim != actual.ndim or expected.shape == actual.shape:
        return None
    wrong = sum(a != b for a, b in zip(expected.shape, actual.shape, strict=True))
    was, now = (f"of size {list(value.shape)}" for value in (expected, actual))
    return Mismatch(leaf, (), was, now, wrong, expected.ndim, _BEFORE, _AFTER, note="sizes at run time")


def _live_only(run: PassRun) -> bool:
    """Whether the pass leaves an array as large as its bound that had a size before."""
    old, new = run.before.entry_computation.root.shape, run.after.entry_computation.root.shape
    return not old.is_static and new.is_static


def cut_like(value: Value, expected: Value) -> Value:
    """The low corners of the arrays of `value`, as large as those of `expected` where they are larger."""
    if isinstance(value, tuple) and isinstance(expected, tuple):
        return tuple(map(cut_like, value, expected))
    if not isinstance(value, np.ndarray) or not isinstance(expected, np.ndarray):
        return value
    if value.ndim != expected.ndim:
        return value
    return np.asarray(value[tuple(map(slice, expected.shape))])
