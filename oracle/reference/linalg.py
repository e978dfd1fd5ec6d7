"""What do transforms, solvers, factorisations and normalisations compute, in JAX?"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from jax import lax

from hlo import HloInstruction, Opcode
from hlo.attributes import BatchNormOptions, CholeskyOptions, FftKind, TriangularSolveOptions
from oracle.reference.kernels import Kernel
from oracle.reference.rule import Rule, Trace

_FFT_KINDS = {
    "FFT": lax.FftType.FFT,
    "IFFT": lax.FftType.IFFT,
    "RFFT": lax.FftType.RFFT,
    "IRFFT": lax.FftType.IRFFT,
}


def _fft(inst: HloInstruction, trace: Trace) -> Kernel:
    fft = inst.attributes
    assert isinstance(fft, FftKind)
    kind = _FFT_KINDS[fft.type]
    return Kernel((inst.opcode, fft), lambda x: lax.fft(x, kind, fft.length))


def _triangular_solve(inst: HloInstruction, trace: Trace) -> Kernel:
    """The other triangle of `a` is not read, nor, with `unit_diagonal`, its diagonal."""
    options = inst.attributes
    assert isinstance(options, TriangularSolveOptions)

    def function(a: Any, b: Any) -> Any:
        return lax.linalg.triangular_solve(
            a,
            b,
            left_side=options.left_side,
            lower=options.lower,
            transpose_a=options.transpose_a != "NO_TRANSPOSE",
            conjugate_a=options.transpose_a == "ADJOINT",
            unit_diagonal=options.unit_diagonal,
        )

    return Kernel((inst.opcode, options), function)


def _cholesky(inst: HloInstruction, trace: Trace) -> Kernel:
    """L with a = L Lᴴ, or with `lower` false U with a = Uᴴ U, from that triangle of `a` alone.

    HLO leaves the other triangle of the result open; here it is zero. Where there is no such matrix all is NaN.
    """
    options = inst.attributes
    assert isinstance(options, CholeskyOptions)

    def adjoint(x: Any) -> Any:
        swapped = lax.transpose(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))
        return lax.conj(swapped) if np.issubdtype(swapped.dtype, np.complexfloating) else swapped

    def function(a: Any) -> Any:
        if options.lower:
            return lax.linalg.cholesky(a, symmetrize_input=False)
        return adjoint(lax.linalg.cholesky(adjoint(a), symmetrize_input=False))

    return Kernel((inst.opcode, options), function)


class _Batch:
    """The arithmetic that the three normalisations share, for an operand whose dimension `feature` stays.

    Done in f32 for the narrower types, and rounded at the end.
    """

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any], options: BatchNormOptions) -> None:
        self.feature = options.feature_index
        self.epsilon = options.epsilon
        self.shape = shape
        self.dtype = dtype
        self.folded = tuple(d for d in range(len(shape)) if d != self.feature)
        self.count = math.prod(shape[d] for d in self.folded)
        self.wide = np.dtype(np.float64 if dtype.itemsize == 8 else np.float32)

    def widened(self, *arrays: Any) -> list[Any]:
        return [lax.convert_element_type(x, self.wide) for x in arrays]

    def rounded(self, *arrays: Any) -> tuple[Any, ...]:
        return tuple(lax.convert_element_type(x, self.dtype) for x in arrays)

    def spread(self, statistic: Any) -> Any:
        """One number a feature, over the whole operand."""
        return lax.broadcast_in_dim(statistic, self.shape, (self.feature,))

    def total(self, x: Any) -> Any:
        return lax.reduce(x, np.zeros((), self.wide), lax.add, self.folded)

    def deviation(self, variance: Any) -> Any:
        return self.spread(lax.sqrt(variance + np.array(self.epsilon, self.wide)))


def _batch(inst: HloInstruction) -> tuple[_Batch, tuple[Any, ...]]:
    options = inst.attributes
    assert isinstance(options, BatchNormOptions)
    shape = inst.operand(0).array_shape
    batch = _Batch(shape.dimensions, shape.element_type.numpy, options)
    return batch, (inst.opcode, options)


def _batch_norm_inference(inst: HloInstruction, trace: Trace) -> Kernel:
    """Operand, scale, offset, mean, variance."""
    batch, key = _batch(inst)
    # shape and type are in the signature that the function is compiled for

    def function(*operands: Any) -> Any:
        x, scale, offset, mean, variance = batch.widened(*operands)
        centred = (x - batch.spread(mean)) / batch.deviation(variance)
        return batch.rounded(centred * batch.spread(scale) + batch.spread(offset))[0]

    return Kernel((*key, batch.shape, batch.dtype), function)


def _batch_norm_training(inst: HloInstruction, trace: Trace) -> Kernel:
    """Operand, scale, offset. Gives the normalised operand, the mean and the (biased) variance."""
    batch, key = _batch(inst)

    def function(*operands: Any) -> Any:
        x, scale, offset = batch.widened(*operands)
        mean = batch.total(x) / batch.count
        centred = x - batch.spread(mean)
        variance = batch.total(centred * centred) / batch.count
        normal = centred / batch.deviation(variance)
        return batch.rounded(normal * batch.spread(scale) + batch.spread(offset), mean, variance)

    return Kernel((*key, batch.shape, batch.dtype), function)


def _batch_norm_grad(inst: HloInstruction, trace: Trace) -> Kernel:
    """Operand, scale, mean, variance, gradient of the result. Gives those of operand, scale and offset.

    With n = (x - mean) / deviation, the result was scale n + offset, and mean and variance depend on x.
    """
    batch, key = _batch(inst)

    def function(*operands: Any) -> Any:
        x, scale, mean, variance, gradient = batch.widened(*operands)
        deviation = batch.deviation(variance)
        normal = (x - batch.spread(mean)) / deviation
        to_offset = batch.total(gradient)
        to_scale = batch.total(gradient * normal)
        average = (batch.spread(to_offset) + normal * batch.spread(to_scale)) / batch.count
        to_operand = (gradient - average) * batch.spread(scale) / deviation
        return batch.rounded(to_operand, to_scale, to_offset)

    return Kernel((*key, batch.shape, batch.dtype), function)


RULES: Mapping[Opcode, Rule] = {
    Opcode.BATCH_NORM_GRAD: _batch_norm_grad,
    Opcode.BATCH_NORM_INFERENCE: _batch_norm_inference,
    Opcode.BATCH_NORM_TRAINING: _batch_norm_training,
    Opcode.CHOLESKY: _cholesky,
    Opcode.FFT: _fft,
    Opcode.TRIANGULAR_SOLVE: _triangular_solve,
}
