"""How is a reduction, a window, a scan or a sort drawn?"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from fuzz.generators.graphs.elementwise import alike
from fuzz.generators.graphs.graph import Graph
from fuzz.generators.graphs.indexing import pairwise
from fuzz.generators.graphs.palette import COMPLEX, INTEGERS, ORDINARY, PRED, REAL
from fuzz.generators.graphs.shape import has_rank
from fuzz.generators.palette import array_shape
from hlo import HloComputation, HloInstruction, Opcode, PrimitiveType
from hlo.attributes import Window, WindowDimension

Rule = Callable[[Graph, Opcode], None]

_OF_NUMBERS = (Opcode.ADD, Opcode.MAXIMUM, Opcode.MINIMUM, Opcode.MULTIPLY)
_OF_INTEGERS = (*_OF_NUMBERS, Opcode.AND, Opcode.OR, Opcode.XOR)
_OF_COMPLEX = (Opcode.ADD, Opcode.MULTIPLY)
_OF_PREDICATES = (Opcode.OR, Opcode.AND, Opcode.XOR)
_NEUTRAL: Mapping[Opcode, int] = {
    Opcode.ADD: 0,
    Opcode.MULTIPLY: 1,
    Opcode.OR: 0,
    Opcode.XOR: 0,
    Opcode.AND: -1,
}


def _combiner(graph: Graph, kind: PrimitiveType) -> Opcode:
    if kind in PRED:
        return graph.choice(_OF_PREDICATES)
    if kind in COMPLEX:
        return graph.choice(_OF_COMPLEX)
    return graph.choice(_OF_INTEGERS if kind in INTEGERS else _OF_NUMBERS)


def _initial(graph: Graph, opcode: Opcode, kind: PrimitiveType) -> HloInstruction:
    """For a plain reduction: given, since its role makes it neutral, or a literal."""
    if graph.is_entry and graph.choice((False, False, True)):
        return graph.given(kind)
    return _neutral(graph, opcode, kind)


def _neutral(graph: Graph, opcode: Opcode, kind: PrimitiveType) -> HloInstruction:
    """What changes nothing: how often a reduction starts from it is open, and engines may leave it out."""
    if opcode in _NEUTRAL:
        return graph.builder.constant(np.array(_NEUTRAL[opcode]).astype(kind.numpy))
    return graph.builder.constant(_least(kind) if opcode is Opcode.MAXIMUM else _most(kind))


def _least(kind: PrimitiveType) -> np.ndarray:
    if kind.is_float:
        return np.array(-np.inf).astype(kind.numpy)
    return np.array(np.iinfo(kind.numpy).min, kind.numpy)


def _most(kind: PrimitiveType) -> np.ndarray:
    if kind.is_float:
        return np.array(np.inf).astype(kind.numpy)
    return np.array(np.iinfo(kind.numpy).max, kind.numpy)


def _rounds(opcode: Opcode, kind: PrimitiveType) -> bool:
    return (kind.is_float or kind.is_complex) and opcode in (Opcode.ADD, Opcode.MULTIPLY)


def _reduce(graph: Graph, _opcode: Opcode) -> None:
    x = graph.array(ORDINARY, where=has_rank(1, 3))
    kind, rank = x.array_shape.element_type, x.array_shape.rank
    opcode = _combiner(graph, kind)
    dimensions = graph.choice([(rank - 1,), (0,), tuple(range(rank))])
    inexact = _rounds(opcode, kind)
    if graph.choice((False, False, False, True)):
        function, initial = pairwise(graph, opcode, kind), _neutral(graph, opcode, kind)
        result = graph.builder.reduce(function, (x, alike(graph, x)), (initial, initial), dimensions)
    else:
        function, initial = graph.reducer(opcode, kind), _initial(graph, opcode, kind)
        result = graph.builder.reduce(function, (x,), (initial,), dimensions)
    graph.add(result, inexact=inexact)


def _window(graph: Graph, sizes: tuple[int, ...]) -> Window:
    """A window that fits somewhere; without padding it is the simplest."""
    rows: list[WindowDimension] = []
    for size in sizes:
        rows.append(
            WindowDimension(
                size=min(graph.choice((2, 1, 2, 3)), size),
                stride=graph.choice((1, 2, 1)),
                padding_low=graph.choice((0, 0, 1)),
                padding_high=graph.choice((0, 0, 1)),
                base_dilation=graph.choice((1, 1, 1, 2)),
            )
        )
    return Window(tuple(rows))


def _is_windowed(dimensions: tuple[int, ...]) -> bool:
    return 1 <= len(dimensions) <= 3 and 0 not in dimensions


def _reduce_window(graph: Graph, _opcode: Opcode) -> None:
    x = graph.array((*REAL, *PRED), where=_is_windowed)
    kind = x.array_shape.element_type
    opcode = _combiner(graph, kind)
    window = _window(graph, x.array_shape.dimensions)
    initial = _initial(graph, opcode, kind)
    result = graph.builder.reduce_window(graph.reducer(opcode, kind), (x,), (initial,), window)
    graph.add(result, inexact=_rounds(opcode, kind))


def _select_and_scatter(graph: Graph, _opcode: Opcode) -> None:
    x = graph.array(REAL, where=_is_windowed, exact=True)
    kind, dimensions = x.array_shape.element_type, x.array_shape.dimensions
    rows = tuple(
        WindowDimension(size=min(graph.choice((2, 1)), size), stride=graph.choice((2, 1)))
        for size in dimensions
    )
    places = tuple((size - row.size) // row.stride + 1 for size, row in zip(dimensions, rows, strict=True))
    source = graph.array((kind,), places)
    select, (left, right) = graph.inner("select", *[array_shape(kind, ())] * 2)
    select.builder.computation.set_root(select.builder.compare(left, right, graph.choice(("GE", "LE"))))
    result = graph.builder.select_and_scatter(
        select.builder.computation,
        graph.reducer(Opcode.ADD, kind),
        x,
        source,
        _initial(graph, Opcode.ADD, kind),
        Window(rows),
    )
    graph.add(result, inexact=kind.is_float)


def _scan(graph: Graph, _opcode: Opcode) -> None:
    """A running combination of slices, given before or after each, and how many there were, now and then."""
    x = graph.array(ORDINARY, where=has_rank(1, 3))
    kind, dims = x.array_shape.element_type, x.array_shape.dimensions
    dimension = graph.choice((0, len(dims) - 1))
    slice_ = array_shape(kind, dims[:dimension] + dims[dimension + 1 :])
    start = graph.array((kind,), slice_.dimensions)
    opcodes = (Opcode.XOR, Opcode.OR) if kind in PRED else (Opcode.ADD, Opcode.SUBTRACT)
    opcode = graph.choice(opcodes)
    inner, (element, carry) = graph.inner("scanned", slice_, slice_)
    combined = inner.builder.op(opcode, carry, element)
    outputs = [graph.choice((combined, carry)), *([element] if graph.choice((False, True)) else [])]
    inner.builder.computation.set_root(inner.builder.tuple_(*outputs, combined))
    # what is called associative may be taken in any order, which shows in floats
    associative = opcode is not Opcode.SUBTRACT and outputs[0] is combined and kind in (*INTEGERS, *PRED)
    result = graph.builder.scan(
        inner.builder.computation,
        (x,),
        (start,),
        dimension,
        is_reverse=graph.choice((False, True)),
        is_associative=graph.choice((False, associative)),
    )
    graph.add(result, inexact=_rounds(opcode, kind))


def _comparator(graph: Graph, kinds: list[PrimitiveType]) -> HloComputation:
    """By the first key only, in an order that has a place for NaNs."""
    parameters = [array_shape(kind, ()) for kind in kinds for _ in range(2)]
    inner, (left, right, *_) = graph.inner("order", *parameters)
    type_ = "TOTALORDER" if kinds[0].is_float else ""
    root = inner.builder.compare(left, right, graph.choice(("LT", "GT")), type=type_)
    inner.builder.computation.set_root(root)
    return inner.builder.computation


def _sort(graph: Graph, _opcode: Opcode) -> None:
    """Equal keys keep their order where others are sorted with them; alone they cannot be told apart."""
    x = graph.array((*REAL, *PRED), where=has_rank(1, 3), exact=True)
    dimensions = x.array_shape.dimensions
    others = [graph.array(ORDINARY, dimensions) for _ in range(graph.choice((0, 0, 1, 2)))]
    xs = [x, *others]
    comparator = _comparator(graph, [value.array_shape.element_type for value in xs])
    dimension = graph.choice((len(dimensions) - 1, 0))
    is_stable = bool(others) or graph.choice((False, True))
    graph.add(graph.builder.sort(comparator, xs, dimension, is_stable=is_stable))


def _topk(graph: Graph, _opcode: Opcode) -> None:
    x = graph.array(REAL, where=lambda d: has_rank(1, 2)(d) and d[-1] > 0, exact=True)
    k = min(graph.choice((1, 2, 3)), x.array_shape.dimensions[-1])
    graph.add(graph.builder.topk(x, k, largest=graph.choice((True, True, False))))


RULES: dict[Opcode, Rule] = {
    Opcode.REDUCE: _reduce,
    Opcode.REDUCE_WINDOW: _reduce_window,
    Opcode.SELECT_AND_SCATTER: _select_and_scatter,
    Opcode.SORT: _sort,
    Opcode.TOPK: _topk,
    Opcode.SCAN: _scan,
}

GAPS: dict[Opcode, str] = {}
