"""How are dots and convolutions written down?"""

from __future__ import annotations

from hlo.attributes import ConvolutionDimensions, DotDimensions
from hlo.builder.base import BaseBuilder, Dims
from hlo.graph import HloInstruction
from hlo.opcode import Opcode
from hlo.shape import Shape


class ContractionBuilder(BaseBuilder):
    """Dots and convolutions."""

    def dot(
        self,
        left: HloInstruction,
        right: HloInstruction,
        contracting: tuple[Dims, Dims],
        batch: tuple[Dims, Dims] = ((), ()),
        *,
        shape: Shape | None = None,
        name: str | None = None,
    ) -> HloInstruction:
        """Contract dimensions (of left, of right). `shape` may declare a wider element type."""
        numbers = DotDimensions(
            tuple(contracting[0]), tuple(contracting[1]), tuple(batch[0]), tuple(batch[1])
        )
        return self.op(Opcode.DOT, left, right, attributes=numbers, shape=shape, name=name)

    def convolution(
        self,
        x: HloInstruction,
        kernel: HloInstruction,
        numbers: ConvolutionDimensions,
        *,
        shape: Shape | None = None,
        name: str | None = None,
    ) -> HloInstruction:
        """`x` convolved with `kernel`. `shape` may declare a wider element type."""
        return self.op(Opcode.CONVOLUTION, x, kernel, attributes=numbers, shape=shape, name=name)
