"""How is each operation written down that takes the size of its result as an operand?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from fuzz.generators.stablehlo.graph import SMALL, Graph, Held, tensor
from fuzz.generators.stablehlo.shapes import SCALAR, can_say, constant, scalar, shape, size_of
from fuzz.generators.stablehlo.sizes import Size

_MOST_RANK = 4


def some_sizes(graph: Graph, fewest: int = 1) -> tuple[Size, ...]:
    """Sizes that the function can say, for a new array."""
    known = [size for held in graph.held[-6:] for size in held.sizes if can_say(graph, size)]
    options = (*map(Size.of, SMALL[:3]), *dict.fromkeys(known), *graph.scalars)
    return tuple(graph.choice(options) for _ in range(graph.choice((max(fewest, 1), 2, fewest))))


def _broadcast(
    graph: Graph, x: Held, sizes: Sequence[Size], mapping: Sequence[int], to: tuple[str, str] | None = None
) -> Held:
    operand = to or shape(graph, sizes)
    attributes = f"broadcast_dimensions = array<i64{': ' if mapping else ''}{', '.join(map(str, mapping))}>"
    growing = [i for i, axis in enumerate(mapping) if x.sizes[i] != sizes[axis]]
    staying = [i for i, axis in enumerate(mapping) if x.sizes[i] == sizes[axis]]
    if mapping and graph.choice((False, False, False, True)):
        graph.note("known-expansion")
        for name, dims in (("expanding", growing), ("nonexpanding", staying)):
            attributes += (
                f", known_{name}_dimensions = array<i64{': ' if dims else ''}{', '.join(map(str, dims))}>"
            )
    pair = (x.name, x.type)
    return graph.made(
        "dynamic_broadcast_in_dim", [pair, operand], x.element, sizes, graph.shy(sizes), attributes
    )


def broadcast_scalar(graph: Graph) -> Held:
    """A scalar spread over sizes."""
    x = (
        graph.array(lambda held: held.rank == 0, rank=0)
        if graph.choice((False, True))
        else number(graph, "f32")
    )
    return _broadcast(graph, x, some_sizes(graph), ())


def broadcast_dimension(graph: Graph) -> Held:
    """An array with one more dimension, in front or behind."""
    x = graph.array(lambda held: 0 < held.rank < _MOST_RANK and _sayable(graph, held))
    if not _sayable(graph, x):
        return broadcast_scalar(graph)
    (more, *_) = some_sizes(graph)
    if graph.choice((True, False)):
        return _broadcast(graph, x, (more, *x.sizes), range(1, x.rank + 1))
    return _broadcast(graph, x, (*x.sizes, more), range(x.rank))


def broadcast_one(graph: Graph) -> Held:
    """A dimension of size 1 that grows."""
    x = graph.array(lambda held: Size.of(1) in held.sizes and _sayable(graph, held))
    if Size.of(1) not in x.sizes or not _sayable(graph, x):
        return broadcast_dimension(graph)
    (more, *_) = some_sizes(graph)
    place = x.sizes.index(Size.of(1))
    return _broadcast(graph, x, (*x.sizes[:place], more, *x.sizes[place + 1 :]), range(x.rank))


def own_shape(graph: Graph, x: Held) -> tuple[str, str]:
    """The shape of `x`, asked of it or of an array as large."""
    other = graph.choice((x, x, graph.like(x)))
    one = "tensor<1xi32>"
    if not x.rank:
        return shape(graph, ())
    parts = [
        (graph.op("reshape", [(size_of(graph, other, axis), SCALAR)], one), one) for axis in range(x.rank)
    ]
    return (
        parts[0]
        if len(parts) == 1
        else (
            graph.op("concatenate", parts, tensor((x.rank,), "i32"), "dimension = 0 : i64"),
            tensor((x.rank,), "i32"),
        )
    )


def broadcast_to_own_shape(graph: Graph) -> Held:
    """An array spread over what it has already."""
    x = graph.array(lambda held: held.rank > 0)
    return _broadcast(graph, x, x.sizes, range(x.rank), own_shape(graph, x))


def broadcast_chain(graph: Graph) -> Held:
    """One spread after the other."""
    graph.held.append(graph.choice((broadcast_scalar, broadcast_one))(graph))
    x = graph.held.pop()
    if x.rank >= _MOST_RANK or not _sayable(graph, x):
        return x
    (more, *_) = some_sizes(graph)
    return _broadcast(graph, x, (more, *x.sizes), range(1, x.rank + 1))


def _reshape(graph: Graph, x: Held, sizes: Sequence[Size], to: tuple[str, str] | None = None) -> Held:
    operand = to or shape(graph, sizes)
    return graph.made("dynamic_reshape", [x, operand], x.element, sizes, graph.shy(sizes))


def _sayable(graph: Graph, held: Held) -> bool:
    return all(can_say(graph, size) for size in held.sizes)


def _product(sizes: Sequence[Size]) -> Size:
    total = Size.of(1)
    for size in sizes:
        total = total * size
    return total


def reshape_flat(graph: Graph) -> Held:
    """All in one dimension."""
    x = graph.array(lambda held: held.rank > 0)
    return (
        _reshape(graph, x, (_product(x.sizes),))
        if can_say(graph, _product(x.sizes))
        else reshape_to_own(graph)
    )


def reshape_to_own(graph: Graph) -> Held:
    """The shape that it has."""
    x = graph.array(lambda held: held.rank > 0)
    return _reshape(graph, x, x.sizes, own_shape(graph, x))


def reshape_ones(graph: Graph) -> Held:
    """One more dimension of size 1, or one less."""
    x = graph.array(lambda held: 0 < held.rank < _MOST_RANK and _sayable(graph, held))
    if not _sayable(graph, x):
        return reshape_to_own(graph)
    one = Size.of(1)
    if one in x.sizes and x.rank > 1 and graph.choice((True, False)):
        place = x.sizes.index(one)
        return _reshape(graph, x, (*x.sizes[:place], *x.sizes[place + 1 :]))
    place = graph.choice(range(x.rank + 1))
    return _reshape(graph, x, (*x.sizes[:place], one, *x.sizes[place:]))


def reshape_chain(graph: Graph) -> Held:
    """Flat, and back or another way round."""
    x = graph.array(lambda held: 1 < held.rank <= 3 and _sayable(graph, held))
    if x.rank < 2 or not _sayable(graph, x):
        return reshape_flat(graph)
    flat = _reshape(graph, x, (_product(x.sizes),))
    return _reshape(graph, flat, graph.choice((x.sizes, tuple(reversed(x.sizes)))))


def iota(graph: Graph) -> Held:
    """Numbers that count along a dimension."""
    sizes = some_sizes(graph)
    axis = graph.choice(range(len(sizes)))
    element = graph.choice(("i32", "f32", "i64"))
    return graph.made(
        "dynamic_iota",
        [shape(graph, sizes)],
        element,
        sizes,
        graph.shy(sizes),
        f"iota_dimension = {axis} : i64",
    )


def number(graph: Graph, element: str, value: int | None = None) -> Held:
    """A scalar constant."""
    kind = tensor((), element)
    chosen = graph.choice((0, 1, 2, 3)) if value is None else value
    text = f"{chosen}.0" if element.startswith(("f", "b")) else str(chosen)
    return graph.hold(graph.op("constant", [], kind, f"value = dense<{text}> : {kind}"), element, ())


def pad(graph: Graph) -> Held:
    """More elements around, and between those that are there."""
    x = graph.array(lambda held: held.rank > 0 and _sayable(graph, held))
    around = number(graph, x.element)
    some = (Size.of(0), Size.of(1), Size.of(2), *(s for s in x.sizes if can_say(graph, s)))
    low = [graph.choice(some) for _ in x.sizes]
    high = [graph.choice(some) for _ in x.sizes]
    inside = [int(graph.choice((False, False, False, True)) and graph.demand(size + -1)) for size in x.sizes]
    sizes = [
        (size * 2 + -1 if between else size) + before + behind
        for size, before, behind, between in zip(x.sizes, low, high, inside, strict=True)
    ]
    operands = [x, around, shape(graph, low), shape(graph, high), shape(graph, [Size.of(i) for i in inside])]
    return graph.made("dynamic_pad", operands, x.element, sizes, graph.shy(sizes))


def slice_(graph: Graph) -> Held:
    """Some of the elements."""
    x = graph.array(lambda held: held.rank > 0 and _sayable(graph, held))
    if not _sayable(graph, x):
        return reshape_to_own(graph)
    starts: list[Size] = []
    strides: list[Size] = []
    sizes: list[Size] = []
    for size in x.sizes:
        start, stride = graph.choice((0, 1)), 1
        known = size.constant
        if known is not None:
            start, stride = min(start, known), graph.choice((1, 1, 2))
            sizes.append(Size.of(-(-(known - start) // stride)))
        else:
            graph.demand(size + -start)
            sizes.append(size + -start)
        starts.append(Size.of(start))
        strides.append(Size.of(stride))
    operands = [x, shape(graph, starts), shape(graph, x.sizes), shape(graph, strides)]
    return graph.made("real_dynamic_slice", operands, x.element, sizes, graph.shy(sizes))


def gather(graph: Graph) -> Held:
    """Rows, by their numbers."""
    x = graph.array(lambda held: 0 < held.rank < _MOST_RANK and _sayable(graph, held))
    if not x.rank or not _sayable(graph, x) or not graph.demand(x.sizes[0] + -1):
        return reshape_to_own(graph)
    rows = graph.array(lambda held: held.rank == 1 and held.element == "i32", rank=1)
    if rows.element != "i32" or rows.rank != 1:
        rows = (
            graph.parameter(Held("", "i32", (Size.of(2),), (False,)))
            if graph.takes_parameters
            else iota_rows(graph)
        )
    offsets = ", ".join(str(axis) for axis in range(1, x.rank))
    numbers = (
        f"dimension_numbers = #stablehlo.gather<offset_dims = [{offsets}], collapsed_slice_dims = [0], "
        "start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false"
    )
    sizes = (rows.sizes[0], *x.sizes[1:])
    taken = shape(graph, (Size.of(1), *x.sizes[1:]))
    return graph.made("dynamic_gather", [x, rows, taken], x.element, sizes, graph.shy(sizes), numbers)


def iota_rows(graph: Graph) -> Held:
    """Row numbers, where no parameter can have them."""
    kind = "tensor<2xi32>"
    name = graph.op("constant", [], kind, f"value = dense<[1, 0]> : {kind}")
    return graph.hold(name, "i32", (Size.of(2),))


def convolution(graph: Graph) -> Held:
    """One spatial dimension, with padding that is worked out."""
    x = graph.array(lambda held: held.rank == 3 and held.element == "f32" and _sayable(graph, held))
    if x.rank != 3 or x.element != "f32" or not _sayable(graph, x):
        return pad(graph)
    features = x.sizes[2].constant
    if features is None or x.dims[2] == "?":
        return pad(graph)
    window = 2
    low, high = (Size.of(graph.choice((0, 1, 2))) for _ in range(2))
    length = x.sizes[1] + low + high + -(window - 1)
    if not graph.demand(length):
        return pad(graph)
    weights = number(graph, "f32", 1)
    kind = tensor((window, features, 2), "f32")
    spread = graph.op(
        "broadcast",
        [(weights.name, weights.type)],
        kind,
        f"broadcast_sizes = array<i64: {window}, {features}, 2>",
    )
    flat, flat_type = shape(graph, (low, high))
    padding = (graph.op("reshape", [(flat, flat_type)], "tensor<1x2xi32>"), "tensor<1x2xi32>")
    sizes = (x.sizes[0], length, Size.of(2))
    numbers = (
        "batch_group_count = 1 : i64, feature_group_count = 1 : i64, "
        "dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, window_strides = array<i64: 1>"
    )
    operands = [x, (spread, kind), padding]
    return graph.made("dynamic_conv", operands, x.element, sizes, (*graph.shy(sizes[:2]), False), numbers)


def size_as_data(graph: Graph) -> Held:
    """A size that is computed with, or returned."""
    x = graph.array(lambda held: held.rank > 0)
    name = size_of(graph, x, graph.choice(range(x.rank)))
    size = graph.hold(name, "i32", ())
    if graph.choice((True, False)):
        return size
    wide = graph.op("convert", [(name, SCALAR)], tensor((), "f32"))
    graph.held.remove(size)
    return graph.hold(wide, "f32", ())


def bounded(graph: Graph) -> Held:
    """A size that is set, and asked for again: `?` with a bound."""
    x = graph.array(lambda held: held.rank > 0 and all(dim not in ("?", "0") for dim in held.dims))
    if not x.rank or any(dim in ("?", "0") for dim in x.dims):
        return size_as_data(graph)
    axis = graph.choice(range(x.rank))
    bound = int(x.dims[axis])
    size = constant(graph, graph.choice((bound, 1, 0)))
    if graph.takes_parameters and graph.choice((True, False)):
        size = graph.parameter(Held("", "i32", (), ())).name
    dims = [*x.dims[:axis], "?", *x.dims[axis + 1 :]]
    bounds = ["?"] * axis + [str(bound)] + ["?"] * (x.rank - axis - 1)
    kind = tensor(dims, f"{x.element}, #stablehlo.bounds<{', '.join(bounds)}>")
    cut = graph.op(
        "set_dimension_size", [(x.name, x.type), (size, SCALAR)], kind, f"dimension = {axis} : i64"
    )
    asked = graph.op(
        "get_dimension_size", [(cut, kind)], SCALAR, f"dimension = {graph.choice(range(x.rank))} : i64"
    )
    return graph.hold(asked, "i32", ())


RULES: Mapping[str, Callable[[Graph], Held]] = MappingProxyType(
    {
        "size-as-data": size_as_data,
        "broadcast-scalar": broadcast_scalar,
        "broadcast-dimension": broadcast_dimension,
        "broadcast-one": broadcast_one,
        "broadcast-own-shape": broadcast_to_own_shape,
        "broadcast-chain": broadcast_chain,
        "reshape-flat": reshape_flat,
        "reshape-own-shape": reshape_to_own,
        "reshape-ones": reshape_ones,
        "reshape-chain": reshape_chain,
        "iota": iota,
        "pad": pad,
        "slice": slice_,
        "gather": gather,
        "convolution": convolution,
        "bounded": bounded,
        "scalar-size": lambda graph: scalar_size(graph),
    }
)
"""By name: each writes one operation, or a few, and returns the array."""


def scalar_size(graph: Graph) -> Held:
    """Something as large as a parameter says."""
    if graph.takes_parameters and not graph.scalars:
        held = graph.parameter(Held("", "i32", (), ()))
        size = Size.symbol(f"n{len(graph.parameters)}")
        graph.scalars[size] = [held.name]
        graph.known[len(graph.parameters) - 1] = size
    if not graph.scalars:
        return broadcast_scalar(graph)
    size = next(iter(graph.scalars))
    one = "tensor<1xi32>"
    operand = (graph.op("reshape", [(scalar(graph, size), SCALAR)], one), one)
    return graph.made("dynamic_iota", [operand], "i32", (size,), (False,), "iota_dimension = 0 : i64")
