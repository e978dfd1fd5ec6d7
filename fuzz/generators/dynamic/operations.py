"""How is one operation on dynamic arrays drawn that the padder handles?"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from fuzz.generators.dynamic.graph import DynamicGraph, Held, Name
from fuzz.generators.palette import array_shape
from hlo import HloComputation, HloInstruction, Opcode, PrimitiveType
from hlo.attributes import (
    ConvolutionDimensions,
    DotDimensions,
    GatherDimensions,
    Ints,
    ScatterDimensions,
)

T = PrimitiveType
Draw = Callable[[DynamicGraph], None]

_BINARY = (Opcode.ADD, Opcode.SUBTRACT, Opcode.MAXIMUM, Opcode.MINIMUM)
REDUCERS = (Opcode.ADD, Opcode.MAXIMUM, Opcode.MINIMUM)


def ranked(least: int, most: int = 3) -> Callable[[Ints], bool]:
    """Arrays of so many dimensions, none of them empty: there would be no element to cut out or to combine."""
    return lambda dimensions: least <= len(dimensions) <= most and 0 not in dimensions


def _unary(graph: DynamicGraph) -> None:
    x = graph.array()
    graph.hold(graph.builder.op(graph.choice((Opcode.NEGATE, Opcode.ABS, Opcode.SIGN)), x.inst), x.names)


def _convert(graph: DynamicGraph) -> None:
    x = graph.array()
    graph.hold(graph.builder.convert(x.inst, graph.choice((T.S32, T.F32, T.S16))), x.names)


def _binary(graph: DynamicGraph) -> None:
    x = graph.array()
    y = graph.like(x)
    graph.hold(graph.builder.op(graph.choice(_BINARY), x.inst, y.inst), x.names)


def _fitted(graph: DynamicGraph) -> None:
    """Of two arrays whose sizes have nothing to do with each other."""
    x = graph.array()
    dims, kind = x.shape.dimensions, x.shape.element_type
    y = graph.array(lambda dimensions: dimensions == dims, kind=kind, dynamic=graph.choice((True, False)))
    if y.shape.dimensions != dims:
        y = graph.made(kind, dims)
    names = tuple(
        a if b is None else b if a is None or a is b else Name()
        for a, b in zip(x.names, y.names, strict=True)
    )
    way = graph.choice(("binary", "select", "clamp"))
    if way == "clamp" and any(a is not None and b is None for a, b in zip(x.names, y.names, strict=True)):
        way = "binary"  # the type of a clamp is that of what is clamped, which has fewer dynamic dimensions
    match way:
        case "binary":
            inst = graph.builder.op(graph.choice(_BINARY), x.inst, y.inst)
        case "select":
            inst = graph.builder.op(
                Opcode.SELECT, graph.builder.compare(x.inst, y.inst, "LT"), x.inst, y.inst
            )
        case _:
            inst = graph.builder.op(Opcode.CLAMP, x.inst, y.inst, x.inst)
    graph.hold(inst, names)


def _broadcast(graph: DynamicGraph) -> None:
    x = graph.array(ranked(0, 2))
    before = graph.choice((True, False))
    size = graph.choice((2, 3, 1))
    dims = (size, *x.shape.dimensions) if before else (*x.shape.dimensions, size)
    mapping = tuple(d + before for d in range(x.rank))
    names = (None, *x.names) if before else (*x.names, None)
    graph.hold(graph.builder.broadcast(x.inst, dims, mapping), names)


def _transpose(graph: DynamicGraph) -> None:
    x = graph.array(ranked(2))
    order = graph.choice([tuple(reversed(range(x.rank))), (*range(1, x.rank), 0)])
    graph.hold(graph.builder.transpose(x.inst, order), tuple(x.names[d] for d in order))


def _reverse(graph: DynamicGraph) -> None:
    x = graph.array(ranked(1))
    dimensions = graph.choice([(d,) for d in range(x.rank)] + [tuple(range(x.rank))])
    graph.hold(graph.builder.reverse(x.inst, dimensions), x.names)


def _concatenate(graph: DynamicGraph) -> None:
    x = graph.array(ranked(1))
    y = graph.like(x)
    dimension = graph.choice(range(x.rank))
    inst = graph.builder.concatenate([x.inst, y.inst, *graph.choice(((), (x.inst,)))], dimension)
    names = [Name() if d == dimension and name else name for d, name in enumerate(x.names)]
    graph.hold(inst, tuple(names))


def _pad(graph: DynamicGraph) -> None:
    x = graph.array(ranked(1))
    low, high, interior = (
        tuple(graph.choice(options) for _ in range(x.rank))
        for options in ((0, 1, 0, -1), (1, 0, 2, -1), (0, 0, 0, 1))
    )
    if any(
        size + a + b + max(size - 1, 0) * c < 1
        for size, a, b, c in zip(x.shape.dimensions, low, high, interior, strict=True)
    ):
        low, high = (0,) * x.rank, (1,) * x.rank
    value = graph.builder.constant(graph.choice((7, 0)), x.shape.element_type)
    graph.hold(
        graph.builder.pad(x.inst, value, low, high, interior), tuple(Name() if n else None for n in x.names)
    )


def _slice(graph: DynamicGraph) -> None:
    x = graph.array(ranked(1))
    rows: list[tuple[int, int, int]] = []
    for size, name in zip(x.shape.dimensions, x.names, strict=True):
        start = graph.choice((0, 1, 2)) % max(size, 1)
        limit = max(size - graph.choice((0, 0, 1, 2)), start + 1)
        stride = graph.choice((1, 1, 2))
        if name and 0 < limit - start <= stride:
            start = 0  # a single element has to be there, and the first one mostly is
        rows.append((start, limit, stride))
    starts, limits, strides = zip(*rows, strict=True)
    inst = graph.builder.slice_(x.inst, starts, limits, strides)
    graph.hold(
        inst, tuple(Name() if inst.array_shape.is_dynamic_dimension(d) else None for d in range(x.rank))
    )


def _dynamic_slice(graph: DynamicGraph) -> None:
    x = graph.array(ranked(1))
    sizes = tuple(
        graph.choice((1, size)) if name else graph.choice((size, 1, max(size - 1, 1)))
        for size, name in zip(x.shape.dimensions, x.names, strict=True)
    )
    inst = graph.builder.dynamic_slice(x.inst, [graph.start() for _ in sizes], sizes)
    flags = [inst.array_shape.is_dynamic_dimension(d) for d in range(x.rank)]
    graph.hold(inst, tuple(name if flag else None for name, flag in zip(x.names, flags, strict=True)))


def _dynamic_update_slice(graph: DynamicGraph) -> None:
    """Of a static update, of one whose size is set, or of one of whole dimensions."""
    x = graph.array(ranked(1))
    dims = tuple(graph.choice((1, max(size - 1, 1), size)) for size in x.shape.dimensions)
    update = graph.made(x.shape.element_type, dims, dynamic=graph.choice((False, True)))
    for d in x.dynamic:
        if update.names[d] is None and dims[d] > 1 and graph.choice((True, True, False)):
            # as much of it as the array has room for, which may be less than is written
            room = graph.builder.get_dimension_size(x.inst, d)
            most = graph.builder.constant(dims[d], T.S32)
            update = graph.set_size(update, d, graph.builder.op(Opcode.MINIMUM, room, most))
    inst = graph.builder.dynamic_update_slice(x.inst, update.inst, [graph.start() for _ in dims])
    names = [
        name or (Name() if inst.array_shape.is_dynamic_dimension(d) else None)
        for d, name in enumerate(x.names)
    ]
    graph.hold(inst, tuple(names))


def _gather(graph: DynamicGraph) -> None:
    """Rows, or columns, by a vector of indices that may be dynamic itself."""
    x = graph.array(lambda dimensions: 1 <= len(dimensions) <= 2 and min(dimensions) > 1)
    by = graph.choice(range(x.rank))
    kind = graph.choice((T.S32, T.U8, T.S64))
    indices = graph.made(kind, (3,), dynamic=graph.choice((True, False)))
    sizes = tuple(1 if d == by else size for d, size in enumerate(x.shape.dimensions))
    numbers = GatherDimensions(
        offset_dims=tuple(range(1, x.rank)),
        collapsed_slice_dims=(by,),
        start_index_map=(by,),
        index_vector_dim=1,
        slice_sizes=sizes,
    )
    names = (indices.names[0], *[x.names[d] for d in range(x.rank) if d != by])
    graph.hold(graph.builder.gather(x.inst, indices.inst, numbers), names)


def _scatter(graph: DynamicGraph) -> None:
    """Rows, to a vector of indices that may be dynamic."""
    kind = graph.choice((T.S32, T.S8, T.U32, T.U8))
    if graph.choice((False, True)):
        # more elements than a narrow type has indices
        x = graph.made(T.S32, (260,) if kind is T.U8 else (130,), dynamic=graph.choice((False, True)))
    else:
        x = graph.array(ranked(1, 2))
    indices = graph.made(kind, (3,), dynamic=graph.choice((True, False)))
    numbers = ScatterDimensions(
        update_window_dims=tuple(range(1, x.rank)),
        inserted_window_dims=(0,),
        scatter_dims_to_operand_dims=(0,),
        index_vector_dim=1,
    )
    element = x.shape.element_type
    updates = Held(graph.made(element, (3, *x.shape.dimensions[1:]), dynamic=False).inst, (None,) * x.rank)
    inst = updates.inst
    for d in range(x.rank):
        source, at = (indices, 0) if d == 0 else (x, d)
        if source.names[at] is not None:
            inst = graph.builder.set_dimension_size(
                inst, graph.builder.get_dimension_size(source.inst, at), d
            )
    function = graph.draft.reducer(graph.choice((Opcode.ADD, Opcode.MAXIMUM)), element)
    graph.hold(graph.builder.scatter(function, [x.inst], indices.inst, [inst], numbers), x.names)


def initial(graph: DynamicGraph, opcode: Opcode, kind: PrimitiveType) -> HloInstruction:
    """An initial value of a reduction. Neutral mostly; at times a number that counts."""
    neutral: float = 0
    if opcode is not Opcode.ADD:
        least, most = (-np.inf, np.inf) if kind.is_float else _limits(kind)
        neutral = least if opcode is Opcode.MAXIMUM else most
    return graph.builder.constant(np.array(graph.choice((neutral, neutral, 5))).astype(kind.numpy))


def _limits(kind: PrimitiveType) -> tuple[int, int]:
    limits = np.iinfo(kind.numpy)
    return limits.min, limits.max


def _reduce(graph: DynamicGraph) -> None:
    x = graph.array(ranked(1))
    kind, opcode = x.shape.element_type, graph.choice(REDUCERS)
    dimensions = graph.choice([(d,) for d in range(x.rank)] + [tuple(range(x.rank))])
    init = initial(graph, opcode, kind)
    kept = tuple(name for d, name in enumerate(x.names) if d not in dimensions)
    if graph.choice((True, True, False)):
        inst = graph.builder.reduce(graph.draft.reducer(opcode, kind), [x.inst], [init], dimensions)
        graph.hold(inst, kept)
        return
    if graph.choice((True, False)):
        other = graph.like(x).inst
    else:
        # as large as its bound: of it, too, only what the size leaves is reduced
        other = graph.made(kind, x.shape.dimensions, dynamic=False).inst
        dimensions, kept = tuple(range(x.rank)), ()
    pair = graph.builder.reduce(_pairwise(graph, opcode, kind), [x.inst, other], [init, init], dimensions)
    for i in range(2):
        graph.hold(graph.builder.gte(pair, i), kept)


def _pairwise(graph: DynamicGraph, opcode: Opcode, kind: PrimitiveType) -> HloComputation:
    builder = graph.draft.computation("pairwise")
    a, b, c, d = (builder.parameter(number, array_shape(kind, ())) for number in range(4))
    builder.computation.set_root(builder.tuple_(builder.op(opcode, a, c), builder.op(opcode, b, d)))
    return builder.computation


def _sort(graph: DynamicGraph) -> None:
    x = graph.array(ranked(1, 2))
    dimension = graph.choice(range(x.rank))
    others = [graph.like(x)] if graph.choice((False, True)) else []
    kinds = [held.shape.element_type for held in (x, *others)]
    comparator = graph.draft.computation("less")
    scalars = [
        comparator.parameter(2 * i + side, array_shape(kind, ()))
        for i, kind in enumerate(kinds)
        for side in range(2)
    ]
    comparator.computation.set_root(comparator.compare(scalars[0], scalars[1], graph.choice(("LT", "GT"))))
    inst = graph.builder.sort(
        comparator.computation, [x.inst, *(o.inst for o in others)], dimension, is_stable=True
    )
    if not others:
        graph.hold(inst, x.names)
        return
    for i in range(len(kinds)):
        graph.hold(graph.builder.gte(inst, i), x.names)


def _dot(graph: DynamicGraph) -> None:
    kind = graph.choice((T.S32, T.F32))
    x = graph.array(ranked(2, 2), kind=kind)
    contracted = graph.choice((1, 0))
    size = x.shape.dimensions[contracted]
    y = graph.made(kind, (size, 2), dynamic=False)
    names = list(y.names)
    inst = y.inst
    if x.names[contracted] is not None and graph.choice((True, False)):
        inst = graph.builder.set_dimension_size(inst, graph.builder.get_dimension_size(x.inst, contracted), 0)
    numbers = DotDimensions((contracted,), (0,))
    graph.hold(
        graph.builder.op(Opcode.DOT, x.inst, inst, attributes=numbers),
        (x.names[1 - contracted], names[1]),
    )


def _convolution(graph: DynamicGraph) -> None:
    """No spatial dimension: batches of features times a kernel."""
    kind = graph.choice((T.S32, T.F32))
    x = graph.array(ranked(2, 2), kind=kind)
    kernel = graph.made(kind, (x.shape.dimensions[1], 2), dynamic=False)
    numbers = ConvolutionDimensions((), 0, 1, (), 0, 1, (), 0, 1, ())
    inst = graph.builder.op(Opcode.CONVOLUTION, x.inst, kernel.inst, attributes=numbers)
    graph.hold(inst, (x.names[0], None))


def _set_size(graph: DynamicGraph) -> None:
    x = graph.array(ranked(1))
    dimension = graph.choice(range(x.rank))
    bound = x.shape.dimensions[dimension]
    size = graph.scalar(bound)
    if x.names[dimension] is not None:
        # smaller at most: what lies beyond its size an array does not have
        zero, most = graph.builder.constant(0, T.S32), graph.builder.get_dimension_size(x.inst, dimension)
        size = graph.builder.op(Opcode.CLAMP, zero, size, most)
    graph.set_size(x, dimension, size)


def _get_size(graph: DynamicGraph) -> None:
    x = graph.array(ranked(1))
    dimension = graph.choice(range(x.rank))
    graph.scalars.append((graph.builder.get_dimension_size(x.inst, dimension), x.shape.dimensions[dimension]))


RULES: Mapping[str, Draw] = {
    "unary": _unary,
    "binary": _binary,
    "fitted": _fitted,
    "convert": _convert,
    "broadcast": _broadcast,
    "transpose": _transpose,
    "reverse": _reverse,
    "concatenate": _concatenate,
    "pad": _pad,
    "slice": _slice,
    "dynamic-slice": _dynamic_slice,
    "dynamic-update-slice": _dynamic_update_slice,
    "gather": _gather,
    "scatter": _scatter,
    "reduce": _reduce,
    "sort": _sort,
    "dot": _dot,
    "convolution": _convolution,
    "set-size": _set_size,
    "get-size": _get_size,
}
