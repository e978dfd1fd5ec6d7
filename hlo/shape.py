"""What does an HLO value look like: an array, a tuple, a token, or something opaque?

Shapes are values: compared by meaning, never by identity. A layout says how a buffer lies in memory and
changes no value, so it rides along outside the comparison (`Compatible` upstream, not `Equal`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

from hlo.primitive_type import PrimitiveType

UNBOUNDED = -(2**63)
"""What the proto says for the size of a dynamic dimension that has no bound (`kUnboundedSize` upstream)."""


@dataclass(frozen=True)
class ArrayShape:
    """A dense array.

    `dimensions` are bounds, in elements; `dynamic` says for each dimension whether its size at run time may be
    smaller (`<=N` in HLO text). `layout` is a serialised `LayoutProto`, or None for the default descending one.
    """

    element_type: PrimitiveType
    dimensions: tuple[int, ...] = ()
    dynamic: tuple[bool, ...] = ()
    layout: bytes | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        # "no dimension is dynamic" has one spelling, so that equal shapes compare equal
        if self.dynamic and not any(self.dynamic):
            object.__setattr__(self, "dynamic", ())
        if self.dynamic and len(self.dynamic) != len(self.dimensions):
            raise ValueError(f"{len(self.dynamic)} dynamic flags for {len(self.dimensions)} dimensions")

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.dimensions)

    @cached_property
    def element_count(self) -> int:
        """Elements at the bounds; 1 for a scalar."""
        return math.prod(self.dimensions)

    @property
    def is_scalar(self) -> bool:
        """Rank 0."""
        return not self.dimensions

    @property
    def is_static(self) -> bool:
        """No dimension is dynamic."""
        return not self.dynamic

    def is_dynamic_dimension(self, dimension: int) -> bool:
        """Whether `dimension` (0-based) is dynamic."""
        return bool(self.dynamic) and self.dynamic[dimension]

    def with_dimensions(self, dimensions: tuple[int, ...]) -> ArrayShape:
        """A static shape of the same element type and the default layout."""
        return ArrayShape(self.element_type, dimensions)

    def with_element_type(self, element_type: PrimitiveType) -> ArrayShape:
        """The same dimensions with another element type, in the default layout."""
        return ArrayShape(element_type, self.dimensions, self.dynamic)

    def to_static(self) -> ArrayShape:
        """The same bounds with every dynamic flag cleared."""
        return replace(self, dynamic=())

    def __str__(self) -> str:
        dims = ",".join(
            f"<={size}" if self.is_dynamic_dimension(i) else str(size)
            for i, size in enumerate(self.dimensions)
        )
        return f"{self.element_type.text}[{dims}]"


@dataclass(frozen=True)
class TupleShape:
    """A tuple of shapes, possibly nested, possibly empty."""

    elements: tuple[Shape, ...] = ()

    @property
    def is_static(self) -> bool:
        """No array below has a dynamic dimension."""
        return all(element.is_static for element in self.elements)

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.elements))})"


@dataclass(frozen=True)
class TokenShape:
    """The type of ordering tokens; it has no data."""

    @property
    def is_static(self) -> bool:
        """Always: there is no dimension."""
        return True

    def __str__(self) -> str:
        return "token[]"


@dataclass(frozen=True)
class OpaqueShape:
    """A type that HLO does not look into. `carried` is the serialised `ShapeProto`."""

    carried: bytes = b""

    @property
    def is_static(self) -> bool:
        """Always: there is no dimension."""
        return True

    def __str__(self) -> str:
        return "opaque[]"


Shape = ArrayShape | TupleShape | TokenShape | OpaqueShape


def leaves(shape: Shape, index: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Shape]]:
    """Every non-tuple shape below `shape` with its shape index, in order."""
    if isinstance(shape, TupleShape):
        for i, element in enumerate(shape.elements):
            yield from leaves(element, (*index, i))
    else:
        yield index, shape


def compatible(left: Shape, right: Shape) -> bool:
    """Same structure, element types and bounds; dynamic flags and layouts are ignored.

    Source: `ShapeUtil::Compatible`, `stock_passes.md` section 1.1 point 5.
    """
    if isinstance(left, ArrayShape) and isinstance(right, ArrayShape):
        return left.element_type is right.element_type and left.dimensions == right.dimensions
    if isinstance(left, TupleShape) and isinstance(right, TupleShape):
        return len(left.elements) == len(right.elements) and all(
            compatible(a, b) for a, b in zip(left.elements, right.elements, strict=True)
        )
    return left == right


def layouts(shape: Shape) -> object:
    """What comparing shapes leaves out: the `layout` of each array, nested as the shape is."""
    if isinstance(shape, ArrayShape):
        return shape.layout
    if isinstance(shape, TupleShape):
        return tuple(map(layouts, shape.elements))
    return None


def with_element(shape: TupleShape, index: int, element: Shape) -> TupleShape:
    """`shape` with the element at `index` replaced."""
    return TupleShape((*shape.elements[:index], element, *shape.elements[index + 1 :]))
