"""What do gather and scatter read and write, in JAX?

Index vectors reach the compiled function as int64 in the last dimension, whatever their type and place were.
A gather clamps starts so that the slice fits. A scatter leaves out each window that is not wholly inside the
operand, which is what HLO means (`HloEvaluator::HandleScatter`); StableHLO's specification leaves out the single
elements that are outside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from hlo import HloInstruction, Opcode, PrimitiveType, TupleShape
from hlo.attributes import GatherDimensions, ScatterDimensions
from oracle.reducers import keeps_the_second, plain_reducer
from oracle.reference.kernels import Array, JaxFunction, Kernel, Layout
from oracle.reference.rule import Rule, Trace

_INT64_MAX = np.iinfo(np.int64).max
_DROP = lax.GatherScatterMode.FILL_OR_DROP
_SCATTERS: Mapping[Opcode, Any] = {
    Opcode.ADD: lax.scatter_add,
    Opcode.MULTIPLY: lax.scatter_mul,
    Opcode.MAXIMUM: lax.scatter_max,
    Opcode.MINIMUM: lax.scatter_min,
}


def index_vectors(indices: Array, dimension: int) -> Array:
    """`indices` as int64 with the index vectors last; `dimension` = rank means vectors of one number.

    A u64 of 2^63 or more becomes the largest int64, which is past the end of every array, too.
    """
    if dimension == indices.ndim:
        indices = indices[..., None]
    if indices.dtype == np.uint64:
        indices = np.minimum(indices, np.uint64(_INT64_MAX))
    return np.moveaxis(indices, dimension, -1).astype(np.int64)


def _without(dimensions: Sequence[int], vector: int) -> tuple[int, ...]:
    """Dimensions of the indices, renumbered after the one of the index vectors went to the end."""
    return tuple(d - (d > vector) for d in dimensions)


def _gather(inst: HloInstruction, trace: Trace) -> Kernel:
    dims = inst.attributes
    assert isinstance(dims, GatherDimensions)
    numbers = lax.GatherDimensionNumbers(
        offset_dims=dims.offset_dims,
        collapsed_slice_dims=dims.collapsed_slice_dims,
        start_index_map=dims.start_index_map,
        operand_batching_dims=dims.operand_batching_dims,
        start_indices_batching_dims=_without(dims.start_indices_batching_dims, dims.index_vector_dim),
    )

    def function(x: Any, vectors: Any) -> Any:
        return lax.gather(x, vectors, numbers, dims.slice_sizes, mode=lax.GatherScatterMode.CLIP)

    def prepare(x: Array, indices: Array) -> Sequence[Array]:
        return x, index_vectors(indices, dims.index_vector_dim)

    # whether the indices are sorted changes no value, so the promise is not passed on
    return Kernel((inst.opcode, numbers, dims.slice_sizes), function, Layout.BITS, prepare, elements=1)


def _scatter(inst: HloInstruction, trace: Trace) -> Kernel:
    """Operands, then the indices, then the updates; the promises are not passed on."""
    dims = inst.attributes
    assert isinstance(dims, ScatterDimensions)
    count = len(inst.operands) // 2

    def prepare(*operands: Array) -> Sequence[Array]:
        vectors = index_vectors(operands[count], dims.index_vector_dim)
        return *operands[:count], *operands[count + 1 :], vectors

    (combiner,) = inst.called_computations
    if keeps_the_second(combiner):
        return Kernel((inst.opcode, dims), _as_one(lax.scatter, dims), Layout.BITS, prepare, elements=2)
    opcode = plain_reducer(combiner)
    kind = inst.operand(0).array_shape.element_type
    if (
        opcode is not None
        and opcode in _SCATTERS
        and count == 1
        and kind is not PrimitiveType.PRED
        and not kind.is_complex
    ):
        function = _as_one(_SCATTERS[opcode], dims)
        return Kernel((inst.opcode, dims, opcode), function, prepare=prepare)
    combine, key = trace(combiner)
    takes = [p.array_shape.element_type.numpy for p in combiner.parameters]
    whole = isinstance(inst.shape, TupleShape)
    function = _one_by_one(combine, dims, count, takes, whole)
    return Kernel((inst.opcode, dims, count, whole, *takes, key), function, prepare=prepare)


def _as_one(scatter: Any, dims: ScatterDimensions) -> JaxFunction:
    """A scatter that `lax` has."""
    numbers = lax.ScatterDimensionNumbers(
        update_window_dims=dims.update_window_dims,
        inserted_window_dims=dims.inserted_window_dims,
        scatter_dims_to_operand_dims=dims.scatter_dims_to_operand_dims,
        operand_batching_dims=dims.input_batching_dims,
        scatter_indices_batching_dims=_without(dims.scatter_indices_batching_dims, dims.index_vector_dim),
    )
    return lambda x, updates, vectors: scatter(x, vectors, updates, numbers, mode=_DROP)


def _one_by_one(
    combine: JaxFunction, dims: ScatterDimensions, count: int, takes: Sequence[np.dtype[Any]], whole: bool
) -> JaxFunction:
    """A scatter with any computation: the updates are combined in, one after the other in row-major order."""

    def function(*arguments: Any) -> Any:
        operands, updates, vectors = arguments[:count], arguments[count:-1], arguments[-1]
        shape = operands[0].shape
        flat = tuple(x.reshape(-1) for x in operands)
        if updates[0].size and operands[0].size:
            places, inside = _places(dims, shape, updates[0].shape, vectors)
            new = tuple(x.reshape(-1) for x in updates)

            def one(i: Any, state: tuple[Any, ...]) -> tuple[Any, ...]:
                at = jnp.where(inside[i], places[i], 0)
                old = tuple(x[at] for x in state)
                given = map(lax.convert_element_type, (*old, *(u[i] for u in new)), takes)
                combined = combine(*given)
                combined = combined if isinstance(combined, tuple) else (combined,)
                kept = (
                    lax.select(inside[i], c.astype(o.dtype), o) for c, o in zip(combined, old, strict=True)
                )
                return tuple(
                    lax.dynamic_update_slice(x, k[None], (at,)) for x, k in zip(state, kept, strict=True)
                )

            flat = lax.fori_loop(0, updates[0].size, one, flat)
        results = tuple(x.reshape(shape) for x in flat)
        return results if whole else results[0]

    return function


def _places(
    dims: ScatterDimensions, operand: tuple[int, ...], update: tuple[int, ...], vectors: Any
) -> tuple[Any, Any]:
    """For each update in row-major order: where in the flat operand it goes, and whether its window is inside."""
    coordinates = np.indices(update).reshape(len(update), -1)
    batch_dims = [d for d in range(len(update)) if d not in dims.update_window_dims]
    batch = coordinates[np.array(batch_dims, int)] if batch_dims else coordinates[:0]
    starts = (
        vectors[tuple(batch)]
        if batch_dims
        else jnp.broadcast_to(vectors, (coordinates.shape[1], vectors.size))
    )
    missing = {*dims.inserted_window_dims, *dims.input_batching_dims}
    windows = iter(dims.update_window_dims)
    batching = _without(dims.scatter_indices_batching_dims, dims.index_vector_dim)
    place = jnp.zeros(coordinates.shape[1], np.int64)
    inside = jnp.ones(coordinates.shape[1], bool)
    for d, size in enumerate(operand):
        window = None if d in missing else next(windows)
        offset = 0 if window is None else coordinates[window]
        width = 1 if window is None else update[window]
        start: Any = 0
        if d in dims.scatter_dims_to_operand_dims:
            start = starts[:, dims.scatter_dims_to_operand_dims.index(d)]
        elif d in dims.input_batching_dims:
            start = batch[batching[dims.input_batching_dims.index(d)]]
        inside &= (start >= 0) & (start <= size - width)
        place = place * size + start + offset
    return place, inside


RULES: Mapping[Opcode, Rule] = {Opcode.GATHER: _gather, Opcode.SCATTER: _scatter}
