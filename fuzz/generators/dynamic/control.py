"""How do dynamic arrays get through loops, branches and tuples?"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fuzz.generators.dynamic.graph import DynamicGraph, Held, Name
from fuzz.generators.palette import array_shape
from hlo import HloInstruction, Opcode, PrimitiveType, TupleShape

T = PrimitiveType
Draw = Callable[[DynamicGraph], None]


def _changed(graph: DynamicGraph, x: HloInstruction) -> HloInstruction:
    """An array of the same sizes, or smaller ones."""
    match graph.choice(("negate", "reverse", "double", "shrink")):
        case "negate":
            return graph.builder.op(Opcode.NEGATE, x)
        case "reverse":
            return graph.builder.reverse(x, (0,))
        case "double":
            return graph.builder.op(Opcode.ADD, x, x)
        case _:
            size = graph.builder.get_dimension_size(x, 0)
            less = graph.builder.op(Opcode.SUBTRACT, size, graph.builder.constant(1, T.S32))
            least = graph.builder.op(Opcode.MAXIMUM, less, graph.builder.constant(0, T.S32))
            return graph.builder.set_dimension_size(x, least, 0)


def _first_dynamic(graph: DynamicGraph) -> Held:
    """An array whose first dimension is dynamic."""
    found = [held for held in reversed(graph.held) if held.rank and held.names[0] is not None]
    if chosen := graph.choice((None, *found[:8])):
        return chosen
    return graph.made(T.S32, (4,))


def _while(graph: DynamicGraph) -> None:
    """Carries an array whose size may shrink, for no, one or some iterations."""
    x = _first_dynamic(graph)
    state = TupleShape((array_shape(T.S32, ()), x.shape))
    body, condition = graph.inner("body"), graph.inner("condition")
    parameter = body.builder.parameter(0, state)
    count, carried = (body.builder.gte(parameter, i) for i in range(2))
    counted = body.builder.op(Opcode.ADD, count, body.builder.constant(1, T.S32))
    body.builder.computation.set_root(body.builder.tuple_(counted, _changed(body, carried)))
    seen = condition.builder.gte(condition.builder.parameter(0, state), 0)
    limit = condition.builder.constant(graph.choice((2, 1, 3, 0)), T.S32)
    condition.builder.computation.set_root(condition.builder.compare(seen, limit, "LT"))
    init = graph.builder.tuple_(graph.builder.constant(0, T.S32), x.inst)
    loop = graph.builder.while_(condition.builder.computation, body.builder.computation, init)
    graph.hold(graph.builder.gte(loop, 1), tuple(Name() if name else None for name in x.names))


def _conditional(graph: DynamicGraph) -> None:
    """Of two branches, which may differ in what they do to the size."""
    x = _first_dynamic(graph)
    state = TupleShape((x.shape,))
    branches = [graph.inner("yes"), graph.inner("no")]
    for branch in branches:
        carried = branch.builder.gte(branch.builder.parameter(0, state), 0)
        branch.builder.computation.set_root(branch.builder.tuple_(_changed(branch, carried)))
    if graph.is_entry and graph.choice((True, False)):
        selector = graph.draft.parameter(array_shape(T.PRED, ()))
    else:
        size = graph.builder.get_dimension_size(x.inst, 0)
        selector = graph.builder.compare(size, graph.builder.constant(2, T.S32), "LT")
    argument = graph.builder.tuple_(x.inst)
    chosen = graph.builder.conditional(
        selector, [branch.builder.computation for branch in branches], [argument, argument]
    )
    graph.hold(graph.builder.gte(chosen, 0), tuple(Name() if name else None for name in x.names))


def _tuple(graph: DynamicGraph) -> None:
    """Nested tuples, taken apart again."""
    x, y = graph.array(), graph.array()
    whole = graph.builder.tuple_(graph.builder.tuple_(x.inst, y.inst), y.inst)
    first = graph.builder.gte(graph.builder.gte(whole, 0), graph.choice((0, 1)))
    graph.hold(first, x.names if first.tuple_index == 0 else y.names)


RULES: Mapping[str, Draw] = {"while": _while, "conditional": _conditional, "tuple": _tuple}
