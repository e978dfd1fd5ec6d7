"""How does an array whose size is known at run time only lie in a buffer?

Source: `stock_passes.md` sections 2.1 and 2.2. The data comes first, in a region as large as the array at its
bounds, and after it one little-endian int32 for each dimension, static ones too: its size. The elements are compact:
row-major over the sizes, not strided by the bounds. Some back ends put the sizes in front, in a prefix whose length
the layout states (`dynamic_shape_metadata_prefix_bytes`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hlo.errors import InvalidInput
from hlo.shape import ArrayShape

Array = np.ndarray[Any, np.dtype[Any]]

_SIZE = np.dtype("<i4")


def packed_bytes(bound: ArrayShape, prefix_bytes: int = 0) -> int:
    """How long the buffer of an array bounded by `bound` is, in bytes. Raises InvalidInput for a short prefix."""
    _check_prefix(bound, prefix_bytes)
    return _data_bytes(bound) + (prefix_bytes or bound.rank * _SIZE.itemsize)


def pack(value: Array, bound: ArrayShape, prefix_bytes: int = 0) -> bytes:
    """The buffer of `value`, an array as large as it is at run time; what the data does not fill is zero.

    With `prefix_bytes` the sizes are at the start of a prefix of that length, otherwise at the end. Raises
    InvalidInput for a value of another element type or rank, for a size above its bound, or other than it where the
    dimension is static, and for a prefix with too little room.
    """
    _check_prefix(bound, prefix_bytes)
    if value.dtype != bound.element_type.numpy or value.ndim != bound.rank:
        raise InvalidInput(f"a {value.ndim}-dimensional array of {value.dtype} for a buffer of {bound}")
    _check_sizes(value.shape, bound)
    data = value.tobytes(order="C").ljust(_data_bytes(bound), b"\0")
    sizes = np.array(value.shape, _SIZE).tobytes()
    return sizes.ljust(prefix_bytes, b"\0") + data if prefix_bytes else data + sizes


def unpack(buffer: bytes, bound: ArrayShape, prefix_bytes: int = 0) -> Array:
    """The array in a buffer, as large as the sizes in it say; read-only.

    Raises InvalidInput for a buffer of another length and for sizes that are not within the bounds, which upstream
    leaves undefined (section 2.5).
    """
    if len(buffer) != packed_bytes(bound, prefix_bytes):
        raise InvalidInput(
            f"a buffer of {len(buffer)} bytes, not {packed_bytes(bound, prefix_bytes)}, for {bound}"
        )
    at = 0 if prefix_bytes else _data_bytes(bound)
    sizes = tuple(map(int, np.frombuffer(buffer, _SIZE, bound.rank, at)))
    _check_sizes(sizes, bound)
    kind = np.dtype(bound.element_type.numpy)
    return np.frombuffer(buffer, kind, math.prod(sizes), prefix_bytes).reshape(sizes)


def _data_bytes(bound: ArrayShape) -> int:
    return bound.element_count * np.dtype(bound.element_type.numpy).itemsize


def _check_prefix(bound: ArrayShape, prefix_bytes: int) -> None:
    needed = bound.rank * _SIZE.itemsize
    if prefix_bytes and prefix_bytes < needed:
        raise InvalidInput(f"a prefix of {prefix_bytes} bytes for {bound}, whose sizes take {needed}")


def _check_sizes(sizes: tuple[int, ...], bound: ArrayShape) -> None:
    for d, (size, limit) in enumerate(zip(sizes, bound.dimensions, strict=True)):
        if not 0 <= size <= limit or (size != limit and not bound.is_dynamic_dimension(d)):
            raise InvalidInput(f"size {size} of dimension {d} in a buffer of {bound}")
