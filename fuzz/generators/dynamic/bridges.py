"""How are the custom-calls drawn between arrays as large as their bounds and arrays as large as their sizes?

Source: `stock_passes.md` section 2. Back ends put them in; a program may have them from the start.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fuzz.generators.dynamic.graph import DynamicGraph, Name
from fuzz.generators.dynamic.operations import ranked
from hlo import ArrayShape, Opcode, PrimitiveType, TupleShape
from hlo.attributes import CustomCallTarget
from hlo.evaluator import PAD_TO_STATIC, SET_BOUND, SLICE_TO_DYNAMIC

T = PrimitiveType
Draw = Callable[[DynamicGraph], None]


def _slice_to_dynamic(graph: DynamicGraph) -> None:
    """A static array cut to sizes."""
    x = graph.array(ranked(1), dynamic=False)
    if x.dynamic:
        x = graph.made(x.shape.element_type, x.shape.dimensions, dynamic=False)
    builder, dims = graph.builder, x.shape.dimensions
    flagged = graph.choice([(d,) for d in range(x.rank)] + [tuple(range(x.rank))])
    flags = tuple(d in flagged for d in range(x.rank))
    sizes = [
        graph.scalar(bound) if flag else builder.constant(bound, T.S32)
        for bound, flag in zip(dims, flags, strict=True)
    ]
    target, shape = CustomCallTarget(SLICE_TO_DYNAMIC), ArrayShape(x.shape.element_type, dims, flags)
    inst = builder.op(Opcode.CUSTOM_CALL, x.inst, *sizes, attributes=target, shape=shape)
    graph.hold(inst, tuple(Name() if flag else None for flag in flags))


def _pad_to_static(graph: DynamicGraph) -> None:
    """A dynamic array padded, and given the sizes back that come out beside it: otherwise its padding would show."""
    x = graph.array(ranked(1))
    builder, size = graph.builder, ArrayShape(T.S32)
    shape = TupleShape((x.shape.to_static(), *[size] * x.rank))
    both = builder.op(Opcode.CUSTOM_CALL, x.inst, attributes=CustomCallTarget(PAD_TO_STATIC), shape=shape)
    inst = builder.gte(both, 0)
    for d in x.dynamic:
        inst = builder.set_dimension_size(inst, builder.gte(both, d + 1), d)
    graph.hold(inst, x.names)


def _set_bound(graph: DynamicGraph) -> None:
    """Changes nothing."""
    x = graph.array()
    target = CustomCallTarget(graph.choice((SET_BOUND, "Sharding")))
    graph.hold(graph.builder.op(Opcode.CUSTOM_CALL, x.inst, attributes=target, shape=x.shape), x.names)


RULES: Mapping[str, Draw] = {
    "slice-to-dynamic": _slice_to_dynamic,
    "pad-to-static": _pad_to_static,
    "set-bound": _set_bound,
}
