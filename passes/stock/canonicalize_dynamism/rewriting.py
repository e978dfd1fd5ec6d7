"""What have the patterns of this pass in common: their form, and casts to the types that programs declare?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hlo.interchange.mlir import dialect, ir
from passes.stock.shape_component_analysis import ShapeComponentAnalysis, dimensions, integer_type, is_ranked

DIMENSION_TYPES: Final = frozenset({"i32", "i64", "ui32", "ui64"})
"""The element types of shapes with which StableHLO itself can compute; `index` is not among them."""


@dataclass(frozen=True)
class Rule:
    """A pattern by its name: `rewrite` replaces operations called `op` and says so, or leaves all as it was.

    It takes the operation, MLIR's rewriter, whose insertion point is in front of the operation, and an analysis of
    the program as it is.
    """

    name: str
    op: str
    rewrite: Callable[[Any, Any, ShapeComponentAnalysis], bool]


def is_unknown(value: Any) -> bool:
    """Whether `value` is a ranked tensor with a size that is neither known nor bounded."""
    return is_ranked(value) and value.type.encoding is None and None in dimensions(value)


def is_static(value: Any) -> bool:
    """Whether the type of `value` says each size."""
    return is_ranked(value) and None not in dimensions(value)


def is_bounded(value: Any) -> bool:
    """Whether `value` is a ranked tensor whose type has bounds."""
    return is_ranked(value) and value.type.encoding is not None


def can_cast(value: Any, wanted: Any) -> bool:
    """Whether `cast` can: a bounded tensor is no static one, whatever its size."""
    return bool(value.type == wanted) or (value.type.encoding is None and wanted.encoding is None)


def cast(value: Any, wanted: Any) -> Any:
    """`value` as a tensor of the type `wanted`, which says more or less about the sizes.

    StableHLO's own means is a conversion to the same element type; upstream uses `tensor.cast`, which has no HLO.
    """
    return value if value.type == wanted else dialect().convert(wanted, value)


def is_cast(op: Any) -> bool:
    """Whether `op` is what `cast` makes: it changes nothing but what its type says about sizes."""
    if op.name != "stablehlo.convert":
        return False
    source, result = op.operands[0], op.results[0]
    if not is_ranked(source) or source.type.element_type != result.type.element_type:
        return False
    return can_cast(source, result.type)


def scalar_at(shape: Any, number: int) -> Any:
    """Element `number` of an array of sizes, as a scalar of its type."""
    owner = shape.owner
    op = None if isinstance(owner, ir().Block) else owner.operation
    parts = list(op.operands) if op is not None and op.name == "stablehlo.concatenate" else []
    if dimensions(shape) == (1,):
        one = shape
    elif parts and all(dimensions(part) == (1,) for part in parts):
        one = parts[number]
    else:
        one = dialect().slice(shape, [number], [number + 1], [1])
    source = one.owner
    if not isinstance(source, ir().Block) and source.operation.name == "stablehlo.reshape":
        scalar = source.operation.operands[0]
        if dimensions(scalar) == ():
            return scalar
    return dialect().reshape(ir().RankedTensorType.get([], shape.type.element_type), one)


def has_dimension_type(value: Any) -> bool:
    """Whether StableHLO can compute with the elements of an array of sizes."""
    return integer_type(value) is not None and str(value.type.element_type) in DIMENSION_TYPES


def holds(op: Any) -> bool:
    """Whether MLIR's verifier has nothing against an operation."""
    refusal: type[Exception] = ir().MLIRError
    try:
        return bool(op.operation.verify())
    except refusal:
        return False


def replaced(op: Any, rewriter: Any, new: Any) -> bool:
    """Put the results of `new` in the place of those of `op`, unless `new` is not valid: then it goes again."""
    new = new.owner if isinstance(new, ir().Value) else new
    if not holds(new):
        rewriter.erase_op(new)
        return False
    rewriter.replace_op(op, list(new.results))
    return True


def identity(numbers: Sequence[int], rank: int) -> bool:
    """Whether `numbers` are those of all dimensions, in order."""
    return list(numbers) == list(range(rank))
