"""How are reshapes of dynamic arrays drawn? Sizes come out even, because they are made so, in most programs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from fuzz.generators.dynamic.graph import DynamicGraph, Held, Name, Names
from fuzz.generators.dynamic.operations import ranked
from hlo import ArrayShape, Opcode, PrimitiveType
from hlo.attributes import Ints

T = PrimitiveType
Draw = Callable[[DynamicGraph], None]

_Becomes = tuple[Held, Ints, Names]
"""What is reshaped, and to which bounds and names."""


def _reshape(graph: DynamicGraph) -> None:
    """Two dimensions joined, one of them split, or two that become two others."""
    x = graph.array(ranked(1))
    way = graph.choice((_joined, _split, _exchanged)) if x.rank > 1 else _split
    x, to, names = way(graph, x)
    flags = tuple(name is not None for name in names)
    graph.hold(graph.builder.reshape(x.inst, to, dynamic=flags), names)


def _joined(graph: DynamicGraph, x: Held) -> _Becomes:
    dims = x.shape.dimensions
    # one element that may be missing goes with neither neighbour
    single = [size == 1 and name is not None for size, name in zip(dims, x.names, strict=True)]
    fits = [d for d in range(x.rank - 1) if not any(single[d : d + 2])]
    if not fits:
        return x, dims, x.names
    at = graph.choice(fits)
    joined = x.names[at] or x.names[at + 1]
    names = (*x.names[:at], Name() if joined else None, *x.names[at + 2 :])
    return x, (*dims[:at], dims[at] * dims[at + 1], *dims[at + 2 :]), names


def _split(graph: DynamicGraph, x: Held) -> _Becomes:
    """The part that is dynamic stands before the whole one or behind it."""
    dims, names = x.shape.dimensions, x.names
    at = graph.choice(sorted(range(x.rank), key=lambda d: (_is_prime(dims[d]), names[d] is None)))
    factors = [f for f in range(2, dims[at]) if dims[at] % f == 0] or [1]
    factor = graph.choice(factors)
    if names[at] and factor > 1 and graph.choice((True, True, True, False)):
        x = _even(graph, x, at, factor)
    parts = [(dims[at] // factor, Name() if names[at] else None), (factor, None)]
    if dims[at] > 1 and graph.choice((False, True)):
        parts.reverse()
    to = (*dims[:at], *(bound for bound, _ in parts), *dims[at + 1 :])
    return x, to, (*names[:at], *(name for _, name in parts), *names[at + 1 :])


def _is_prime(number: int) -> bool:
    return all(number % factor for factor in range(2, number))


def _exchanged(graph: DynamicGraph, x: Held) -> _Becomes:
    """Bounds a and b become b and a, of which that one is dynamic that was, so that all comes out even."""
    dims, names = list(x.shape.dimensions), list(x.names)
    fits = [
        d
        for d in range(x.rank - 1)
        if dims[d] != dims[d + 1] and 1 not in dims[d : d + 2] and None in names[d : d + 2]
    ]
    if not fits:
        return _joined(graph, x)
    at = graph.choice(fits)
    both = slice(at, at + 2)
    dims[both], names[both] = dims[both][::-1], [Name() if name else None for name in names[both][::-1]]
    return x, tuple(dims), tuple(names)


def _even(graph: DynamicGraph, x: Held, dimension: int, factor: int) -> Held:
    """`x` with a size that is a multiple of `factor`."""
    size = graph.builder.get_dimension_size(x.inst, dimension)
    whole = graph.builder.op(Opcode.DIVIDE, size, graph.builder.constant(factor, T.S32))
    even = graph.builder.op(Opcode.MULTIPLY, whole, graph.builder.constant(factor, T.S32))
    return graph.set_size(x, dimension, even)


def _dynamic_reshape(graph: DynamicGraph) -> None:
    """All of it in one dimension, whose size is the product of the sizes."""
    x = graph.array(ranked(1, 2))
    sizes = [graph.builder.get_dimension_size(x.inst, d) for d in range(x.rank)]
    total = sizes[0]
    for size in sizes[1:]:
        total = graph.builder.op(Opcode.MULTIPLY, total, size)
    bound = math.prod(x.shape.dimensions)
    shape = ArrayShape(x.shape.element_type, (bound,), (True,))
    graph.hold(graph.builder.op(Opcode.DYNAMIC_RESHAPE, x.inst, total, shape=shape), (Name(),))


RULES: Mapping[str, Draw] = {"reshape": _reshape, "dynamic-reshape": _dynamic_reshape}
