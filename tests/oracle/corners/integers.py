"""What do integers give where mathematics has no answer, or one that does not fit?"""

from __future__ import annotations

from collections.abc import Iterator

from hlo import PrimitiveType
from tests.oracle.corners.table import INTERPRETER, Corner, of

INTEGERS = [kind for kind in PrimitiveType if kind.is_integral]


def limits(kind: PrimitiveType) -> tuple[int, int]:
    """The least and the greatest value of an integer type."""
    width = kind.bit_width
    return (-(1 << (width - 1)), (1 << (width - 1)) - 1) if kind.is_signed else (0, (1 << width) - 1)


def bits(number: int, kind: PrimitiveType) -> int:
    """The code of `number`, as an unsigned integer."""
    return number % (1 << kind.bit_width)


def valued(code: int, kind: PrimitiveType) -> int:
    """The number that the low bits of `code` are in `kind`."""
    code = bits(code, kind)
    return code - (1 << kind.bit_width) if kind.is_signed and code >> (kind.bit_width - 1) else code


def quotient(x: int, y: int) -> int:
    """x / y, rounded towards zero."""
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def _dividends(kind: PrimitiveType) -> list[int]:
    low, high = limits(kind)
    return sorted({low, low + 1, -1 if kind.is_signed else 1, 0, 1, high})


def divisions() -> Iterator[Corner]:
    """By zero, and where the quotient overflows."""
    for kind in INTEGERS:
        low, _ = limits(kind)
        xs = _dividends(kind)
        by_zero = (of(kind, xs), of(kind, [0] * len(xs)))
        yield Corner(
            "x / 0 has all bits set: -1, of an unsigned type the maximum (XLA operation semantics, Div)",
            f"{kind.text}[{len(xs)}] divide(p0, p1)",
            by_zero,
            of(kind, [valued(-1, kind)] * len(xs)),
            silent={INTERPRETER: "it ends the process"},
        )
        yield Corner(
            "x rem 0 is x (XLA operation semantics, Rem)",
            f"{kind.text}[{len(xs)}] remainder(p0, p1)",
            by_zero,
            of(kind, xs),
            silent={INTERPRETER: "it ends the process"},
        )
        if kind.is_signed:
            overflow = (of(kind, [low, low + 1]), of(kind, [-1, -1]))
            yield Corner(
                "the least over -1 is itself (XLA operation semantics, Div)",
                f"{kind.text}[2] divide(p0, p1)",
                overflow,
                of(kind, [low, -low - 1]),
            )
            yield Corner(
                "anything rem -1 is 0, the least too (XLA operation semantics, Rem)",
                f"{kind.text}[2] remainder(p0, p1)",
                overflow,
                of(kind, [0, 0]),
            )
        pairs = [(x, y) for x in xs for y in xs if y and (x, y) != (low, -1)]
        operands = (of(kind, [x for x, _ in pairs]), of(kind, [y for _, y in pairs]))
        yield Corner(
            "quotients are rounded towards zero (StableHLO, divide)",
            f"{kind.text}[{len(pairs)}] divide(p0, p1)",
            operands,
            of(kind, [quotient(x, y) for x, y in pairs]),
        )
        yield Corner(
            "a remainder has the sign of the dividend: x - y * (x / y) (StableHLO, remainder)",
            f"{kind.text}[{len(pairs)}] remainder(p0, p1)",
            operands,
            of(kind, [x - y * quotient(x, y) for x, y in pairs]),
        )


def shifts() -> Iterator[Corner]:
    """By nothing, by almost all bits, by all bits and more; a negative amount is a large one."""
    for kind in INTEGERS:
        width = kind.bit_width
        low, high = limits(kind)
        values = sorted({low, low + 1, valued(-1, kind), 1, high})
        amounts = sorted({0, 1, width - 1, min(width, high), min(width + 1, high), high, low})
        pairs = [(x, n) for x in values for n in amounts]
        operands = (of(kind, [x for x, _ in pairs]), of(kind, [n for _, n in pairs]))
        by = [(bits(x, kind), min(bits(n, kind), width)) for x, n in pairs]
        signed = [code - (1 << width) if code >> (width - 1) else code for code, _ in by]
        shape = f"{kind.text}[{len(pairs)}]"
        yield Corner(
            "from the width on nothing of x is left: 0 (XLA operation semantics, ShiftLeft)",
            f"{shape} shift-left(p0, p1)",
            operands,
            of(kind, [valued(code << n, kind) for code, n in by]),
        )
        yield Corner(
            "zeros come in: 0 from the width on (XLA operation semantics, ShiftRightLogical)",
            f"{shape} shift-right-logical(p0, p1)",
            operands,
            of(kind, [valued(code >> n, kind) for code, n in by]),
        )
        yield Corner(
            "copies of the top bit come in: 0 or -1 from the width on (XLA operation semantics)",
            f"{shape} shift-right-arithmetic(p0, p1)",
            operands,
            of(kind, [valued(x >> n, kind) for x, (_, n) in zip(signed, by, strict=True)]),
        )


def signs() -> Iterator[Corner]:
    """What has no place in two's complement wraps."""
    for kind in INTEGERS:
        if kind.is_signed:
            low, high = limits(kind)
            values = of(kind, [low, low + 1, 0, high])
            yield Corner(
                "|x| and -x of the least are themselves: two's complement has no such number",
                f"{kind.text}[4] abs(p0)",
                (values,),
                of(kind, [low, high, 0, high]),
            )
            yield Corner(
                "|x| and -x of the least are themselves: two's complement has no such number",
                f"{kind.text}[4] negate(p0)",
                (values,),
                of(kind, [low, high, 0, low + 1]),
            )
            yield Corner(
                "the sign is -1, 0 or 1 (StableHLO, sign)",
                f"{kind.text}[4] sign(p0)",
                (values,),
                of(kind, [-1, -1, 0, 1]),
            )


def clamps() -> Iterator[Corner]:
    """A lower bound above the upper one."""
    for kind in INTEGERS:
        low, high = limits(kind)
        yield Corner(
            "clamp is min(max(x, low), high): with low above high it is high (StableHLO, clamp)",
            f"{kind.text}[3] clamp(p0, p1, p2)",
            (of(kind, [high] * 3), of(kind, [low, 1, high]), of(kind, [low] * 3)),
            of(kind, [low] * 3),
        )


def powers() -> Iterator[Corner]:
    """Integers raised to integers."""
    for kind in INTEGERS:
        if kind.is_signed and kind.bit_width >= 8:
            yield Corner(
                "0^0 is 1; a negative exponent leaves what is left of 1 / x^n: ±1 for ±1, otherwise 0",
                f"{kind.text}[6] power(p0, p1)",
                (of(kind, [0, -1, -1, 1, 3, -2]), of(kind, [0, -3, -2, -5, -1, 7])),
                of(kind, [1, -1, 1, 1, 0, valued(-128, kind)]),
            )
