"""How is a size written down that an operation takes as an operand?

As a constant, as the size of an array, or worked out; and sometimes by a detour that comes to the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fuzz.generators.stablehlo.graph import Graph, Held, tensor
from fuzz.generators.stablehlo.sizes import Size

SCALAR = "tensor<i32>"


def constant(graph: Graph, number: int, kind: str = SCALAR) -> str:
    """A constant that repeats a number."""
    return graph.op("constant", [], kind, f"value = dense<{number}> : {kind}")


def scalar(graph: Graph, size: Size) -> str:
    """An i32 scalar that is `size`, by some way."""
    plain = _plain(graph, size)
    detour = graph.choice((None, None, None, *DETOURS))
    if detour is None:
        return plain
    graph.note(detour)
    return DETOURS[detour](graph, plain, size)


def _plain(graph: Graph, size: Size) -> str:
    options: list[Callable[[], str]] = []
    if size.constant is not None:
        options.append(lambda: constant(graph, size.constant or 0))
    options += [lambda name=name: name for name in graph.scalars.get(size, [])[-2:]]
    places = [(held, axis) for held in graph.held for axis, has in enumerate(held.sizes) if has == size]
    options += [lambda held=held, axis=axis: size_of(graph, held, axis) for held, axis in places[-6:]]
    if not options or (size.constant is None and len(size.terms) > 1 and graph.choice((False, True))):
        options.append(lambda: _worked_out(graph, size))
    return graph.choice(options)()


def size_of(graph: Graph, held: Held, axis: int) -> str:
    """`get_dimension_size`: of a dimension whose type tells its size, or not."""
    graph.note("size-of-known" if held.dims[axis] != "?" else "size-of-unknown")
    return graph.op("get_dimension_size", [(held.name, held.type)], SCALAR, f"dimension = {axis} : i64")


def _worked_out(graph: Graph, size: Size) -> str:
    """A sum of products of what symbols are."""
    graph.note("worked-out-size")
    total = ""
    for names, number in size.terms:
        part = "" if names and number == 1 else constant(graph, number)
        for name in names:
            symbol = _plain(graph, Size.symbol(name))
            part = binary(graph, "multiply", part, symbol) if part else symbol
        total = binary(graph, "add", total, part) if total else part
    return total or constant(graph, 0)


def can_say(graph: Graph, size: Size) -> bool:
    """Whether the function knows what it takes to work `size` out."""
    there = {has for held in graph.held for has in held.sizes} | graph.scalars.keys()
    return size in there or all(Size.symbol(name) in there for names, _ in size.terms for name in names)


def binary(graph: Graph, name: str, left: str, right: str, kind: str = SCALAR) -> str:
    """An operation on two values of one type."""
    return graph.op(name, [(left, kind), (right, kind)], kind)


# --- detours -------------------------------------------------------------------------------------------


def _and_back(graph: Graph, value: str, _size: Size) -> str:
    number = constant(graph, graph.choice((1, 2, 7)))
    return binary(graph, "subtract", binary(graph, "add", value, number), number)


def _doubled(graph: Graph, value: str, _size: Size) -> str:
    two = constant(graph, 2)
    return binary(graph, "divide", binary(graph, "multiply", value, two), two)


def _at_least_none(graph: Graph, value: str, _size: Size) -> str:
    return binary(graph, "maximum", value, constant(graph, 0))


def _twice(graph: Graph, value: str, _size: Size) -> str:
    return binary(graph, "minimum", value, value)


def _widened(graph: Graph, value: str, _size: Size) -> str:
    wide = graph.op("convert", [(value, SCALAR)], "tensor<i64>")
    return graph.op("convert", [(wide, "tensor<i64>")], SCALAR)


def _plus_nothing(graph: Graph, value: str, size: Size) -> str:
    """A size that cancels, of an array if there is one."""
    other = _plain(graph, graph.choice((size, *(has for held in graph.held[-4:] for has in held.sizes))))
    return binary(graph, "add", value, binary(graph, "subtract", other, other))


def _selected(graph: Graph, value: str, _size: Size) -> str:
    yes = graph.op("constant", [], "tensor<i1>", "value = dense<true> : tensor<i1>")
    other = constant(graph, 9)
    return graph.op("select", [(yes, "tensor<i1>"), (value, SCALAR), (other, SCALAR)], SCALAR)


DETOURS: dict[str, Callable[[Graph, str, Size], str]] = {
    "add-and-subtract": _and_back,
    "multiply-and-divide": _doubled,
    "at-least-none": _at_least_none,
    "the-less-of-itself": _twice,
    "wider-and-back": _widened,
    "plus-what-cancels": _plus_nothing,
    "always-selected": _selected,
}
"""Arithmetic that changes nothing, by its feature."""


# --- shapes --------------------------------------------------------------------------------------------


def shape(graph: Graph, sizes: Sequence[Size]) -> tuple[str, str]:
    """A 1-dimensional array of sizes: its name and its type."""
    kind = tensor((len(sizes),), "i32")
    numbers = [size.constant for size in sizes]
    if None not in numbers and graph.choice((True, False)):
        graph.note("constant-shape")
        text = f"[{', '.join(map(str, numbers))}]" if numbers else "[]"
        if not numbers:
            return graph.op(
                "constant", [], "tensor<0xi32>", "value = dense<> : tensor<0xi32>"
            ), "tensor<0xi32>"
        return graph.op("constant", [], kind, f"value = dense<{text}> : {kind}"), kind
    if not sizes:
        return graph.op("constant", [], "tensor<0xi32>", "value = dense<> : tensor<0xi32>"), "tensor<0xi32>"
    one = "tensor<1xi32>"
    parts = [(graph.op("reshape", [(scalar(graph, size), SCALAR)], one), one) for size in sizes]
    if len(parts) == 1:
        return parts[0]
    return graph.op("concatenate", parts, kind, "dimension = 0 : i64"), kind
