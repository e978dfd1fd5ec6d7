"""On which operands may a compiler give an integer operation one value here and another one there?

Our evaluator and XLA's code generator have one value for each of these cases and agree on it, so the two are compared
on them. But a compiler as a whole is free: one of its passes may choose another value than its code generator.
Sources: XLA's operation semantics, on integer division overflow ("implementation-defined"); StableHLO's
specification, convert, on numbers that the integer type does not have.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hlo import HloInstruction, Opcode, PrimitiveType, Value


def implementation_defined(inst: HloInstruction, operands: Sequence[Value]) -> str | None:
    """Why a compiler is free in what it gives `inst` of these operands; None: it is not."""
    match inst.opcode:
        case Opcode.DIVIDE | Opcode.REMAINDER:
            return _divides_without_quotient(inst, operands)
        case Opcode.CONVERT:
            return _converts_without_image(inst, operands)
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


def _range(kind: PrimitiveType) -> tuple[int, int]:
    """The least and the largest number of an integer type."""
    if kind.is_unsigned:
        return 0, (1 << kind.bit_width) - 1
    half = 1 << (kind.bit_width - 1)
    return -half, half - 1
