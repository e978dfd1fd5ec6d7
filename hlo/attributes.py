"""Which facts besides operands and shape does an instruction have? One frozen record per kind of opcode.

Fields are named as in HLO text. What an opcode's record does not model stays in `HloInstruction.carried`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

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
class RaggedDotDimensions:
    """The dimensions of a `dot` and, of a ragged-dot, which one of the left side is divided into groups.

    `rhs_group`: the dimension of the right side with one element a group, exactly one where the ragged dimension is
    neither contracted nor a batch, otherwise none.
    """

    dot: DotDimensions
    lhs_ragged: Ints
    rhs_group: Ints = ()

    def outside(self, rank: int) -> Ints:
        """The dimensions of the left side, of `rank`, that come before its ragged one: batches, then its own kind.

        Group sizes may be listed for each place of these.
        """
        (ragged,) = self.lhs_ragged
        dot = self.dot
        if ragged in dot.lhs_batch:
            return dot.lhs_batch[: dot.lhs_batch.index(ragged)]
        kind = dot.lhs_contracting
        if ragged not in kind:
            kind = tuple(d for d in range(rank) if d not in kind and d not in dot.lhs_batch)
        return (*dot.lhs_batch, *kind[: kind.index(ragged)])


@dataclass(frozen=True, slots=True)
class WindowDimension:
    """How a window moves along one dimension, in elements. Padding may be negative (cropping)."""

    size: int = 1
    stride: int = 1
    padding_low: int = 0
    padding_high: int = 0
    window_dilation: int = 1
    base_dilation: int = 1
    reversal: bool = False


@dataclass(frozen=True, slots=True)
class Window:
    """`window={…}` of reduce-window and select-and-scatter, one entry per dimension."""

    dimensions: tuple[WindowDimension, ...]


@dataclass(frozen=True, slots=True)
class ConvolutionDimensions:
    """`window={…}`, one entry per spatial dimension, and `dim_labels=…` of a convolution, with its group counts."""

    window: tuple[WindowDimension, ...]
    input_batch: int
    input_feature: int
    input_spatial: Ints
    kernel_input_feature: int
    kernel_output_feature: int
    kernel_spatial: Ints
    output_batch: int
    output_feature: int
    output_spatial: Ints
    feature_group_count: int = 1
    batch_group_count: int = 1


@dataclass(frozen=True, slots=True)
class CustomCallTarget:
    """`custom_call_target="…"`, and what a custom-call may say of windows and convolutions.

    `numbers` are the dimension numbers, `dim_labels`, of which the window and the group counts are not part: they
    are here, as in the proto. `padding_type` is VALID, SAME or empty.
    """

    target: str
    has_side_effect: bool = False
    window: Window | None = None
    numbers: ConvolutionDimensions | None = None
    feature_group_count: int = 1
    batch_group_count: int = 1
    padding_type: str = ""

    @property
    def convolution(self) -> ConvolutionDimensions | None:
        """The attributes of the ordinary convolution that has these; None where window or numbers are missing."""
        if self.window is None or self.numbers is None:
            return None
        return replace(
            self.numbers,
            window=self.window.dimensions,
            feature_group_count=self.feature_group_count,
            batch_group_count=self.batch_group_count,
        )


@dataclass(frozen=True, slots=True)
class GatherDimensions:
    """The dimension numbers of a gather, its slice sizes (elements per operand dimension) and its promise."""

    offset_dims: Ints
    collapsed_slice_dims: Ints
    start_index_map: Ints
    index_vector_dim: int
    slice_sizes: Ints
    operand_batching_dims: Ints = ()
    start_indices_batching_dims: Ints = ()
    indices_are_sorted: bool = False


@dataclass(frozen=True, slots=True)
class ScatterDimensions:
    """The dimension numbers of a scatter and its two promises."""

    update_window_dims: Ints
    inserted_window_dims: Ints
    scatter_dims_to_operand_dims: Ints
    index_vector_dim: int
    input_batching_dims: Ints = ()
    scatter_indices_batching_dims: Ints = ()
    indices_are_sorted: bool = False
    unique_indices: bool = False


@dataclass(frozen=True, slots=True)
class SortDimension:
    """`dimensions={…}` (exactly one) and `is_stable` of a sort."""

    dimension: int
    is_stable: bool = False


@dataclass(frozen=True, slots=True)
class ScanOptions:
    """`dimensions={…}` (exactly one), `num_carries`, `is_reverse` and `is_associative` of a scan.

    `is_associative` is None where it is unsaid, which protos can say and text cannot.

    The last `num_carries` operands are where the carries start; of the others each step takes a slice.
    """

    dimension: int
    num_carries: int
    is_reverse: bool = False
    is_associative: bool | None = False


@dataclass(frozen=True, slots=True)
class Rotation:
    """`dimensions={…}`, `mode=rotate` and `shifts={…}`, in elements to the left, of a shuffle. Paired in order."""

    dimensions: Ints
    shifts: Ints


@dataclass(frozen=True, slots=True)
class FftKind:
    """`fft_type=`FFT IFFT RFFT IRFFT and `fft_length={…}`, the sizes of the innermost dimensions worked on."""

    type: str
    length: Ints


@dataclass(frozen=True, slots=True)
class TriangularSolveOptions:
    """`left_side`, `lower`, `unit_diagonal` and `transpose_a=`NO_TRANSPOSE TRANSPOSE ADJOINT."""

    left_side: bool = False
    lower: bool = False
    unit_diagonal: bool = False
    transpose_a: str = "NO_TRANSPOSE"


@dataclass(frozen=True, slots=True)
class CholeskyOptions:
    """`lower`: which triangle is read and given."""

    lower: bool = False


@dataclass(frozen=True, slots=True)
class TopKOptions:
    """`k`, how many elements of the last dimension, and whether the largest or the smallest."""

    k: int
    largest: bool = True


@dataclass(frozen=True, slots=True)
class BatchNormOptions:
    """`epsilon` (added to the variance) and `feature_index`, the dimension of the features."""

    epsilon: float
    feature_index: int


@dataclass(frozen=True, slots=True)
class ReducedPrecision:
    """`exponent_bits` and `mantissa_bits` of a reduce-precision."""

    exponent_bits: int
    mantissa_bits: int


@dataclass(frozen=True, slots=True)
class RandomAlgorithm:
    """`algorithm=` of an rng-bit-generator: rng_default, rng_three_fry or rng_philox."""

    algorithm: str


@dataclass(frozen=True, slots=True)
class FusionKind:
    """`kind=`kLoop kInput kOutput kCustom of a fusion; it changes no value."""

    kind: str


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
    | RaggedDotDimensions
    | CustomCallTarget
    | Window
    | ConvolutionDimensions
    | GatherDimensions
    | ScatterDimensions
    | SortDimension
    | ScanOptions
    | Rotation
    | FftKind
    | TriangularSolveOptions
    | CholeskyOptions
    | TopKOptions
    | BatchNormOptions
    | ReducedPrecision
    | RandomAlgorithm
    | FusionKind
)

NONE = NoAttributes()
UNMODELLED = Unmodelled()
