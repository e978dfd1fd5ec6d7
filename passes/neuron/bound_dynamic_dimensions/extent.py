"""What is known of a size before the program runs: a polynomial in what is not known, and so a range.

Two sizes with the same polynomial are equal in every run. The range gives the bound.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Hashable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

Monomial = tuple[int, ...]
"""The product of unknowns, by their numbers in rising order; of none it is 1."""

UNLIMITED: Final = 2**80
"""Stands for infinity in a range."""

Range = tuple[int, int]
"""The least and the greatest value, both included."""

ANY: Final[Range] = (-UNLIMITED, UNLIMITED)


@dataclass(frozen=True)
class Extent:
    """An integer: the sum of `terms`, each a monomial and its coefficient, in order."""

    terms: tuple[tuple[Monomial, int], ...]

    @classmethod
    def of(cls, value: int) -> Extent:
        """A constant."""
        return _normal({(): value})

    @property
    def constant(self) -> int | None:
        """The value, or None where only a run tells."""
        if not self.terms:
            return 0
        ((monomial, factor), *others) = self.terms
        return None if monomial or others else factor

    @property
    def unknown(self) -> int | None:
        """The number of the unknown that this is, alone and once; None where it is something else."""
        if len(self.terms) != 1:
            return None
        ((monomial, factor),) = self.terms
        return monomial[0] if factor == 1 and len(monomial) == 1 else None

    def __add__(self, other: Extent) -> Extent:
        total = Counter(dict(self.terms))
        total.update(dict(other.terms))
        return _normal(total)

    def __sub__(self, other: Extent) -> Extent:
        return self + other * Extent.of(-1)

    def __mul__(self, other: Extent) -> Extent:
        product: Counter[Monomial] = Counter()
        for one, first in self.terms:
            for two, second in other.terms:
                product[tuple(sorted(one + two))] += first * second
        return _normal(product)


def _normal(terms: Mapping[Monomial, int]) -> Extent:
    return Extent(tuple(sorted((monomial, factor) for monomial, factor in terms.items() if factor)))


def _age(extent: Extent) -> int:
    """What is younger is told by what is older; what is no unknown on its own is the oldest."""
    return -1 if extent.unknown is None else extent.unknown


class Unknowns:
    """The unknowns of one program: how large each can be, and which are equal to others."""

    def __init__(self) -> None:
        self._ranges: list[Range] = []
        self._computed: dict[Hashable, Extent] = {}
        self._equal: dict[int, Extent] = {}
        self._is_certain = True

    def new(self, within: Range = ANY) -> Extent:
        """An unknown of its own."""
        self._ranges.append(within)
        return Extent((((len(self._ranges) - 1,), 1),))

    def computed(self, how: str, operands: tuple[Extent, ...], within: Range) -> Extent:
        """What `how` gives for `operands`: the same unknown for the same ones."""
        key = (how, operands)
        if key not in self._computed:
            self._computed[key] = self.new(within)
        return self._computed[key]

    def equate(self, one: Extent, other: Extent) -> None:
        """Take two sizes to be equal from here on, if one of them is an unknown, and what says so is sure to run."""
        one, other = self.settled(one), self.settled(other)
        if one == other or not self._is_certain:
            return
        later, earlier = sorted((one, other), key=_age, reverse=True)
        number = later.unknown
        if number is None or any(number in monomial for monomial, _ in earlier.terms):
            return
        self._equal[number] = earlier
        if (kept := earlier.unknown) is not None:
            mine, its = self._ranges[number], self._ranges[kept]
            self._ranges[kept] = (max(mine[0], its[0]), min(mine[1], its[1]))

    @contextmanager
    def uncertain(self) -> Generator[None, None, None]:
        """Meanwhile, nothing makes two sizes equal."""
        before, self._is_certain = self._is_certain, False
        try:
            yield
        finally:
            self._is_certain = before

    def settled(self, extent: Extent) -> Extent:
        """`extent` in terms of unknowns that nothing is known to be equal to."""
        while any(number in self._equal for monomial, _ in extent.terms for number in monomial):
            total = Extent(())
            for monomial, factor in extent.terms:
                product = Extent.of(factor)
                for number in monomial:
                    product *= self._equal.get(number, Extent((((number,), 1),)))
                total += product
            extent = total
        return extent

    def same(self, one: Extent, other: Extent) -> bool:
        """Whether both are equal in every run."""
        return self.settled(one) == self.settled(other)

    def range(self, extent: Extent) -> Range:
        """Between which values it lies."""
        least = most = 0
        for monomial, factor in self.settled(extent).terms:
            low = high = factor
            for number in monomial:
                corners = [a * b for a in (low, high) for b in self._ranges[number]]
                low, high = min(corners), max(corners)
            least, most = least + low, most + high
        return max(least, -UNLIMITED), min(most, UNLIMITED)

    def combined(self, how: str, operands: tuple[Extent, ...], combine: Callable[..., int]) -> Extent:
        """As `computed`, for a function that rises or falls in each operand: its range is at the corners."""
        constants = [operand.constant for operand in operands]
        known = [value for value in constants if value is not None]
        if len(known) == len(operands):
            return Extent.of(combine(*known))
        corners = [()]
        for operand in operands:
            corners = [(*corner, end) for corner in corners for end in self.range(operand)]
        values = [combine(*corner) for corner in corners]
        return self.computed(how, operands, (min(values), max(values)))
