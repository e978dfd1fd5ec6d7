"""Which values do the rewrites of a program with bounds make again and again?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hlo import PrimitiveType
from hlo.evaluator import PAD_TO_STATIC
from hlo.stablehlo import TensorType, dialect, integer_constant, ir, type_of

SIZE = "tensor<i32>"


def parsed(kind: TensorType | str) -> Any:
    """A type as MLIR has it."""
    return ir().Type.parse(str(kind))


def sizes_at_bound(kind: TensorType) -> tuple[int, ...]:
    """How large an array of this type can be, each dimension of which is known or has a bound."""
    pairs = zip(kind.dimensions, kind.bounds, strict=True)
    return tuple(size if size is not None else bound or 0 for size, bound in pairs)


def static_at_bound(kind: TensorType) -> TensorType:
    """As large as its bounds."""
    return kind.with_dimensions(sizes_at_bound(kind))


def with_sizes(value: Any, wanted: TensorType, size_of: Callable[[int], Any]) -> Any:
    """`value`, as large as its bounds, with its size set in each dimension that `wanted` does not know."""
    known = list(static_at_bound(wanted).dimensions)
    bounds: list[int | None] = [None] * wanted.rank
    for d, bound in enumerate(wanted.bounds):
        if bound is None:
            continue
        known[d], bounds[d] = None, bound
        kind = TensorType(wanted.element_type, tuple(known), tuple(bounds))
        value = dialect().set_dimension_size(value, size_of(d), d, results=[parsed(kind)])
    return value


def made_static(value: Any) -> tuple[Any, list[Any]]:
    """The array as it lies in memory, with anything in its padding, and the size of each dimension."""
    kind = type_of(value.type)
    if kind.is_static:
        return value, [integer_constant(size) for size in kind.dimensions]
    results = [parsed(static_at_bound(kind)), *[parsed(SIZE)] * kind.rank]
    data, *sizes = dialect().custom_call(results, [value], PAD_TO_STATIC)
    return data, sizes


def masked(data: Any, sizes: Mapping[int, Any], filler: Any) -> Any:
    """`data` with the scalar `filler` in place of all that is not below the size, in the dimensions that have one."""
    kind = type_of(data.type)
    flags = None
    numbers = parsed(TensorType(PrimitiveType.S32, kind.dimensions))
    for d, size in sizes.items():
        place = dialect().iota(numbers, d)
        limit = dialect().broadcast_in_dim(numbers, size, [])
        below = dialect().compare(place, limit, dialect().ComparisonDirectionAttr.get("LT"))
        flags = below if flags is None else dialect().and_(flags, below)
    if flags is None:
        return data
    return dialect().select(flags, data, dialect().broadcast_in_dim(parsed(kind), filler, []))


def zeros(kind: TensorType, dimensions: Sequence[int]) -> Any:
    """An array of the element type of `kind`, filled with zeros."""
    element, wanted = kind.element_type, kind.with_dimensions(dimensions)
    if element.is_complex:  # jaxlib cannot hand out such constants
        part = TensorType(PrimitiveType.F32 if element is PrimitiveType.C64 else PrimitiveType.F64, ())
        half = zeros(part, dimensions)
        return dialect().complex(half, half)
    spelled = "false" if element is PrimitiveType.PRED else "0.0" if element.is_float else "0"
    return dialect().constant(ir().Attribute.parse(f"dense<{spelled}> : {wanted}"))


def resized(data: Any, d: int, size: int) -> Any:
    """A static array with another size in dimension `d`: the elements behind are cut off, or zeros are put there."""
    shape = type_of(data.type)
    nothing = [0] * shape.rank
    more = [size - old if place == d else 0 for place, old in enumerate(data.type.shape)]
    return dialect().pad(data, zeros(shape, ()), nothing, more, nothing)


def spread_if_one(data: Any, d: int, counts: Any, size: int) -> Any:
    """A static array as large as `size` in dimension `d`: its first element repeated, if `counts` is 1 when it runs."""
    rank = data.type.rank
    as_it_is = resized(data, d, size)
    first = resized(data, d, 1)
    repeated = dialect().broadcast_in_dim(as_it_is.type, first, list(range(rank)))
    is_one = dialect().compare(counts, integer_constant(1), dialect().ComparisonDirectionAttr.get("EQ"))
    return dialect().select(is_one, repeated, as_it_is)
