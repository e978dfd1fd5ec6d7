"""Which rule draws an opcode, and for which is there none, and why?"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fuzz.generators.graphs import (
    contraction,
    control,
    dynamic,
    elementwise,
    indexing,
    linalg,
    reduction,
    shape,
)
from fuzz.generators.graphs.graph import Graph
from hlo import NEWER, SPECS, Family, Opcode, merged
from hlo.interchange import installed_opcodes

_FAMILIES = (elementwise, shape, indexing, reduction, contraction, control, dynamic, linalg)
_COLLECTIVE = "takes more than one device, or a partner outside of the module"


RULES: Mapping[Opcode, Callable[[Graph, Opcode], None]] = merged(*(f.RULES for f in _FAMILIES))
"""Each appends an operation to a graph, with the operands that it needs."""

DRAWN = frozenset(RULES.keys() - (NEWER.keys() - set(installed_opcodes())))
"""Those that the installed jaxlib can print."""

GAPS: Mapping[Opcode, str] = merged(
    *(family.GAPS for family in _FAMILIES),
    {opcode: _COLLECTIVE for opcode, spec in SPECS.items() if spec.family is Family.COLLECTIVE},
)
