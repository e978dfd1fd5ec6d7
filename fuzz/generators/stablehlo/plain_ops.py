"""How is each operation written down whose size follows from its operands?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from fuzz.generators.stablehlo.dynamic_ops import RULES as DYNAMIC
from fuzz.generators.stablehlo.dynamic_ops import number
from fuzz.generators.stablehlo.graph import Graph, Held, tensor
from fuzz.generators.stablehlo.sizes import Size

_INTEGERS = ("add", "subtract", "maximum", "minimum", "multiply")
_INSIDE = (
    "broadcast-own-shape",
    "reshape-own-shape",
    "reshape-flat",
    "size-as-data",
    "reshape-ones",
    "iota",
    "pad",
)


def unary(graph: Graph) -> Held:
    """The same of each element."""
    x = graph.array()
    name = graph.choice(("negate", "abs", "sign")) if x.element != "ui8" else "not"
    return graph.made(name, [x], x.element, x.sizes, x.hidden)


def binary(graph: Graph) -> Held:
    """The same of two elements each: the types of the arrays may tell different sizes."""
    x = graph.array()
    y = graph.like(x)
    hidden = graph.choice((x.hidden, y.hidden))
    return graph.made(graph.choice(_INTEGERS), [x, y], x.element, x.sizes, hidden)


def select(graph: Graph) -> Held:
    """Elements of one of two arrays, as they compare."""
    x = graph.array()
    y = graph.like(x)
    direction = graph.choice(("LT", "EQ", "GE"))
    attributes = f"comparison_direction = #stablehlo<comparison_direction {direction}>"
    kind = tensor(x.dims, "i1")
    mask = graph.op("compare", [(x.name, x.type), (y.name, y.type)], kind, attributes)
    return graph.made("select", [(mask, kind), x, y], x.element, x.sizes, x.hidden)


def convert(graph: Graph) -> Held:
    """Another element type."""
    x = graph.array()
    to = graph.choice([kind for kind in ("f32", "i32", "i64") if kind != x.element])
    return graph.made("convert", [x], to, x.sizes, x.hidden)


def transpose(graph: Graph) -> Held:
    """Dimensions in another order."""
    x = graph.array(lambda held: held.rank > 1)
    order = (
        tuple(reversed(range(x.rank)))
        if graph.choice((True, False))
        else (*range(1, x.rank), *([0] if x.rank else []))
    )
    sizes, hidden = (tuple(of[i] for i in order) for of in (x.sizes, x.hidden))
    numbers = f"permutation = array<i64{': ' if order else ''}{', '.join(map(str, order))}>"
    return graph.made("transpose", [x], x.element, sizes, hidden, numbers)  # pyright: ignore[reportArgumentType]


def concatenate(graph: Graph) -> Held:
    """Two arrays behind each other."""
    x = graph.array(lambda held: held.rank > 0)
    if not x.rank:
        return unary(graph)
    y = graph.like(x)
    axis = graph.choice(range(x.rank))
    sizes = tuple(size * 2 if i == axis else size for i, size in enumerate(x.sizes))
    pairs = enumerate(zip(x.hidden, y.hidden, strict=True))
    hidden = tuple(a or b if i == axis else a for i, (a, b) in pairs)
    return graph.made("concatenate", [x, y], x.element, sizes, hidden, f"dimension = {axis} : i64")


def reduce(graph: Graph) -> Held:
    """Sums or maxima along a dimension."""
    x = graph.array(lambda held: held.rank > 0)
    if not x.rank:
        return unary(graph)
    axis = graph.choice(range(x.rank))
    start = number(graph, x.element, 0)
    scalar = tensor((), x.element)
    left, right, made = (graph.fresh_name("r") for _ in range(3))
    name = graph.choice(("add", "maximum"))
    region = (
        f" ({{ ^bb0({left}: {scalar}, {right}: {scalar}): "
        f'{made} = "stablehlo.{name}"({left}, {right}) : ({scalar}, {scalar}) -> {scalar} '
        f'"stablehlo.return"({made}) : ({scalar}) -> () }})'
    )
    rest = [i for i in range(x.rank) if i != axis]
    sizes, hidden = tuple(x.sizes[i] for i in rest), tuple(x.hidden[i] for i in rest)
    return graph.made(
        "reduce", [x, start], x.element, sizes, hidden, f"dimensions = array<i64: {axis}>", region
    )


def dot(graph: Graph) -> Held:
    """A matrix by its own transpose, or another one that fits."""
    x = graph.array(lambda held: held.rank == 2 and held.element in ("f32", "i32"))
    if x.rank != 2:
        return reduce(graph)
    y = graph.like(x)
    axis = graph.choice((0, 1))
    numbers = (
        "dot_dimension_numbers = #stablehlo.dot<"
        f"lhs_contracting_dimensions = [{axis}], rhs_contracting_dimensions = [{axis}]>"
    )
    sizes, hidden = (x.sizes[1 - axis], y.sizes[1 - axis]), (x.hidden[1 - axis], y.hidden[1 - axis])
    return graph.made("dot_general", [x, y], x.element, sizes, hidden, numbers)


def call(graph: Graph) -> Held:
    """A function of its own, which gets its sizes with its arrays."""
    if not graph.takes_parameters:
        return unary(graph)
    x = graph.array(lambda held: held.rank > 0)
    inner = graph.inner()
    inner.parameter(
        Held(
            "", x.element, x.sizes, graph.choice((x.hidden, (True,) * x.rank)) if any(x.hidden) else x.hidden
        )
    )
    for _ in range(graph.choice((1, 2))):
        names = _INSIDE if graph.choice((True, False)) else ("unary", "binary", "reduce")
        name = graph.choice(names)
        (DYNAMIC[name] if name in DYNAMIC else RULES[name])(inner)
    result = inner.held[-1]
    name = f"f{len(graph.shared.functions)}"
    graph.shared.functions.append(inner.function(name, "private", [result]))
    made = graph.fresh_name()
    taken = inner.parameters[0].type
    given = x.name
    if taken != x.type:
        given = graph.op("convert", [(x.name, x.type)], taken)
    graph.lines.append(f'{made} = "func.call"({given}) <{{callee = @{name}}}> : ({taken}) -> {result.type}')
    graph.used.add(x.name)
    return graph.hold(made, result.element, result.sizes, result.hidden)


def sort_with_iota(graph: Graph) -> Held:
    """A sort by numbers that are in order already."""
    x = graph.array(lambda held: held.rank == 1 and held.dims[0] != "?", rank=1)
    if x.rank != 1 or x.dims[0] == "?":
        return unary(graph)
    key = tensor(x.dims, "i32")
    numbers = graph.op("iota", [], key, "iota_dimension = 0 : i64")
    scalar = tensor((), x.element)
    a, b, c, d, made = (graph.fresh_name("r") for _ in range(5))
    way = graph.choice(("LT", "GT"))
    region = (
        f" ({{ ^bb0({a}: tensor<i32>, {b}: tensor<i32>, {c}: {scalar}, {d}: {scalar}): "
        f'{made} = "stablehlo.compare"({a}, {b}) <{{comparison_direction = #stablehlo<comparison_direction {way}>}}> '
        f': (tensor<i32>, tensor<i32>) -> tensor<i1> "stablehlo.return"({made}) : (tensor<i1>) -> () }})'
    )
    made = graph.fresh_name()
    graph.lines.append(
        f'{made}:2 = "stablehlo.sort"({numbers}, {x.name}) <{{dimension = 0 : i64, is_stable = true}}>{region} '
        f": ({key}, {x.type}) -> ({key}, {x.type})"
    )
    graph.used.add(x.name)
    return graph.hold(f"{made}#1", x.element, x.sizes, x.hidden)


def spread_constant(graph: Graph) -> Held:
    """A constant that is converted, and spread in the new way or the old one."""
    kind = tensor((), "f32")
    one = graph.op(
        "constant", [], tensor((), "i32"), f"value = dense<{graph.choice((1, 2, 7))}> : tensor<i32>"
    )
    value = graph.op("convert", [(one, tensor((), "i32"))], kind)
    size = graph.choice((2, 3))
    if graph.choice((True, False)):
        return graph.made(
            "broadcast_in_dim",
            [(value, kind)],
            "f32",
            (Size.of(size),),
            (False,),
            "broadcast_dimensions = array<i64>",
        )
    return graph.made(
        "broadcast",
        [(value, kind)],
        "f32",
        (Size.of(size),),
        (False,),
        f"broadcast_sizes = array<i64: {size}>",
    )


RULES: Mapping[str, Callable[[Graph], Held]] = MappingProxyType(
    {
        "unary": unary,
        "binary": binary,
        "select": select,
        "convert": convert,
        "transpose": transpose,
        "concatenate": concatenate,
        "reduce": reduce,
        "dot": dot,
        "call": call,
        "sort-with-iota": sort_with_iota,
        "spread-constant": spread_constant,
    }
)
"""By name: each writes one operation, or a few, and returns the array."""
