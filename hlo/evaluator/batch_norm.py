"""What do the three forms of batch normalisation give?

All dimensions but that of the features are reduced together. Everything is computed in double precision and rounded
once. The variance is that of the whole batch, without Bessel's correction.

Source: `BatchNormTraining`, `BatchNormInference` and `BatchNormGrad` of the operation semantics.
"""

from __future__ import annotations

import numpy as np

from hlo.attributes import BatchNormOptions
from hlo.evaluator.contraction import as_type
from hlo.evaluator.kernels import Array, Kernel, Machine, Rule, sealed
from hlo.graph import HloInstruction
from hlo.literal import Value
from hlo.opcode import Opcode
from hlo.primitive_type import PrimitiveType


class _Batch:
    """What the three forms need to know of an instruction's operand."""

    def __init__(self, inst: HloInstruction) -> None:
        if not isinstance(inst.attributes, BatchNormOptions):
            raise TypeError(f"{inst.name} has no batch-norm options")
        shape = inst.operand(0).array_shape
        feature = inst.attributes.feature_index
        self.epsilon = inst.attributes.epsilon
        self.types = [operand.array_shape.element_type for operand in inst.operands]
        self.rest = tuple(d for d in range(shape.rank) if d != feature)
        self.column = [-1 if d == feature else 1 for d in range(shape.rank)]

    def wide(self, values: tuple[Array, ...]) -> list[Array]:
        return [as_type(x, t, PrimitiveType.F64) for x, t in zip(values, self.types, strict=True)]

    def spread(self, x: Array) -> Array:
        """One value a feature, along the feature dimension."""
        return x.reshape(self.column)

    def narrow(self, x: Array, operand: int) -> Array:
        return sealed(as_type(np.ascontiguousarray(x), PrimitiveType.F64, self.types[operand]))

    def normalised(self, x: Array, mean: Array, variance: Array) -> Array:
        return (x - self.spread(mean)) / np.sqrt(self.spread(variance) + self.epsilon)


def _training(inst: HloInstruction, _machine: Machine) -> Kernel:
    batch = _Batch(inst)

    def training(*values: Array) -> Value:
        x, scale, offset = batch.wide(values)
        mean = _mean(x, batch.rest)
        variance = _mean(np.square(x - batch.spread(mean)), batch.rest)
        result = batch.normalised(x, mean, variance) * batch.spread(scale) + batch.spread(offset)
        return batch.narrow(result, 0), batch.narrow(mean, 1), batch.narrow(variance, 1)

    return training


def _inference(inst: HloInstruction, _machine: Machine) -> Kernel:
    batch = _Batch(inst)

    def inference(*values: Array) -> Value:
        x, scale, offset, mean, variance = batch.wide(values)
        result = batch.normalised(x, mean, variance) * batch.spread(scale) + batch.spread(offset)
        return batch.narrow(result, 0)

    return inference


def _grad(inst: HloInstruction, _machine: Machine) -> Kernel:
    """The gradients by operand, scale and offset, through mean and variance of the batch."""
    batch = _Batch(inst)

    def grad(*values: Array) -> Value:
        x, scale, mean, variance, upstream = batch.wide(values)
        normalised = batch.normalised(x, mean, variance)
        by_offset = upstream.sum(batch.rest)
        by_scale = (upstream * normalised).sum(batch.rest)
        centred = (
            upstream
            - batch.spread(_mean(upstream, batch.rest))
            - normalised * batch.spread(_mean(upstream * normalised, batch.rest))
        )
        by_operand = centred * batch.spread(scale / np.sqrt(variance + batch.epsilon))
        return batch.narrow(by_operand, 0), batch.narrow(by_scale, 1), batch.narrow(by_offset, 1)

    return grad


def _mean(x: Array, dimensions: tuple[int, ...]) -> Array:
    """NumPy's own warns of an empty batch. The mean of nothing is 0/0."""
    count = np.prod([x.shape[d] for d in dimensions], dtype=np.float64)
    return np.divide(x.sum(dimensions), count)


RULES: dict[Opcode, Rule] = {
    Opcode.BATCH_NORM_TRAINING: _training,
    Opcode.BATCH_NORM_INFERENCE: _inference,
    Opcode.BATCH_NORM_GRAD: _grad,
}
