"""Which element types, index types, buffers and slices may a graph use?

JAX compiles each (opcode, attributes, operand shapes) once, for 20 ms and more. So types and shapes do not vary
freely: they come in lanes, and a campaign of any length needs only the operations that its lanes span. The
first lanes are rich: every buffer, every family of operations. The others each show one pairing of types on a
buffer or two, since the rewrites under test do not look at the element type of data, and look at the width and
sign of an index type independently of the buffer.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np

from hlo import ArrayShape, Opcode, PrimitiveType
from hlo.attributes import Ints


@dataclass(frozen=True)
class Buffer:
    """What a loop slices. `sizes` are the slices taken of it, simplest first, in elements per dimension."""

    dimensions: Ints
    sizes: tuple[Ints, ...]

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.dimensions)


VECTOR = Buffer((8,), ((1,), (3,)))
MATRIX = Buffer((4, 3), ((1, 3), (2, 2)))
POINT = Buffer((), ((),))  # a dynamic-slice of rank 0 has no start at all
CUBE = Buffer((3, 2, 4), ((1, 2, 4), (2, 1, 3)))
FOUR = Buffer((2, 3, 1, 2), ((1, 3, 1, 2), (1, 2, 1, 1)))
ROW = Buffer((5,), ((5,), (2,)))  # the slice is the whole: every start clamps to 0
EMPTY = Buffer((5, 2), ((2, 1), (0, 2)))  # a slice of nothing
ALL_BUFFERS = (VECTOR, VECTOR, MATRIX, MATRIX, POINT, CUBE, FOUR, ROW, EMPTY)

# for the other lanes: one slice a buffer
LINE = Buffer((8,), ((3,),))
TABLE = Buffer((4, 3), ((2, 2),))
BRICK = Buffer((2, 3, 1, 2), ((1, 2, 1, 1),))


@dataclass(frozen=True)
class Lane:
    """An element type for data, one for start indices, and the buffers they meet on."""

    data: PrimitiveType
    index: PrimitiveType
    buffers: tuple[Buffer, ...]
    rich: bool = False

    def shape(self, dimensions: Ints) -> ArrayShape:
        """An array of data."""
        return array_shape(self.data, dimensions)

    @property
    def index_shape(self) -> ArrayShape:
        """A scalar of the index type."""
        return array_shape(self.index, ())

    @property
    def partner(self) -> PrimitiveType:
        """The integer type that an index passes through when it is converted and back."""
        return PrimitiveType.S64 if self.index is PrimitiveType.S32 else PrimitiveType.S32


def _lanes() -> tuple[Lane, ...]:
    t = PrimitiveType
    return (
        Lane(t.S32, t.S32, ALL_BUFFERS, rich=True),
        Lane(t.F32, t.S32, ALL_BUFFERS, rich=True),
        Lane(t.S32, t.S64, (LINE, TABLE)),
        Lane(t.F32, t.U32, (LINE, TABLE)),
        Lane(t.S32, t.U64, (LINE, TABLE)),
        Lane(t.F32, t.S8, (LINE, BRICK)),
        Lane(t.S32, t.U8, (LINE, TABLE)),
        Lane(t.F32, t.S16, (TABLE,)),
        Lane(t.S32, t.U16, (LINE,)),
        Lane(t.PRED, t.S32, (LINE, TABLE)),
        Lane(t.S8, t.U8, (LINE,)),
        Lane(t.S16, t.S16, (TABLE,)),
        Lane(t.S64, t.S64, (LINE,)),
        Lane(t.U8, t.S8, (TABLE,)),
        Lane(t.U16, t.U16, (LINE,)),
        Lane(t.U32, t.U32, (TABLE,)),
        Lane(t.U64, t.U64, (LINE,)),
        Lane(t.F16, t.S32, (LINE,)),
        Lane(t.BF16, t.S32, (TABLE,)),
        Lane(t.F64, t.S64, (LINE,)),
    )


LANES = _lanes()

# Operations under which small whole numbers stay exact in every type and no zero turns negative, so that
# engines have to agree bit for bit. The second one does not commute: an iteration left out or swapped shows.
_COMBINE_PRED = (Opcode.OR, Opcode.XOR)
_COMBINE_NUMBERS = (Opcode.ADD, Opcode.SUBTRACT)


def combining(element_type: PrimitiveType) -> tuple[Opcode, Opcode]:
    """Two binary opcodes to put values of `element_type` together with."""
    return _COMBINE_PRED if element_type is PrimitiveType.PRED else _COMBINE_NUMBERS


@cache
def array_shape(element_type: PrimitiveType, dimensions: Ints) -> ArrayShape:
    """One object for each shape of the palette: shapes are values, and making one costs more than finding it."""
    return ArrayShape(element_type, dimensions)


@lru_cache(maxsize=4096)
def filled(element_type: PrimitiveType, dimensions: Ints, salt: int) -> np.ndarray:
    """A read-only array of small whole numbers, neighbours distinct, another one for each `salt`."""
    numbers = (np.arange(int(np.prod(dimensions, dtype=int))) + salt) % 5 + salt
    value = (numbers % 2 if element_type is PrimitiveType.PRED else numbers).astype(element_type.numpy)
    value = value.reshape(dimensions)
    value.flags.writeable = False
    return value
