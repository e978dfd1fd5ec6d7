"""What does a convolution give, and in which order does it add?

As a matrix product does (`contraction.py`): one product after another, in the order of the kernel's spatial
dimensions, row-major, and for each place there over the input features. Padding and the holes of a dilated base
take no part, so that an infinite weight meets no zero there. (Upstream's HloEvaluator does the same.)
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from hlo.attributes import ConvolutionDimensions
from hlo.evaluator.contraction import as_type, carrier_of
from hlo.evaluator.kernels import Array, Kernel, Machine, Rule, check_work, sealed
from hlo.evaluator.windows import meetings
from hlo.graph import HloInstruction
from hlo.opcode import Opcode


def _convolution(inst: HloInstruction, machine: Machine) -> Kernel:
    numbers = inst.attributes
    if not isinstance(numbers, ConvolutionDimensions):
        raise TypeError(f"{inst.name} has no convolution dimensions")
    image, kernel, shape = inst.operand(0).array_shape, inst.operand(1).array_shape, inst.array_shape
    inputs = tuple(image.dimensions[d] for d in numbers.input_spatial)
    outputs = tuple(shape.dimensions[d] for d in numbers.output_spatial)
    batch, channels = shape.dimensions[numbers.output_batch], shape.dimensions[numbers.output_feature]
    depth = kernel.dimensions[numbers.kernel_input_feature]
    check_work(inst, machine, shape.element_count * depth * math.prod(w.size for w in numbers.window))
    # Each group of output channels looks at its own features, or at its own part of the batch.
    groups = max(numbers.feature_group_count, numbers.batch_group_count)
    each = [meetings(*row) for row in zip(numbers.window, inputs, outputs, strict=True)]
    carrier = carrier_of(image.element_type, kernel.element_type, shape.element_type)
    back = np.argsort((numbers.output_batch, *numbers.output_spatial, numbers.output_feature))

    def grouped(x: Array) -> Array:
        """The image as batch, spatial dimensions, group, feature."""
        if numbers.batch_group_count == 1:
            x = x.transpose((numbers.input_batch, *numbers.input_spatial, numbers.input_feature))
            return x.reshape((batch, *inputs, groups, depth))
        x = x.transpose((numbers.input_batch, *numbers.input_spatial, numbers.input_feature))
        return np.moveaxis(x.reshape((groups, batch, *inputs, depth)), 0, -2)

    def convolution(x: Array, weights: Array) -> Array:
        x = np.ascontiguousarray(grouped(as_type(x, image.element_type, carrier)))
        weights = as_type(weights, kernel.element_type, carrier).transpose(
            (*numbers.kernel_spatial, numbers.kernel_input_feature, numbers.kernel_output_feature)
        )
        total = np.zeros((batch, *outputs, groups, channels // groups), carrier.numpy)
        for place in itertools.product(*[range(w.size) for w in numbers.window]):
            step = [meeting[at] for meeting, at in zip(each, place, strict=True)]
            if all(meeting.windows.size for meeting in step):
                there = (slice(None), *np.ix_(*[meeting.windows for meeting in step]))
                met = x[(slice(None), *np.ix_(*[meeting.base for meeting in step]))]
                total[there] = _added(total[there], met, weights[place])
        result = total.reshape((batch, *outputs, channels)).transpose(back)
        return sealed(as_type(np.ascontiguousarray(result), carrier, shape.element_type))

    return convolution


def _added(total: Array, met: Array, weights: Array) -> Array:
    """`total` [… group, channel] and, feature by feature, what is `met` [… group, feature] times its weights."""
    depth = met.shape[-1]
    weights = np.ascontiguousarray(weights).reshape((depth, *total.shape[-2:]))
    product = np.empty_like(total)
    for feature in range(depth):
        np.multiply(np.ascontiguousarray(met[..., feature])[..., None], weights[feature], out=product)
        np.add(total, product, out=total)
    return total


RULES: dict[Opcode, Rule] = {Opcode.CONVOLUTION: _convolution}
