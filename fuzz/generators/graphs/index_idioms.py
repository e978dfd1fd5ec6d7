"""Which chains of data movement do compilers like to merge? Slices of slices, and what else goes along with them.

Each step takes the array that the step before it gave, which nothing else reads: that is when a rewrite may merge the
two. Starts lie where clamping decides: given as inputs, which know their role, or literal.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import permutations

from fuzz.generators.graphs.graph import Graph
from fuzz.generators.graphs.palette import INTEGERS, MOST_ELEMENTS, ORDINARY
from fuzz.generators.palette import array_shape, filled
from hlo import HloInstruction, Opcode, PrimitiveType
from hlo.attributes import GatherDimensions, Ints

Step = Callable[[Graph, HloInstruction], HloInstruction]

# Few shapes to begin with and few types of indices: each costs JAX a compile, and makes no rewrite any likelier.
_BEGINNINGS: tuple[Ints, ...] = ((4,), (3,), (2, 3), (4, 3))
_INDICES = (PrimitiveType.S32, PrimitiveType.S32, PrimitiveType.S32, PrimitiveType.U8, PrimitiveType.S64)


def index_idiom(graph: Graph) -> None:
    """Append a chain of two to four steps on one array."""
    x = graph.array(ORDINARY, where=lambda d: d in _BEGINNINGS)
    inexact = x in graph.inexact
    for _ in range(graph.choice((2, 2, 3, 4))):
        x = graph.choice(_STEPS)(graph, x)
        if graph.choice((False,) * 7 + (True,)):
            graph.add(x, inexact=inexact)
    graph.add(x, inexact=inexact)


def _dims(x: HloInstruction) -> Ints:
    return x.array_shape.dimensions


def _constant_like(graph: Graph, x: HloInstruction, dimensions: Ints) -> HloInstruction:
    return graph.builder.constant(filled(x.array_shape.element_type, dimensions, graph.choice((1, 2))))


# starts


def _part(graph: Graph, dimensions: Ints) -> Ints:
    """Sizes of a slice; the first is the one that is likely cut."""
    cut = [graph.choice((1, 2, 0)) if axis == 0 else graph.choice((0, 1)) for axis in range(len(dimensions))]
    return tuple(max(size - less, min(size, 1)) for size, less in zip(dimensions, cut, strict=True))


def _starts(graph: Graph, dimensions: Ints, sizes: Ints) -> list[HloInstruction]:
    """One for each dimension, all of one type: given, or literal at the ends of what is in range and beyond."""
    kind = graph.choice(_INDICES)
    return [_start(graph, kind, n, s) for n, s in zip(dimensions, sizes, strict=True)]


def _start(graph: Graph, kind: PrimitiveType, n: int, s: int) -> HloInstruction:
    if n != s and graph.choice((True, True, False)):
        return graph.given(kind)
    low = -(1 << (kind.bit_width - 1)) if kind.is_signed else 0
    high = low + (1 << kind.bit_width) - 1
    return graph.builder.constant(graph.choice((0, n - s, n - s + 1, 1, n, high, low, high - 1)), kind)


# steps


def _dynamic_slice(graph: Graph, x: HloInstruction) -> HloInstruction:
    sizes = _part(graph, _dims(x))
    return graph.builder.dynamic_slice(x, _starts(graph, _dims(x), sizes), sizes)


def _dynamic_update_slice(graph: Graph, x: HloInstruction) -> HloInstruction:
    """Of a constant, or of what another slice of the same array gives."""
    sizes = _part(graph, _dims(x))
    if graph.choice((True, False)):
        update = _constant_like(graph, x, sizes)
    else:
        update = graph.builder.dynamic_slice(x, _starts(graph, _dims(x), sizes), sizes)
    return graph.builder.dynamic_update_slice(x, update, _starts(graph, _dims(x), sizes))


def _slice(graph: Graph, x: HloInstruction) -> HloInstruction:
    starts = [min(graph.choice((1, 0, 0, 2)), size) for size in _dims(x)]
    limits = [max(size - graph.choice((0, 1)), start) for size, start in zip(_dims(x), starts, strict=True)]
    strides = [graph.choice((1, 1, 2)) for _ in starts]
    return graph.builder.slice_(x, starts, limits, strides)


def _pad(graph: Graph, x: HloInstruction) -> HloInstruction:
    """With more at an edge, with less, and with gaps; while the array stays small."""
    if math.prod(_dims(x)) > MOST_ELEMENTS // 4:
        return _slice(graph, x)
    low, high, interior = [], [], []
    for axis, size in enumerate(_dims(x)):
        gap = graph.choice((0, 0, 1)) if axis == 0 else 0
        spread = size + max(size - 1, 0) * gap
        low.append(max(graph.choice((1, 0, -1)), -spread))
        high.append(max(graph.choice((0, 1, -1)), -spread - low[-1]))
        interior.append(gap)
    value = _constant_like(graph, x, ())
    return graph.builder.pad(x, value, low, high, interior)


def _reverse(graph: Graph, x: HloInstruction) -> HloInstruction:
    rank = len(_dims(x))
    return graph.builder.reverse(x, graph.choice(((0,), (rank - 1,), tuple(range(rank)))))


def _transpose(graph: Graph, x: HloInstruction) -> HloInstruction:
    orders = list(permutations(range(len(_dims(x)))))
    return graph.builder.transpose(x, graph.choice(orders[::-1]))


def _concatenate(graph: Graph, x: HloInstruction) -> HloInstruction:
    """With itself, with a part of itself, or with a constant."""
    if math.prod(_dims(x)) > MOST_ELEMENTS // 4:
        return _reverse(graph, x)
    axis = graph.choice(range(len(_dims(x))))
    match graph.choice((0, 1, 2)):
        case 0:
            other = x
        case 1:
            limits = [min(1, n) if d == axis else n for d, n in enumerate(_dims(x))]
            other = graph.builder.slice_(x, [0] * len(limits), limits)
        case _:
            other = _constant_like(graph, x, _dims(x))
    return graph.builder.concatenate((x, other) if graph.choice((True, False)) else (other, x), axis)


def _halves(graph: Graph, x: HloInstruction) -> HloInstruction:
    """Cut in two, and put together again, or the other way round."""
    n, rank = _dims(x)[0], len(_dims(x))
    middle = min(graph.choice((1, n // 2)), n)
    parts = [
        graph.builder.slice_(x, [low, *[0] * (rank - 1)], [limit, *_dims(x)[1:]])
        for low, limit in ((0, middle), (middle, n))
    ]
    return graph.builder.concatenate(parts[:: graph.choice((1, -1))], 0)


def _reshape(graph: Graph, x: HloInstruction) -> HloInstruction:
    """To one dimension, with one more of size 1, or with two dimensions as one."""
    dims = _dims(x)
    options: list[Ints] = [(math.prod(dims),), (1, *dims), (*dims, 1)]
    if len(dims) > 1:
        options.append((dims[0] * dims[1], *dims[2:]))
    dimensions = graph.choice([option for option in options if len(option) <= 3])
    if graph.choice((True, True, False)):
        return graph.builder.reshape(x, dimensions)
    return graph.builder.op(Opcode.BITCAST, x, shape=array_shape(x.array_shape.element_type, dimensions))


def _broadcast_and_back(graph: Graph, x: HloInstruction) -> HloInstruction:
    """Spread along a new dimension, of which a part is taken again, by slicing or by reducing."""
    dims, kind = _dims(x), x.array_shape.element_type
    if len(dims) > 2 or math.prod(dims) > MOST_ELEMENTS // 4:
        return _slice(graph, x)
    place = graph.choice((0, len(dims)))
    wide = [*dims[:place], 2, *dims[place:]]
    spread = graph.builder.broadcast(x, wide, [d for d in range(len(wide)) if d != place])
    if kind in INTEGERS and graph.choice((False, True)):
        return _reduced(graph, spread, place)
    sizes = tuple(1 if d == place else n for d, n in enumerate(wide))
    taken = graph.builder.dynamic_slice(spread, _starts(graph, tuple(wide), sizes), sizes)
    return graph.builder.reshape(taken, dims)


_REDUCERS = (Opcode.ADD, Opcode.MAXIMUM, Opcode.MINIMUM, Opcode.MULTIPLY, Opcode.AND, Opcode.OR, Opcode.XOR)


def _reduced(graph: Graph, x: HloInstruction, axis: int) -> HloInstruction:
    """Of integers."""
    kind = x.array_shape.element_type
    low = -(1 << (kind.bit_width - 1)) if kind.is_signed else 0
    high = low + (1 << kind.bit_width) - 1
    opcode = graph.choice(_REDUCERS)
    neutral = {Opcode.MULTIPLY: 1, Opcode.MAXIMUM: low, Opcode.MINIMUM: high, Opcode.AND: -1}.get(opcode, 0)
    initial = graph.builder.constant(neutral, kind)
    return graph.builder.reduce(graph.reducer(opcode, kind), (x,), (initial,), (axis,))


def _reduce_and_spread(graph: Graph, x: HloInstruction) -> HloInstruction:
    """What a whole dimension adds up to, in each place of it."""
    if x.array_shape.element_type not in INTEGERS:
        return _reverse(graph, x)
    axis = graph.choice(range(len(_dims(x))))
    mapping = [d for d in range(len(_dims(x))) if d != axis]
    return graph.builder.broadcast(_reduced(graph, x, axis), _dims(x), mapping)


def _gather_in_order(graph: Graph, x: HloInstruction) -> HloInstruction:
    """Rows by number: all of them in their order, or as many from somewhere on."""
    dims = _dims(x)
    if 0 in dims:
        return _reverse(graph, x)
    numbers = graph.builder.iota(array_shape(PrimitiveType.S32, (dims[0],)), 0)
    if graph.choice((False, True, True)):
        ahead = graph.builder.broadcast(
            graph.builder.constant(graph.choice((1, -1)), PrimitiveType.S32), dims[:1]
        )
        numbers = graph.builder.op(Opcode.ADD, numbers, ahead)
    how = GatherDimensions(tuple(range(1, len(dims))), (0,), (0,), 1, (1, *dims[1:]), (), ())
    return graph.builder.gather(x, numbers, how)


def _sort(graph: Graph, x: HloInstruction) -> HloInstruction:
    """Once, twice, or turned round before or after."""
    kind = x.array_shape.element_type
    if kind not in INTEGERS:
        return _reverse(graph, x)
    axis = len(_dims(x)) - 1
    inner, (left, right) = graph.inner("order", *[array_shape(kind, ())] * 2)
    inner.builder.computation.set_root(inner.builder.compare(left, right, graph.choice(("LT", "GT"))))
    for _ in range(graph.choice((1, 2))):
        if graph.choice((False, True)):
            x = graph.builder.reverse(x, (axis,))
        x = graph.builder.sort(inner.builder.computation, (x,), axis)
    return x


_STEPS: tuple[Step, ...] = (
    *(_dynamic_slice,) * 5,
    *(_dynamic_update_slice,) * 3,
    *(_slice,) * 2,
    *(_pad,) * 2,
    _reverse,
    _transpose,
    _concatenate,
    _halves,
    *(_reshape,) * 2,
    _broadcast_and_back,
    _reduce_and_spread,
    _gather_in_order,
    _sort,
)
