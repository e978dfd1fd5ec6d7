"""How are instructions written down that rearrange, join or spread elements?"""

from __future__ import annotations

from collections.abc import Sequence

from hlo.attributes import Dimensions, PaddingConfig, Rotation
from hlo.builder.base import BaseBuilder, Dims, element_type
from hlo.graph import HloInstruction
from hlo.infer import infer_shape, reshape_flags
from hlo.opcode import Opcode
from hlo.shape import ArrayShape


class ShapeBuilder(BaseBuilder):
    """Rearranging, joining and spreading."""

    def concatenate(
        self, xs: Sequence[HloInstruction], dimension: int, name: str | None = None
    ) -> HloInstruction:
        """`xs` joined along `dimension`."""
        return self.op(Opcode.CONCATENATE, *xs, attributes=Dimensions((dimension,)), name=name)

    def reshape(
        self,
        x: HloInstruction,
        dimensions: Dims,
        *,
        dynamic: tuple[bool, ...] | None = None,
        name: str | None = None,
    ) -> HloInstruction:
        """`x` with other bounds. `dynamic` are the flags; unless given, those that `reshape_flags` works out."""
        to = tuple(dimensions)
        shape = ArrayShape(element_type(x), to, dynamic or ())
        if dynamic is None and not x.array_shape.is_static:
            # bounds first: flags mean nothing where the number of elements differs
            infer_shape(Opcode.RESHAPE, [x.shape], declared=shape)
            shape = ArrayShape(shape.element_type, to, reshape_flags(x.array_shape, to))
        return self.op(Opcode.RESHAPE, x, shape=shape, name=name)

    def broadcast(
        self, x: HloInstruction, dimensions: Dims, mapping: Dims = (), name: str | None = None
    ) -> HloInstruction:
        """`x` spread over `dimensions`: its dimension i becomes dimension `mapping[i]`, flag included."""
        to, kind = tuple(mapping), element_type(x)
        flagged = {d for d, flag in zip(to, x.array_shape.dynamic, strict=False) if flag}
        flags = tuple(d in flagged for d in range(len(dimensions)))
        shape = ArrayShape(kind, tuple(dimensions), flags)
        return self.op(Opcode.BROADCAST, x, attributes=Dimensions(to), shape=shape, name=name)

    def transpose(self, x: HloInstruction, permutation: Dims, name: str | None = None) -> HloInstruction:
        """Dimension i of the result is dimension `permutation[i]` of `x`."""
        return self.op(Opcode.TRANSPOSE, x, attributes=Dimensions(tuple(permutation)), name=name)

    def reverse(self, x: HloInstruction, dimensions: Dims, name: str | None = None) -> HloInstruction:
        """`x` with the order of elements turned round in `dimensions`."""
        return self.op(Opcode.REVERSE, x, attributes=Dimensions(tuple(dimensions)), name=name)

    def shuffle(
        self, x: HloInstruction, dimensions: Dims, shifts: Dims, name: str | None = None
    ) -> HloInstruction:
        """`x` with each of `dimensions` rotated to the left by its shift, in elements."""
        rotation = Rotation(tuple(dimensions), tuple(shifts))
        return self.op(Opcode.SHUFFLE, x, attributes=rotation, name=name)

    def pad(
        self,
        x: HloInstruction,
        value: HloInstruction,
        low: Dims,
        high: Dims,
        interior: Dims | None = None,
        name: str | None = None,
    ) -> HloInstruction:
        """`x` with `value` put around it and, `interior` times, between elements; negative edges crop."""
        gaps = (0,) * len(low) if interior is None else tuple(interior)
        padding = PaddingConfig(tuple(low), tuple(high), gaps)
        return self.op(Opcode.PAD, x, value, attributes=padding, name=name)

    def iota(self, shape: ArrayShape, dimension: int, name: str | None = None) -> HloInstruction:
        """Each element is its own index in `dimension`."""
        return self.op(Opcode.IOTA, attributes=Dimensions((dimension,)), shape=shape, name=name)
