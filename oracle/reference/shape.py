"""How do the opcodes that rearrange elements do so, in JAX?

All but iota are BITS: they move elements and never look at them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
from jax import lax

from hlo import HloInstruction, Opcode
from hlo.attributes import PaddingConfig, Rotation
from oracle.reference.kernels import Kernel, Layout
from oracle.reference.rule import Rule, Trace

Array = Any


def _broadcast(inst: HloInstruction, trace: Trace) -> Kernel:
    dims, mapping = inst.array_shape.dimensions, inst.dimensions
    key = (inst.opcode, dims, mapping)
    return Kernel(key, lambda x: lax.broadcast_in_dim(x, dims, mapping), Layout.BITS)


def _reshape(inst: HloInstruction, trace: Trace) -> Kernel:
    dims = inst.array_shape.dimensions
    return Kernel((Opcode.RESHAPE, dims), lambda x: lax.reshape(x, dims), Layout.BITS)


def _transpose(inst: HloInstruction, trace: Trace) -> Kernel:
    permutation = inst.dimensions
    return Kernel((inst.opcode, permutation), lambda x: lax.transpose(x, permutation), Layout.BITS)


def _reverse(inst: HloInstruction, trace: Trace) -> Kernel:
    dims = inst.dimensions
    return Kernel((inst.opcode, dims), lambda x: lax.rev(x, dims), Layout.BITS)


def _concatenate(inst: HloInstruction, trace: Trace) -> Kernel:
    (dim,) = inst.dimensions
    return Kernel((inst.opcode, dim), lambda *xs: lax.concatenate(xs, dim), Layout.BITS)


def _pad(inst: HloInstruction, trace: Trace) -> Kernel:
    padding = inst.attributes
    assert isinstance(padding, PaddingConfig)
    config = tuple(zip(padding.low, padding.high, padding.interior, strict=True))
    return Kernel((inst.opcode, config), lambda x, value: lax.pad(x, value, config), Layout.BITS)


def _shuffle(inst: HloInstruction, trace: Trace) -> Kernel:
    rotation = inst.attributes
    assert isinstance(rotation, Rotation)

    def function(x: Array) -> Array:
        if not rotation.dimensions:
            return x
        # `roll` shifts to the right
        return jnp.roll(x, tuple(-shift for shift in rotation.shifts), rotation.dimensions)

    return Kernel((inst.opcode, rotation), function, Layout.BITS)


def _iota(inst: HloInstruction, trace: Trace) -> Kernel:
    shape = inst.array_shape
    (dim,) = inst.dimensions
    key = (inst.opcode, shape.element_type, shape.dimensions, dim)
    return Kernel(key, lambda: lax.broadcasted_iota(shape.element_type.numpy, shape.dimensions, dim))


RULES: Mapping[Opcode, Rule] = {
    Opcode.BITCAST: _reshape,
    Opcode.BROADCAST: _broadcast,
    Opcode.CONCATENATE: _concatenate,
    Opcode.IOTA: _iota,
    Opcode.PAD: _pad,
    Opcode.RESHAPE: _reshape,
    Opcode.REVERSE: _reverse,
    Opcode.SHUFFLE: _shuffle,
    Opcode.TRANSPOSE: _transpose,
}
