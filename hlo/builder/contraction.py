"""How are dots of all kinds and convolutions written down?"""

from __future__ import annotations

from hlo.attributes import ConvolutionDimensions, DotDimensions, RaggedDotDimensions
from hlo.builder.base import BaseBuilder, Dims
from hlo.graph import HloInstruction
from hlo.opcode import Opcode
from hlo.shape import Shape


class ContractionBuilder(BaseBuilder):
    """Dots, plain, ragged and scaled, and convolutions."""

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

    def ragged_dot(
        self,
        left: HloInstruction,
        right: HloInstruction,
        sizes: HloInstruction,
        numbers: RaggedDotDimensions,
        *,
        shape: Shape | None = None,
        name: str | None = None,
    ) -> HloInstruction:
        """A dot by groups, of `sizes` elements, of a dimension of `left`. `shape` may declare a wider element type."""
        return self.op(Opcode.RAGGED_DOT, left, right, sizes, attributes=numbers, shape=shape, name=name)

    def scaled_dot(
        self,
        left: HloInstruction,
        right: HloInstruction,
        left_scale: HloInstruction,
        right_scale: HloInstruction,
        numbers: DotDimensions,
        *,
        shape: Shape | None = None,
        name: str | None = None,
    ) -> HloInstruction:
        """A dot of operands that are multiplied, block by block, by their scales. `shape` declares the element type."""
        operands = (left, right, left_scale, right_scale)
        return self.op(Opcode.SCALED_DOT, *operands, attributes=numbers, shape=shape, name=name)

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
