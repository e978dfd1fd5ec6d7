"""Which opcodes does HLO have, and what is always true of each? The one table; every consumer answers for each row.

Spellings are those of HLO text. `tests/hlo/test_opcode.py` holds the list against the `HloOpcode` that the
installed jaxlib reports. An older jaxlib may lack those of `NEWER`: modules that have them can be built, evaluated
and rewritten, but not be read as text or printed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TypeVar

from hlo.attributes import (
    Attributes,
    BatchNormOptions,
    CholeskyOptions,
    Comparison,
    ConstantValue,
    ConvolutionDimensions,
    CustomCallTarget,
    Dimensions,
    DotDimensions,
    FftKind,
    FusionKind,
    GatherDimensions,
    NoAttributes,
    PaddingConfig,
    ParameterNumber,
    RaggedDotDimensions,
    RandomAlgorithm,
    ReducedPrecision,
    Rotation,
    ScanOptions,
    ScatterDimensions,
    SliceBounds,
    SliceSizes,
    SortDimension,
    TopKOptions,
    TriangularSolveOptions,
    TupleIndex,
    Unmodelled,
    Window,
)

T = TypeVar("T")


class Opcode(StrEnum):
    """Every `HloOpcode`, by its spelling in HLO text."""

    ABS = "abs"
    ACOS = "acos"
    ACOSH = "acosh"
    ADD = "add"
    ADD_DEPENDENCY = "add-dependency"
    AFTER_ALL = "after-all"
    ALL_GATHER = "all-gather"
    ALL_GATHER_DONE = "all-gather-done"
    ALL_GATHER_START = "all-gather-start"
    ALL_REDUCE = "all-reduce"
    ALL_REDUCE_DONE = "all-reduce-done"
    ALL_REDUCE_START = "all-reduce-start"
    ALL_TO_ALL = "all-to-all"
    AND = "and"
    ASIN = "asin"
    ASINH = "asinh"
    ASYNC_DONE = "async-done"
    ASYNC_START = "async-start"
    ASYNC_UPDATE = "async-update"
    ATAN2 = "atan2"
    ATANH = "atanh"
    BATCH_NORM_GRAD = "batch-norm-grad"
    BATCH_NORM_INFERENCE = "batch-norm-inference"
    BATCH_NORM_TRAINING = "batch-norm-training"
    BITCAST = "bitcast"
    BITCAST_CONVERT = "bitcast-convert"
    BROADCAST = "broadcast"
    CALL = "call"
    CBRT = "cbrt"
    CEIL = "ceil"
    CHOLESKY = "cholesky"
    CLAMP = "clamp"
    CLZ = "count-leading-zeros"
    COLLECTIVE_BROADCAST = "collective-broadcast"
    COLLECTIVE_PERMUTE = "collective-permute"
    COLLECTIVE_PERMUTE_DONE = "collective-permute-done"
    COLLECTIVE_PERMUTE_START = "collective-permute-start"
    COLLECTIVE_REDUCE = "collective-reduce"
    COMPARE = "compare"
    COMPLEX = "complex"
    CONCATENATE = "concatenate"
    CONDITIONAL = "conditional"
    CONSTANT = "constant"
    CONVERT = "convert"
    CONVOLUTION = "convolution"
    COPY = "copy"
    COPY_DONE = "copy-done"
    COPY_START = "copy-start"
    COS = "cosine"
    COSH = "cosh"
    CUSTOM_CALL = "custom-call"
    DIVIDE = "divide"
    DOMAIN = "domain"
    DOT = "dot"
    DYNAMIC_RESHAPE = "dynamic-reshape"
    DYNAMIC_SLICE = "dynamic-slice"
    DYNAMIC_UPDATE_SLICE = "dynamic-update-slice"
    ERF = "erf"
    EXP = "exponential"
    EXP2 = "exp2"
    EXPM1 = "exponential-minus-one"
    FFT = "fft"
    FLOOR = "floor"
    FUSION = "fusion"
    GATHER = "gather"
    GET_DIMENSION_SIZE = "get-dimension-size"
    GET_TUPLE_ELEMENT = "get-tuple-element"
    IMAG = "imag"
    INFEED = "infeed"
    IOTA = "iota"
    IS_FINITE = "is-finite"
    LOG = "log"
    LOG1P = "log-plus-one"
    LOG2 = "log2"
    LOGISTIC = "logistic"
    MAP = "map"
    MAXIMUM = "maximum"
    MINIMUM = "minimum"
    MULHI = "mulhi"
    MULTIPLY = "multiply"
    NEGATE = "negate"
    NOT = "not"
    OPTIMIZATION_BARRIER = "opt-barrier"
    OR = "or"
    OUTFEED = "outfeed"
    PAD = "pad"
    PARAMETER = "parameter"
    PARTITION_ID = "partition-id"
    POPULATION_COUNT = "popcnt"
    POWER = "power"
    RAGGED_ALL_TO_ALL = "ragged-all-to-all"
    RAGGED_DOT = "ragged-dot"
    REAL = "real"
    RECV = "recv"
    RECV_DONE = "recv-done"
    REDUCE = "reduce"
    REDUCE_PRECISION = "reduce-precision"
    REDUCE_SCATTER = "reduce-scatter"
    REDUCE_WINDOW = "reduce-window"
    REMAINDER = "remainder"
    REPLICA_ID = "replica-id"
    RESHAPE = "reshape"
    REVERSE = "reverse"
    RNG = "rng"
    RNG_BIT_GENERATOR = "rng-bit-generator"
    RNG_GET_AND_UPDATE_STATE = "rng-get-and-update-state"
    ROUND_NEAREST_AFZ = "round-nearest-afz"
    ROUND_NEAREST_EVEN = "round-nearest-even"
    RSQRT = "rsqrt"
    SCALED_DOT = "scaled-dot"
    SCAN = "scan"
    SCATTER = "scatter"
    SELECT = "select"
    SELECT_AND_SCATTER = "select-and-scatter"
    SEND = "send"
    SEND_DONE = "send-done"
    SET_DIMENSION_SIZE = "set-dimension-size"
    SHIFT_LEFT = "shift-left"
    SHIFT_RIGHT_ARITHMETIC = "shift-right-arithmetic"
    SHIFT_RIGHT_LOGICAL = "shift-right-logical"
    SHUFFLE = "shuffle"
    SIGN = "sign"
    SIN = "sine"
    SINH = "sinh"
    SLICE = "slice"
    SORT = "sort"
    SQRT = "sqrt"
    STOCHASTIC_CONVERT = "stochastic-convert"
    SUBTRACT = "subtract"
    TAN = "tan"
    TANH = "tanh"
    TOPK = "topk"
    TRANSPOSE = "transpose"
    TRIANGULAR_SOLVE = "triangular-solve"
    TUPLE = "tuple"
    WHILE = "while"
    XOR = "xor"


class Family(StrEnum):
    """The rooms of every opcode map: `hlo.infer`, `hlo.evaluator`, the JAX reference, the generators."""

    ELEMENTWISE = "elementwise"
    SHAPE = "shape"
    INDEXING = "indexing"
    REDUCTION = "reduction"
    CONTRACTION = "contraction"
    CONTROL = "control"
    DYNAMIC = "dynamic"
    LINALG = "linalg"
    COLLECTIVE = "collective"


@dataclass(frozen=True, slots=True)
class OpSpec:
    """One row of the table.

    `arity` is the number of operands, None when it varies. `called` is the number of called computations, None
    when it varies. `side_effect`: the instruction must not be removed although nothing uses it.
    `data_movement`: every output element is some input element or a padding value, bit for bit.
    """

    family: Family
    arity: int | None
    attributes: type[Attributes] = NoAttributes
    called: int | None = 0
    side_effect: bool = False
    data_movement: bool = False


def _elementwise(arity: int, *opcodes: Opcode) -> dict[Opcode, OpSpec]:
    return {opcode: OpSpec(Family.ELEMENTWISE, arity) for opcode in opcodes}


def _unmodelled(
    family: Family, arity: int | None, *opcodes: Opcode, called: int | None = 0, effect: bool = False
) -> dict[Opcode, OpSpec]:
    spec = OpSpec(family, arity, Unmodelled, called, side_effect=effect)
    return dict.fromkeys(opcodes, spec)


ELEMENTWISE_UNARY = (
    Opcode.ABS,
    Opcode.ACOS,
    Opcode.ACOSH,
    Opcode.ASIN,
    Opcode.ASINH,
    Opcode.ATANH,
    Opcode.CBRT,
    Opcode.CEIL,
    Opcode.CLZ,
    Opcode.COS,
    Opcode.COSH,
    Opcode.ERF,
    Opcode.EXP,
    Opcode.EXP2,
    Opcode.EXPM1,
    Opcode.FLOOR,
    Opcode.IMAG,
    Opcode.IS_FINITE,
    Opcode.LOG,
    Opcode.LOG1P,
    Opcode.LOG2,
    Opcode.LOGISTIC,
    Opcode.NEGATE,
    Opcode.NOT,
    Opcode.POPULATION_COUNT,
    Opcode.REAL,
    Opcode.ROUND_NEAREST_AFZ,
    Opcode.ROUND_NEAREST_EVEN,
    Opcode.RSQRT,
    Opcode.SIGN,
    Opcode.SIN,
    Opcode.SINH,
    Opcode.SQRT,
    Opcode.TAN,
    Opcode.TANH,
)
ELEMENTWISE_BINARY = (
    Opcode.ADD,
    Opcode.AND,
    Opcode.ATAN2,
    Opcode.COMPLEX,
    Opcode.DIVIDE,
    Opcode.MAXIMUM,
    Opcode.MINIMUM,
    Opcode.MULHI,
    Opcode.MULTIPLY,
    Opcode.OR,
    Opcode.POWER,
    Opcode.REMAINDER,
    Opcode.SHIFT_LEFT,
    Opcode.SHIFT_RIGHT_ARITHMETIC,
    Opcode.SHIFT_RIGHT_LOGICAL,
    Opcode.SUBTRACT,
    Opcode.XOR,
)

_TABLE: dict[Opcode, OpSpec] = {
    **_elementwise(1, *ELEMENTWISE_UNARY),
    **_elementwise(2, *ELEMENTWISE_BINARY),
    Opcode.COMPARE: OpSpec(Family.ELEMENTWISE, 2, Comparison),
    Opcode.SELECT: OpSpec(Family.ELEMENTWISE, 3, data_movement=True),
    Opcode.CLAMP: OpSpec(Family.ELEMENTWISE, 3),
    Opcode.CONVERT: OpSpec(Family.ELEMENTWISE, 1),
    Opcode.BITCAST_CONVERT: OpSpec(Family.ELEMENTWISE, 1, data_movement=True),
    Opcode.COPY: OpSpec(Family.ELEMENTWISE, 1, data_movement=True),
    Opcode.REDUCE_PRECISION: OpSpec(Family.ELEMENTWISE, 1, ReducedPrecision),
    Opcode.STOCHASTIC_CONVERT: OpSpec(Family.ELEMENTWISE, 2),
    Opcode.MAP: OpSpec(Family.ELEMENTWISE, None, Dimensions, called=1),
    # shape
    Opcode.BROADCAST: OpSpec(Family.SHAPE, 1, Dimensions, data_movement=True),
    Opcode.RESHAPE: OpSpec(Family.SHAPE, 1, data_movement=True),
    Opcode.BITCAST: OpSpec(Family.SHAPE, 1, data_movement=True),
    Opcode.TRANSPOSE: OpSpec(Family.SHAPE, 1, Dimensions, data_movement=True),
    Opcode.REVERSE: OpSpec(Family.SHAPE, 1, Dimensions, data_movement=True),
    Opcode.SHUFFLE: OpSpec(Family.SHAPE, 1, Rotation, data_movement=True),
    Opcode.CONCATENATE: OpSpec(Family.SHAPE, None, Dimensions, data_movement=True),
    Opcode.PAD: OpSpec(Family.SHAPE, 2, PaddingConfig, data_movement=True),
    Opcode.IOTA: OpSpec(Family.SHAPE, 0, Dimensions),
    # indexing
    Opcode.SLICE: OpSpec(Family.INDEXING, 1, SliceBounds, data_movement=True),
    Opcode.DYNAMIC_SLICE: OpSpec(Family.INDEXING, None, SliceSizes, data_movement=True),
    Opcode.DYNAMIC_UPDATE_SLICE: OpSpec(Family.INDEXING, None, data_movement=True),
    Opcode.GATHER: OpSpec(Family.INDEXING, 2, GatherDimensions, data_movement=True),
    Opcode.SCATTER: OpSpec(Family.INDEXING, None, ScatterDimensions, called=1),
    # reduction
    Opcode.REDUCE: OpSpec(Family.REDUCTION, None, Dimensions, called=1),
    Opcode.REDUCE_WINDOW: OpSpec(Family.REDUCTION, None, Window, called=1),
    Opcode.SELECT_AND_SCATTER: OpSpec(Family.REDUCTION, 3, Window, called=2),
    Opcode.SORT: OpSpec(Family.REDUCTION, None, SortDimension, called=1),
    Opcode.TOPK: OpSpec(Family.REDUCTION, 1, TopKOptions, called=None),
    Opcode.SCAN: OpSpec(Family.REDUCTION, None, ScanOptions, called=1),
    # contraction
    Opcode.DOT: OpSpec(Family.CONTRACTION, None, DotDimensions),
    Opcode.CONVOLUTION: OpSpec(Family.CONTRACTION, 2, ConvolutionDimensions),
    Opcode.RAGGED_DOT: OpSpec(Family.CONTRACTION, 3, RaggedDotDimensions),
    Opcode.SCALED_DOT: OpSpec(Family.CONTRACTION, 4, DotDimensions),
    # control
    Opcode.PARAMETER: OpSpec(Family.CONTROL, 0, ParameterNumber),
    Opcode.CONSTANT: OpSpec(Family.CONTROL, 0, ConstantValue),
    Opcode.TUPLE: OpSpec(Family.CONTROL, None, data_movement=True),
    Opcode.GET_TUPLE_ELEMENT: OpSpec(Family.CONTROL, 1, TupleIndex, data_movement=True),
    Opcode.CALL: OpSpec(Family.CONTROL, None, called=1),
    Opcode.WHILE: OpSpec(Family.CONTROL, 1, called=2),
    Opcode.CONDITIONAL: OpSpec(Family.CONTROL, None, called=None),
    Opcode.CUSTOM_CALL: OpSpec(Family.CONTROL, None, CustomCallTarget, called=None),
    Opcode.OPTIMIZATION_BARRIER: OpSpec(Family.CONTROL, 1, data_movement=True),
    Opcode.AFTER_ALL: OpSpec(Family.CONTROL, None),
    Opcode.ADD_DEPENDENCY: OpSpec(Family.CONTROL, 2, data_movement=True),
    Opcode.FUSION: OpSpec(Family.CONTROL, None, FusionKind, called=1),
    **_unmodelled(Family.CONTROL, 1, Opcode.DOMAIN),
    **_unmodelled(Family.CONTROL, None, Opcode.RNG, Opcode.RNG_GET_AND_UPDATE_STATE, effect=True),
    Opcode.RNG_BIT_GENERATOR: OpSpec(Family.CONTROL, 1, RandomAlgorithm),
    # dynamic
    Opcode.GET_DIMENSION_SIZE: OpSpec(Family.DYNAMIC, 1, Dimensions),
    Opcode.SET_DIMENSION_SIZE: OpSpec(Family.DYNAMIC, 2, Dimensions),
    Opcode.DYNAMIC_RESHAPE: OpSpec(Family.DYNAMIC, None),
    # linear algebra and normalisation
    Opcode.CHOLESKY: OpSpec(Family.LINALG, 1, CholeskyOptions),
    Opcode.FFT: OpSpec(Family.LINALG, 1, FftKind),
    Opcode.TRIANGULAR_SOLVE: OpSpec(Family.LINALG, 2, TriangularSolveOptions),
    Opcode.BATCH_NORM_TRAINING: OpSpec(Family.LINALG, 3, BatchNormOptions),
    Opcode.BATCH_NORM_INFERENCE: OpSpec(Family.LINALG, 5, BatchNormOptions),
    Opcode.BATCH_NORM_GRAD: OpSpec(Family.LINALG, 5, BatchNormOptions),
    # collective, transfer and asynchronous
    **_unmodelled(
        Family.COLLECTIVE,
        None,
        Opcode.ALL_GATHER,
        Opcode.ALL_TO_ALL,
        Opcode.COLLECTIVE_BROADCAST,
        Opcode.COLLECTIVE_PERMUTE,
        Opcode.COLLECTIVE_PERMUTE_DONE,
        Opcode.COPY_DONE,
        Opcode.COPY_START,
        Opcode.PARTITION_ID,
        Opcode.RAGGED_ALL_TO_ALL,
        Opcode.REPLICA_ID,
        Opcode.ALL_GATHER_DONE,
        Opcode.ALL_REDUCE_DONE,
    ),
    **_unmodelled(
        Family.COLLECTIVE, None, Opcode.ALL_REDUCE, Opcode.COLLECTIVE_REDUCE, Opcode.REDUCE_SCATTER, called=1
    ),
    **_unmodelled(
        Family.COLLECTIVE,
        None,
        Opcode.ALL_GATHER_START,
        Opcode.COLLECTIVE_PERMUTE_START,
        Opcode.INFEED,
        Opcode.OUTFEED,
        Opcode.RECV,
        Opcode.RECV_DONE,
        Opcode.SEND,
        Opcode.SEND_DONE,
        effect=True,
    ),
    **_unmodelled(
        Family.COLLECTIVE,
        None,
        Opcode.ALL_REDUCE_START,
        Opcode.ASYNC_DONE,
        Opcode.ASYNC_START,
        Opcode.ASYNC_UPDATE,
        called=None,
        effect=True,
    ),
}

SPECS = MappingProxyType(_TABLE)

NEWER: Mapping[Opcode, str] = MappingProxyType(
    dict.fromkeys((Opcode.COLLECTIVE_REDUCE, Opcode.EXP2, Opcode.LOG2, Opcode.SHUFFLE), "0.12")
)
"""Opcodes that the oldest jaxlib we support does not have, each with the first one that does."""


def merged(*families: Mapping[Opcode, T]) -> Mapping[Opcode, T]:
    """One map of the families' maps. Raises ValueError where two of them answer for the same opcode."""
    result: dict[Opcode, T] = {}
    for family in families:
        if twice := result.keys() & family.keys():
            raise ValueError(f"two families answer for {sorted(twice)}")
        result |= family
    return MappingProxyType(result)
