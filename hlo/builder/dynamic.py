"""How are the sizes of dynamic dimensions asked for and set?"""

from __future__ import annotations

from hlo.attributes import Dimensions
from hlo.builder.base import BaseBuilder
from hlo.graph import HloInstruction
from hlo.opcode import Opcode


class DynamicBuilder(BaseBuilder):
    """Sizes of dynamic dimensions."""

    def get_dimension_size(
        self, x: HloInstruction, dimension: int, name: str | None = None
    ) -> HloInstruction:
        """The size of `dimension` at run time, s32[]."""
        return self.op(Opcode.GET_DIMENSION_SIZE, x, attributes=Dimensions((dimension,)), name=name)

    def set_dimension_size(
        self, x: HloInstruction, size: HloInstruction, dimension: int, name: str | None = None
    ) -> HloInstruction:
        """`x` with the s32[] `size` as the run-time size of `dimension`, at most its bound."""
        return self.op(Opcode.SET_DIMENSION_SIZE, x, size, attributes=Dimensions((dimension,)), name=name)
