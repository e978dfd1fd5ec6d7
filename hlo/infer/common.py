"""What do all shape rules share: the error, the signature of a callee, and how a result is made?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from hlo.attributes import Attributes
from hlo.bounds import is_unbounded
from hlo.errors import HloFuzzError
from hlo.primitive_type import PrimitiveType
from hlo.shape import ArrayShape, Shape, TupleShape

T = TypeVar("T")


class ShapeError(HloFuzzError):
    """Operands, attributes, callees and declared shape of an instruction do not fit together."""

    def __init__(self, message: str) -> None:
        self.message = message
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Signature:
    """What a called computation takes, by parameter number, and gives."""

    parameters: tuple[Shape, ...]
    result: Shape


Rule = Callable[[Sequence[Shape], Attributes, Sequence[Signature], Shape | None], Shape]
"""(operand shapes, attributes, callees, declared shape or None) -> shape of the result, or ShapeError.

The number of operands and callees is already what `SPECS` says when a rule runs. A rule that works the result
out reads `declared` for nothing but to hand it back where it is equal, which saves making the shape again.
"""


def array(shape: Shape) -> ArrayShape:
    """`shape`, which must be an array."""
    if isinstance(shape, ArrayShape):
        return shape
    raise ShapeError(f"expected an array, got {shape}")


def expect(attributes: Attributes, kind: type[T]) -> T:
    """`attributes`, which must be of `kind`."""
    if isinstance(attributes, kind):
        return attributes
    raise ShapeError(f"expected {kind.__name__} attributes, got {type(attributes).__name__}")


def declared_array(declared: Shape | None) -> ArrayShape:
    """The declared shape of an instruction whose result is not determined by its operands."""
    if declared is None:
        raise ShapeError("the operands do not determine the result: declare its shape")
    shape = array(declared)
    if shape.dimensions and min(shape.dimensions) < 0 and not is_unbounded(shape):
        raise ShapeError(f"{shape} has a negative dimension")
    return shape


def result(
    element_type: PrimitiveType,
    dimensions: tuple[int, ...],
    dynamic: tuple[bool, ...],
    declared: Shape | None,
) -> ArrayShape:
    """The array shape with these parts, in the default layout; `declared` itself where it is equal."""
    if dynamic and not any(dynamic):
        dynamic = ()
    if (
        isinstance(declared, ArrayShape)
        and declared.element_type is element_type
        and declared.dimensions == dimensions
        and declared.dynamic == dynamic
    ):
        return declared
    return ArrayShape(element_type, dimensions, dynamic)


def with_element_type(shape: ArrayShape, element_type: PrimitiveType, declared: Shape | None) -> ArrayShape:
    """`shape` with another element type."""
    return result(element_type, shape.dimensions, shape.dynamic, declared)


def with_flags_of(shape: ArrayShape, others: Iterable[ArrayShape]) -> ArrayShape:
    """`shape` with each dimension flagged that is flagged in it or in one of `others`, of equal rank.

    Source: `stock_passes.md` section 3.6, and `InferElementwiseBinaryOpShape` upstream for the merge.
    """
    flags = shape.dynamic
    for other in others:
        if other.dynamic and other.dynamic != flags:
            mine = flags or (False,) * shape.rank
            flags = tuple(a or b for a, b in zip(mine, other.dynamic, strict=True))
    return shape if flags == shape.dynamic else ArrayShape(shape.element_type, shape.dimensions, flags)


def merge_flags(first: Shape, other: Shape) -> Shape:
    """`first`, flagged where either is. Both must be compatible; looks into tuples."""
    if isinstance(first, TupleShape) and isinstance(other, TupleShape):
        return TupleShape(
            tuple(merge_flags(a, b) for a, b in zip(first.elements, other.elements, strict=True))
        )
    if isinstance(first, ArrayShape) and isinstance(other, ArrayShape):
        return with_flags_of(first, (other,))
    return first


def check_dimension(dimension: int, rank: int) -> None:
    """`dimension` must be one of a shape of `rank`."""
    if not 0 <= dimension < rank:
        raise ShapeError(f"dimension {dimension} is not in [0, {rank})")


def check_dimensions(dimensions: tuple[int, ...], rank: int) -> None:
    """Each of `dimensions` must be one of a shape of `rank`, and none may come twice."""
    for dimension in dimensions:
        check_dimension(dimension, rank)
    if len(set(dimensions)) != len(dimensions):
        raise ShapeError(f"dimensions {list(dimensions)} repeat one")


def only_dimension(dimensions: tuple[int, ...], rank: int) -> int:
    """The dimension of an opcode that works on exactly one."""
    if len(dimensions) != 1:
        raise ShapeError(f"expected exactly one dimension, got {list(dimensions)}")
    check_dimension(dimensions[0], rank)
    return dimensions[0]


def same_but_for_float_precision(left: PrimitiveType, right: PrimitiveType) -> bool:
    """Equal, or both floating point. Source: `SameElementTypeIgnoringFpPrecision` upstream."""
    return left is right or (left.is_float and right.is_float)
