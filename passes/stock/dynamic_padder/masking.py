"""How does padding come to hold a value that does no harm?

Source: `stock_passes.md` section 5.3.
"""

from __future__ import annotations

import numpy as np

from hlo import ArrayShape, HloInstruction, Opcode, PrimitiveType
from hlo.attributes import Dimensions
from hlo.builder import Builder


def is_live(builder: Builder, shape: ArrayShape, dimension: int, size: HloInstruction) -> HloInstruction:
    """A mask, pred of the bounds of `shape`: whether the index in `dimension` is less than the s32[] `size`."""
    places = builder.iota(ArrayShape(PrimitiveType.S32, shape.dimensions), dimension)
    return builder.compare(places, builder.broadcast(size, shape.dimensions), "LT")


def masked(
    builder: Builder, x: HloInstruction, dimension: int, size: HloInstruction, filler: HloInstruction
) -> HloInstruction:
    """`x` with the scalar `filler` wherever the index in `dimension` is not less than `size`."""
    shape = x.array_shape
    around = builder.broadcast(filler, shape.dimensions)
    return builder.op(Opcode.SELECT, is_live(builder, shape, dimension, size), x, around)


def repeated(builder: Builder, x: HloInstruction, dimension: int) -> HloInstruction:
    """The first element of `x` along `dimension` in every place of it."""
    dims = x.array_shape.dimensions
    limits = tuple(1 if d == dimension else size for d, size in enumerate(dims))
    first = builder.slice_(x, (0,) * len(dims), limits)
    others = tuple(d for d in range(len(dims)) if d != dimension)
    flat = builder.reshape(first, [dims[d] for d in others])
    return builder.op(
        Opcode.BROADCAST,
        flat,
        attributes=Dimensions(others),
        shape=x.array_shape.with_dimensions(dims),
    )


def zero(builder: Builder, kind: PrimitiveType) -> HloInstruction:
    """A scalar 0 of the element type."""
    return builder.constant(np.zeros((), kind.numpy))
