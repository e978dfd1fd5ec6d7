"""How do protobuf fields lie in bytes?

Two messages merge by putting their bytes one after the other (protobuf's encoding guide, "Last One Wins"). So
what an instruction carries unread is appended to what the IR models without parsing either, and exporting
needs no message objects: the bytes of each part are made once and joined.
"""

from collections.abc import Iterator
from functools import lru_cache

from hlo.errors import InvalidInput

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_WIDTH = {_FIXED64: 8, _FIXED32: 4}


@lru_cache(1 << 16)  # ids, tags and lengths are few
def varint(value: int) -> bytes:
    """`value` in base 128, least significant first; a negative one as its 64-bit two's complement."""
    value &= (1 << 64) - 1
    groups = bytearray()
    while value > 127:
        groups.append(value & 127 | 128)
        value >>= 7
    groups.append(value)
    return bytes(groups)


def tag(number: int, *, integer: bool = False) -> bytes:
    """What introduces field `number`: before the length of what it holds, or before an integer."""
    return varint(number << 3 | (_VARINT if integer else _BYTES))


def tagged(number: int, payload: bytes) -> bytes:
    """Field `number` holding a string, bytes, a message or a packed list."""
    return tag(number) + varint(len(payload)) + payload


def tagged_int(number: int, value: int) -> bytes:
    """Field `number` holding an integer, a bool or an enum member."""
    return tag(number, integer=True) + varint(value)


def fields(data: bytes) -> Iterator[tuple[int, int | bytes, bytes]]:
    """Each field of a message: its number, its value (an integer for a varint) and all its bytes.

    Raises InvalidInput where `data` is no message.
    """
    position = 0
    while position < len(data):
        start = position
        tag, position = _read_varint(data, position)
        kind = tag & 7
        value: int | bytes
        if kind == _VARINT:
            value, position = _read_varint(data, position)
        else:
            if kind == _BYTES:
                size, position = _read_varint(data, position)
            elif kind in _WIDTH:
                size = _WIDTH[kind]
            else:
                raise InvalidInput(f"a protobuf field of wire type {kind}")
            value = data[position : position + size]
            position += size
            if position > len(data):
                raise InvalidInput("a truncated protobuf field")
        yield tag >> 3, value, data[start:position]


def _read_varint(data: bytes, position: int) -> tuple[int, int]:
    """The number at `position` and the position after it."""
    value = shift = 0
    while position < len(data):
        byte = data[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, position
        shift += 7
    raise InvalidInput("a truncated protobuf field")
