"""What are the sizes of an operation's result, by the operation?

A rule gives the size of each dimension, None for one that stays a symbol. A type that knows more than a rule has the
last word, so that rules need not look at types.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from hlo.interchange.mlir import dialect
from passes.stock.shape_component_analysis.size import Size
from passes.stock.shape_component_analysis.values import dimensions, is_ranked, result_number


class Sizes(Protocol):
    """What rules ask of an analysis."""

    def sizes(self, value: Any) -> tuple[Size, ...]:
        """The size of each dimension of a ranked tensor."""
        ...

    def elements(self, value: Any) -> tuple[Size, ...] | None:
        """Each element of an integer tensor."""
        ...

    def integers(self, value: Any) -> tuple[int, ...] | None:
        """The elements of an integer tensor that is a constant in effect."""
        ...


Rule = Callable[[Sizes, Any, Any], "tuple[Size | None, ...]"]
"""Takes the analysis, the operation, and which of its results."""
Sources = Callable[[Any, Any], "Sequence[Any]"]
"""The operands that have the shape of a result."""

_ELEMENTWISE: Final = [
    "abs",
    "add",
    "and",
    "atan2",
    "cbrt",
    "ceil",
    "clamp",
    "compare",
    "complex",
    "convert",
    "cosine",
    "count_leading_zeros",
    "divide",
    "exponential",
    "exponential_minus_one",
    "floor",
    "imag",
    "is_finite",
    "log",
    "log_plus_one",
    "logistic",
    "maximum",
    "minimum",
    "multiply",
    "negate",
    "not",
    "or",
    "popcnt",
    "power",
    "real",
    "reduce_precision",
    "remainder",
    "round_nearest_afz",
    "round_nearest_even",
    "rsqrt",
    "select",
    "shift_left",
    "shift_right_arithmetic",
    "shift_right_logical",
    "sign",
    "sine",
    "sqrt",
    "subtract",
    "tan",
    "tanh",
    "xor",
]


def _all_of_its_rank(op: Any, value: Any) -> Sequence[Any]:
    """Not the bounds of a clamp or the predicate of a select, where they are scalars."""
    rank = len(dimensions(value))
    return [o for o in op.operands if is_ranked(o) and len(dimensions(o)) == rank]


def _first(op: Any, _value: Any) -> Sequence[Any]:
    return [op.operands[0]]


def _by_number(op: Any, value: Any) -> Sequence[Any]:
    """Operand n is of the shape of result n."""
    return [op.operands[result_number(value)]]


SHAPE_SOURCES: Final[dict[str, Sources]] = {
    **{f"stablehlo.{name}": _all_of_its_rank for name in _ELEMENTWISE},
    "stablehlo.reverse": _first,
    "stablehlo.dynamic_update_slice": _first,
    "stablehlo.cholesky": _first,
    "stablehlo.select_and_scatter": _first,
    "stablehlo.sort": _by_number,
    "stablehlo.scatter": _by_number,
    "stablehlo.optimization_barrier": _by_number,
    "tensor.cast": _first,
}


def _transpose(at: Sizes, op: Any, _value: Any) -> tuple[Size | None, ...]:
    sizes = at.sizes(op.operands[0])
    return tuple(sizes[d] for d in op.attributes["permutation"])


def _by_operand(number: int) -> Rule:
    """The shape is one of the operands."""
    return lambda at, op, _value: at.elements(op.operands[number]) or ()


def _slice(_at: Sizes, op: Any, _value: Any) -> tuple[Size | None, ...]:
    starts, limits, strides = (
        list(op.attributes[name]) for name in ("start_indices", "limit_indices", "strides")
    )
    return tuple(
        Size.of(max(-((start - limit) // stride), 0))
        for start, limit, stride in zip(starts, limits, strides, strict=True)
    )


def _dynamic_slice(_at: Sizes, op: Any, _value: Any) -> tuple[Size | None, ...]:
    return tuple(map(Size.of, op.attributes["slice_sizes"]))


def _real_dynamic_slice(at: Sizes, op: Any, _value: Any) -> tuple[Size | None, ...]:
    starts, limits, strides = (at.elements(operand) for operand in list(op.operands)[1:])
    if starts is None or limits is None or strides is None:
        return ()
    return tuple(
        _strided(limit - start, stride.exact)
        for start, limit, stride in zip(starts, limits, strides, strict=True)
    )


def _strided(span: Size, stride: int | None) -> Size | None:
    if stride == 1:
        return span
    if stride is None or stride < 1 or span.exact is None:
        return None
    return Size.of(max(-(-span.exact // stride), 0))


def _pad(at: Sizes, op: Any, _value: Any) -> tuple[Size | None, ...]:
    low, high, interior = (
        list(map(Size.of, op.attributes[name]))
        for name in ("edge_padding_low", "edge_padding_high", "interior_padding")
    )
    return _padded(at.sizes(op.operands[0]), low, high, interior)


def _dynamic_pad(at: Sizes, op: Any, _value: Any) -> tuple[Size | None, ...]:
    low, high, interior = (at.elements(operand) for operand in list(op.operands)[2:])
    if low is None or high is None or interior is None:
        return ()
    return _padded(at.sizes(op.operands[0]), low, high, interior)


def _padded(
    sizes: Sequence[Size], low: Sequence[Size], high: Sequence[Size], interior: Sequence[Size]
) -> tuple[Size | None, ...]:
    found: list[Size | None] = []
    for size, before, after, between in zip(sizes, low, high, interior, strict=True):
        if between.exact == 0:
            found.append(before + size + after)
        elif size.extent is not None:  # of n elements there are max(n - 1, 0) gaps
            found.append(before + size + after + between * Size.of(max(size.extent - 1, 0)))
        else:
            found.append(None)
    return tuple(found)


def _concatenate(at: Sizes, op: Any, _value: Any) -> tuple[Size | None, ...]:
    """Of the other dimensions all operands' are the same."""
    joined = [at.sizes(operand) for operand in op.operands]
    along = int(op.attributes["dimension"])
    found: list[Size | None] = []
    for d, sizes in enumerate(zip(*joined, strict=True)):
        known = [size for size in sizes if size.extent is not None]
        found.append(sum(sizes, Size.of(0)) if d == along else (known or sizes)[0])
    return tuple(found)


def _reduce(at: Sizes, op: Any, value: Any) -> tuple[Size | None, ...]:
    sizes = at.sizes(op.operands[result_number(value)])
    gone = set(op.attributes["dimensions"])
    return tuple(size for d, size in enumerate(sizes) if d not in gone)


def _dot_general(at: Sizes, op: Any, _value: Any) -> tuple[Size | None, ...]:
    numbers = dialect().DotDimensionNumbers(op.attributes["dot_dimension_numbers"])
    left, right = at.sizes(op.operands[0]), at.sizes(op.operands[1])
    batch, bound = numbers.lhs_batching_dimensions, numbers.rhs_batching_dimensions
    mine = {*batch, *numbers.lhs_contracting_dimensions}
    yours = {*bound, *numbers.rhs_contracting_dimensions}
    return (
        *(left[d] for d in batch),
        *(size for d, size in enumerate(left) if d not in mine),
        *(size for d, size in enumerate(right) if d not in yours),
    )


def _gather(at: Sizes, op: Any, value: Any) -> tuple[Size | None, ...]:
    return _gathered(at, op, value, tuple(map(Size.of, op.attributes["slice_sizes"])))


def _dynamic_gather(at: Sizes, op: Any, value: Any) -> tuple[Size | None, ...]:
    sizes = at.elements(op.operands[2])
    return _gathered(at, op, value, sizes) if sizes is not None else ()


def _gathered(at: Sizes, op: Any, value: Any, slice_sizes: tuple[Size, ...]) -> tuple[Size | None, ...]:
    numbers = dialect().GatherDimensionNumbers(op.attributes["dimension_numbers"])
    gone = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
    window = iter([size for d, size in enumerate(slice_sizes) if d not in gone])
    indices = at.sizes(op.operands[1])
    batch = iter([size for d, size in enumerate(indices) if d != numbers.index_vector_dim])
    offsets = set(numbers.offset_dims)
    return tuple(next(window if d in offsets else batch) for d in range(len(dimensions(value))))


def _convolution(at: Sizes, op: Any, _value: Any) -> tuple[Size | None, ...]:
    padding = tuple(op.attributes["padding"]) if "padding" in op.attributes else None
    return _convolved(at, op, padding)


def _dynamic_conv(at: Sizes, op: Any, _value: Any) -> tuple[Size | None, ...]:
    return _convolved(at, op, at.integers(op.operands[2]))


def _convolved(at: Sizes, op: Any, padding: Sequence[int] | None) -> tuple[Size | None, ...]:
    numbers = dialect().ConvDimensionNumbers(op.attributes["dimension_numbers"])
    left, right = at.sizes(op.operands[0]), at.sizes(op.operands[1])
    found: list[Size | None] = [None] * len(left)
    if int(op.attributes["batch_group_count"]) == 1:
        found[numbers.output_batch_dimension] = left[numbers.input_batch_dimension]
    found[numbers.output_feature_dimension] = right[numbers.kernel_output_feature_dimension]
    window = zip(
        numbers.input_spatial_dimensions,
        numbers.kernel_spatial_dimensions,
        numbers.output_spatial_dimensions,
        strict=True,
    )
    for place, (mine, kernel, output) in enumerate(window):
        row = [_numbers(op, name, place) for name in ("window_strides", "lhs_dilation", "rhs_dilation")]
        edges = None if padding is None else (padding[2 * place], padding[2 * place + 1])
        found[output] = _windows(left[mine].extent, right[kernel].extent, edges, *row)
    return tuple(found)


def _reduce_window(at: Sizes, op: Any, value: Any) -> tuple[Size | None, ...]:
    padding = (
        list(op.attributes["padding"]) if "padding" in op.attributes else [0] * 2 * len(dimensions(value))
    )
    window = list(op.attributes["window_dimensions"])
    return tuple(
        _windows(
            size.extent,
            window[d],
            (padding[2 * d], padding[2 * d + 1]),
            *(_numbers(op, name, d) for name in ("window_strides", "base_dilations", "window_dilations")),
        )
        for d, size in enumerate(at.sizes(op.operands[result_number(value)]))
    )


def _numbers(op: Any, name: str, place: int) -> int:
    return int(op.attributes[name][place]) if name in op.attributes else 1


def _windows(
    size: int | None, window: int | None, edges: tuple[int, int] | None, stride: int, spread: int, reach: int
) -> Size | None:
    """How many places there are for a window: `spread` and `reach` are the dilations of the array and the window."""
    if size is None or window is None or edges is None:
        return None
    base = max((size - 1) * spread + 1, 0) + sum(edges)
    return Size.of(max((base - ((window - 1) * reach + 1)) // stride + 1, 0))


def _set_dimension_size(at: Sizes, op: Any, _value: Any) -> tuple[Size | None, ...]:
    found: list[Size | None] = list(at.sizes(op.operands[0]))
    size = at.elements(op.operands[1])
    found[int(op.attributes["dimension"])] = size[0] if size else None
    return tuple(found)


DIMENSION_RULES: Final[dict[str, Rule]] = {
    "stablehlo.transpose": _transpose,
    "stablehlo.dynamic_reshape": _by_operand(1),
    "stablehlo.dynamic_broadcast_in_dim": _by_operand(1),
    "stablehlo.dynamic_iota": _by_operand(0),
    "stablehlo.slice": _slice,
    "stablehlo.dynamic_slice": _dynamic_slice,
    "stablehlo.real_dynamic_slice": _real_dynamic_slice,
    "stablehlo.pad": _pad,
    "stablehlo.dynamic_pad": _dynamic_pad,
    "stablehlo.concatenate": _concatenate,
    "stablehlo.reduce": _reduce,
    "stablehlo.dot_general": _dot_general,
    "stablehlo.gather": _gather,
    "stablehlo.dynamic_gather": _dynamic_gather,
    "stablehlo.convolution": _convolution,
    "stablehlo.dynamic_conv": _dynamic_conv,
    "stablehlo.reduce_window": _reduce_window,
    "stablehlo.set_dimension_size": _set_dimension_size,
}
"""Of the operations whose shapes are no operand's. What is in neither map stays a symbol."""

OF_BOUNDED: Final = frozenset(
    f"stablehlo.{name}"
    for name in [
        "transpose",
        "dynamic_reshape",
        "dynamic_broadcast_in_dim",
        "dynamic_iota",
        "reduce",
        "set_dimension_size",
    ]
)
"""The rules that hold where an operand's size is bounded: a slice of a whole bound, say, keeps the size."""
