"""How are matrix decompositions, Fourier transforms and batch normalisations written down?"""

from __future__ import annotations

from hlo.attributes import BatchNormOptions, CholeskyOptions, FftKind, TriangularSolveOptions
from hlo.builder.base import BaseBuilder, Dims
from hlo.graph import HloInstruction
from hlo.opcode import Opcode


class LinalgBuilder(BaseBuilder):
    """Matrix decompositions, Fourier transforms and batch normalisations."""

    def fft(self, x: HloInstruction, type: str, length: Dims, name: str | None = None) -> HloInstruction:
        """FFT, IFFT, RFFT or IRFFT over the innermost dimensions, whose sizes on the real side are `length`."""
        return self.op(Opcode.FFT, x, attributes=FftKind(type, tuple(length)), name=name)

    def cholesky(self, x: HloInstruction, *, lower: bool = False, name: str | None = None) -> HloInstruction:
        """The decomposition of each matrix in the last two dimensions."""
        return self.op(Opcode.CHOLESKY, x, attributes=CholeskyOptions(lower), name=name)

    def triangular_solve(
        self,
        matrix: HloInstruction,
        sides: HloInstruction,
        options: TriangularSolveOptions,
        name: str | None = None,
    ) -> HloInstruction:
        """`x` where `matrix x = sides` or, unless `left_side`, `x matrix = sides`."""
        return self.op(Opcode.TRIANGULAR_SOLVE, matrix, sides, attributes=options, name=name)

    def batch_norm_training(
        self,
        x: HloInstruction,
        scale: HloInstruction,
        offset: HloInstruction,
        options: BatchNormOptions,
        name: str | None = None,
    ) -> HloInstruction:
        """(`x` normalised, mean of each feature, variance of each feature)."""
        return self.op(Opcode.BATCH_NORM_TRAINING, x, scale, offset, attributes=options, name=name)

    def batch_norm_inference(
        self,
        x: HloInstruction,
        scale: HloInstruction,
        offset: HloInstruction,
        mean: HloInstruction,
        variance: HloInstruction,
        options: BatchNormOptions,
        name: str | None = None,
    ) -> HloInstruction:
        """`x` normalised by the given mean and variance of each feature."""
        operands = (x, scale, offset, mean, variance)
        return self.op(Opcode.BATCH_NORM_INFERENCE, *operands, attributes=options, name=name)

    def batch_norm_grad(
        self,
        x: HloInstruction,
        scale: HloInstruction,
        mean: HloInstruction,
        variance: HloInstruction,
        gradient: HloInstruction,
        options: BatchNormOptions,
        name: str | None = None,
    ) -> HloInstruction:
        """The gradients of `x`, of scale and of offset, from that of the output."""
        operands = (x, scale, mean, variance, gradient)
        return self.op(Opcode.BATCH_NORM_GRAD, *operands, attributes=options, name=name)
