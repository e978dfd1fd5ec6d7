"""How many terms is an element of a result made of, and how large can their sum be?

An order of n terms that two engines do not share leaves n epsilons of the sum of their magnitudes between them
(Higham, "Accuracy and Stability", section 4.2); transforms and solvers leave a few for each of their levels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from hlo import SPECS, HloInstruction, Opcode, Value
from hlo.attributes import (
    BatchNormOptions,
    ConvolutionDimensions,
    DotDimensions,
    FftKind,
    RaggedDotDimensions,
    ScanOptions,
    ScatterDimensions,
    Window,
)
from oracle.reducers import keeps_the_second, plain_reducer


def _contracted(inst: HloInstruction) -> int:
    """How many products are summed up in one element of a dot."""
    dims = inst.attributes
    if isinstance(dims, RaggedDotDimensions):
        dims = dims.dot
    assert isinstance(dims, DotDimensions)
    sizes = inst.operand(0).array_shape.dimensions
    return math.prod(sizes[d] for d in dims.lhs_contracting)


def _scanned(inst: HloInstruction) -> int:
    """How many roundings one element of the last step may have gone through; 0 where the steps only choose."""
    scan = inst.attributes
    assert isinstance(scan, ScanOptions)
    body = inst.called_computations[0]
    steps = inst.operand(0).array_shape.dimensions[scan.dimension]
    return steps * sum(
        i.opcode not in _MOVES and not SPECS[i.opcode].data_movement for i in body.instructions
    )


def _convolved(inst: HloInstruction) -> int:
    """How many products are summed up in one element of a convolution."""
    dims = inst.attributes
    assert isinstance(dims, ConvolutionDimensions)
    sizes = inst.operand(1).array_shape.dimensions
    return sizes[dims.kernel_input_feature] * math.prod(window.size for window in dims.window)


def _reduced(inst: HloInstruction) -> int:
    """How many elements, at most, one element of the result is combined from; 0 where combining only chooses."""
    if plain_reducer(inst.called_computations[-1]) in _CHOICES or keeps_the_second(
        inst.called_computations[-1]
    ):
        return 0
    attributes = inst.attributes
    sizes = inst.operand(0).array_shape.dimensions
    if isinstance(attributes, Window):
        return math.prod(dim.size for dim in attributes.dimensions)
    if isinstance(attributes, ScatterDimensions):
        updates = inst.operands[-1].array_shape.dimensions
        return math.prod(size for d, size in enumerate(updates) if d not in attributes.update_window_dims)
    return math.prod(sizes[d] for d in inst.dimensions)


def _transformed(inst: HloInstruction) -> int:
    """Epsilons of a transform: the Cooley-Tukey algorithm leaves a few at each of its log2 n levels."""
    fft = inst.attributes
    assert isinstance(fft, FftKind)
    return 8 * (1 + math.ceil(math.log2(max(2, math.prod(fft.length)))))


def _substituted(inst: HloInstruction) -> int:
    """Epsilons of a factorisation or solution, for a matrix that is well conditioned."""
    size = inst.operand(0).array_shape.dimensions[-1]
    return 8 * size * size


def _normalised(inst: HloInstruction) -> int:
    """Epsilons of a batch normalisation, of which statistics are taken or handed in."""
    options = inst.attributes
    assert isinstance(options, BatchNormOptions)
    if inst.opcode is Opcode.BATCH_NORM_INFERENCE:
        return 16
    shape = inst.operand(0).array_shape
    return 16 + 4 * math.prod(size for d, size in enumerate(shape.dimensions) if d != options.feature_index)


_MOVES = frozenset({Opcode.PARAMETER, Opcode.CONSTANT, Opcode.MAXIMUM, Opcode.MINIMUM, Opcode.NEGATE})
_CHOICES = frozenset({Opcode.AND, Opcode.MAXIMUM, Opcode.MINIMUM, Opcode.OR})

COUNTS: Mapping[Opcode, Callable[[HloInstruction], int]] = {
    Opcode.BATCH_NORM_GRAD: _normalised,
    Opcode.BATCH_NORM_INFERENCE: _normalised,
    Opcode.BATCH_NORM_TRAINING: _normalised,
    Opcode.CHOLESKY: _substituted,
    Opcode.CONVOLUTION: _convolved,
    Opcode.DOT: _contracted,
    Opcode.FFT: _transformed,
    Opcode.RAGGED_DOT: _contracted,
    Opcode.REDUCE: _reduced,
    Opcode.REDUCE_WINDOW: _reduced,
    Opcode.SCALED_DOT: _contracted,
    Opcode.SCAN: _scanned,
    Opcode.SCATTER: _reduced,
    Opcode.SELECT_AND_SCATTER: _reduced,
    Opcode.TRIANGULAR_SOLVE: _substituted,
}
"""How many epsilons the opcodes leave open whose results are made of many elements."""


def largest_sum(inst: HloInstruction, operands: Sequence[Value]) -> float:
    """No sum of magnitudes that goes into an element of the result is larger."""
    largest = [_largest(operand) for operand in operands]
    match inst.opcode:
        case Opcode.DOT | Opcode.SCALED_DOT:
            return _contracted(inst) * math.prod(largest)
        case Opcode.RAGGED_DOT:
            return _contracted(inst) * math.prod(largest[:2]) * inst.operand(2).array_shape.dimensions[-1]
        case Opcode.SCAN:
            return (_scanned(inst) + 1) * max(largest)
        case Opcode.CONVOLUTION:
            return _convolved(inst) * math.prod(largest)
        case Opcode.FFT:
            fft = inst.attributes
            assert isinstance(fft, FftKind)
            return largest[0] * (1 if fft.type in ("IFFT", "IRFFT") else math.prod(fft.length))
        case Opcode.BATCH_NORM_GRAD | Opcode.BATCH_NORM_INFERENCE | Opcode.BATCH_NORM_TRAINING:
            return _largest_normal(inst, operands, largest)
        case Opcode.REDUCE | Opcode.REDUCE_WINDOW:
            return _reduced(inst) * max(largest[: len(largest) // 2])
        case _:
            return (_reduced(inst) + 1) * max(largest)


def _largest_normal(inst: HloInstruction, operands: Sequence[Value], largest: Sequence[float]) -> float:
    options = inst.attributes
    assert isinstance(options, BatchNormOptions)
    values = operands[0]
    assert isinstance(values, np.ndarray)
    if inst.opcode is Opcode.BATCH_NORM_TRAINING:
        folded = tuple(d for d in range(values.ndim) if d != options.feature_index)
        variance: Value = values.astype(np.float64).var(axis=folded) if values.size else np.ones(())
    else:
        variance = operands[4 if inst.opcode is Opcode.BATCH_NORM_INFERENCE else 3]
    assert isinstance(variance, np.ndarray)
    finite = np.isfinite(variance)
    least = np.min(variance.astype(np.float64), initial=np.inf, where=finite)
    deviation = math.sqrt(max(float(least) + options.epsilon, 1e-30))
    if inst.opcode is Opcode.BATCH_NORM_GRAD:
        gradient = largest[4] * max(1, values.size)
        return (
            gradient * max(1.0, largest[0] + largest[2]) * max(1.0, largest[1]) * max(1.0, 1 / deviation**3)
        )
    scale = largest[1] * max(1.0, 1 / deviation)
    return max(2 * largest[0] * scale + largest[2], largest[0] ** 2, *largest)


def _largest(value: Value) -> float:
    if not isinstance(value, np.ndarray) or not value.size:
        return 0.0
    magnitude = (
        np.abs(value.astype(np.complex128)) if np.iscomplexobj(value) else np.abs(value.astype(np.float64))
    )
    return float(np.max(magnitude, initial=0.0, where=np.isfinite(magnitude)))
