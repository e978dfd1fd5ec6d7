"""Is the difference that a pass made a matter of rounding? It is where it shrinks when everything is more precise.

A pass that computes in another order, or multiplies by a reciprocal, moves a result by some roundings; where terms
cancel, roundings are all that is left of it, and no estimate from outside tells that from a wrong result. So the
question is put to the program: the same rewrite is made once more with all floats of 64 bits (those of 64 bits with
32). What came of rounding changes with the precision; what came of a wrong rewrite stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from hlo import (
    ArrayShape,
    HloComputation,
    HloFuzzError,
    HloModule,
    Literal,
    PrimitiveType,
    Shape,
    Token,
    TupleShape,
    Value,
    leaves,
)
from hlo.attributes import ConstantValue
from hlo.canonical import structure
from hlo.verify import verify
from oracle.compare import EQUAL, compare
from oracle.guarded import run_guarded
from oracle.running import evaluated
from oracle.tolerance import tolerance_of
from passes import Pass, PassError, Trace

_NOTICEABLY = 2.0**10
"""How many times smaller a difference is with more precision; from 32 to 64 bits, roundings are 2^29 times smaller."""

Types = Mapping[PrimitiveType, PrimitiveType]

_WIDE: Types = {
    **{kind: PrimitiveType.F64 for kind in PrimitiveType if kind.is_float and kind is not PrimitiveType.F64},
    PrimitiveType.C64: PrimitiveType.C128,
}
_NARROW: Types = {PrimitiveType.F64: PrimitiveType.F32, PrimitiveType.C128: PrimitiveType.C64}


def is_rounding(
    pass_: Pass, before: HloModule, after: HloModule, inputs: tuple[Value, ...], old: Value, new: Value
) -> bool:
    """Whether the distance from `old` to `new` shrinks with the precision.

    `old` is what `before` gives for `inputs` and `new` what `after` gives, which `pass_` made of it. False also where
    that cannot be told: the program does not make sense with other types, say, because it looks at bits.
    """
    now, far = distances(old, new), _too_far(before, old, new)
    if not far:
        return False  # nothing that would have to be explained
    wide = _distances_with(_WIDE, pass_, before, after, inputs)
    narrow = _distances_with(_NARROW, pass_, before, after, inputs)
    return all(
        apart > 0  # unlike zeros of two signs
        and (
            (wide is not None and _is_less(wide[leaf], apart))
            or (narrow is not None and _is_less(apart, narrow[leaf]) and narrow[leaf] < np.inf)
        )
        for leaf, apart in enumerate(now)
        if leaf in far
    )


def _too_far(before: HloModule, old: Value, new: Value) -> set[int]:
    """The arrays, by number, that are further apart than `tolerance_of` allows."""
    allowed = tolerance_of(before)
    shapes = leaves(before.entry_computation.root.shape)
    return {
        number
        for number, ((index, _), a, b) in enumerate(zip(shapes, _flat(old), _flat(new), strict=True))
        if compare(a, b, tolerance=allowed.get(index, EQUAL), left="", right="")
    }


def _flat(value: Value) -> list[Value]:
    return [leaf for element in value for leaf in _flat(element)] if isinstance(value, tuple) else [value]


def _is_less(precise: float, coarse: float) -> bool:
    return precise < np.inf and precise * _NOTICEABLY <= coarse


def distances(old: Value, new: Value) -> list[float]:
    """How far apart the arrays of two values are, at most; infinity where something else than a number differs."""
    return [_distance(a, b) for a, b in zip(_flat(old), _flat(new), strict=True)]


def _distance(old: Value, new: Value) -> float:
    if not isinstance(old, np.ndarray) or not isinstance(new, np.ndarray):
        return 0.0  # tokens
    kind = PrimitiveType.of(old.dtype)
    if not (kind.is_float or kind.is_complex):
        return 0.0 if np.array_equal(old, new) else np.inf
    a, b = (x.astype(np.complex128 if kind.is_complex else np.float64) for x in (old, new))
    finite = np.isfinite(a) & np.isfinite(b)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return np.inf
    return float(np.max(np.abs(a[finite] - b[finite]), initial=0.0))


def _distances_with(
    types: Types, pass_: Pass, before: HloModule, after: HloModule, inputs: tuple[Value, ...]
) -> list[float] | None:
    """The distances that `pass_` makes where the program computes in other types; None where it does not make sense."""
    original = _retyped(before, types)
    if structure(original) == structure(before) or verify(original):
        return None
    # The pass itself works out its constants in the new types; where it does something else there, its result is
    # taken with them as they are.
    result = _result(pass_, original)
    if result is None or _skeleton(result) != _skeleton(after):
        result = _retyped(after, types)
    if verify(result):
        return None
    given = tuple(_converted(value, types) for value in inputs)
    try:
        return distances(evaluated(original, given), evaluated(result, given))
    except HloFuzzError:
        return None


def _result(pass_: Pass, module: HloModule) -> HloModule | None:
    """What `pass_` makes of `module`, None where it leaves it alone or does not do it."""
    copy = module.clone()
    try:
        changed = run_guarded(pass_, copy, Trace())
    except PassError:
        return None
    return copy if changed is True else None


def _skeleton(module: HloModule) -> list[list[tuple[object, ...]]]:
    """What operates on what, whatever the types: for each computation in order, opcodes, dimensions and operands."""
    return [_body(computation) for computation in module.make_computation_post_order()]


def _body(computation: HloComputation) -> list[tuple[object, ...]]:
    order = computation.make_instruction_post_order()
    numbers = {inst: number for number, inst in enumerate(order)}
    return [
        (
            inst.opcode,
            tuple(s.dimensions for _, s in leaves(inst.shape) if isinstance(s, ArrayShape)),
            tuple(numbers[operand] for operand in inst.operands),
        )
        for inst in order
    ]


def _retyped(module: HloModule, types: Types) -> HloModule:
    copy = module.clone()
    for computation in copy.computations:
        for inst in computation.instructions:
            inst.shape = _shape(inst.shape, types)
            if isinstance(inst.attributes, ConstantValue):
                inst.attributes = ConstantValue(Literal(_converted(inst.literal.value, types)))
    return copy


def _shape(shape: Shape, types: Types) -> Shape:
    if isinstance(shape, TupleShape):
        return TupleShape(tuple(_shape(element, types) for element in shape.elements))
    if isinstance(shape, ArrayShape):
        return replace(shape, element_type=types.get(shape.element_type, shape.element_type))
    return shape


def _converted(value: Value, types: Types) -> Value:
    if isinstance(value, tuple):
        return tuple(_converted(element, types) for element in value)
    if isinstance(value, Token):
        return value
    kind = PrimitiveType.of(value.dtype)
    if kind not in types:
        return value
    with np.errstate(over="ignore"):
        converted: np.ndarray[Any, np.dtype[Any]] = value.astype(types[kind].numpy)
    converted.flags.writeable = False
    return converted
