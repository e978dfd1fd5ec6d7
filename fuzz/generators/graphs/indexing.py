"""How is a slice, gather or scatter drawn? Starts and index vectors are parameters of their own, with roles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fuzz.generators.graphs.elementwise import alike
from fuzz.generators.graphs.graph import Graph
from fuzz.generators.graphs.palette import COMPLEX, INDICES, ORDINARY, REAL
from fuzz.generators.graphs.shape import has_rank
from fuzz.generators.palette import array_shape
from hlo import HloComputation, HloInstruction, Opcode, PrimitiveType
from hlo.attributes import GatherDimensions, Ints, ScatterDimensions

Rule = Callable[[Graph, Opcode], None]


def _slice(graph: Graph, _opcode: Opcode) -> None:
    x = graph.array(ORDINARY, where=has_rank(1))
    starts, limits, strides = [], [], []
    for size in x.array_shape.dimensions:
        start = min(graph.choice((0, 0, 1)), size)
        limit = max(size - graph.choice((0, 0, 1)), start)
        starts.append(start)
        limits.append(limit)
        strides.append(graph.choice((1, 1, 1, 2)))
    graph.add(graph.builder.slice_(x, starts, limits, strides))


def _part(graph: Graph, dimensions: Ints) -> Ints:
    """Sizes of a slice."""
    return tuple(max(size - graph.choice((1, 0, 1, 2)), min(size, 1)) for size in dimensions)


def _starts(graph: Graph, rank: int) -> list[HloInstruction]:
    first = graph.start() if rank else None
    if first is None:
        return []
    kind = first.array_shape.element_type
    others: list[HloInstruction] = []
    for _ in range(rank - 1):
        given = graph.choice((False, True))
        others.append(graph.given(kind) if given else graph.builder.constant(0, kind))
    return [first, *others]


def _dynamic_slice(graph: Graph, _opcode: Opcode) -> None:
    x = graph.array(ORDINARY, where=has_rank(0, 3))
    dimensions = x.array_shape.dimensions
    starts = _starts(graph, len(dimensions))
    graph.add(graph.builder.dynamic_slice(x, starts, _part(graph, dimensions)))


def _dynamic_update_slice(graph: Graph, _opcode: Opcode) -> None:
    x = graph.array(ORDINARY, where=has_rank(0, 3))
    dimensions = x.array_shape.dimensions
    update = graph.array((x.array_shape.element_type,), _part(graph, dimensions))
    graph.add(graph.builder.dynamic_update_slice(x, update, _starts(graph, len(dimensions))))


@dataclass(frozen=True)
class _Indexing:
    """How index vectors say where windows are. Dimension numbers as in gather."""

    indices: Ints
    offset_dims: Ints
    collapsed: Ints
    start_index_map: Ints
    index_vector_dim: int
    slice_sizes: Ints
    batching: Ints = ()
    indices_batching: Ints = ()

    @property
    def result(self) -> Ints:
        """The dimensions of what is gathered, or of the updates that are scattered."""
        batch = [size for d, size in enumerate(self.indices) if d != self.index_vector_dim]
        gone = {*self.collapsed, *self.batching}
        window = [size for d, size in enumerate(self.slice_sizes) if d not in gone]
        rank = len(batch) + len(window)
        return tuple(window.pop(0) if d in self.offset_dims else batch.pop(0) for d in range(rank))


def _rows(graph: Graph, dims: Ints) -> _Indexing:
    """Whole rows, each by its number."""
    count, rank = graph.choice((2, 1, 4)), len(dims)
    return _Indexing((count,), tuple(range(1, rank)), (0,), (0,), 1, (1, *dims[1:]))


def _windows(graph: Graph, dims: Ints) -> _Indexing:
    """Windows that start anywhere; the windows come first in the result."""
    count, rank = graph.choice((2, 1, 3)), len(dims)
    sizes = _part(graph, dims)
    return _Indexing((rank, count), tuple(range(rank)), (), tuple(range(rank))[::-1], 0, sizes)


def _points(graph: Graph, dims: Ints) -> _Indexing:
    """Single elements, for a table of index vectors."""
    count, rank = graph.choice((3, 1)), len(dims)
    every = tuple(range(rank))
    return _Indexing((count, 2, rank), (), every, every, 2, (1,) * rank)


def _batches(graph: Graph, dims: Ints) -> _Indexing:
    """In each row of a batch its own elements."""
    count, rank = graph.choice((2, 3)), len(dims)
    offsets = tuple(range(2, rank))
    sizes = (1, 1, *dims[2:])
    return _Indexing((dims[0], count, 1), offsets, (1,), (1,), 2, sizes, (0,), (0,))


def _indexing(graph: Graph, dims: Ints) -> _Indexing:
    forms = (_rows, _windows, _points, *((_batches,) if len(dims) > 1 else ()))
    return graph.choice(forms)(graph, dims)


def _is_not_empty(dimensions: Ints) -> bool:
    return 1 <= len(dimensions) <= 3 and 0 not in dimensions


def _gather(graph: Graph, _opcode: Opcode) -> None:
    x = graph.array(ORDINARY, where=_is_not_empty)
    how = _indexing(graph, x.array_shape.dimensions)
    indices = graph.given(graph.choice(INDICES), how.indices)
    numbers = GatherDimensions(
        how.offset_dims,
        how.collapsed,
        how.start_index_map,
        how.index_vector_dim,
        how.slice_sizes,
        how.batching,
        how.indices_batching,
    )
    graph.add(graph.builder.gather(x, indices, numbers))


# Index vectors may be equal: the order must not matter but for rounding.
_COMBINERS = (Opcode.ADD, Opcode.MAXIMUM, Opcode.MINIMUM, Opcode.MULTIPLY)


def _scatter(graph: Graph, _opcode: Opcode) -> None:
    x = graph.array((*REAL, PrimitiveType.PRED, *COMPLEX), where=_is_not_empty)
    kind = x.array_shape.element_type
    how = _indexing(graph, x.array_shape.dimensions)
    indices = graph.given(graph.choice(INDICES), how.indices)
    opcode = graph.choice((Opcode.ADD,) if kind.is_complex else _COMBINERS)
    numbers = ScatterDimensions(
        how.offset_dims,
        how.collapsed,
        how.start_index_map,
        how.index_vector_dim,
        how.batching,
        how.indices_batching,
    )
    update = graph.array((kind,), how.result)
    inexact = kind.is_complex or kind.is_float
    if graph.choice((False, False, False, True)):
        xs, updates = [x, alike(graph, x)], [update, alike(graph, update)]
        result = graph.builder.scatter(pairwise(graph, opcode, kind), xs, indices, updates, numbers)
    else:
        result = graph.builder.scatter(graph.reducer(opcode, kind), [x], indices, [update], numbers)
    graph.add(result, inexact=inexact)


def pairwise(graph: Graph, opcode: Opcode, kind: PrimitiveType) -> HloComputation:
    """(a, b, c, d) to (a op c, b op d)."""
    inner, (a, b, c, d) = graph.inner("pairwise", *[array_shape(kind, ())] * 4)
    build = inner.builder
    root = build.tuple_(build.op(opcode, a, c), build.op(opcode, b, d))
    build.computation.set_root(root)
    return build.computation


RULES: dict[Opcode, Rule] = {
    Opcode.SLICE: _slice,
    Opcode.DYNAMIC_SLICE: _dynamic_slice,
    Opcode.DYNAMIC_UPDATE_SLICE: _dynamic_update_slice,
    Opcode.GATHER: _gather,
    Opcode.SCATTER: _scatter,
}

GAPS: dict[Opcode, str] = {}
