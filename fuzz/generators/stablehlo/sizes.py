"""How large is an array, said before any size is known? A polynomial of symbols."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

Monomial = tuple[str, ...]
"""Symbols that are multiplied, sorted; none for a number."""


@dataclass(frozen=True)
class Size:
    """A sum of monomials with their coefficients, sorted, none of which is 0. Equal sizes are equal objects."""

    terms: tuple[tuple[Monomial, int], ...]

    @classmethod
    def of(cls, number: int) -> Size:
        """A size that is known."""
        return _size({(): number})

    @classmethod
    def symbol(cls, name: str) -> Size:
        """A size that is not known, and called so."""
        return _size({(name,): 1})

    @property
    def constant(self) -> int | None:
        """The number that it is, whatever the symbols are; None where it depends on them."""
        if not self.terms:
            return 0
        (monomial, number), *others = self.terms
        return number if not others and not monomial else None

    def value(self, symbols: Mapping[str, int]) -> int:
        """The number that it is for these symbols."""
        return sum(number * math.prod(symbols[name] for name in names) for names, number in self.terms)

    def __add__(self, other: Size | int) -> Size:
        found = dict(self.terms)
        for monomial, number in _as_size(other).terms:
            found[monomial] = found.get(monomial, 0) + number
        return _size(found)

    def __mul__(self, other: Size | int) -> Size:
        found: dict[Monomial, int] = {}
        for left, many in self.terms:
            for right, times in _as_size(other).terms:
                monomial = tuple(sorted(left + right))
                found[monomial] = found.get(monomial, 0) + many * times
        return _size(found)

    def __str__(self) -> str:
        parts = [
            "*".join((*([str(number)] if number != 1 or not names else []), *names))
            for names, number in self.terms
        ]
        return " + ".join(parts) or "0"


def _as_size(other: Size | int) -> Size:
    return Size.of(other) if isinstance(other, int) else other


def _size(terms: Mapping[Monomial, int]) -> Size:
    return Size(tuple(sorted((monomial, number) for monomial, number in terms.items() if number)))
