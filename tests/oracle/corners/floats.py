"""What do floats give at zeros, infinities, NaNs, halves and the ends of their types?"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from hlo import PrimitiveType
from tests.oracle.corners.integers import INTEGERS, limits
from tests.oracle.corners.table import COMPILER, INTERPRETER, PLAIN, Corner, Dissent, of

P = PrimitiveType
INF, NAN = math.inf, math.nan
WIDE = [P.F16, P.BF16, P.F32, P.F64]
EIGHT_BITS = [P.F8E5M2, P.F8E4M3FN, P.F8E4M3B11FNUZ, P.F8E5M2FNUZ, P.F8E4M3FNUZ, P.F8E4M3, P.F8E3M4]
IEEE_EIGHT_BITS = [P.F8E5M2, P.F8E4M3, P.F8E3M4]
"""Those with infinities and two zeros, as IEEE 754 has it."""

_BY_VALUE = "it compares by value whatever type of comparison is asked for"

_PAIRS = [
    *((0.0, -0.0), (-0.0, 0.0), (0.0, 0.0), (-0.0, -0.0), (NAN, 1.0), (1.0, NAN), (NAN, NAN)),
    *((INF, -INF), (-INF, NAN), (INF, NAN), (1.0, 2.0), (-0.0, 1.0), (0.0, -1.0), (INF, INF)),
]


def _negative(x: float) -> bool:
    return math.copysign(1.0, x) < 0


def _larger(x: float, y: float) -> float:
    if math.isnan(x) or math.isnan(y):
        return NAN
    if x == y == 0:
        return -0.0 if _negative(x) and _negative(y) else 0.0
    return max(x, y)


def _total_key(x: float) -> float:
    """Where x stands in IEEE 754's total order."""
    size = INF if math.isnan(x) else min(abs(x), 1e300)
    return -size - 1 if _negative(x) else size


def extremes() -> Iterator[Corner]:
    """Maximum, minimum and clamp."""
    for kind in [*WIDE, *IEEE_EIGHT_BITS]:
        n = len(_PAIRS)
        operands = tuple(of(kind, [pair[i] for pair in _PAIRS]) for i in range(2))
        yield Corner(
            "IEEE 754 maximum: NaN wins, and +0 is above -0 (StableHLO, maximum)",
            f"{kind.text}[{n}] maximum(p0, p1)",
            operands,
            of(kind, [_larger(x, y) for x, y in _PAIRS]),
        )
        yield Corner(
            "IEEE 754 minimum: NaN wins, and -0 is below +0 (StableHLO, minimum)",
            f"{kind.text}[{n}] minimum(p0, p1)",
            operands,
            of(kind, [-_larger(-x, -y) for x, y in _PAIRS]),
        )
    for kind in WIDE:
        triples = [(3.0, 1.0, 2.0), (2.0, 5.0, -2.0), (NAN, 1.0, 2.0), (0.0, NAN, 1.0), (0.0, 1.0, NAN)]
        yield Corner(
            "clamp is min(max(x, low), high): high where low is above it, NaN where one is (StableHLO, clamp)",
            f"{kind.text}[5] clamp(p0, p1, p2)",
            tuple(of(kind, [t[i] for t in triples]) for i in range(3)),
            of(kind, [2.0, -2.0, NAN, NAN, NAN]),
        )


def comparisons() -> Iterator[Corner]:
    """By value and by the total order."""
    by_value = {
        "EQ": lambda x, y: x == y,
        "NE": lambda x, y: x != y,
        "LT": lambda x, y: x < y,
        "LE": lambda x, y: x <= y,
        "GT": lambda x, y: x > y,
        "GE": lambda x, y: x >= y,
    }
    pairs = [*_PAIRS, (-NAN, -INF), (NAN, INF), (-NAN, NAN), (-0.0, 0.0)]
    for kind in WIDE:
        operands = tuple(of(kind, [pair[i] for pair in pairs]) for i in range(2))
        for direction, holds in by_value.items():
            yield Corner(
                "IEEE 754 compares values: -0 is 0, and a NaN is unequal to all and not ordered (StableHLO, compare)",
                f"pred[{len(pairs)}] compare(p0, p1), direction={direction}, type=FLOAT",
                operands,
                of(P.PRED, [holds(x, y) for x, y in pairs]),
            )
            yield Corner(
                "the total order is -NaN, -inf … -0, +0 … inf, NaN (IEEE 754-2008, 5.10)",
                f"pred[{len(pairs)}] compare(p0, p1), direction={direction}, type=TOTALORDER",
                operands,
                of(P.PRED, [holds(_total_key(x), _total_key(y)) for x, y in pairs]),
                dissent={INTERPRETER: Dissent(of(P.PRED, [holds(x, y) for x, y in pairs]), _BY_VALUE)},
            )


def sorts() -> Iterator[Corner]:
    """NaNs and signed zeros."""
    mixed = [1.0, NAN, -0.0, -INF, 0.0, -NAN, INF, -1.0, 0.0, -0.0]
    ordered = sorted(mixed, key=_total_key)
    for name, right in (("total_up", ordered), ("total_down", ordered[::-1])):
        yield Corner(
            "the total order gives NaNs and zeros of both signs their places (StableHLO, sort and compare)",
            f"f32[10] sort(p0), dimensions={{0}}, to_apply={name}",
            (of(P.F32, mixed),),
            of(P.F32, right),
            dissent={INTERPRETER: Dissent(None, _BY_VALUE)},
        )
    zeros = [0.0, -0.0, 1.0, 0.0, -1.0, -0.0]
    yield Corner(
        "zeros of both signs are equal: in a stable sort they keep their order (StableHLO, sort)",
        "f32[6] sort(p0), dimensions={0}, is_stable=true, to_apply=up",
        (of(P.F32, zeros),),
        of(P.F32, [-1.0, 0.0, -0.0, 0.0, -0.0, 1.0]),
    )
    yield Corner(
        "a NaN is the largest, and of equal elements the first is taken (CHLO, top_k)",
        "(f32[4], s32[4]) topk(p0), k=4, largest=true",
        (of(P.F32, [3.0, 7.0, NAN, 7.0, -INF, 3.0]),),
        (of(P.F32, [NAN, 7.0, 7.0, 3.0]), of(P.S32, [2, 1, 3, 0])),
        dissent={INTERPRETER: Dissent(None, _BY_VALUE)},
    )
    yield Corner(
        "what is sorted along keeps its order where keys are equal (StableHLO, sort)",
        "(f32[6], s32[6]) sort(p0, p1), dimensions={0}, is_stable=true, to_apply=by_first",
        (of(P.F32, zeros), of(P.S32, range(6))),
        (of(P.F32, [-1.0, 0.0, -0.0, 0.0, -0.0, 1.0]), of(P.S32, [4, 0, 1, 3, 5, 2])),
    )


_UNARY: dict[str, tuple[str, list[tuple[float, float]]]] = {
    "sign": (
        "the sign of a zero is that zero, of a NaN NaN (StableHLO, sign)",
        [(-0.0, -0.0), (0.0, 0.0), (NAN, NAN), (-INF, -1.0), (INF, 1.0), (-3.0, -1.0), (0.25, 1.0)],
    ),
    "round-nearest-even": (
        "halves go to the even integer; what rounds to zero keeps its sign (IEEE 754, roundToIntegralTiesToEven)",
        [
            *((0.5, 0.0), (-0.5, -0.0), (1.5, 2.0), (2.5, 2.0), (-2.5, -2.0), (3.5, 4.0), (0.49, 0.0)),
            *((INF, INF), (NAN, NAN), (-0.0, -0.0)),
        ],
    ),
    "round-nearest-afz": (
        "halves go away from zero (IEEE 754, roundToIntegralTiesToAway)",
        [
            *((0.5, 1.0), (-0.5, -1.0), (1.5, 2.0), (2.5, 3.0), (-2.5, -3.0), (-0.25, -0.0)),
            *((-INF, -INF), (NAN, NAN), (-0.0, -0.0)),
        ],
    ),
    "floor": (
        "the largest integer that is not above (IEEE 754, roundToIntegralTowardNegative)",
        [(-0.5, -1.0), (0.5, 0.0), (-0.0, -0.0), (INF, INF), (NAN, NAN)],
    ),
    "ceil": (
        "the least integer that is not below, -0 for what lies between -1 and 0 (roundToIntegralTowardPositive)",
        [(-0.5, -0.0), (0.5, 1.0), (-0.0, -0.0), (-INF, -INF), (NAN, NAN)],
    ),
    "abs": ("the sign bit is cleared", [(-0.0, 0.0), (-INF, INF), (NAN, NAN), (-2.0, 2.0)]),
    "negate": ("the sign bit is flipped", [(0.0, -0.0), (-0.0, 0.0), (INF, -INF), (NAN, NAN)]),
    "sqrt": (
        "the root of -0 is -0, of anything below NaN (IEEE 754, squareRoot)",
        [(-0.0, -0.0), (0.0, 0.0), (-1.0, NAN), (-INF, NAN), (INF, INF), (NAN, NAN)],
    ),
    "rsqrt": (
        "1 / sqrt(x): of a zero an infinity of its sign (IEEE 754, rSqrt)",
        [(0.0, INF), (-0.0, -INF), (INF, 0.0), (-1.0, NAN), (NAN, NAN), (4.0, 0.5)],
    ),
    "log": (
        "of a zero -inf, of anything below NaN (C, log)",
        [(0.0, -INF), (-0.0, -INF), (1.0, 0.0), (-1.0, NAN)],
    ),
    "exponential": ("of -inf 0 (C, exp)", [(-INF, 0.0), (INF, INF), (0.0, 1.0), (-0.0, 1.0), (NAN, NAN)]),
}


def unary() -> Iterator[Corner]:
    """Signs, roundings and roots."""
    for opcode, (says, points) in _UNARY.items():
        for kind in WIDE:
            yield Corner(
                says,
                f"{kind.text}[{len(points)}] {opcode}(p0)",
                (of(kind, [x for x, _ in points]),),
                of(kind, [y for _, y in points]),
            )
    for opcode in ("sign", "round-nearest-even", "round-nearest-afz"):
        says, points = _UNARY[opcode]
        for kind in IEEE_EIGHT_BITS:
            some = [(x, y) for x, y in points if x != 0.49]
            dissent = {}
            if kind is P.F8E3M4 and opcode != "sign":
                nans = [x if x == 0 or math.isinf(x) else NAN for x, _ in some]
                dissent = {
                    INTERPRETER: Dissent(of(kind, nans), "it makes NaNs of what is not zero or infinite")
                }
            yield Corner(
                says,
                f"{kind.text}[{len(some)}] {opcode}(p0)",
                (of(kind, [x for x, _ in some]),),
                of(kind, [y for _, y in some]),
                dissent=dissent,
            )
    largest_below_half = {P.F32: 0.5 - 2**-25, P.F64: 0.5 - 2**-54}
    for kind, x in largest_below_half.items():
        for opcode in ("round-nearest-afz", "round-nearest-even"):
            yield Corner(
                "what is below a half is nearer to zero, although x + 0.5 rounds to 1",
                f"{kind.text}[2] {opcode}(p0)",
                (of(kind, [x, -x]),),
                of(kind, [0.0, -0.0]),
            )


_POWERS = [
    *((0.0, 0.0, 1.0), (NAN, 0.0, 1.0), (INF, -0.0, 1.0), (1.0, NAN, 1.0), (1.0, INF, 1.0), (-1.0, INF, 1.0)),
    *((-1.0, -INF, 1.0), (0.5, INF, 0.0), (2.0, INF, INF), (0.5, -INF, INF), (2.0, -INF, 0.0)),
    *((0.0, -1.0, INF), (-0.0, -1.0, -INF), (-0.0, -2.0, INF), (-0.0, 3.0, -0.0), (-0.0, 2.0, 0.0)),
    *((0.0, -INF, INF), (-INF, 3.0, -INF), (-INF, 2.0, INF), (-INF, -1.0, -0.0), (-INF, -2.0, 0.0)),
    *(
        (INF, -1.0, 0.0),
        (INF, 1.0, INF),
        (-8.0, 0.5, NAN),
        (-2.0, 3.0, -8.0),
        (NAN, 1.0, NAN),
        (2.0, NAN, NAN),
    ),
]
_QUARTER, _HALF, _WHOLE = math.pi / 4, math.pi / 2, math.pi
_ANGLES = [
    *((0.0, 1.0, 0.0), (-0.0, 1.0, -0.0), (0.0, 0.0, 0.0), (-0.0, 0.0, -0.0)),
    *((0.0, -0.0, _WHOLE), (-0.0, -0.0, -_WHOLE), (0.0, -1.0, _WHOLE), (-0.0, -1.0, -_WHOLE)),
    *((1.0, 0.0, _HALF), (-1.0, 0.0, -_HALF), (1.0, -0.0, _HALF), (-1.0, -0.0, -_HALF)),
    *((1.0, INF, 0.0), (-1.0, INF, -0.0), (1.0, -INF, _WHOLE), (-1.0, -INF, -_WHOLE)),
    *((INF, 1.0, _HALF), (-INF, 1.0, -_HALF)),
    *((INF, INF, _QUARTER), (-INF, INF, -_QUARTER), (INF, -INF, 3 * _QUARTER), (-INF, -INF, -3 * _QUARTER)),
    *((NAN, 1.0, NAN), (1.0, NAN, NAN)),
]
_REMAINDERS = [
    *((5.5, 2.0, 1.5), (-5.5, 2.0, -1.5), (5.5, -2.0, 1.5), (-4.0, 2.0, -0.0), (4.0, -2.0, 0.0)),
    *((1.0, 0.0, NAN), (INF, 2.0, NAN), (2.0, INF, 2.0), (-0.0, 3.0, -0.0), (NAN, 1.0, NAN), (1.0, NAN, NAN)),
]
_QUOTIENTS = [
    *((1.0, 0.0, INF), (1.0, -0.0, -INF), (-1.0, 0.0, -INF), (0.0, 0.0, NAN), (INF, INF, NAN)),
    *((1.0, INF, 0.0), (-1.0, INF, -0.0), (0.0, -3.0, -0.0), (NAN, 1.0, NAN)),
]
_SUMS = [
    *(
        (INF, -INF, NAN),
        (0.0, -0.0, 0.0),
        (-0.0, -0.0, -0.0),
        (INF, 1.0, INF),
        (NAN, 1.0, NAN),
        (1.0, -1.0, 0.0),
    ),
]
_PRODUCTS = [(INF, 0.0, NAN), (-0.0, 3.0, -0.0), (-INF, 2.0, -INF), (-0.0, -1.0, 0.0), (NAN, 0.0, NAN)]
_BINARY = {
    "power": ("x^0 and 1^x are 1 for every x; the rest as C11 F.10.4.4 (IEEE 754, pow)", _POWERS),
    "atan2": ("the angle of (x, y) with all four signs of zeros and infinities (C11 F.10.1.4)", _ANGLES),
    "remainder": (
        "C's fmod: the sign of the dividend, of a zero too (XLA operation semantics, Rem)",
        _REMAINDERS,
    ),
    "divide": ("IEEE 754 division: the sign of a zero counts, and 0/0 is NaN", _QUOTIENTS),
    "add": ("IEEE 754 addition: inf - inf is NaN, and -0 is only what two of them make", _SUMS),
    "multiply": ("IEEE 754 multiplication: inf × 0 is NaN, and signs multiply", _PRODUCTS),
}


def binary() -> Iterator[Corner]:
    """Powers, angles and arithmetic."""
    for opcode, (says, points) in _BINARY.items():
        for kind in WIDE:
            yield Corner(
                says,
                f"{kind.text}[{len(points)}] {opcode}(p0, p1)",
                (of(kind, [p[0] for p in points]), of(kind, [p[1] for p in points])),
                of(kind, [p[2] for p in points]),
            )


def to_integers() -> Iterator[Corner]:
    """Floats that an integer type does not hold."""
    for source in [*WIDE, P.F8E5M2, P.F8E4M3FN]:
        values = [NAN, -0.0, 0.75, -0.75, 1.5, -1.5, 2.0]
        if source is not P.F8E4M3FN:
            values += [INF, -INF]
        greatest = (
            2.0**70 if source in (P.F32, P.F64, P.BF16) else 57344.0 if source is not P.F8E4M3FN else 448.0
        )
        values += [greatest, -greatest]
        for target in INTEGERS:
            low, high = limits(target)
            right = [0 if math.isnan(x) else int(min(max(x, low), high)) for x in values]
            yield Corner(
                "fractions are cut off; what does not fit saturates, and NaN is 0 (implementation-defined in StableHLO,"
                " convert; the choice of XLA)",
                f"{target.text}[{len(values)}] convert(p0)",
                (of(source, values),),
                of(target, right),
            )


def rounding() -> Iterator[Corner]:
    """Conversions between floats: ties, overflow, subnormals."""
    even = (
        "to the nearest, halves to the even neighbour, and what is half a step past the largest to infinity"
    )
    step = 2.0**-7
    points = [
        *((1 + step / 2, 1.0), (1 + 3 * step / 2, 1 + 2 * step), (1 + step / 2 + 2.0**-20, 1 + step)),
        *((3.3895e38, 3.3895e38), (3.4028e38, INF), (-3.4028e38, -INF), (NAN, NAN), (INF, INF), (-0.0, -0.0)),
    ]
    yield Corner(
        even,
        "bf16[9] convert(p0)",
        (of(P.F32, [x for x, _ in points]),),
        of(P.BF16, [y for _, y in points]),
    )
    step = 2.0**-10
    values = [
        1 + step / 2,
        1 + 3 * step / 2,
        65504.0,
        65519.0,
        65520.0,
        -65520.0,
        2.0**-24,
        2.0**-25,
        2.0**-25 * 1.5,
    ]
    right = [1.0, 1 + 2 * step, 65504.0, 65504.0, INF, -INF, 2.0**-24, 0.0, 2.0**-24]
    for source in (P.F32, P.F64):
        yield Corner(even, "f16[9] convert(p0)", (of(source, values),), of(P.F16, right))
    values = [1 + 2.0**-24, 1 + 3 * 2.0**-24, 3.4028235677973366e38, 3.4028235e38, 1e-60, NAN]
    yield Corner(
        even,
        "f32[6] convert(p0)",
        (of(P.F64, values),),
        of(P.F32, [1.0, 1 + 2.0**-22, INF, 3.4028234663852886e38, 0.0, NAN]),
    )
    yield Corner(
        even,
        "f32[4] convert(p0)",
        (of(P.S64, [2**24 + 1, 2**24 + 3, -(2**63), 2**63 - 1]),),
        of(P.F32, [2.0**24, 2.0**24 + 4, -(2.0**63), 2.0**63]),
    )


_FORMATS: dict[PrimitiveType, tuple[float, int, bool, bool]] = {
    # largest number, fraction bits, has infinities, has -0
    P.F8E5M2: (57344.0, 2, True, True),
    P.F8E4M3FN: (448.0, 3, False, True),
    P.F8E4M3B11FNUZ: (30.0, 3, False, False),
    P.F8E5M2FNUZ: (57344.0, 2, False, False),
    P.F8E4M3FNUZ: (240.0, 3, False, False),
    P.F8E4M3: (240.0, 3, True, True),
    P.F8E3M4: (15.5, 4, True, True),
}


def eight_bits() -> Iterator[Corner]:
    """Each 8-bit type: ties, the largest number, what is past it, the least subnormals, -0."""
    least = {P.F8E5M2: -16, P.F8E4M3FN: -9, P.F8E4M3B11FNUZ: -13, P.F8E5M2FNUZ: -17, P.F8E4M3FNUZ: -10}
    least |= {P.F8E4M3: -9, P.F8E3M4: -6}
    for kind, (largest, fraction, has_infinity, has_negative_zero) in _FORMATS.items():
        step = 2.0**-fraction
        last_step = 2.0 ** (math.frexp(largest)[1] - 1 - fraction)
        past = INF if has_infinity else NAN
        zero = -0.0 if has_negative_zero else 0.0
        tiny = 2.0 ** least[kind]
        points = [
            (1 + step / 2, 1.0),
            (1 + 3 * step / 2, 1 + 2 * step),
            (-1 - step / 2, -1.0),
            (largest, largest),
            (largest + last_step / 4, largest),
            (largest + last_step, past),
            (-largest - last_step, -past),
            (4 * largest, past),
            (INF, past),
            (NAN, NAN),
            (-0.0, zero),
            (tiny, tiny),
            (tiny / 2, 0.0),
            (-tiny / 2, zero),
            (0.75 * tiny, tiny),
            (1.5 * tiny, 2 * tiny),
        ]
        for source in (P.F32, P.F64, P.F16, P.BF16):
            some = [(x, y) for x, y in points if _holds(source, x)]
            yield Corner(
                "to the nearest, halves to the even neighbour; past the largest to infinity, or NaN without one"
                " (arXiv 2209.05433; StableHLO, types)",
                f"{kind.text}[{len(some)}] convert(p0)",
                (of(source, [x for x, _ in some]),),
                of(kind, [y for _, y in some]),
            )
        yield Corner(
            "a sum is rounded to the type: ties to even, past the largest to infinity, or NaN without one",
            f"{kind.text}[4] add(p0, p1)",
            (of(kind, [1.0, 1 + step, largest, tiny]), of(kind, [step / 2, step / 2, largest, tiny])),
            of(kind, [1.0, 1 + 2 * step, past, 2 * tiny]),
        )


def _holds(kind: PrimitiveType, x: float) -> bool:
    with np.errstate(over="ignore"):
        back = float(of(kind, [x]).astype(np.float64)[0])
    return back == x or math.isnan(x)


def small_arithmetic() -> Iterator[Corner]:
    """Rounding of bf16 and f16 arithmetic."""
    yield Corner(
        "a sum is rounded to the type, ties to even",
        "bf16[4] add(p0, p1)",
        (of(P.BF16, [256.0, 258.0, 3.3895e38, 1.0]), of(P.BF16, [1.0, 1.0, 3.3895e38, 2.0**-9])),
        of(P.BF16, [256.0, 260.0, INF, 1.0]),
    )
    yield Corner(
        "a sum is rounded to the type, ties to even",
        "f16[3] add(p0, p1)",
        (of(P.F16, [2048.0, 2050.0, 65504.0]), of(P.F16, [1.0, 1.0, 32.0])),
        of(P.F16, [2048.0, 2052.0, INF]),
    )
    yield Corner(
        "fewer bits round to even, and overflow to infinity (StableHLO, reduce_precision)",
        "f32[6] reduce-precision(p0), exponent_bits=5, mantissa_bits=2",
        (of(P.F32, [1.125, 1.375, -1.375, 57344.0, 61439.0, 61440.0]),),
        of(P.F32, [1.0, 1.5, -1.5, 57344.0, 57344.0, INF]),
    )


_FLUSHED = "it flushes subnormals"


def subnormals() -> Iterator[Corner]:
    """Moved they stay what they are; in arithmetic of the wide types they may be taken for zeros."""
    least = {P.F32: 2.0**-149, P.F64: 5e-324, P.BF16: 2.0**-133, P.F16: 2.0**-24}
    for kind, tiny in least.items():
        values = of(kind, [tiny, -tiny, 3 * tiny, 1.0])
        for root, right in (
            (f"{kind.text}[4] reverse(p0), dimensions={{0}}", values[::-1].copy()),
            (f"{kind.text}[2] slice(p0), slice={{[0:2]}}", values[:2].copy()),
            (f"{kind.text}[3,4] broadcast(p0), dimensions={{1}}", np.stack([values] * 3)),
        ):
            in_f32 = kind is P.BF16 and "broadcast" in root
            yield Corner(
                "what is moved is moved bit for bit (StableHLO, reverse, slice, broadcast_in_dim)",
                root,
                (values,),
                right,
                open="XLA CPU may move bf16 as f32, whose subnormals it flushes" if in_f32 else "",
                unsteady=dict.fromkeys((COMPILER, PLAIN), "0.10 flushes optimised only, 0.12 both")
                if in_f32
                else {},
            )
        lost = Dissent(of(kind, [0.0, -0.0, 0.0, 2.0]), _FLUSHED)
        yield Corner(
            "sums of subnormals are exact (IEEE 754)",
            f"{kind.text}[4] add(p0, p1)",
            (values, values),
            of(kind, [2 * tiny, -2 * tiny, 6 * tiny, 2.0]),
            open=""
            if kind is P.F16
            else "IEEE 754 keeps subnormals; implementations may flush them (StableHLO)",
            dissent={} if kind is P.F16 else dict.fromkeys(("jax", COMPILER, PLAIN), lost),
        )
    for kind in (P.F16, *EIGHT_BITS):
        code = np.array([1], np.uint16 if kind is P.F16 else np.uint8).view(kind.numpy)
        tiny = float(code.astype(np.float64)[0])
        yield Corner(
            "converting a subnormal to a wider type is exact (IEEE 754)",
            "f32[2] convert(p0)",
            (of(kind, [tiny, -3 * tiny]),),
            of(P.F32, [tiny, -3 * tiny]),
        )
