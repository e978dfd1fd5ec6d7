"""Does our evaluator give what a StableHLO test program says it should?

Such a program takes no arguments. It computes something from inputs of its own and hands the result, with the right
one, to custom-calls `check.…`. What each check allows is what StableHLO's interpreter allows it.

Source: `InterpreterFallback` in stablehlo/reference (the interpreter's custom-calls), `evalExpectEqOp`,
`evalExpectCloseOp` and `evalExpectAlmostEqOp` in stablehlo/tests/CheckOps.cpp, `areApproximatelyEqual` in
stablehlo/reference/Element.cpp.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from hlo import HloInstruction, HloModule, Opcode, PrimitiveType, UnsupportedOpcode
from hlo.evaluator import EvaluationLimit, evaluate

Array = np.ndarray[Any, np.dtype[Any]]

_UNITS = 3  # of expect_close
_ABSOLUTE = 0.001  # of expect_almost_eq
_SHOWN = 3  # differences in a reason
# The evaluator is what is judged here: an error of its own is a failure, and no reason to judge nothing else.
_ERRORS = (ArithmeticError, LookupError, MemoryError, RecursionError, TypeError, ValueError)


class Outcome(StrEnum):
    """What became of a program."""

    PASSED = "passed"
    FAILED = "failed"
    UNSUPPORTED = "unsupported"


@dataclass(frozen=True, slots=True)
class Conformance:
    """What became of a program, and why; a program that passed has no reason."""

    outcome: Outcome
    reason: str = ""


def conform(module: HloModule) -> Conformance:
    """Evaluate a program and let its checks judge. The module is changed: its checks become its result.

    A program passes if every check holds. One without checks, or that takes arguments, is unsupported, as is one
    that the evaluator has no rule for or no patience with. One that the evaluator breaks on has failed.
    """
    entry = module.entry_computation
    checks = [inst for inst in entry.instructions if _is_check(inst)]
    if reason := _unfit(module, checks):
        return Conformance(Outcome.UNSUPPORTED, reason)
    names = [check.custom_call_target for check in checks]
    pairs = [entry.add_tuple(check.operands) for check in checks]
    entry.set_root(entry.add_tuple(pairs), accept_different_shape=True)
    for check in checks:
        entry.remove_instruction(check)
    try:
        results: Any = evaluate(module, [])
    except (UnsupportedOpcode, EvaluationLimit) as error:
        return Conformance(Outcome.UNSUPPORTED, str(error))
    except _ERRORS as error:
        return Conformance(Outcome.FAILED, f"the evaluator raised {type(error).__name__}: {error}")
    complaints = [
        f"{name}: {complaint}"
        for name, (got, expected) in zip(names, results, strict=True)
        if (complaint := violation(name, got, expected))
    ]
    return Conformance(Outcome.FAILED, "; ".join(complaints)) if complaints else Conformance(Outcome.PASSED)


def _is_check(inst: HloInstruction) -> bool:
    return inst.opcode is Opcode.CUSTOM_CALL and inst.custom_call_target.startswith("check.")


def _unfit(module: HloModule, checks: list[HloInstruction]) -> str:
    """Why a program is not of the form that can be judged, or nothing."""
    if module.entry_computation.parameters:
        return "the program takes arguments"
    if not checks:
        return "the program checks nothing"
    if unknown := sorted({check.custom_call_target for check in checks} - _JUDGES.keys()):
        return f"no such check here: {', '.join(unknown)}"
    if any(len(check.operands) != 2 for check in checks):
        return "a check of other than two values"
    if sum(_is_check(inst) for computation in module.computations for inst in computation.instructions) > len(
        checks
    ):
        return "a check outside of the entry computation"
    return ""


def violation(check: str, got: Array, expected: Array) -> str:
    """Where `got` differs from `expected` by more than `check` allows; nothing where it does not.

    expect_eq: the same numbers; expect_close: at most 3 representable numbers apart; expect_almost_eq: at most 0.001
    apart and of one sign. An infinity is close to itself alone. A NaN equals any NaN, in expect_eq, too: upstream's
    never holds for one, and disables the programs that have one.
    """
    if got.dtype != expected.dtype or got.shape != expected.shape:
        return f"{got.dtype}{list(got.shape)} for {expected.dtype}{list(expected.shape)}"
    holds = _JUDGES[check]
    if PrimitiveType.of(got.dtype).is_complex:
        good = holds(np.real(got), np.real(expected)) & holds(np.imag(got), np.imag(expected))
    else:
        good = holds(got, expected)
    places = np.argwhere(~good)
    shown = [f"{got[*at]} for {expected[*at]} at {at.tolist()}" for at in places[:_SHOWN]]
    return f"{len(places)} of {got.size} elements: {', '.join(shown)}" if shown else ""


def _equal(got: Array, expected: Array) -> Array:
    return (got == expected) | ((got != got) & (expected != expected))


def _close(got: Array, expected: Array) -> Array:
    if not PrimitiveType.of(got.dtype).is_float:
        return got == expected
    sizes, signs = zip(*(_size_and_sign(x) for x in (got, expected)), strict=True)
    # Both are below 2^63: neither their sum nor their difference overflows 64 bits, the one without sign.
    apart = np.maximum(*sizes) - np.minimum(*sizes)
    apart = np.where(signs[0] == signs[1], apart, sizes[0] + sizes[1])
    return _equal(got, expected) | ((apart <= _UNITS) & np.isfinite(got) & np.isfinite(expected))


def _size_and_sign(array: Array) -> tuple[Array, Array]:
    """How many representable numbers lie between each number and 0, and whether it is negative."""
    bits = np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}").reshape(array.shape).astype(np.uint64)
    sign = np.uint64(1 << (8 * array.dtype.itemsize - 1))
    return bits & ~sign, (bits & sign) != 0


def _almost_equal(got: Array, expected: Array) -> Array:
    if not PrimitiveType.of(got.dtype).is_float:
        return got == expected
    finite = np.isfinite(got) & np.isfinite(expected)
    wide, right = (np.where(finite, x, 0).astype(np.float64) for x in (got, expected))
    near = finite & (np.abs(wide - right) <= _ABSOLUTE)
    return _equal(got, expected) | (near & (np.signbit(got) == np.signbit(expected)))


_JUDGES: dict[str, Callable[[Array, Array], Array]] = {
    "check.expect_eq": _equal,
    "check.expect_close": _close,
    "check.expect_almost_eq": _almost_equal,
}
