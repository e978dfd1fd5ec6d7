"""Which rule computes an opcode, and for which is there none, and why?"""

from __future__ import annotations

from collections.abc import Mapping

from hlo.evaluator import (
    batch_norm,
    contraction,
    control,
    convolution,
    dynamic,
    elementwise,
    gather_scatter,
    grouped_dots,
    indexing,
    linalg,
    mapping,
    random_bits,
    reduction,
    scan,
    shape,
    sort,
    windows,
)
from hlo.evaluator.kernels import Rule
from hlo.opcode import SPECS, Family, Opcode, merged

_RULES = (
    *(elementwise.RULES, mapping.RULES, shape.RULES, indexing.RULES, gather_scatter.RULES),
    *(reduction.RULES, windows.RULES, sort.RULES, scan.RULES),
    *(contraction.RULES, grouped_dots.RULES, convolution.RULES),
    *(linalg.RULES, batch_norm.RULES, control.RULES, random_bits.RULES, dynamic.RULES),
)
_COLLECTIVE = "not in scope: one device has nothing to exchange, and transfers have no value"


RULES: Mapping[Opcode, Rule] = merged(*_RULES)

GAPS: Mapping[Opcode, str] = merged(
    control.GAPS, {op: _COLLECTIVE for op, spec in SPECS.items() if spec.family is Family.COLLECTIVE}
)
