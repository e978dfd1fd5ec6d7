"""On which operands does an operation's definition leave open what comes out?

HLO and StableHLO give the arithmetic of floats to IEEE 754, and leave these to the implementation: whether
subnormals are taken for zeros (XLA's CPU compiler does so), how complex arithmetic treats infinities and NaNs (C11
annex G and the textbook formulas differ), and in which terms, order and precision algorithms of many steps compute,
which decides whether infinities meet as inf - inf or as 0 × inf, and what overflows on the way to a result that
does not. Moving a number is never open. How often a reduction uses its initial value is open, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from hlo import SPECS, Family, HloInstruction, HloModule, Opcode, PrimitiveType, Value
from hlo.evaluator import Evaluator
from oracle.reducers import identity, keeps_the_second, plain_reducer

Array = np.ndarray[Any, np.dtype[Any]]

_BATCH_NORMS = frozenset({Opcode.BATCH_NORM_GRAD, Opcode.BATCH_NORM_INFERENCE, Opcode.BATCH_NORM_TRAINING})

MANY_STEPS = frozenset(
    {
        *_BATCH_NORMS,
        *(Opcode.CHOLESKY, Opcode.CONVOLUTION, Opcode.FFT, Opcode.TRIANGULAR_SOLVE),
    }
)
"""Operations that are defined as mathematics, not as a sequence of roundings. Of a convolution it is open whether
its padding takes part, as zeros that are multiplied."""

_HANDING_ON = frozenset({Family.CONTROL, Family.DYNAMIC, Family.COLLECTIVE})

_FLUSHED = frozenset({PrimitiveType.BF16, PrimitiveType.F32, PrimitiveType.F64})
"""Types whose subnormals are subnormal in what a processor computes with, and so may be flushed."""


def computes(inst: HloInstruction) -> bool:
    """Whether `inst` does more with the numbers of its operands than move them and hand them on."""
    spec = SPECS[inst.opcode]
    if spec.data_movement or spec.family in _HANDING_ON:
        return False
    return not (inst.opcode is Opcode.SCATTER and keeps_the_second(inst.called_computations[0]))


def leaves_open(inst: HloInstruction, operands: Sequence[Value]) -> str | None:
    """Why engines may differ on `inst` of these `operands` by more than rounding; None where they may not."""
    if not computes(inst):
        return None
    if _counts_its_initial_value(inst, operands):
        return f"{inst.opcode} from an initial value that is not neutral"
    reasons = (_open_about(inst.opcode, operand) for operand in operands if isinstance(operand, np.ndarray))
    return next((f"{inst.opcode} of {reason}" for reason in reasons if reason), None)


def _counts_its_initial_value(inst: HloInstruction, operands: Sequence[Value]) -> bool:
    """Whether a reduction depends on how often its initial value is used. XLA leaves it out for a single element."""
    match inst.opcode:
        case Opcode.REDUCE | Opcode.REDUCE_WINDOW:
            reducer, inits = inst.called_computations[0], operands[len(operands) // 2 :]
        case Opcode.SELECT_AND_SCATTER:
            reducer, inits = inst.called_computations[1], operands[2:]
        case _:
            return False
    opcode = plain_reducer(reducer)
    if opcode is None:
        return False
    for init in inits:
        if not isinstance(init, np.ndarray):
            continue
        neutral = identity(opcode, PrimitiveType.of(init.dtype))
        if neutral is not None and not np.array_equal(neutral, init):
            return True
    return False


def _open_about(opcode: Opcode, operand: Array) -> str | None:
    kind = PrimitiveType.of(operand.dtype)
    long = opcode in MANY_STEPS and kind.is_float
    if (kind.is_complex or long) and not np.all(np.isfinite(operand)):
        return "an infinity or NaN"
    if long and _may_overflow(opcode, operand):
        return "numbers whose products overflow"
    return "a subnormal" if any(map(_has_subnormals, _parts(operand, kind))) else None


def first_open_case(module: HloModule, inputs: Sequence[Value]) -> str | None:
    """The first instruction that running `module` executes on operands that leave its result open, or None.

    Raises what the evaluator raises.
    """
    found: list[str] = []

    def observe(inst: HloInstruction, operands: Sequence[Value], _value: Value) -> None:
        if not found and (reason := leaves_open(inst, operands)):
            found.append(f"{inst.name}: {reason}")

    Evaluator(module, observer=observe).run(inputs)
    return found[0] if found else None


def _may_overflow(opcode: Opcode, array: Array) -> bool:
    """Whether a sum of products of its numbers is too large for their type: of three for batch normalisation."""
    largest = float(np.max(np.abs(array.astype(np.float64)), initial=0.0))
    factors = 3 if opcode in _BATCH_NORMS else 2
    limit = float(ml_dtypes.finfo(array.dtype).max)
    return largest > 1 and array.size * largest > limit / largest ** (factors - 1)


def _parts(array: Array, kind: PrimitiveType) -> tuple[Array, ...]:
    if kind.is_complex:
        return np.real(array), np.imag(array)
    return (array,) if kind in _FLUSHED else ()


def _has_subnormals(array: Array) -> bool:
    least = ml_dtypes.finfo(array.dtype).smallest_normal
    return bool(np.any((array != 0) & (np.abs(array) < least)))
