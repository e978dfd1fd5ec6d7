"""What do the opcodes that rearrange elements give?"""

from __future__ import annotations

from functools import partial

import numpy as np

from hlo.attributes import PaddingConfig, Rotation
from hlo.errors import UnsupportedOpcode
from hlo.evaluator.conversion import bitcast_convert
from hlo.evaluator.kernels import Array, Kernel, Machine, Rule, identity, sealed
from hlo.evaluator.limits import UnsupportedType
from hlo.graph import HloInstruction
from hlo.interchange.shapes import minor_to_major
from hlo.opcode import Opcode


def _iota(inst: HloInstruction, _machine: Machine) -> Kernel:
    shape = inst.array_shape
    (dimension,) = inst.dimensions
    size = shape.dimensions[dimension]
    column = [size if d == dimension else 1 for d in range(shape.rank)]
    result = np.empty(shape.dimensions, shape.element_type.numpy)
    result[...] = np.arange(size).astype(shape.element_type.numpy).reshape(column)
    sealed(result)
    return lambda: result


def _broadcast(inst: HloInstruction, _machine: Machine) -> Kernel:
    source, shape = inst.operand(0).array_shape, inst.array_shape
    dtype, dimensions, mapping = shape.element_type.numpy, shape.dimensions, inst.dimensions
    if source.is_scalar:

        def fill(x: Array) -> Array:
            result = np.empty(dimensions, dtype)
            result[...] = x
            return sealed(result)

        return fill
    # Operand dimensions in the order of their output dimensions, with a 1 wherever the output has a new one.
    order = tuple(sorted(range(source.rank), key=mapping.__getitem__))
    sizes = [1] * shape.rank
    for d, to in enumerate(mapping):
        sizes[to] = source.dimensions[d]

    def spread(x: Array) -> Array:
        result = np.empty(dimensions, dtype)
        result[...] = x.transpose(order).reshape(sizes)
        return sealed(result)

    return spread


def _reshape(inst: HloInstruction, _machine: Machine) -> Kernel:
    dimensions = inst.array_shape.dimensions
    return lambda x: sealed(x.reshape(dimensions))


def _bitcast(inst: HloInstruction, machine: Machine) -> Kernel:
    source, target = inst.operand(0).array_shape, inst.array_shape
    if source == target and source.layout == target.layout:
        return identity
    if source.layout is not None or target.layout is not None:
        return _relayout(inst)
    if source.element_type is target.element_type:
        return _reshape(inst, machine)
    if min(source.element_type.bit_width, target.element_type.bit_width) < 8:
        raise UnsupportedType(inst.opcode, target.element_type)
    return lambda x: sealed(bitcast_convert(x, target.element_type.numpy, target.dimensions))


def _relayout(inst: HloInstruction) -> Kernel:
    """A bitcast between layouts: the elements keep their places in memory, and get other indices."""
    source, target = inst.operand(0).array_shape, inst.array_shape
    if source.element_type is not target.element_type:
        raise UnsupportedOpcode(str(inst.opcode), "evaluator (a bitcast between layouts and types)")
    in_memory, order = minor_to_major(source)[::-1], minor_to_major(target)[::-1]
    sizes = [target.dimensions[d] for d in order]
    back = sorted(range(target.rank), key=order.__getitem__)
    return lambda x: sealed(x.transpose(in_memory).reshape(sizes).transpose(back))


def _transpose(inst: HloInstruction, _machine: Machine) -> Kernel:
    permutation = inst.dimensions
    return lambda x: x.transpose(permutation)


def _reverse(inst: HloInstruction, _machine: Machine) -> Kernel:
    if not inst.dimensions:
        return identity
    window = tuple(slice(None, None, -1 if d in inst.dimensions else 1) for d in range(inst.array_shape.rank))
    return lambda x: x[window]


def _concatenate(inst: HloInstruction, _machine: Machine) -> Kernel:
    (dimension,) = inst.dimensions
    join = partial(np.concatenate, axis=dimension)
    return lambda *operands: sealed(join(operands))


def _pad(inst: HloInstruction, _machine: Machine) -> Kernel:
    """Element i of a dimension goes to low + i × (interior + 1); what falls outside the result is cut off."""
    padding = inst.attributes
    if not isinstance(padding, PaddingConfig):
        raise TypeError(f"{inst.name} has no padding")
    source, shape = inst.operand(0).array_shape, inst.array_shape
    dimensions, dtype = shape.dimensions, shape.element_type.numpy
    taken: list[slice] = []
    put: list[slice] = []
    for size, bound, low, interior in zip(
        source.dimensions, dimensions, padding.low, padding.interior, strict=True
    ):
        step = interior + 1
        first = max(0, -(low // step))  # the first i with low + i × step >= 0
        end = max(first, min(size, -((low - bound) // step)))  # the first i with low + i × step >= bound
        taken.append(slice(first, end))
        begin = low + first * step
        put.append(slice(begin, begin + (end - first) * step, step) if end > first else slice(0, 0))
    from_, to = tuple(taken), tuple(put)

    def pad(x: Array, filler: Array) -> Array:
        result = np.empty(dimensions, dtype)
        result[...] = filler
        result[to] = x[from_]
        return sealed(result)

    return pad


def _shuffle(inst: HloInstruction, _machine: Machine) -> Kernel:
    """Each dimension rotated to the left, as often as its shift says; a negative one to the right.

    Source: `ShuffleExpander` upstream.
    """
    rotation = inst.attributes
    if not isinstance(rotation, Rotation):
        raise TypeError(f"{inst.name} has no shifts")
    if not rotation.dimensions:  # `roll` wants at least one
        return identity
    shifts = tuple(-shift for shift in rotation.shifts)
    return lambda x: sealed(np.roll(x, shifts, rotation.dimensions))


RULES: dict[Opcode, Rule] = {
    Opcode.IOTA: _iota,
    Opcode.BROADCAST: _broadcast,
    Opcode.RESHAPE: _reshape,
    Opcode.BITCAST: _bitcast,
    Opcode.TRANSPOSE: _transpose,
    Opcode.REVERSE: _reverse,
    Opcode.CONCATENATE: _concatenate,
    Opcode.PAD: _pad,
    Opcode.SHUFFLE: _shuffle,
}
