"""Which fields of an `HloInstructionProto` does each attribute record stand for?

One row per record type: the fields it takes out of the proto, how it is read from them, and how they are
filled in. What no row takes stays in the instruction's `carried`.
"""

from collections.abc import Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, TypeVar

from hlo.attributes import (
    NONE,
    UNMODELLED,
    Attributes,
    Comparison,
    ConstantValue,
    Dimensions,
    NoAttributes,
    PaddingConfig,
    ParameterNumber,
    SliceBounds,
    SliceSizes,
    TupleIndex,
    Unmodelled,
)
from hlo.errors import IllegalRewrite, InvalidInput
from hlo.graph import HloInstruction
from hlo.interchange.literals import is_literal_of, literal_bytes, read_literal
from hlo.interchange.numbered_records import NUMBERED_RECORDS
from hlo.interchange.record import Record
from hlo.interchange.schema import HloInstructionProto, LiteralProto, serialize
from hlo.interchange.wire import tagged
from hlo.literal import Literal
from hlo.primitive_type import PrimitiveType
from hlo.shape import ArrayShape, Shape

R = TypeVar("R", bound=Attributes)

_MANY = 1 << 14  # distinct records worth remembering between modules
_SMALL = 256  # bytes up to which a literal is worth remembering
_LITERAL: Final[int] = HloInstructionProto.DESCRIPTOR.fields_by_name["literal"].number


def _read_constant(proto: Any, _operands: Sequence[HloInstruction]) -> Attributes:
    if not proto.HasField("literal"):
        raise InvalidInput("a constant without its value")
    data = proto.literal.SerializeToString()
    return _read_small(data) if len(data) <= _SMALL else ConstantValue(Literal(read_literal(proto.literal)))


@lru_cache(_MANY)
def _read_small(data: bytes) -> ConstantValue:
    return ConstantValue(Literal(read_literal(LiteralProto.FromString(data))))


def _read_slice(proto: Any, _operands: Sequence[HloInstruction]) -> Attributes:
    rows = [(d.start, d.limit, d.stride) for d in proto.slice_dimensions]
    return SliceBounds(*_columns(rows))


def _fill_slice(proto: Any, bounds: SliceBounds) -> None:
    for start, limit, stride in zip(bounds.starts, bounds.limits, bounds.strides, strict=True):
        proto.slice_dimensions.add(start=start, limit=limit, stride=stride)


def _read_padding(proto: Any, _operands: Sequence[HloInstruction]) -> Attributes:
    dimensions = proto.padding_config.dimensions
    rows = [(d.edge_padding_low, d.edge_padding_high, d.interior_padding) for d in dimensions]
    return PaddingConfig(*_columns(rows))


def _fill_padding(proto: Any, padding: PaddingConfig) -> None:
    proto.padding_config.SetInParent()
    for low, high, interior in zip(padding.low, padding.high, padding.interior, strict=True):
        proto.padding_config.dimensions.add(
            edge_padding_low=low, edge_padding_high=high, interior_padding=interior
        )


def _columns(rows: list[tuple[int, int, int]]) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    first, second, third = zip(*rows, strict=True) if rows else ((), (), ())
    return first, second, third


def _read_comparison(proto: Any, operands: Sequence[HloInstruction]) -> Attributes:
    implied = _implied_comparison(operands[0].shape) if operands else ""
    stated = proto.comparison_type or _comparison_of_order(proto.comparison_order, implied)
    # jaxlib writes the type even where the element type implies it; our records then leave it empty.
    return Comparison(proto.comparison_direction, "" if stated == implied else stated)


def _comparison_of_order(order: str, implied: str) -> str:
    """The type that jaxlib 0.10 writes where 0.12 writes an order. For integers, total is the usual order."""
    if order == "TOTAL":
        return "TOTALORDER" if implied == "FLOAT" else implied
    return "FLOAT" if order == "PARTIAL" else ""


def _implied_comparison(shape: Shape) -> str:
    """Source: `Comparison::DefaultComparisonType` upstream (comparison_util.cc)."""
    if not isinstance(shape, ArrayShape):
        return ""
    kind = shape.element_type
    if kind.is_signed:
        return "SIGNED"
    return "UNSIGNED" if kind.is_unsigned or kind is PrimitiveType.PRED else "FLOAT"


def _fill_comparison(proto: Any, comparison: Comparison) -> None:
    proto.comparison_direction = comparison.direction
    proto.comparison_type = comparison.type
    if comparison.type:
        proto.comparison_order = "PARTIAL" if comparison.type == "FLOAT" else "TOTAL"


def _fill_parameter(proto: Any, parameter: ParameterNumber) -> None:
    proto.parameter_number = parameter.number


def _fill_tuple_index(proto: Any, element: TupleIndex) -> None:
    proto.tuple_index = element.index


def _fill_dimensions(proto: Any, dimensions: Dimensions) -> None:
    proto.dimensions.extend(dimensions.dimensions)


def _fill_slice_sizes(proto: Any, sizes: SliceSizes) -> None:
    proto.dynamic_slice_sizes.extend(sizes.sizes)


def _fill_nothing(_proto: Any, _record: Attributes) -> None:
    pass


RECORDS: Final = MappingProxyType[type[Attributes], Record](
    {
        NoAttributes: Record((), lambda _proto, _operands: NONE, _fill_nothing),
        Unmodelled: Record((), lambda _proto, _operands: UNMODELLED, _fill_nothing),
        ParameterNumber: Record(
            ("parameter_number",), lambda proto, _: ParameterNumber(proto.parameter_number), _fill_parameter
        ),
        # Written by `attribute_bytes`: it needs the instruction's shape.
        ConstantValue: Record(("literal",), _read_constant, _fill_nothing),
        TupleIndex: Record(
            ("tuple_index",), lambda proto, _: TupleIndex(proto.tuple_index), _fill_tuple_index
        ),
        Dimensions: Record(
            ("dimensions",), lambda proto, _: Dimensions(tuple(proto.dimensions)), _fill_dimensions
        ),
        SliceBounds: Record(("slice_dimensions",), _read_slice, _fill_slice),
        SliceSizes: Record(
            ("dynamic_slice_sizes",),
            lambda proto, _: SliceSizes(tuple(proto.dynamic_slice_sizes)),
            _fill_slice_sizes,
        ),
        PaddingConfig: Record(("padding_config",), _read_padding, _fill_padding),
        Comparison: Record(
            ("comparison_direction", "comparison_type", "comparison_order"),
            _read_comparison,
            _fill_comparison,
        ),
        **NUMBERED_RECORDS,
    }
)


def attribute_bytes(attributes: Attributes, shape: Shape) -> bytes:
    """The serialised fields of a record, for an instruction of `shape`.

    Raises IllegalRewrite for a constant whose value is not of that shape, and for fields that no proto can hold: a
    pass made them.
    """
    if isinstance(attributes, ConstantValue):
        value = attributes.literal.value
        if not is_literal_of(value, shape):
            raise IllegalRewrite(f"a constant of {shape} with a value of another shape")
        return tagged(_LITERAL, literal_bytes(value, shape))
    return _fields_of(attributes)


@lru_cache(_MANY)
def _fields_of(attributes: Attributes) -> bytes:
    proto = HloInstructionProto()
    try:
        RECORDS[type(attributes)].fill(proto, attributes)
    except (
        ValueError
    ) as error:  # beyond an int64, lists of unequal length, a name that the proto has no number for
        raise IllegalRewrite(f"{attributes} cannot be written: {error}") from None
    return serialize(proto)
