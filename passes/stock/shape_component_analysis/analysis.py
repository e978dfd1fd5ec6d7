"""Which size has each dimension of a tensor, and each element of an array of sizes, in terms of other sizes?

Works backwards from the value that is asked for. An analysis is only good until the program changes, since it knows
values by where they are.

Source: `xla/mlir_hlo/stablehlo_ext/analysis/shape_component_analysis.cc` (upstream follows sums and products and takes
no account of wrapping around; see `size`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from passes.stock.shape_component_analysis.dimension_rules import DIMENSION_RULES, OF_BOUNDED, SHAPE_SOURCES
from passes.stock.shape_component_analysis.element_rules import ELEMENT_RULES
from passes.stock.shape_component_analysis.size import WIDEST, Size, Symbol
from passes.stock.shape_component_analysis.values import (
    dimensions,
    element_count,
    integer_type,
    is_ranked,
    producer,
)

_DEEPEST: Final = 100
"""How many operations are followed on one way, loops over operations of one shape aside."""
_MOST_ELEMENTS: Final = 64
"""What holds more is no array of sizes."""
_SHAPES: Final = frozenset({"!shape.shape", "tensor<?xindex>"})
"""The types of shapes of any rank, in the dialect shape: on the way they may be longer than at its ends."""


class ShapeComponentAnalysis:
    """Symbolic sizes in one program, which must not change meanwhile."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}
        self._sizes: dict[Any, tuple[Size, ...]] = {}
        self._elements: dict[Any, tuple[Size, ...] | None] = {}
        self._depth = 0

    def sizes(self, value: Any) -> tuple[Size, ...]:
        """The size of each dimension of a ranked tensor."""
        known = self._sizes.get(value)
        if known is None:
            known = self._find_sizes(value)
            if self._depth < _DEEPEST:
                self._sizes[value] = known
        return known

    def elements(self, value: Any) -> tuple[Size, ...] | None:
        """Each element of an integer tensor, in row-major order, or of a scalar; None where they are not followed."""
        if value in self._elements:
            return self._elements[value]
        found = self._find_elements(value)
        if self._depth < _DEEPEST:
            self._elements[value] = found
        return found

    def integers(self, value: Any) -> tuple[int, ...] | None:
        """The elements of an integer tensor that is a constant in effect; None if it is not."""
        elements = self.elements(value) or ()
        found = tuple(element.exact for element in elements if element.exact is not None)
        return found if len(found) == len(elements) and element_count(value) == len(found) else None

    def have_same_shape(self, one: tuple[Size, ...] | None, other: tuple[Size, ...] | None) -> bool:
        """Whether two shapes of tensors that exist are surely the same."""
        if one is None or other is None or len(one) != len(other):
            return False
        return all(mine.is_same_extent(yours) for mine, yours in zip(one, other, strict=True))

    def value_of(self, symbol: Symbol) -> Any:
        """The value whose dimension or element a symbol is."""
        return next(value for value, number in self._numbers.items() if number == symbol.value)

    def _find_sizes(self, value: Any) -> tuple[Size, ...]:
        known = list(dimensions(value))
        at, found = value, None
        # Chains of one shape are long, and what is known of any of them holds for all.
        while None in known and (found := self._sizes.get(at)) is None:
            others = self._of_same_shape(at)
            if not others:
                break
            for other in others:
                for d, size in enumerate(dimensions(other)):
                    known[d] = size if known[d] is None else known[d]
            at = others[0]
        if found is None and None in known:
            found = self._produced_sizes(at)
        return tuple(
            Size.of(size)
            if size is not None
            else (found[d] if found else None) or Size.symbol(Symbol(self._number(at), d))
            for d, size in enumerate(known)
        )

    def _of_same_shape(self, value: Any) -> Sequence[Any]:
        """The operands that have the shape of `value`, if any."""
        op = producer(value)
        source = SHAPE_SOURCES.get(op.name) if op is not None else None
        others = source(op, value) if op is not None and source is not None else ()
        if any(map(_is_bounded, (value, *others))):  # beside a bounded size, a static one says nothing
            others = list(filter(_is_bounded, others))
        return others if all(map(is_ranked, others)) else ()

    def _produced_sizes(self, value: Any) -> Sequence[Size | None]:
        op = producer(value)
        rule = DIMENSION_RULES.get(op.name) if op is not None else None
        if op is None or rule is None or self._depth >= _DEEPEST:
            return ()
        if op.name not in OF_BOUNDED and any(map(_is_bounded, op.operands)):
            return ()
        self._depth += 1
        try:
            return rule(self, op, value)
        finally:
            self._depth -= 1

    def _find_elements(self, value: Any) -> tuple[Size, ...] | None:
        kind, count = integer_type(value), element_count(value)
        if str(value.type) in _SHAPES:
            kind, count = (WIDEST, False), None
        elif kind is None or count is None or count > _MOST_ELEMENTS:
            return None
        found = self._produced_elements(value)
        if count is None and found is None:
            return None
        if found is None or (count is not None and len(found) != count):
            found = (None,) * (count or 0)
        width, unsigned = kind
        stored = [size.stored(width, unsigned=unsigned) if size is not None else None for size in found]
        return tuple(
            size or Size.symbol(Symbol(self._number(value), i, is_element=True))
            for i, size in enumerate(stored)
        )

    def _produced_elements(self, value: Any) -> tuple[Size | None, ...] | None:
        op = producer(value)
        rule = ELEMENT_RULES.get(op.name) if op is not None else None
        if rule is None or self._depth >= _DEEPEST:
            return None
        self._depth += 1
        try:
            return rule(self, op, value)
        finally:
            self._depth -= 1

    def _number(self, value: Any) -> int:
        return self._numbers.setdefault(value, len(self._numbers))


def _is_bounded(value: Any) -> bool:
    return is_ranked(value) and value.type.encoding is not None
