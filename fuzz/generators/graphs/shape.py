"""How is an operation drawn that rearranges, joins or spreads elements?"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import permutations

from fuzz.generators.graphs.graph import Graph
from fuzz.generators.graphs.palette import MOST_ELEMENTS, NUMBERS, ORDINARY, STORED
from fuzz.generators.palette import array_shape
from hlo import HloInstruction, Opcode
from hlo.attributes import Ints

Rule = Callable[[Graph, Opcode], None]


def has_rank(least: int, most: int = 4) -> Callable[[Ints], bool]:
    """Accepts dimensions of such a rank."""
    return lambda dimensions: least <= len(dimensions) <= most


def _is_small(dimensions: Ints) -> bool:
    return math.prod(dimensions) * 2 <= MOST_ELEMENTS and len(dimensions) <= 3


def _dimensions(x: HloInstruction) -> Ints:
    return x.array_shape.dimensions


def _broadcast(graph: Graph, _opcode: Opcode) -> None:
    x = graph.array(ORDINARY, where=lambda d: math.prod(d) <= MOST_ELEMENTS // 4 and len(d) <= 2)
    place, size = graph.choice(range(len(_dimensions(x)) + 1)), graph.choice((2, 3, 1))
    dimensions = list(_dimensions(x))
    dimensions.insert(place, size)
    mapping = tuple(d for d in range(len(dimensions)) if d != place)
    graph.add(graph.builder.broadcast(x, dimensions, mapping))


def _regroupings(dimensions: Ints) -> list[Ints]:
    """Other dimensions for as many elements, the simplest first."""
    count = math.prod(dimensions)
    found: list[Ints] = [(count,), (1, count), (count, 1)]
    found.extend((size, count // size) for size in (2, 3, 4) if count and count % size == 0)
    found.extend((2, size, count // 2 // size) for size in (2, 3) if count and count % (2 * size) == 0)
    if count == 1:
        found.append(())
    return found


def _reshape(graph: Graph, _opcode: Opcode) -> None:
    x = graph.array(ORDINARY)
    graph.add(graph.builder.reshape(x, graph.choice(_regroupings(_dimensions(x)))))


def _bitcast(graph: Graph, opcode: Opcode) -> None:
    x = graph.array(ORDINARY)
    dimensions = graph.choice(_regroupings(_dimensions(x)))
    graph.add(graph.builder.op(opcode, x, shape=array_shape(x.array_shape.element_type, dimensions)))


def _transpose(graph: Graph, _opcode: Opcode) -> None:
    x = graph.array(ORDINARY, where=has_rank(2, 3))
    orders = list(permutations(range(len(_dimensions(x)))))
    graph.add(graph.builder.transpose(x, graph.choice(orders[::-1])))


def _reverse(graph: Graph, _opcode: Opcode) -> None:
    x = graph.array(ORDINARY, where=has_rank(1))
    rank = len(_dimensions(x))
    graph.add(graph.builder.reverse(x, graph.choice(((0,), (rank - 1,), tuple(range(rank))))))


def _concatenate(graph: Graph, _opcode: Opcode) -> None:
    x = graph.array(ORDINARY, where=lambda d: has_rank(1)(d) and _is_small(d))
    dimension = graph.choice(range(len(_dimensions(x))))

    def fits(other: Ints) -> bool:
        mine, theirs = list(_dimensions(x)), list(other)
        if len(mine) != len(theirs) or theirs[dimension] > 4:
            return False
        mine[dimension] = theirs[dimension] = 0
        return mine == theirs

    kind = (x.array_shape.element_type,)
    matching = [d for d in (_dimensions(x), *dict.fromkeys(graph.shapes)) if fits(d)] or [_dimensions(x)]
    xs = [x, graph.array(kind, graph.choice(matching))]
    if graph.choice((False, False, True)) and math.prod(_dimensions(x)) < MOST_ELEMENTS // 4:
        xs.append(x)
    graph.add(graph.builder.concatenate(xs, dimension))


def _pad(graph: Graph, _opcode: Opcode) -> None:
    x = graph.array(ORDINARY, where=lambda d: has_rank(1, 3)(d) and _is_small(d))
    low, high, interior = [], [], []
    for size in _dimensions(x):
        gap = graph.choice((0, 0, 0, 1)) if len(_dimensions(x)) < 3 else 0
        spread = size + max(size - 1, 0) * gap
        before = graph.choice((0, 1, 0, -1))
        after = graph.choice((0, 0, 1, -1, -2))
        low.append(max(before, -spread))
        high.append(max(after, -spread - low[-1]))
        interior.append(gap)
    value = graph.array((x.array_shape.element_type,), ())
    graph.add(graph.builder.pad(x, value, low, high, interior))


def _iota(graph: Graph, _opcode: Opcode) -> None:
    kind = graph.element_type(NUMBERS)
    dimensions = graph.choice([shape for shape in graph.shapes if shape])
    shape = array_shape(kind, dimensions)
    graph.add(graph.builder.iota(shape, graph.choice(range(len(dimensions)))))


def _shuffle(graph: Graph, _opcode: Opcode) -> None:
    x = graph.array((*ORDINARY, *STORED), where=has_rank(1, 3))
    dimensions = graph.choice(((len(_dimensions(x)) - 1,), (0,), tuple(range(len(_dimensions(x))))))
    shifts = [graph.choice((1, -1, 2, 0, 7)) for _ in dimensions]
    graph.add(graph.builder.shuffle(x, dimensions, shifts))


RULES: dict[Opcode, Rule] = {
    Opcode.BROADCAST: _broadcast,
    Opcode.RESHAPE: _reshape,
    Opcode.BITCAST: _bitcast,
    Opcode.TRANSPOSE: _transpose,
    Opcode.REVERSE: _reverse,
    Opcode.CONCATENATE: _concatenate,
    Opcode.PAD: _pad,
    Opcode.IOTA: _iota,
    Opcode.SHUFFLE: _shuffle,
}

GAPS: dict[Opcode, str] = {}
