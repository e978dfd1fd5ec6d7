"""Which arithmetic do compilers like to simplify? Short chains on whole numbers, where every difference is a fault.

Each idiom takes an array of integers and gives one of the same shape, mostly of the same type. Its constants come from
where identities break: 0, ±1, powers of two and their neighbours, the width of the type, and the ends of the type.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from fuzz.generators.graphs.elementwise import alike
from fuzz.generators.graphs.graph import Graph
from fuzz.generators.graphs.palette import INTEGERS
from fuzz.generators.palette import array_shape
from hlo import HloInstruction, Opcode, PrimitiveType
from hlo.attributes import Ints

Idiom = Callable[[Graph, HloInstruction], HloInstruction]

_SHAPES: tuple[Ints, ...] = ((3,), (), (2, 3))
"""Few: each costs JAX a compile for each operation, and arithmetic is the same in all of them."""


def algebra_idiom(graph: Graph) -> None:
    """Append a chain of one to three idioms, each on what the one before it gives."""
    x = graph.array(INTEGERS, where=lambda d: d in _SHAPES)
    for _ in range(graph.choice((1, 2, 2, 3))):
        x = graph.choice(_IDIOMS)(graph, x)
        if graph.choice((False, False, False, True)):
            graph.add(x)
    graph.add(x)


# constants


@cache
def _numbers(kind: PrimitiveType) -> tuple[int, ...]:
    """The numbers of an integer type that matter, the simplest first."""
    width = kind.bit_width
    low = -(1 << (width - 1)) if kind.is_signed else 0
    high = low + (1 << width) - 1
    wanted = (1, 2, 0, -1, 3, 4, -2, 7, 8, width - 1, width, width + 1, -3)
    ends = (low, high, low + 1, high - 1, 1 << (width - 2), 1 << (width // 2), (1 << (width // 2)) - 1)
    return tuple(dict.fromkeys((value - low) % (1 << width) + low for value in (*wanted, *ends)))


def _splat(graph: Graph, x: HloInstruction, value: int) -> HloInstruction:
    """`value` in the shape of `x`: one constant spread over it, or a constant array."""
    shape = x.array_shape
    if shape.rank and graph.choice((True, False)):
        return graph.builder.broadcast(graph.builder.constant(value, shape.element_type), shape.dimensions)
    dtype = shape.element_type.numpy
    wrapped = np.array(value & ((1 << shape.element_type.bit_width) - 1), np.uint64).astype(dtype)
    return graph.builder.constant(np.full(shape.dimensions, wrapped, dtype))


def _number(graph: Graph, x: HloInstruction, *, zero: bool = True) -> HloInstruction:
    numbers = _numbers(x.array_shape.element_type)
    return _splat(graph, x, graph.choice(numbers if zero else [value for value in numbers if value]))


def _op(graph: Graph, opcode: Opcode, *operands: HloInstruction) -> HloInstruction:
    return graph.builder.op(opcode, *operands)


def _either_way(graph: Graph, opcode: Opcode, x: HloInstruction, y: HloInstruction) -> HloInstruction:
    return _op(graph, opcode, *((x, y) if graph.choice((True, False)) else (y, x)))


# idioms


def _sums(graph: Graph, x: HloInstruction) -> HloInstruction:
    """(x ± c) ± d, with equal constants at times."""
    c = _number(graph, x)
    d = c if graph.choice((True, False)) else _number(graph, x)
    first, second = graph.choice((Opcode.ADD, Opcode.SUBTRACT)), graph.choice((Opcode.SUBTRACT, Opcode.ADD))
    return _either_way(graph, second, _either_way(graph, first, x, c), d)


def _products(graph: Graph, x: HloInstruction) -> HloInstruction:
    """(x * c) / d, (x / c) * d, (x * c) * d, (x / c) / d."""
    c = _number(graph, x, zero=False)
    d = c if graph.choice((True, False)) else _number(graph, x, zero=False)
    first, second = graph.choice(
        (
            (Opcode.MULTIPLY, Opcode.DIVIDE),
            (Opcode.DIVIDE, Opcode.MULTIPLY),
            (Opcode.MULTIPLY, Opcode.MULTIPLY),
            (Opcode.DIVIDE, Opcode.DIVIDE),
        )
    )
    return _op(graph, second, _op(graph, first, x, c), d)


def _remainders(graph: Graph, x: HloInstruction) -> HloInstruction:
    """Of a remainder, of a product, of a sum."""
    inner = graph.choice((Opcode.REMAINDER, Opcode.MULTIPLY, Opcode.ADD, Opcode.DIVIDE))
    c = _number(graph, x, zero=False)
    d = c if graph.choice((False, True)) else _number(graph, x, zero=False)
    return _op(graph, Opcode.REMAINDER, _op(graph, inner, x, c), d)


def _divided_and_back(graph: Graph, x: HloInstruction) -> HloInstruction:
    """(x / c) * c + x rem c."""
    c = _number(graph, x, zero=False)
    whole = _op(graph, Opcode.MULTIPLY, _op(graph, Opcode.DIVIDE, x, c), c)
    return _op(graph, Opcode.ADD, whole, _op(graph, Opcode.REMAINDER, x, c))


_SHIFTS = (Opcode.SHIFT_LEFT, Opcode.SHIFT_RIGHT_LOGICAL, Opcode.SHIFT_RIGHT_ARITHMETIC)


def _shifts(graph: Graph, x: HloInstruction) -> HloInstruction:
    """There and back, or twice the same way, by as much as the width and more."""
    width = x.array_shape.element_type.bit_width
    c, d = (
        graph.choice((1, 2, width - 1, width, 0, width // 2, width + 1, width // 2 + 1)) for _ in range(2)
    )
    d = c if graph.choice((True, False)) else d
    shifted = _op(graph, graph.choice(_SHIFTS), x, _splat(graph, x, c))
    return _op(graph, graph.choice(_SHIFTS[::-1]), shifted, _splat(graph, x, d))


_BITS = (Opcode.AND, Opcode.OR, Opcode.XOR)


def _bits(graph: Graph, x: HloInstruction) -> HloInstruction:
    first = _op(graph, graph.choice(_BITS), x, _number(graph, x))
    match graph.choice((0, 1, 2)):
        case 0:
            other = x
        case 1:
            other = _op(graph, Opcode.NOT, x)
        case _:
            other = _number(graph, x)
    return _either_way(graph, graph.choice(_BITS), first, other)


_UNARY = (Opcode.NEGATE, Opcode.NOT, Opcode.ABS, Opcode.SIGN, Opcode.CLZ, Opcode.POPULATION_COUNT)


def _signs(graph: Graph, x: HloInstruction) -> HloInstruction:
    """One unary operation on another."""
    signed = x.array_shape.element_type.is_signed
    able = [opcode for opcode in _UNARY if signed or opcode not in (Opcode.ABS, Opcode.SIGN)]
    return _op(graph, graph.choice(able), _op(graph, graph.choice(able), x))


def _limits(graph: Graph, x: HloInstruction) -> HloInstruction:
    """Minimum, maximum and clamp on one another; the low bound may be the higher one."""
    for _ in range(2):
        c = _number(graph, x)
        match graph.choice((0, 1, 2)):
            case 0:
                x = _either_way(graph, Opcode.MINIMUM, x, c)
            case 1:
                x = _either_way(graph, Opcode.MAXIMUM, x, c)
            case _:
                x = graph.builder.clamp(c, x, _number(graph, x))
    return x


def _powers(graph: Graph, x: HloInstruction) -> HloInstruction:
    """To a small power, which is a square, a product, or nothing to do."""
    return _op(graph, Opcode.POWER, x, _splat(graph, x, graph.choice((2, 1, 0, 3))))


_DIRECTIONS = ("LT", "LE", "GT", "GE", "EQ", "NE")


def _test(graph: Graph, x: HloInstruction) -> HloInstruction:
    """Some comparison that might be decided, or made simpler."""
    before = graph.choice((None, Opcode.ADD, Opcode.MULTIPLY, Opcode.MAXIMUM, Opcode.REMAINDER, Opcode.AND))
    y = x if before is None else _op(graph, before, x, _number(graph, x, zero=before is not Opcode.REMAINDER))
    z = _other(graph, x)
    operands = (y, z) if graph.choice((True, False)) else (z, y)
    return graph.builder.compare(*operands, graph.choice(_DIRECTIONS))


def _other(graph: Graph, x: HloInstruction) -> HloInstruction:
    """What may stand beside `x`: a constant, another array, or itself."""
    match graph.choice((0, 1, 0, 2)):
        case 0:
            return _number(graph, x)
        case 1:
            return alike(graph, x)
        case _:
            return x


def _compared(graph: Graph, x: HloInstruction) -> HloInstruction:
    """What a comparison says, as a number."""
    return graph.builder.convert(_test(graph, x), x.array_shape.element_type)


def _selected(graph: Graph, x: HloInstruction) -> HloInstruction:
    """By a comparison; of equal things, of opposites, and within one another."""
    test = _test(graph, x)
    if graph.choice((False, False, True)):
        test = _op(graph, Opcode.NOT, test)
    y = _other(graph, x)
    chosen = graph.builder.select(test, *((x, y) if graph.choice((True, False)) else (y, x)))
    if graph.choice((False, True)):
        again = test if graph.choice((True, False)) else _op(graph, Opcode.NOT, test)
        chosen = graph.builder.select(again, chosen, x)
    return chosen


def _constant_choice(graph: Graph, x: HloInstruction) -> HloInstruction:
    """By a constant: for the whole array or for each element."""
    dimensions = x.array_shape.dimensions
    if graph.choice((True, False)):
        test = graph.builder.constant(graph.choice((True, False)), PrimitiveType.PRED)
    else:
        count = int(np.prod(dimensions, dtype=int))
        test = graph.builder.constant(np.arange(count).reshape(dimensions) % 2 == graph.choice((0, 1)))
    return graph.builder.select(test, x, _number(graph, x))


def _least_of_two(graph: Graph, x: HloInstruction) -> HloInstruction:
    """A minimum or maximum, spelled with compare and select."""
    y = alike(graph, x)
    operands = (x, y) if graph.choice((True, False)) else (y, x)
    return graph.builder.select(graph.builder.compare(x, y, graph.choice(_DIRECTIONS)), *operands)


def _converted(graph: Graph, x: HloInstruction) -> HloInstruction:
    """To other integers and back: narrower ones cut, wider ones keep, and a sign comes or goes."""
    kind = x.array_shape.element_type
    there = (*INTEGERS, PrimitiveType.PRED)
    for _ in range(graph.choice((1, 2))):
        x = graph.builder.convert(x, graph.choice(there))
    return graph.builder.convert(x, kind)


def _with_counting(graph: Graph, x: HloInstruction) -> HloInstruction:
    """With each element's own index."""
    shape = x.array_shape
    if not shape.rank:
        return _sums(graph, x)
    count = graph.builder.iota(
        array_shape(shape.element_type, shape.dimensions), graph.choice(range(shape.rank))
    )
    if graph.choice((True, False)):
        test = graph.builder.compare(count, _number(graph, x), graph.choice(_DIRECTIONS))
        return graph.builder.select(test, x, count)
    return _either_way(graph, graph.choice((Opcode.ADD, Opcode.MULTIPLY, Opcode.MAXIMUM)), x, count)


def _shared_factor(graph: Graph, x: HloInstruction) -> HloInstruction:
    """x * c ± y * c."""
    c, y = _number(graph, x), alike(graph, x)
    left, right = (_op(graph, Opcode.MULTIPLY, value, c) for value in (x, y))
    return _op(graph, graph.choice((Opcode.ADD, Opcode.SUBTRACT)), left, right)


def _own_inverse(graph: Graph, x: HloInstruction) -> HloInstruction:
    """(x ∘ y) ∘' y."""
    y = alike(graph, x)
    there, back = graph.choice(
        ((Opcode.ADD, Opcode.SUBTRACT), (Opcode.SUBTRACT, Opcode.ADD), (Opcode.XOR, Opcode.XOR))
    )
    return _op(graph, back, _op(graph, there, x, y), y)


_IDIOMS: tuple[Idiom, ...] = (
    _sums,
    _products,
    _remainders,
    _divided_and_back,
    _shifts,
    _bits,
    _signs,
    _limits,
    _powers,
    _compared,
    _selected,
    _constant_choice,
    _least_of_two,
    _converted,
    _with_counting,
    _shared_factor,
    _own_inverse,
)
