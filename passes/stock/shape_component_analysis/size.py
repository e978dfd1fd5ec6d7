"""What is an integer known to be, whose value only a run tells? A polynomial in sizes of dimensions.

Shapes are computed in integers that wrap around, so a polynomial says its value modulo a power of two. That is
enough: a dimension of a tensor that exists has fewer than 2**31 elements (`get_dimension_size` gives an i32), and two
numbers in that range are equal if they are equal modulo 2**32.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

WIDEST: Final = 64
"""The bits of the widest integer type: what is known modulo 2**64 is known exactly."""
NARROWEST: Final = 32
"""A value of fewer bits is followed only where it is a constant: it may wrap around within the range of sizes."""
_LARGEST: Final = 2**31


@dataclass(frozen=True, order=True)
class Symbol:
    """Dimension `index` of the value numbered `value`, or its element `index` where `is_element`."""

    value: int
    index: int
    is_element: bool = False


Monomial = tuple[Symbol, ...]
"""The product of symbols, in order; of none it is 1."""


@dataclass(frozen=True)
class Size:
    """An integer equal to the sum of `terms` modulo 2**bits: each a monomial and its coefficient, in order."""

    terms: tuple[tuple[Monomial, int], ...]
    bits: int = WIDEST

    @classmethod
    def of(cls, value: int) -> Size:
        """A constant."""
        return _normal({(): value}, WIDEST)

    @classmethod
    def symbol(cls, symbol: Symbol) -> Size:
        """What is not known: a symbol of its own."""
        return _normal({(symbol,): 1}, WIDEST)

    def __add__(self, other: Size) -> Size:
        total = Counter(dict(self.terms))
        total.update(dict(other.terms))
        return _normal(total, min(self.bits, other.bits))

    def __neg__(self) -> Size:
        return _normal({monomial: -factor for monomial, factor in self.terms}, self.bits)

    def __sub__(self, other: Size) -> Size:
        return self + -other

    def __mul__(self, other: Size) -> Size:
        product: Counter[Monomial] = Counter()
        for one, first in self.terms:
            for two, second in other.terms:
                product[tuple(sorted(one + two))] += first * second
        return _normal(product, min(self.bits, other.bits))

    @property
    def residue(self) -> int | None:
        """The value modulo 2**bits, or None where only a run tells."""
        if not self.terms:
            return 0
        ((monomial, factor), *others) = self.terms
        return None if monomial or others else factor

    @property
    def exact(self) -> int | None:
        """The value, or None."""
        residue = self.residue
        if residue is None or self.bits < WIDEST:
            return None
        return residue - 2**WIDEST if residue >= 2 ** (WIDEST - 1) else residue

    @property
    def extent(self) -> int | None:
        """The value, where this is the size of a dimension that exists; None if a run tells, or it cannot be one."""
        residue = self.residue
        return residue if residue is not None and residue < _LARGEST else None

    @property
    def is_dimension(self) -> bool:
        """Whether this is exactly the size of one dimension, and so not negative."""
        return self.bits == WIDEST and self._is_one_dimension

    @property
    def _is_one_dimension(self) -> bool:
        if len(self.terms) != 1:
            return False
        ((monomial, factor),) = self.terms
        return factor == 1 and len(monomial) == 1 and not monomial[0].is_element

    def stored(self, width: int, *, unsigned: bool = False) -> Size | None:
        """The value when an integer of `width` bits has taken it up; None where that is too narrow to follow."""
        residue = self.residue
        if residue is not None and self.bits >= width:
            value = residue % 2**width
            return Size.of(value if unsigned or value < 2 ** (width - 1) else value - 2**width)
        if width < NARROWEST:
            return None
        if self._is_one_dimension and self.bits >= width:
            return Size(self.terms)
        return _normal(dict(self.terms), min(self.bits, width))

    def is_same_extent(self, other: Size) -> bool:
        """Whether both are surely equal, where each is the size of a dimension that exists."""
        bits = min(self.bits, other.bits)
        return _normal(dict(self.terms), bits).terms == _normal(dict(other.terms), bits).terms


def _normal(terms: Mapping[Monomial, int], bits: int) -> Size:
    reduced = {monomial: factor % 2**bits for monomial, factor in terms.items()}
    return Size(tuple(sorted((m, factor) for m, factor in reduced.items() if factor)), bits)
