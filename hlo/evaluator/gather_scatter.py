"""What do gather and scatter give, and which windows count?

Both place windows in an operand. A gather clamps each start to [0, dimension - size], as dynamic-slice does. A scatter
does not clamp: a window of which any part lies outside is dropped as a whole. An index is the number that its type
says: unsigned ones are never negative.

HLO leaves the order of a scatter's updates open. Here it is that of upstream's evaluator: window by window, row-major
over the scatter dimensions of the updates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hlo.attributes import GatherDimensions, ScatterDimensions
from hlo.errors import UnsupportedOpcode
from hlo.evaluator.kernels import Array, Kernel, Machine, Rule, sealed
from hlo.evaluator.mapping import Columns, as_type, by_element
from hlo.graph import HloInstruction
from hlo.literal import Value
from hlo.opcode import Opcode
from hlo.primitive_type import PrimitiveType
from hlo.shape import TupleShape

Ints = tuple[int, ...]
_FAR = np.iinfo(np.int64).max // 2  # beyond every dimension, and still far from overflow


@dataclass(frozen=True, slots=True)
class _Starts:
    """Where windows start: for each dimension of the operand an array over the windows, or None for always 0.

    `rows` says for a dimension which component of the index vector it is; `batches` which window dimension it follows.
    """

    index_vector_dim: int
    rows: dict[int, int]
    batches: dict[int, int]
    window_dimensions: Ints

    def of(self, indices: Array, rank: int) -> list[Array | None]:
        if self.index_vector_dim == indices.ndim:
            indices = indices[..., None]
        vectors = np.moveaxis(_as_int64(indices), self.index_vector_dim, 0)
        starts: list[Array | None] = [None] * rank
        for dimension, row in self.rows.items():
            starts[dimension] = vectors[row]
        for dimension, at in self.batches.items():
            size = self.window_dimensions[at]
            starts[dimension] = np.arange(size).reshape(
                [-1 if d == at else 1 for d in range(len(self.window_dimensions))]
            )
        return starts


def _starts(
    indices: Ints, index_vector_dim: int, rows: Ints, batching: Ints, indices_batching: Ints
) -> _Starts:
    """`batching` are dimensions of the operand, `indices_batching` those of the indices that they follow."""
    windows = tuple(size for d, size in enumerate(indices) if d != index_vector_dim)
    batches = {d: at - (at > index_vector_dim) for d, at in zip(batching, indices_batching, strict=True)}
    return _Starts(index_vector_dim, {d: row for row, d in enumerate(rows)}, batches, windows)


def _as_int64(indices: Array) -> Array:
    if indices.dtype == np.uint64:
        return np.minimum(indices, np.uint64(_FAR)).astype(np.int64)
    return indices.astype(np.int64)


def _gather(inst: HloInstruction, _machine: Machine) -> Kernel:
    numbers = inst.attributes
    if not isinstance(numbers, GatherDimensions):
        raise TypeError(f"{inst.name} has no gather dimensions")
    operand, indices, shape = inst.operand(0).array_shape, inst.operand(1).array_shape, inst.array_shape
    gone = (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims)
    if shape.element_count and not all(numbers.slice_sizes):
        raise UnsupportedOpcode(inst.opcode, "evaluator (elements of an empty slice)")
    kept = [d for d in range(operand.rank) if d not in gone]
    windows = shape.rank - len(kept)
    starts_of = _starts(
        indices.dimensions,
        numbers.index_vector_dim,
        numbers.start_index_map,
        numbers.operand_batching_dims,
        numbers.start_indices_batching_dims,
    )
    # Of the result of indexing, all window dimensions come first, then those of the slice.
    source = iter(range(windows, shape.rank))
    outer = iter(range(windows))
    order = [next(source if d in numbers.offset_dims else outer) for d in range(shape.rank)]

    def gather(x: Array, start_indices: Array) -> Array:
        places: list[Array] = []
        for d, start in enumerate(starts_of.of(start_indices, operand.rank)):
            size = numbers.slice_sizes[d]
            at = np.zeros((1,) * windows, np.int64) if start is None else start
            at = np.clip(at, 0, operand.dimensions[d] - size).reshape(at.shape + (1,) * len(kept))
            if d in kept:
                at = at + np.arange(size).reshape([-1 if d == k else 1 for k in kept])
            places.append(at)
        if not places:  # a scalar operand: every window is the scalar
            return sealed(np.full(shape.dimensions, x))
        taken = np.broadcast_to(x[tuple(places)], _before(order, shape.dimensions))
        return sealed(np.ascontiguousarray(taken.transpose(order)).reshape(shape.dimensions))

    return gather


def _before(order: Sequence[int], dimensions: Ints) -> Ints:
    """The dimensions that a transpose by `order` turns into `dimensions`."""
    return tuple(dimensions[order.index(d)] for d in range(len(dimensions)))


def _scatter(inst: HloInstruction, machine: Machine) -> Kernel:
    numbers = inst.attributes
    if not isinstance(numbers, ScatterDimensions):
        raise TypeError(f"{inst.name} has no scatter dimensions")
    count = len(inst.operands) // 2
    operand, indices = inst.operand(0).array_shape, inst.operand(count).array_shape
    updates = inst.operand(count + 1).array_shape
    gone = (*numbers.inserted_window_dims, *numbers.input_batching_dims)
    kept = [d for d in range(operand.rank) if d not in gone]
    sizes = dict(zip(kept, (updates.dimensions[d] for d in numbers.update_window_dims), strict=True))
    outer = [d for d in range(updates.rank) if d not in numbers.update_window_dims]
    windows = tuple(updates.dimensions[d] for d in outer)
    order = (*outer, *numbers.update_window_dims)
    starts_of = _starts(
        indices.dimensions,
        numbers.index_vector_dim,
        numbers.scatter_dims_to_operand_dims,
        numbers.input_batching_dims,
        numbers.scatter_indices_batching_dims,
    )
    combine = by_element(inst.called_computations[0], machine)
    result_is_tuple = isinstance(inst.shape, TupleShape)

    def scatter(*values: Array) -> Value:
        starts = starts_of.of(values[count], operand.rank)
        positions, inside = _positions(starts, windows, operand.dimensions, sizes)
        results = [np.array(x).reshape(-1) for x in values[:count]]
        columns = [x.transpose(order).reshape(-1)[inside] for x in values[count + 1 :]]
        accumulate(results, positions[inside], columns, combine)
        shaped = tuple(sealed(result.reshape(operand.dimensions)) for result in results)
        return shaped if result_is_tuple else shaped[0]

    return scatter


def _positions(
    starts: Sequence[Array | None], windows: Ints, dimensions: Ints, sizes: dict[int, int]
) -> tuple[Array, Array]:
    """Of each update, window by window: the row-major position in the operand, and whether its window lies inside."""
    inside = np.ones(windows, np.bool_)
    full = (*windows, *sizes.values())
    positions = np.zeros(full, np.int64)
    for d, start in enumerate(starts):
        stride = math.prod(dimensions[d + 1 :])
        if start is not None:
            # without overflow: what is far outside is already known to be
            near = np.clip(start, -1, dimensions[d] + 1)
            inside &= (near >= 0) & (near + sizes.get(d, 1) <= dimensions[d])
            positions += near.reshape(near.shape + (1,) * len(sizes)) * stride
        elif sizes.get(d, 1) > dimensions[d]:
            inside[...] = False
        if d in sizes:
            positions += np.arange(sizes[d]).reshape([-1 if d == k else 1 for k in sizes]) * stride
    counted = np.broadcast_to(inside.reshape(inside.shape + (1,) * len(sizes)), full)
    return positions.reshape(-1), counted.reshape(-1)


def accumulate(
    results: Sequence[Array], positions: Array, updates: Sequence[Array], combine: Columns
) -> None:
    """At positions[i], let `combine` make the results of the results and of updates[i]: for each i in turn.

    All arrays have rank 1. Updates of different positions do not meet, so the first updates of all positions go
    together, then the second ones, and so on.
    """
    if not positions.size:
        return
    by_position = np.argsort(positions, kind="stable")
    ordered = positions[by_position]
    is_first = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    starts = np.flatnonzero(is_first)
    turn = np.arange(positions.size) - starts[np.cumsum(is_first) - 1]
    by_turn = np.argsort(turn, kind="stable")
    for chosen in np.split(by_position[by_turn], np.cumsum(np.bincount(turn))[:-1]):
        at = positions[chosen]
        combined = combine([*(x[at] for x in results), *(x[chosen] for x in updates)])
        for result, x in zip(results, combined, strict=True):
            result[at] = as_type(x, PrimitiveType.of(result.dtype))


RULES: dict[Opcode, Rule] = {Opcode.GATHER: _gather, Opcode.SCATTER: _scatter}
