"""How is an elementwise operation drawn?"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fuzz.generators.graphs.graph import Graph
from fuzz.generators.graphs.palette import (
    COMPLEX,
    FLOATS,
    INTEGERS,
    NUMBERS,
    ORDINARY,
    PRED,
    REAL,
    SIGNED,
    SINGLE_OR_DOUBLE,
    STORED,
    UNSIGNED,
)
from hlo import HloInstruction, Opcode, PrimitiveType

Types = tuple[PrimitiveType, ...]
Rule = Callable[[Graph, Opcode], None]

_ANALYTIC: Types = (*FLOATS, *COMPLEX)

UNARY: Mapping[Opcode, Types] = {
    Opcode.ABS: (*SIGNED, *FLOATS, *COMPLEX),
    Opcode.ACOS: FLOATS,
    Opcode.ACOSH: FLOATS,
    Opcode.ASIN: FLOATS,
    Opcode.ASINH: FLOATS,
    Opcode.ATANH: FLOATS,
    Opcode.CBRT: FLOATS,
    Opcode.CEIL: FLOATS,
    Opcode.CLZ: INTEGERS,
    Opcode.COS: _ANALYTIC,
    Opcode.COSH: _ANALYTIC,
    Opcode.ERF: FLOATS,
    Opcode.EXP: _ANALYTIC,
    Opcode.EXP2: _ANALYTIC,
    Opcode.EXPM1: _ANALYTIC,
    Opcode.FLOOR: FLOATS,
    Opcode.IMAG: (*COMPLEX, *FLOATS),
    Opcode.IS_FINITE: FLOATS,
    Opcode.LOG: _ANALYTIC,
    Opcode.LOG1P: _ANALYTIC,
    Opcode.LOG2: _ANALYTIC,
    Opcode.LOGISTIC: _ANALYTIC,
    Opcode.NEGATE: NUMBERS,
    Opcode.NOT: (*PRED, *INTEGERS),
    Opcode.POPULATION_COUNT: INTEGERS,
    Opcode.REAL: (*COMPLEX, *FLOATS),
    Opcode.ROUND_NEAREST_AFZ: FLOATS,
    Opcode.ROUND_NEAREST_EVEN: FLOATS,
    Opcode.RSQRT: _ANALYTIC,
    Opcode.SIGN: (*SIGNED, *FLOATS, *COMPLEX),
    Opcode.SIN: _ANALYTIC,
    Opcode.SINH: _ANALYTIC,
    Opcode.SQRT: _ANALYTIC,
    Opcode.TAN: _ANALYTIC,
    Opcode.TANH: _ANALYTIC,
}
BINARY: Mapping[Opcode, Types] = {
    Opcode.ADD: ORDINARY,
    Opcode.AND: (*PRED, *INTEGERS),
    Opcode.ATAN2: FLOATS,
    Opcode.COMPLEX: SINGLE_OR_DOUBLE,
    Opcode.DIVIDE: NUMBERS,
    Opcode.MAXIMUM: (*REAL, *PRED),
    Opcode.MINIMUM: (*REAL, *PRED),
    Opcode.MULHI: INTEGERS,
    Opcode.MULTIPLY: ORDINARY,
    Opcode.OR: (*PRED, *INTEGERS),
    Opcode.POWER: (*INTEGERS, *FLOATS),
    Opcode.REMAINDER: REAL,
    Opcode.SHIFT_LEFT: INTEGERS,
    Opcode.SHIFT_RIGHT_ARITHMETIC: INTEGERS,
    Opcode.SHIFT_RIGHT_LOGICAL: INTEGERS,
    Opcode.SUBTRACT: NUMBERS,
    Opcode.XOR: (*PRED, *INTEGERS),
}

# … of which a small error in an operand makes but a small error in the result
_SMOOTH = frozenset(
    {
        Opcode.ABS,
        Opcode.ADD,
        Opcode.COMPLEX,
        Opcode.IMAG,
        Opcode.MAXIMUM,
        Opcode.MINIMUM,
        Opcode.MULTIPLY,
        Opcode.NEGATE,
        Opcode.REAL,
        Opcode.SUBTRACT,
    }
)
# … that every engine rounds to the same bits
_DEFINITE = (_SMOOTH - {Opcode.MULTIPLY}) | {
    Opcode.CEIL,
    Opcode.FLOOR,
    Opcode.REMAINDER,
    Opcode.ROUND_NEAREST_AFZ,
    Opcode.ROUND_NEAREST_EVEN,
}
_ALWAYS_DEFINITE = _DEFINITE | {Opcode.MULTIPLY, Opcode.SIGN, Opcode.IS_FINITE}


def _is_rounded(opcode: Opcode, operand: HloInstruction) -> bool:
    if operand.array_shape.element_type.is_complex:
        return opcode not in _DEFINITE or opcode is Opcode.ABS
    return opcode not in _ALWAYS_DEFINITE


def _unary(graph: Graph, opcode: Opcode) -> None:
    x = graph.array(UNARY[opcode], exact=opcode not in _SMOOTH)
    graph.add(graph.builder.op(opcode, x), inexact=_is_rounded(opcode, x))


def _binary(graph: Graph, opcode: Opcode) -> None:
    exact = opcode not in _SMOOTH
    x = graph.array(BINARY[opcode], exact=exact)
    y = alike(graph, x, exact=exact)
    graph.add(graph.builder.op(opcode, x, y), inexact=_is_rounded(opcode, x))


def alike(graph: Graph, x: HloInstruction, *, exact: bool = False) -> HloInstruction:
    """A value of the shape of `x`, mostly another one."""
    return graph.array((x.array_shape.element_type,), x.array_shape.dimensions, exact=exact, beside=x)


def _compare(graph: Graph, _opcode: Opcode) -> None:
    x = graph.array(ORDINARY, exact=True)
    kind = x.array_shape.element_type
    direction = graph.choice(("EQ", "NE") if kind.is_complex else ("LT", "EQ", "NE", "GE", "GT", "LE"))
    type_ = graph.choice(("", "TOTALORDER") if kind.is_float else ("",))
    graph.add(graph.builder.compare(x, alike(graph, x, exact=True), direction, type=type_))


def _select(graph: Graph, _opcode: Opcode) -> None:
    x = graph.array(ORDINARY)
    dimensions = graph.choice((x.array_shape.dimensions, x.array_shape.dimensions, ()))
    predicate = graph.array(PRED, dimensions)
    graph.add(graph.builder.select(predicate, x, alike(graph, x)))


def _clamp(graph: Graph, _opcode: Opcode) -> None:
    x = graph.array(REAL)
    kind, dimensions = x.array_shape.element_type, x.array_shape.dimensions
    low, high = (graph.array((kind,), graph.choice(((), dimensions))) for _ in range(2))
    graph.add(graph.builder.clamp(low, x, high))


def _convert(graph: Graph, _opcode: Opcode) -> None:
    """To and from every type. Complex numbers have no counterpart among the others."""
    x = graph.array((*STORED, *ORDINARY), exact=True)
    kind = x.array_shape.element_type
    options = COMPLEX if kind.is_complex else graph.choice((ORDINARY, (graph.stored,)))
    graph.add(graph.builder.convert(x, graph.choice(options)))


def _bitcast_convert(graph: Graph, _opcode: Opcode) -> None:
    """Of numbers, the bits of which all engines agree about."""
    x = graph.array(INTEGERS + SINGLE_OR_DOUBLE, exact=True)
    shape = x.array_shape
    width = shape.element_type.bit_width

    def fits(kind: PrimitiveType) -> bool:
        if kind.bit_width <= width:
            return True
        return shape.dimensions[-1:] == (kind.bit_width // width,)

    graph.add(graph.builder.bitcast_convert(x, graph.choice([kind for kind in INTEGERS if fits(kind)])))


def _copy(graph: Graph, _opcode: Opcode) -> None:
    graph.add(graph.builder.op(Opcode.COPY, graph.array((*ORDINARY, *STORED))))


def _reduce_precision(graph: Graph, _opcode: Opcode) -> None:
    x = graph.array(FLOATS, exact=True)
    exponent, mantissa = graph.choice(((8, 7), (5, 10), (4, 3), (5, 2), (8, 23), (11, 52)))
    graph.add(graph.builder.reduce_precision(x, exponent, mantissa))


def _stochastic_convert(graph: Graph, _opcode: Opcode) -> None:
    x = graph.array(FLOATS, exact=True)
    shape = x.array_shape
    bits = _BITS_OF[shape.element_type.bit_width]
    random = graph.array((bits,), shape.dimensions)
    to = shape.with_element_type(graph.choice(SIGNED))
    graph.add(graph.builder.op(Opcode.STOCHASTIC_CONVERT, x, random, shape=to))


_BITS_OF = {kind.bit_width: kind for kind in UNSIGNED}

_MAPPED = (Opcode.ADD, Opcode.SUBTRACT, Opcode.MULTIPLY, Opcode.MAXIMUM, Opcode.MINIMUM)
_MAPPED_PRED = (Opcode.OR, Opcode.AND, Opcode.XOR)


def _map(graph: Graph, _opcode: Opcode) -> None:
    x = graph.array((*REAL, *PRED))
    kind = x.array_shape.element_type
    opcode = graph.choice(_MAPPED_PRED if kind is PrimitiveType.PRED else _MAPPED)
    function, others = graph.reducer(opcode, kind), [alike(graph, x)]
    if graph.choice((False, True)):
        inner, (left, right) = graph.inner("mapped", *[p.array_shape for p in function.parameters])
        combined = inner.builder.op(opcode, right, left)
        inner.builder.computation.set_root(inner.builder.op(opcode, combined, right))
        function = inner.builder.computation
    graph.add(graph.builder.map_(function, x, *others))


RULES: dict[Opcode, Rule] = {
    **dict.fromkeys(UNARY, _unary),
    **dict.fromkeys(BINARY, _binary),
    Opcode.COMPARE: _compare,
    Opcode.SELECT: _select,
    Opcode.CLAMP: _clamp,
    Opcode.CONVERT: _convert,
    Opcode.BITCAST_CONVERT: _bitcast_convert,
    Opcode.COPY: _copy,
    Opcode.REDUCE_PRECISION: _reduce_precision,
    Opcode.STOCHASTIC_CONVERT: _stochastic_convert,
    Opcode.MAP: _map,
}

GAPS: dict[Opcode, str] = {}
