"""Which part of an array do the slices read or write, in JAX?

Starts are arguments at run time, never part of what is compiled, so that all slices of one size of one shape
share a kernel. `lax.dynamic_slice` counts a negative start from the end unless it is told not to; HLO clamps
every start to [0, dim - size] (`allow_negative_indices=False`, which raises for a start that is not traced).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jax import lax

from hlo import HloInstruction, Opcode
from hlo.attributes import SliceBounds
from oracle.reference.kernels import Array, Kernel, Layout
from oracle.reference.rule import Rule, Trace

_INT64_MAX = np.iinfo(np.int64).max


def starts_vector(starts: Sequence[Array]) -> Array:
    """Start indices of any integer type, scalars or the one vector of the old form, as one int64 vector.

    JAX clamps right in all eight types (`tests/oracle/test_reference.py` holds it to that); one type for all
    means one compiled function instead of eight. A u64 of 2^63 or more becomes the largest int64, which is past
    the end of every array, too.
    """
    return np.array([min(int(start), _INT64_MAX) for start in np.ravel(starts)], np.int64)


def _dynamic_slice(inst: HloInstruction, trace: Trace) -> Kernel:
    return _slice_kernel(inst.dynamic_slice_sizes, lambda x, *starts: (x, starts_vector(starts)))


def _slice_kernel(sizes: tuple[int, ...], prepare: Any) -> Kernel:
    def function(x: Any, starts: Any) -> Any:
        return lax.dynamic_slice(x, _split(starts, len(sizes)), sizes, allow_negative_indices=False)

    return Kernel((Opcode.DYNAMIC_SLICE, sizes), function, Layout.BITS, prepare, elements=1)


def _dynamic_update_slice(inst: HloInstruction, trace: Trace) -> Kernel:
    def function(x: Any, update: Any, starts: Any) -> Any:
        return lax.dynamic_update_slice(x, update, _split(starts, x.ndim), allow_negative_indices=False)

    def prepare(x: Array, update: Array, *starts: Array) -> Sequence[Array]:
        return x, update, starts_vector(starts)

    return Kernel(inst.opcode, function, Layout.BITS, prepare, elements=2)


def _split(starts: Any, rank: int) -> list[Any]:
    return [starts[d] for d in range(rank)]


def _slice(inst: HloInstruction, trace: Trace) -> Kernel:
    bounds = inst.attributes
    assert isinstance(bounds, SliceBounds)
    if all(stride == 1 for stride in bounds.strides):
        # in range by the rules of HLO: as a dynamic-slice it means the same and shares its kernel
        starts = np.array(bounds.starts, np.int64)
        return _slice_kernel(inst.array_shape.dimensions, lambda x: (x, starts))
    key = (inst.opcode, bounds)
    return Kernel(key, lambda x: lax.slice(x, bounds.starts, bounds.limits, bounds.strides), Layout.BITS)


RULES: Mapping[Opcode, Rule] = {
    Opcode.DYNAMIC_SLICE: _dynamic_slice,
    Opcode.DYNAMIC_UPDATE_SLICE: _dynamic_update_slice,
    Opcode.SLICE: _slice,
}
