"""Which facts besides operands and shape does an instruction have? One frozen record per kind of opcode.

Fields are named as in HLO text. What an opcode's record does not model stays in `HloInstruction.carried`.
"""

from __future__ import annotations

from dataclasses import dataclass

from hlo.literal import Literal

Ints = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class NoAttributes:
    """Operands and shape say it all."""


@dataclass(frozen=True, slots=True)
class Unmodelled:
    """The opcode has attributes that the IR does not read; they ride along in `carried`."""


@dataclass(frozen=True, slots=True)
class ParameterNumber:
    """`parameter(number)`, 0-based."""

    number: int


@dataclass(frozen=True, slots=True)
class ConstantValue:
    """`constant(literal)`."""

    literal: Literal


@dataclass(frozen=True, slots=True)
class TupleIndex:
    """`get-tuple-element(x), index=…`, 0-based."""

    index: int


@dataclass(frozen=True, slots=True)
class Dimensions:
    """`dimensions={…}`.

    broadcast: the output dimension of each operand dimension; transpose: the permutation; reverse, reduce, map:
    the dimensions worked on; concatenate, iota, get- and set-dimension-size: exactly one dimension.
    """

    dimensions: Ints


@dataclass(frozen=True, slots=True)
class SliceBounds:
    """`slice={[start:limit:stride], …}`, one of each per dimension, in elements."""

    starts: Ints
    limits: Ints
    strides: Ints


@dataclass(frozen=True, slots=True)
class SliceSizes:
    """`dynamic_slice_sizes={…}`, one per dimension, in elements."""

    sizes: Ints


@dataclass(frozen=True, slots=True)
class PaddingConfig:
    """`padding=low_high_interior x …`, one of each per dimension; low and high may be negative (cropping)."""

    low: Ints
    high: Ints
    interior: Ints


@dataclass(frozen=True, slots=True)
class Comparison:
    """`direction=`EQ NE GE GT LE LT and `type=`FLOAT, TOTALORDER, SIGNED, UNSIGNED or empty (by element type)."""

    direction: str
    type: str = ""


@dataclass(frozen=True, slots=True)
class DotDimensions:
    """Contracting and batch dimensions of both sides of a `dot`, paired in order."""

    lhs_contracting: Ints = ()
    rhs_contracting: Ints = ()
    lhs_batch: Ints = ()
    rhs_batch: Ints = ()


@dataclass(frozen=True, slots=True)
class CustomCallTarget:
    """`custom_call_target="…"`."""

    target: str
    has_side_effect: bool = False


Attributes = (
    NoAttributes
    | Unmodelled
    | ParameterNumber
    | ConstantValue
    | TupleIndex
    | Dimensions
    | SliceBounds
    | SliceSizes
    | PaddingConfig
    | Comparison
    | DotDimensions
    | CustomCallTarget
)

NONE = NoAttributes()
UNMODELLED = Unmodelled()
