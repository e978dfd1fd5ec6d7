"""Does a concrete shape fit within a bounded one, and has each dimension a bound at all?"""

from __future__ import annotations

from hlo.errors import InvalidInput
from hlo.module import HloModule
from hlo.shape import UNBOUNDED, ArrayShape, Shape, TupleShape, leaves


def dynamic_shape_is_compatible(actual: Shape, bound: Shape) -> bool:
    """Whether `actual`, leaf by leaf, is `bound` but for dynamic dimensions that may be smaller.

    Element types and ranks must agree, as must the tuple structure on both sides; a dimension is at most the bound
    where `bound` flags it, and equal elsewhere. Source: `004_a2dddaa7cc47048c.txt`, "Compatibility and Validation".
    """
    if isinstance(actual, ArrayShape) and isinstance(bound, ArrayShape):
        return (
            actual.element_type is bound.element_type
            and actual.rank == bound.rank
            and all(
                size <= limit if bound.is_dynamic_dimension(d) else size == limit
                for d, (size, limit) in enumerate(zip(actual.dimensions, bound.dimensions, strict=True))
            )
        )
    if isinstance(actual, TupleShape) and isinstance(bound, TupleShape):
        return len(actual.elements) == len(bound.elements) and all(
            map(dynamic_shape_is_compatible, actual.elements, bound.elements)
        )
    return actual == bound


def upstream_dynamic_shape_is_compatible(dynamic: Shape, bounded: Shape) -> bool:
    """What upstream's `ShapeUtil::DynamicShapeIsCompatible` answers, which is laxer.

    It walks `dynamic` only, so that further elements of a tuple in `bounded` go unnoticed; it looks at dimensions
    only where the leaf of `dynamic` is not static, never at element types, and never at the flags of `bounded`.
    Source: `stock_passes.md` section 1.2.
    """
    if isinstance(dynamic, TupleShape):
        return (
            isinstance(bounded, TupleShape)
            and len(bounded.elements) >= len(dynamic.elements)
            and all(map(upstream_dynamic_shape_is_compatible, dynamic.elements, bounded.elements))
        )
    if isinstance(dynamic, ArrayShape):
        return isinstance(bounded, ArrayShape) and (
            dynamic.is_static
            or (
                dynamic.rank == bounded.rank
                and all(
                    size <= limit for size, limit in zip(dynamic.dimensions, bounded.dimensions, strict=True)
                )
            )
        )
    return type(dynamic) is type(bounded)


def is_unbounded(shape: Shape) -> bool:
    """Whether an array below `shape` has a dimension without a bound (`?` in HLO text).

    Such a dimension fits any other, which our rules do not know: no pass of ours handles it
    (`stock_passes.md` section 1.1 point 6).
    """
    return any(isinstance(leaf, ArrayShape) and UNBOUNDED in leaf.dimensions for _, leaf in leaves(shape))


def refuse_unbounded(module: HloModule) -> None:
    """Raise InvalidInput, naming the first instruction that has a dimension without a bound, if there is one.

    Reading and writing carry such programs through unchanged, since XLA's own tools print them; nothing runs or
    rewrites them. The message is that of `004_a2dddaa7cc47048c.txt`, "Representation", with the place.
    """
    for computation in module.computations:
        for inst in computation.instructions:
            if is_unbounded(inst.shape):
                complaint = (
                    f"Invalid dimension size {UNBOUNDED}, is_dynamic=true: a dimension without a bound"
                )
                raise InvalidInput(f"{computation.name}: {inst.name}: {complaint}")
