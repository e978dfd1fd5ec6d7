"""What do factorisations, triangular systems and Fourier transforms give?

All of them are computed in double precision and rounded once, whole matrices of a batch together. Each reads one
triangle only; what lies in the other has no say.
"""

from __future__ import annotations

import numpy as np

from hlo.attributes import CholeskyOptions, FftKind, TriangularSolveOptions
from hlo.evaluator.contraction import as_type
from hlo.evaluator.kernels import Array, Kernel, Machine, Rule, check_work, sealed
from hlo.graph import HloInstruction
from hlo.opcode import Opcode
from hlo.primitive_type import PrimitiveType


def _wide(element_type: PrimitiveType) -> PrimitiveType:
    return PrimitiveType.C128 if element_type.is_complex else PrimitiveType.F64


def _cholesky(inst: HloInstruction, machine: Machine) -> Kernel:
    """The other triangle of the result is 0. A matrix that is not positive definite gives NaN throughout."""
    options = inst.attributes
    if not isinstance(options, CholeskyOptions):
        raise TypeError(f"{inst.name} has no cholesky options")
    shape = inst.array_shape
    check_work(inst, machine, shape.element_count * (shape.dimensions[-1] if shape.rank else 1))
    wide = _wide(shape.element_type)

    def cholesky(x: Array) -> Array:
        x = as_type(x, shape.element_type, wide)
        factor = _lower_factor(x if options.lower else np.swapaxes(x, -1, -2).conj())
        factor = factor if options.lower else np.swapaxes(factor, -1, -2).conj()
        return sealed(as_type(np.ascontiguousarray(factor), wide, shape.element_type))

    return cholesky


def _lower_factor(x: Array) -> Array:
    """Column by column (Cholesky-Crout), from the lower triangle."""
    factor = np.zeros_like(x)
    failed = np.zeros(x.shape[:-2], np.bool_)
    for j in range(x.shape[-1]):
        row = factor[..., j, :j]
        pivot = np.real(x[..., j, j]) - np.real(_sum_of_products(row, row.conj()))
        failed |= ~(pivot > 0)  # NaN, too
        root = np.sqrt(pivot)
        factor[..., j, j] = root
        below = x[..., j + 1 :, j] - _sum_of_products(factor[..., j + 1 :, :j], row.conj()[..., None, :])
        factor[..., j + 1 :, j] = below / root[..., None]
    factor[failed] = np.nan
    return factor


def _sum_of_products(left: Array, right: Array) -> Array:
    """Over the last dimension, first to last."""
    total = np.zeros(np.broadcast_shapes(left.shape[:-1], right.shape[:-1]), left.dtype)
    for k in range(left.shape[-1]):
        total += left[..., k] * right[..., k]
    return total


def _triangular_solve(inst: HloInstruction, machine: Machine) -> Kernel:
    """X of op(A)X = B, or from the right of Xop(A) = B. A zero on the diagonal divides as a float does."""
    options = inst.attributes
    if not isinstance(options, TriangularSolveOptions):
        raise TypeError(f"{inst.name} has no triangular-solve options")
    shape = inst.array_shape
    check_work(inst, machine, shape.element_count * inst.operand(0).array_shape.dimensions[-1])
    wide = _wide(shape.element_type)
    is_transposed = options.transpose_a in ("TRANSPOSE", "ADJOINT")
    # Xop(A) = B is op(A)ᵀXᵀ = Bᵀ
    flip = is_transposed == options.left_side
    is_lower = options.lower != flip

    def triangular_solve(a: Array, b: Array) -> Array:
        a, b = as_type(a, shape.element_type, wide), as_type(b, shape.element_type, wide)
        a = a.conj() if options.transpose_a == "ADJOINT" else a
        a = np.swapaxes(a, -1, -2) if flip else a
        b = b if options.left_side else np.swapaxes(b, -1, -2)
        x = _substituted(a, b, is_lower, options.unit_diagonal)
        x = x if options.left_side else np.swapaxes(x, -1, -2)
        return sealed(as_type(np.ascontiguousarray(x), wide, shape.element_type))

    return triangular_solve


def _substituted(a: Array, b: Array, is_lower: bool, unit_diagonal: bool) -> Array:
    """Row by row, from the one that has a single unknown."""
    x = b.copy()
    size = a.shape[-1]
    order = range(size) if is_lower else range(size - 1, -1, -1)
    done: list[int] = []
    for i in order:
        row = x[..., i, :].copy()
        for k in done:
            row -= a[..., i, k, None] * x[..., k, :]
        x[..., i, :] = row if unit_diagonal else row / a[..., i, i, None]
        done.append(i)
    return x


def _fft(inst: HloInstruction, _machine: Machine) -> Kernel:
    options = inst.attributes
    if not isinstance(options, FftKind):
        raise TypeError(f"{inst.name} has no fft type")
    source, shape = inst.operand(0).array_shape, inst.array_shape
    axes = tuple(range(-len(options.length), 0))
    transform = _TRANSFORMS[options.type]
    result_wide = _wide(shape.element_type)

    def fft(x: Array) -> Array:
        if not shape.element_count:
            return sealed(np.zeros(shape.dimensions, shape.element_type.numpy))
        x = as_type(x, source.element_type, _wide(source.element_type))
        result = transform(x, options.length, axes)
        return sealed(as_type(np.ascontiguousarray(result), result_wide, shape.element_type))

    return fft


_TRANSFORMS = {
    "FFT": np.fft.fftn,
    "IFFT": np.fft.ifftn,
    "RFFT": np.fft.rfftn,
    "IRFFT": np.fft.irfftn,
}

RULES: dict[Opcode, Rule] = {
    Opcode.CHOLESKY: _cholesky,
    Opcode.TRIANGULAR_SOLVE: _triangular_solve,
    Opcode.FFT: _fft,
}
