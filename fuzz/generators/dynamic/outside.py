"""How is a program drawn that gives an array a size which it cannot have?

A size is from 0 to the bound; what upstream makes of another one is undefined (`stock_passes.md` section 15.2 point 1).
Such programs are a family of their own: nothing can be said of passes by them, and it has to be said clearly.
"""

from __future__ import annotations

from fuzz.generators.dynamic.graph import DynamicGraph
from fuzz.generators.dynamic.operations import ranked
from fuzz.generators.palette import array_shape
from hlo import ArrayShape, HloInstruction, Opcode, PrimitiveType
from hlo.attributes import CustomCallTarget
from hlo.evaluator import SLICE_TO_DYNAMIC

T = PrimitiveType

_LEAST, _MOST = -(2**31), 2**31 - 1


def size_outside(graph: DynamicGraph, bound: int) -> HloInstruction:
    """An s32[] below 0 or above `bound`, whatever the inputs are; a constant, or computed."""
    builder = graph.builder
    beyond = graph.choice((True, False))
    match graph.choice(("constant", "given", "asked")):
        case "constant":
            value = graph.choice((bound + 1, 2 * bound + 3, _MOST) if beyond else (-1, -bound - 2, _LEAST))
            return builder.constant(value, T.S32)
        case "given":
            least, most = (builder.constant(value, T.S32) for value in (0, bound))
            given = graph.draft.parameter(array_shape(T.S32, ()))
            inside = builder.op(Opcode.CLAMP, least, given, most)
        case _:
            x = graph.array(ranked(1))
            inside = builder.get_dimension_size(x.inst, graph.choice(range(x.rank)))
    if beyond:
        return builder.op(Opcode.ADD, inside, builder.constant(bound + 1, T.S32))
    return builder.op(Opcode.SUBTRACT, builder.constant(-1, T.S32), inside)


def give_size_outside(graph: DynamicGraph) -> HloInstruction:
    """Give an array such a size, by each of the operations that can, and go on with what it gives."""
    x = graph.array(ranked(1))
    dims, kind = x.shape.dimensions, x.shape.element_type
    builder, dimension = graph.builder, graph.choice(range(x.rank))
    match graph.choice(("set", "reshape", "cut")):
        case "set":
            sized = builder.set_dimension_size(x.inst, size_outside(graph, dims[dimension]), dimension)
        case "reshape":
            sizes = [
                size_outside(graph, bound) if d == dimension else builder.get_dimension_size(x.inst, d)
                for d, bound in enumerate(dims)
            ]
            shape = ArrayShape(kind, dims, (True,) * x.rank)
            sized = builder.op(Opcode.DYNAMIC_RESHAPE, x.inst, *sizes, shape=shape)
        case _:
            static = graph.made(kind, dims, dynamic=False).inst
            sizes = [
                size_outside(graph, bound) if d == dimension else builder.constant(bound, T.S32)
                for d, bound in enumerate(dims)
            ]
            flags = tuple(d == dimension for d in range(x.rank))
            target, shape = CustomCallTarget(SLICE_TO_DYNAMIC), ArrayShape(kind, dims, flags)
            sized = builder.op(Opcode.CUSTOM_CALL, static, *sizes, attributes=target, shape=shape)
    return builder.op(Opcode.NEGATE, sized)
