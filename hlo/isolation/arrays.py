"""How do arrays travel between processes? As their bytes, one after the other, and a description in JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from hlo.primitive_type import PRIMITIVE_TYPE_BY_TEXT, PrimitiveType

Array = np.ndarray[Any, np.dtype[Any]]


def pack_arrays(arrays: Iterable[Array]) -> tuple[list[dict[str, Any]], bytes]:
    """Type and shape of each array, and the bytes of all. Raises KeyError for a dtype that HLO does not have."""
    described: list[dict[str, Any]] = []
    parts: list[bytes] = []
    for array in arrays:
        described.append({"type": PrimitiveType.of(array.dtype).text, "shape": list(array.shape)})
        parts.append(array.tobytes())
    return described, b"".join(parts)


def unpack_arrays(described: Sequence[dict[str, Any]], data: bytes) -> list[Array]:
    """The read-only arrays that `pack_arrays` packed."""
    arrays: list[Array] = []
    start = 0
    for description in described:
        dtype = PRIMITIVE_TYPE_BY_TEXT[description["type"]].numpy
        shape = tuple(description["shape"])
        count = math.prod(shape)
        # frombuffer refuses an empty rest, even for no elements
        flat = np.frombuffer(data, dtype, count, start) if count else _empty(dtype)
        arrays.append(flat.reshape(shape))
        start += count * dtype.itemsize
    return arrays


def _empty(dtype: np.dtype[Any]) -> Array:
    array = np.empty(0, dtype)
    array.flags.writeable = False
    return array
