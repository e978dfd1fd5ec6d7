"""On which operands may a compiler give an operation one value here and another one there?

Of integers, our evaluator and XLA's code generator have one value for each of these cases and agree on it, so the two
are compared on them. But a compiler as a whole is free: one of its passes may choose another value than its code
generator. Sources: XLA's operation semantics, on integer division overflow ("implementation-defined"); StableHLO's
specification, convert, on numbers that the integer type does not have. The variance of a batch normalisation may be
taken as the mean of squares less the square of the mean (`batchnorm_expander.cc` upstream), of which little is left
where the numbers are almost equal.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hlo import HloInstruction, Opcode, PrimitiveType, Value
from hlo.attributes import BatchNormOptions


def implementation_defined(inst: HloInstruction, operands: Sequence[Value]) -> str | None:
    """Why a compiler is free in what it gives `inst` of these operands; None: it is not."""
    match inst.opcode:
        case Opcode.DIVIDE | Opcode.REMAINDER:
            return _divides_without_quotient(inst, operands)
        case Opcode.CONVERT:
            return _converts_without_image(inst, operands)
        case Opcode.BATCH_NORM_TRAINING:
            return _cancels(inst, operands)
        case _:
            return None


def _divides_without_quotient(inst: HloInstruction, operands: Sequence[Value]) -> str | None:
    kind = inst.array_shape.element_type
    if not kind.is_integral:
        return None
    dividend, divisor = (np.asarray(operand).astype(object) for operand in operands)
    if np.any(divisor == 0):
        return f"integer {inst.opcode} by zero"
    if not kind.is_unsigned and np.any((dividend == _range(kind)[0]) & (divisor == -1)):
        return f"integer {inst.opcode} of the least number by -1"
    return None


def _converts_without_image(inst: HloInstruction, operands: Sequence[Value]) -> str | None:
    kind = inst.array_shape.element_type
    source = np.asarray(operands[0])
    if not kind.is_integral or not PrimitiveType.of(source.dtype).is_float:
        return None
    low, high = _range(kind)
    wide = np.trunc(source.astype(np.float64))
    if np.all((wide >= float(low)) & (wide < float(high + 1))):
        return None
    return f"convert of a float that {kind.text} does not have"


_LEAST_SHARE = 1 / 16
"""Of the mean of squares, in the variance: below that more than four bits cancel."""


def _cancels(inst: HloInstruction, operands: Sequence[Value]) -> str | None:
    options = inst.attributes
    assert isinstance(options, BatchNormOptions)
    numbers = np.moveaxis(np.asarray(operands[0]).astype(np.float64), options.feature_index, 0)
    rows = numbers.reshape(numbers.shape[0], -1)
    if not rows.size:
        return None
    if np.any(rows.var(axis=1) < _LEAST_SHARE * np.mean(rows * rows, axis=1)):
        return "batch-norm-training of numbers whose variance cancels"
    return None


def _range(kind: PrimitiveType) -> tuple[int, int]:
    """The least and the largest number of an integer type."""
    if kind.is_unsigned:
        return 0, (1 << kind.bit_width) - 1
    half = 1 << (kind.bit_width - 1)
    return -half, half - 1
