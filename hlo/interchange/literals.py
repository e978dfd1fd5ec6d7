"""How does a constant's value turn into a `LiteralProto` and back?

A literal stores its elements in the order of its shape's layout, in a field named for the element type:
packed numbers for the types that protobuf has, bytes for the others (16 bits little endian; a byte each below
that, whose low bits count). Floats are taken from the bytes and never through a Python float, which would
change the payload of a NaN.
"""

from typing import Any, Final

import numpy as np

from hlo.errors import InvalidInput
from hlo.interchange.schema import LiteralProto, serialize
from hlo.interchange.shapes import minor_to_major, read_shape, shape_bytes
from hlo.interchange.wire import fields, tagged, varint
from hlo.literal import TOKEN, Token, Value
from hlo.primitive_type import PrimitiveType
from hlo.shape import ArrayShape, Shape, TokenShape, TupleShape

Array = np.ndarray[Any, np.dtype[Any]]

_BY_NAME: Final = LiteralProto.DESCRIPTOR.fields_by_name
_TUPLE_LITERALS: Final[int] = _BY_NAME["tuple_literals"].number
_NUMBER: Final[dict[PrimitiveType, int]] = {
    kind: _BY_NAME["preds" if kind is PrimitiveType.PRED else f"{kind.text}s"].number
    for kind in PrimitiveType
}
_FEW: Final = 64  # integers up to which making a message costs more than it saves
_VARINTS: Final = frozenset({PrimitiveType.S32, PrimitiveType.S64, PrimitiveType.U32, PrimitiveType.U64})


def read_literal(proto: Any) -> Value:
    """The value in a `LiteralProto`. Raises InvalidInput where its data do not fill its shape."""
    return _read(proto, read_shape(proto.shape.SerializeToString()))


def _read(proto: Any, shape: Shape) -> Value:
    match shape:
        case TupleShape():
            if len(proto.tuple_literals) != len(shape.elements):
                raise InvalidInput(f"a literal of {shape} with {len(proto.tuple_literals)} elements")
            pairs = zip(proto.tuple_literals, shape.elements, strict=True)
            return tuple(_read(element, element_shape) for element, element_shape in pairs)
        case TokenShape():
            return TOKEN
        case ArrayShape():
            return _read_array(proto, shape)
        case _:
            raise InvalidInput(f"a literal of {shape}")


def _read_array(proto: Any, shape: ArrayShape) -> Array:
    kind = shape.element_type
    if kind in _VARINTS:
        numbers = getattr(proto, f"{kind.text}s")
        flat: Array = np.fromiter(numbers, kind.numpy, len(numbers))
    else:
        number = _NUMBER[kind]
        data = b"".join(
            v for n, v, _ in fields(proto.SerializeToString()) if n == number and isinstance(v, bytes)
        )
        if len(data) % kind.numpy.itemsize:
            raise InvalidInput(f"a literal of {shape} with {len(data)} bytes of data")
        flat = np.frombuffer(data, kind.numpy)
        if kind.bit_width < 8:
            flat = _clean(flat)
    if flat.size != shape.element_count:
        raise InvalidInput(f"a literal of {shape} with {flat.size} elements")
    value = flat.reshape(shape.dimensions) if not shape.layout else _from_layout(flat, shape)
    value.flags.writeable = False
    return value


def _from_layout(flat: Array, shape: ArrayShape) -> Array:
    """`flat`, stored in the order of the layout, as an array in the order of the dimensions."""
    major_to_minor = minor_to_major(shape)[::-1]
    stored = flat.reshape([shape.dimensions[dimension] for dimension in major_to_minor])
    return np.array(stored.transpose(np.argsort(major_to_minor)), order="C")


def _clean(array: Array) -> Array:
    """Sub-byte elements with the unused high bits zero."""
    width = PrimitiveType.of(array.dtype).bit_width
    return (array.view(np.uint8) & ((1 << width) - 1)).view(array.dtype)


def is_literal_of(value: Value, shape: Shape) -> bool:
    """Whether `value` has the structure, the element types and the dimensions of `shape`."""
    match value, shape:
        case tuple(), TupleShape():
            return len(value) == len(shape.elements) and all(map(is_literal_of, value, shape.elements))
        case Token(), TokenShape():
            return True
        case ((np.ndarray() | np.generic()), ArrayShape()):
            return value.shape == shape.dimensions and value.dtype == shape.element_type.numpy
        case _:
            return False


def literal_bytes(value: Value, shape: Shape) -> bytes:
    """The serialised `LiteralProto` of `value`, in the layout of `shape`, of which it must be."""
    head = tagged(1, shape_bytes(shape))
    match value, shape:
        case tuple(), TupleShape():
            pairs = zip(value, shape.elements, strict=True)
            return head + b"".join(tagged(_TUPLE_LITERALS, literal_bytes(*pair)) for pair in pairs)
        case ((np.ndarray() | np.generic()), ArrayShape()):
            return head + _write_array(value, shape)
        case _:
            return head


def _write_array(value: Array, shape: ArrayShape) -> bytes:
    kind = shape.element_type
    if shape.layout:
        value = value.transpose(minor_to_major(shape)[::-1])
    if kind in _VARINTS:
        numbers = value.ravel().tolist()
        if len(numbers) > _FEW:
            return serialize(LiteralProto(**{f"{kind.text}s": numbers}))
        data = b"".join(map(varint, numbers))
    else:
        data = (_clean(value) if kind.bit_width < 8 else value).tobytes()
    return tagged(_NUMBER[kind], data) if data else b""
