"""How does a shape turn into a `ShapeProto` and back?

jaxlib writes out what is true of nearly every shape: a descending layout, tail padding to one element, no
dynamic dimension. Those defaults are left out of our shapes and written again, so that a shape built in
Python and the same shape read from a file are equal in every respect.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

from hlo.errors import IllegalRewrite, InvalidInput
from hlo.interchange.schema import LayoutProto, ProgramShapeProto, ShapeProto, serialize
from hlo.interchange.wire import tagged
from hlo.primitive_type import PRIMITIVE_TYPE_BY_NUMBER
from hlo.shape import UNBOUNDED, ArrayShape, OpaqueShape, Shape, TokenShape, TupleShape, layouts

# Members of upstream's `PrimitiveType` (xla_data.proto) that are no element types.
_TUPLE, _OPAQUE, _TOKEN, _BUFFER = 13, 14, 17, 34

_PARAMETERS, _RESULT, _PARAMETER_NAMES = (
    ProgramShapeProto.DESCRIPTOR.fields_by_name[name].number
    for name in ("parameters", "result", "parameter_names")
)

_MANY: Final = 1 << 14  # distinct shapes (or attributes, or metadata) worth remembering between modules


@lru_cache(_MANY)
def read_shape(data: bytes) -> Shape:
    """The shape in a serialised `ShapeProto`. Raises InvalidInput for a malformed one, with upstream's messages.

    Source of the messages: `004_a2dddaa7cc47048c.txt`, "Representation".
    """
    return _read(ShapeProto.FromString(data))


def _read(proto: Any) -> Shape:
    number = proto.element_type
    if number == _TUPLE:
        return TupleShape(tuple(_read(element) for element in proto.tuple_shapes))
    if number == _TOKEN:
        return TokenShape()
    if number in (_OPAQUE, _BUFFER):
        return OpaqueShape(serialize(proto))
    element_type = PRIMITIVE_TYPE_BY_NUMBER.get(number)
    if element_type is None:
        raise InvalidInput(f"a shape of unknown element type {number}" if number else "a shape is missing")
    dimensions = tuple(proto.dimensions)
    dynamic = tuple(proto.is_dynamic_dimension)
    if dynamic and len(dynamic) != len(dimensions):
        raise InvalidInput(
            f"Malformed shape proto: number of is_dynamic_dimension fields ({len(dynamic)}) does not match "
            f"number of dimension fields ({len(dimensions)})"
        )
    for size, flag in zip(dimensions, dynamic or (False,) * len(dimensions), strict=True):
        if size < 0 and not (flag and size == UNBOUNDED):
            why = ": dynamic dimension must have size == kUnboundedSize or >= 0." if flag else ""
            raise InvalidInput(f"Invalid dimension size {size}, is_dynamic={str(flag).lower()}{why}")
    return ArrayShape(element_type, dimensions, dynamic, _read_layout(proto))


def _read_layout(proto: Any) -> bytes | None:
    if not proto.HasField("layout"):
        return b""
    layout = serialize(proto.layout)
    rank = len(proto.dimensions)
    if layout in _default_layouts(rank):
        return None
    order = proto.layout.minor_to_major
    if sorted(order) != list(range(rank)):
        raise InvalidInput(f"a layout of {list(order)} for {rank} dimensions")
    return layout


@lru_cache
def _default_layouts(rank: int) -> tuple[bytes, bytes]:
    """The default layout of `rank` dimensions as jaxlib writes it, and as other writers leave it."""
    layout = LayoutProto(minor_to_major=reversed(range(rank)))
    plain = serialize(layout)
    layout.tail_padding_alignment_in_elements = 1
    return serialize(layout), plain


def minor_to_major(shape: ArrayShape) -> tuple[int, ...]:
    """The dimensions of `shape` in the order in which its layout stores them, fastest first.

    Raises IllegalRewrite for a layout that is no permutation of them: a pass made it.
    """
    descending = tuple(reversed(range(shape.rank)))
    if not shape.layout:
        return descending
    order = tuple(LayoutProto.FromString(shape.layout).minor_to_major)
    if sorted(order, reverse=True) != list(descending):
        raise IllegalRewrite(f"a layout of {list(order)} for {shape}")
    return order


def shape_bytes(shape: Shape) -> bytes:
    """The serialised `ShapeProto` of `shape`."""
    return _write_cached(shape, layouts(shape))


@lru_cache(_MANY)
def _write_cached(shape: Shape, _layouts: object) -> bytes:
    proto = ShapeProto()
    _write(shape, proto)
    return serialize(proto)


def _write(shape: Shape, proto: Any) -> None:
    match shape:
        case ArrayShape():
            proto.element_type = shape.element_type.number
            proto.dimensions.extend(shape.dimensions)
            proto.is_dynamic_dimension.extend(shape.dynamic or [False] * shape.rank)
            layout = _default_layouts(shape.rank)[0] if shape.layout is None else shape.layout
            if shape.layout != b"":
                proto.layout.ParseFromString(layout)
        case TupleShape():
            proto.element_type = _TUPLE
            for element in shape.elements:
                _write(element, proto.tuple_shapes.add())
        case TokenShape():
            proto.element_type = _TOKEN
        case OpaqueShape():
            proto.ParseFromString(shape.carried)
            proto.element_type = proto.element_type or _OPAQUE


def program_shape_bytes(parameters: Sequence[tuple[str, Shape]], result: Shape) -> bytes:
    """The serialised `ProgramShapeProto` of a signature: parameters with their names, and the result."""
    shapes = [tagged(_PARAMETERS, shape_bytes(shape)) for _, shape in parameters]
    names = [tagged(_PARAMETER_NAMES, name.encode()) for name, _ in parameters]
    return b"".join((*shapes, tagged(_RESULT, shape_bytes(result)), *names))
