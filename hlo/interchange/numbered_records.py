"""How do windows, dimension numbers and options map to the proto?

Most of these records are field for field a message of the proto; each row says which, and where the names differ.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from types import MappingProxyType
from typing import Any, Final, TypeVar

from hlo.attributes import (
    Attributes,
    BatchNormOptions,
    CholeskyOptions,
    ConvolutionDimensions,
    CustomCallTarget,
    DotDimensions,
    FftKind,
    FusionKind,
    GatherDimensions,
    RaggedDotDimensions,
    RandomAlgorithm,
    ReducedPrecision,
    Rotation,
    ScanOptions,
    ScatterDimensions,
    SortDimension,
    TopKOptions,
    TriangularSolveOptions,
    Window,
    WindowDimension,
)
from hlo.errors import InvalidInput, UnsupportedOpcode
from hlo.graph import HloInstruction
from hlo.interchange.record import Record

R = TypeVar("R", bound=Attributes)

_FFT_TYPES: Final = ("FFT", "IFFT", "RFFT", "IRFFT")
_RANDOM_ALGORITHMS: Final = ("rng_default", "rng_three_fry", "rng_philox")
_TRANSPOSES: Final = ("", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT")
_PADDING_TYPES: Final = ("", "VALID", "SAME")
_TRISTATES: Final = (None, True, False)


def _field_by_field(
    kind: type[R],
    message: str = "",
    outside: Sequence[str] = (),
    renamed: Mapping[str, str] = MappingProxyType({}),
) -> Record:
    """A record whose fields are those of a `message` of the instruction, or (`outside`) of the instruction itself."""
    names = {field.name: renamed.get(field.name, field.name) for field in fields(kind)}
    inside = {ours: theirs for ours, theirs in names.items() if ours not in outside}

    def read(proto: Any, _operands: Sequence[HloInstruction]) -> Attributes:
        source = getattr(proto, message) if message else proto
        values = {ours: _plain(getattr(source, theirs)) for ours, theirs in inside.items()}
        values |= {ours: _plain(getattr(proto, names[ours])) for ours in outside}
        return kind(**values)

    def fill(proto: Any, record: R) -> None:
        target = getattr(proto, message) if message else proto
        if message:
            target.SetInParent()
        for ours, theirs in inside.items():
            _put(target, theirs, getattr(record, ours))
        for ours in outside:
            _put(proto, names[ours], getattr(record, ours))

    outer = [names[ours] for ours in outside]
    return Record((message, *outer) if message else tuple(names.values()), read, fill)


def _plain(value: Any) -> Any:
    return value if isinstance(value, bool | int | float | str) else tuple(value)


def _put(target: Any, name: str, value: Any) -> None:
    if isinstance(value, tuple):
        getattr(target, name).extend(value)
    else:
        setattr(target, name, value)


_WINDOW_NAMES: Final = {field.name: field.name for field in fields(WindowDimension)} | {
    "reversal": "window_reversal"
}


def _read_window(proto: Any) -> tuple[WindowDimension, ...]:
    return tuple(
        WindowDimension(**{ours: getattr(row, theirs) for ours, theirs in _WINDOW_NAMES.items()})
        for row in proto.window.dimensions
    )


def _fill_window(proto: Any, window: tuple[WindowDimension, ...]) -> None:
    proto.window.SetInParent()
    for dimension in window:
        row = {theirs: getattr(dimension, ours) for ours, theirs in _WINDOW_NAMES.items()}
        proto.window.dimensions.add(**row)


_CONVOLUTION_NAMES: Final = {
    "input_batch": "input_batch_dimension",
    "input_feature": "input_feature_dimension",
    "input_spatial": "input_spatial_dimensions",
    "kernel_input_feature": "kernel_input_feature_dimension",
    "kernel_output_feature": "kernel_output_feature_dimension",
    "kernel_spatial": "kernel_spatial_dimensions",
    "output_batch": "output_batch_dimension",
    "output_feature": "output_feature_dimension",
    "output_spatial": "output_spatial_dimensions",
}


def _read_convolution(proto: Any, _operands: Sequence[HloInstruction]) -> Attributes:
    return ConvolutionDimensions(
        window=_read_window(proto),
        **_read_convolution_numbers(proto),
        # absent in old protos, where it means one group
        feature_group_count=max(proto.feature_group_count, 1),
        batch_group_count=max(proto.batch_group_count, 1),
    )


def _read_convolution_numbers(proto: Any) -> dict[str, Any]:
    numbers = proto.convolution_dimension_numbers
    return {ours: _plain(getattr(numbers, theirs)) for ours, theirs in _CONVOLUTION_NAMES.items()}


def _fill_convolution_numbers(proto: Any, convolution: ConvolutionDimensions) -> None:
    numbers = proto.convolution_dimension_numbers
    numbers.SetInParent()
    for ours, theirs in _CONVOLUTION_NAMES.items():
        _put(numbers, theirs, getattr(convolution, ours))


def _fill_convolution(proto: Any, convolution: ConvolutionDimensions) -> None:
    _fill_window(proto, convolution.window)
    _fill_convolution_numbers(proto, convolution)
    proto.feature_group_count = convolution.feature_group_count
    proto.batch_group_count = convolution.batch_group_count


def _read_custom_call(proto: Any, _operands: Sequence[HloInstruction]) -> Attributes:
    numbers: ConvolutionDimensions | None = None
    if proto.HasField("convolution_dimension_numbers"):
        numbers = ConvolutionDimensions((), **_read_convolution_numbers(proto))
    return CustomCallTarget(
        target=proto.custom_call_target,
        has_side_effect=proto.custom_call_has_side_effect,
        window=Window(_read_window(proto)) if proto.HasField("window") else None,
        numbers=numbers,
        feature_group_count=max(proto.feature_group_count, 1),
        batch_group_count=max(proto.batch_group_count, 1),
        padding_type=_named(_PADDING_TYPES, proto.padding_type),
    )


def _fill_custom_call(proto: Any, call: CustomCallTarget) -> None:
    """jaxlib puts a count of one group back where there is none."""
    proto.custom_call_target = call.target
    proto.custom_call_has_side_effect = call.has_side_effect
    if call.window is not None:
        _fill_window(proto, call.window.dimensions)
    if call.numbers is not None:
        _fill_convolution_numbers(proto, call.numbers)
    if call.feature_group_count != 1:
        proto.feature_group_count = call.feature_group_count
    if call.batch_group_count != 1:
        proto.batch_group_count = call.batch_group_count
    proto.padding_type = _PADDING_TYPES.index(call.padding_type)


def _fill_whole_window(proto: Any, window: Window) -> None:
    _fill_window(proto, window.dimensions)


def _read_sort(proto: Any, _operands: Sequence[HloInstruction]) -> Attributes:
    if len(proto.dimensions) != 1:
        raise InvalidInput(f"a sort along {len(proto.dimensions)} dimensions")
    return SortDimension(proto.dimensions[0], proto.is_stable)


def _fill_sort(proto: Any, sort: SortDimension) -> None:
    proto.dimensions.append(sort.dimension)
    proto.is_stable = sort.is_stable


def _read_dot(proto: Any, _operands: Sequence[HloInstruction]) -> Attributes:
    return _dot_numbers(proto.dot_dimension_numbers)


def _dot_numbers(numbers: Any) -> DotDimensions:
    return DotDimensions(
        tuple(numbers.lhs_contracting_dimensions),
        tuple(numbers.rhs_contracting_dimensions),
        tuple(numbers.lhs_batch_dimensions),
        tuple(numbers.rhs_batch_dimensions),
    )


def _fill_dot(proto: Any, dot: DotDimensions) -> None:
    _fill_dot_numbers(proto.dot_dimension_numbers, dot)


def _fill_dot_numbers(numbers: Any, dot: DotDimensions) -> None:
    numbers.SetInParent()
    numbers.lhs_contracting_dimensions.extend(dot.lhs_contracting)
    numbers.rhs_contracting_dimensions.extend(dot.rhs_contracting)
    numbers.lhs_batch_dimensions.extend(dot.lhs_batch)
    numbers.rhs_batch_dimensions.extend(dot.rhs_batch)


def _read_ragged_dot(proto: Any, _operands: Sequence[HloInstruction]) -> Attributes:
    numbers = proto.ragged_dot_dimension_numbers
    return RaggedDotDimensions(
        _dot_numbers(numbers.dot_dimension_numbers),
        tuple(numbers.lhs_ragged_dimensions),
        tuple(numbers.rhs_group_dimensions),
    )


def _fill_ragged_dot(proto: Any, ragged: RaggedDotDimensions) -> None:
    numbers = proto.ragged_dot_dimension_numbers
    _fill_dot_numbers(numbers.dot_dimension_numbers, ragged.dot)
    numbers.lhs_ragged_dimensions.extend(ragged.lhs_ragged)
    numbers.rhs_group_dimensions.extend(ragged.rhs_group)


def _read_scan(proto: Any, _operands: Sequence[HloInstruction]) -> Attributes:
    if len(proto.dimensions) != 1:
        raise InvalidInput(f"a scan along {len(proto.dimensions)} dimensions")
    if not 0 <= proto.is_associative < len(_TRISTATES):
        raise InvalidInput(f"{proto.is_associative} stands for no state of is_associative")
    associative = _TRISTATES[proto.is_associative]
    return ScanOptions(proto.dimensions[0], proto.num_carries, proto.is_reverse, associative)


def _fill_scan(proto: Any, scan: ScanOptions) -> None:
    proto.dimensions.append(scan.dimension)
    proto.num_carries, proto.is_reverse = scan.num_carries, scan.is_reverse
    proto.is_associative = _TRISTATES.index(scan.is_associative)


def _read_shuffle(proto: Any, _operands: Sequence[HloInstruction]) -> Attributes:
    if not proto.shuffle_mode.HasField("rotate"):
        raise UnsupportedOpcode("shuffle that is no rotation", "reading HLO")
    return Rotation(tuple(proto.dimensions), tuple(proto.shuffle_mode.rotate.shifts))


def _fill_shuffle(proto: Any, rotation: Rotation) -> None:
    proto.dimensions.extend(rotation.dimensions)
    proto.shuffle_mode.rotate.SetInParent()
    proto.shuffle_mode.rotate.shifts.extend(rotation.shifts)


def _read_fft(proto: Any, _operands: Sequence[HloInstruction]) -> Attributes:
    return FftKind(_named(_FFT_TYPES, proto.fft_type), tuple(proto.fft_length))


def _fill_fft(proto: Any, fft: FftKind) -> None:
    proto.fft_type = _FFT_TYPES.index(fft.type)
    proto.fft_length.extend(fft.length)


def _read_triangular_solve(proto: Any, _operands: Sequence[HloInstruction]) -> Attributes:
    options = proto.triangular_solve_options
    transpose = _named(_TRANSPOSES, options.transpose_a)
    return TriangularSolveOptions(options.left_side, options.lower, options.unit_diagonal, transpose)


def _fill_triangular_solve(proto: Any, solve: TriangularSolveOptions) -> None:
    options = proto.triangular_solve_options
    options.left_side, options.lower = solve.left_side, solve.lower
    options.unit_diagonal = solve.unit_diagonal
    options.transpose_a = _TRANSPOSES.index(solve.transpose_a)


def _read_random(proto: Any, _operands: Sequence[HloInstruction]) -> Attributes:
    return RandomAlgorithm(_named(_RANDOM_ALGORITHMS, proto.rng_algorithm))


def _fill_random(proto: Any, random: RandomAlgorithm) -> None:
    proto.rng_algorithm = _RANDOM_ALGORITHMS.index(random.algorithm)


def _named(names: Sequence[str], number: int) -> str:
    if not 0 <= number < len(names):
        raise InvalidInput(f"{number} stands for none of {', '.join(filter(None, names))}")
    return names[number]


NUMBERED_RECORDS: Final = MappingProxyType[type[Attributes], Record](
    {
        Window: Record(("window",), lambda proto, _: Window(_read_window(proto)), _fill_whole_window),
        ConvolutionDimensions: Record(
            ("window", "convolution_dimension_numbers", "feature_group_count", "batch_group_count"),
            _read_convolution,
            _fill_convolution,
        ),
        CustomCallTarget: Record(
            (
                *("custom_call_target", "custom_call_has_side_effect", "window", "padding_type"),
                *("convolution_dimension_numbers", "feature_group_count", "batch_group_count"),
            ),
            _read_custom_call,
            _fill_custom_call,
        ),
        GatherDimensions: _field_by_field(
            GatherDimensions,
            "gather_dimension_numbers",
            outside=("slice_sizes", "indices_are_sorted"),
            renamed={"slice_sizes": "gather_slice_sizes"},
        ),
        ScatterDimensions: _field_by_field(
            ScatterDimensions, "scatter_dimension_numbers", outside=("indices_are_sorted", "unique_indices")
        ),
        DotDimensions: Record(("dot_dimension_numbers",), _read_dot, _fill_dot),
        RaggedDotDimensions: Record(("ragged_dot_dimension_numbers",), _read_ragged_dot, _fill_ragged_dot),
        ScanOptions: Record(
            ("dimensions", "num_carries", "is_reverse", "is_associative"), _read_scan, _fill_scan
        ),
        Rotation: Record(("dimensions", "shuffle_mode"), _read_shuffle, _fill_shuffle),
        SortDimension: Record(("dimensions", "is_stable"), _read_sort, _fill_sort),
        FftKind: Record(("fft_type", "fft_length"), _read_fft, _fill_fft),
        TriangularSolveOptions: Record(
            ("triangular_solve_options",), _read_triangular_solve, _fill_triangular_solve
        ),
        CholeskyOptions: _field_by_field(CholeskyOptions, "cholesky_options"),
        TopKOptions: _field_by_field(TopKOptions),
        BatchNormOptions: _field_by_field(BatchNormOptions),
        RandomAlgorithm: Record(("rng_algorithm",), _read_random, _fill_random),
        ReducedPrecision: _field_by_field(ReducedPrecision),
        FusionKind: _field_by_field(FusionKind, renamed={"kind": "fusion_kind"}),
    }
)
