"""What may graphs contain? Knobs that narrow them."""

from __future__ import annotations

from dataclasses import dataclass

from fuzz.generators.graphs.palette import ORDINARY, SHAPES
from hlo import Family, PrimitiveType
from hlo.attributes import Ints

_FAMILIES = tuple(family for family in Family if family is not Family.COLLECTIVE)


@dataclass(frozen=True)
class GraphProfile:
    """Bounds. `types` are those that operations choose of where they can; some have needs of their own.

    `idioms` may have operations of every family, whatever `families` says.
    """

    types: tuple[PrimitiveType, ...] = ORDINARY
    shapes: tuple[Ints, ...] = SHAPES
    families: tuple[Family, ...] = _FAMILIES
    least_operations: int = 5
    most_operations: int = 25
    idioms: bool = True
