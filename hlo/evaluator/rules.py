"""Which rule computes an opcode, and for which is there none, and why?"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeVar

from hlo.evaluator import contraction, control, dynamic, elementwise, indexing, reduction, shape
from hlo.evaluator.kernels import Rule
from hlo.opcode import SPECS, Family, Opcode

T = TypeVar("T")

_FAMILIES = (elementwise, shape, indexing, reduction, contraction, control, dynamic)
_WITHOUT_RULES = {
    Family.LINALG: "not in scope: linear algebra and normalisation are not what the passes rewrite",
    Family.COLLECTIVE: "not in scope: one device has nothing to exchange, and transfers have no value",
}


def merged(maps: tuple[Mapping[Opcode, T], ...]) -> Mapping[Opcode, T]:
    """One map of all. Raises ValueError where two of them have the same opcode."""
    result: dict[Opcode, T] = {}
    for each in maps:
        if twice := result.keys() & each.keys():
            raise ValueError(f"two families answer for {sorted(twice)}")
        result |= each
    return MappingProxyType(result)


RULES: Mapping[Opcode, Rule] = merged(tuple(family.RULES for family in _FAMILIES))

GAPS: Mapping[Opcode, str] = merged(
    (
        *(family.GAPS for family in _FAMILIES),
        {op: _WITHOUT_RULES[spec.family] for op, spec in SPECS.items() if spec.family in _WITHOUT_RULES},
    )
)
