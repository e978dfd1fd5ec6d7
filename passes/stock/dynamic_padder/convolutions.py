"""How is a convolution, or a gradient of one, rewritten whose sizes in space are known at run time only?

Source: `stock_passes.md` section 5.16. Upstream puts zeros beyond the edge and convolves them: a weight that is
infinite or NaN then shows. Here each place of the kernel, along dynamic dimensions, is a convolution of its own,
and what it finds beyond the edge is left out of the sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hlo import ArrayShape, HloInstruction, Opcode, PrimitiveType
from hlo.attributes import ConvolutionDimensions, SliceBounds, WindowDimension
from hlo.builder import Builder
from hlo.windowed_calls import FORWARD, INPUT_GRADIENT, KERNEL_GRADIENT
from passes.stock.dynamic_dimension_inference.custom_calls import stated_convolution
from passes.stock.dynamic_dimension_inference.windows import reach, same_padding
from passes.stock.dynamic_padder.masking import is_live, masked, zero
from passes.stock.dynamic_padder.state import Rewrite, State
from passes.stock.dynamic_padder.windows import Shift, covered, shifted


@dataclass(frozen=True)
class Axis:
    """A dimension in space whose size is known at run time only.

    `number` counts spatial dimensions. The `size` elements, `spread` apart, begin `before` elements behind the start
    of the first window; `row` is the window on that, and has `count` places within the bounds.
    """

    number: int
    row: WindowDimension
    count: int
    size: HloInstruction
    before: HloInstruction
    spread: int = 1


def _element_type(inst: HloInstruction) -> PrimitiveType:
    """What partial sums are kept in: floats of less than 32 bits would round each."""
    kind = inst.array_shape.element_type
    return PrimitiveType.F32 if kind.is_float and kind.bit_width < 32 else kind


def _sides(
    state: State, inst: HloInstruction, numbers: ConvolutionDimensions, first: int
) -> list[HloInstruction]:
    """Both sides, in the type of the sums, with zeros in the padding of the feature dimension that they share."""
    builder, kind = state.builder(inst), _element_type(inst)
    features = (numbers.input_feature, numbers.kernel_input_feature)
    image, kernel = inst.operands[first : first + 2]
    size = state.size(image, features[0]) or state.size(kernel, features[1])
    sides: list[HloInstruction] = []
    for x, feature in zip((image, kernel), features, strict=True):
        if size is not None:
            x = masked(builder, x, feature, size, zero(builder, x.array_shape.element_type))
        sides.append(x if x.array_shape.element_type is kind else builder.convert(x, kind))
    return sides


def _seen(
    state: State,
    inst: HloInstruction,
    numbers: ConvolutionDimensions,
    image: HloInstruction,
    axes: Sequence[Axis],
) -> HloInstruction:
    """The image as the windows see it along the axes: all that their places reach over, and no more."""
    builder = state.builder(inst)
    shifts = {
        numbers.input_spatial[axis.number]: Shift(
            axis.before,
            covered(axis.row, axis.count),
            room=max(reach(axis.row), axis.row.padding_low),
            cropped=max(0, -axis.row.padding_low),
            spread=axis.spread,
        )
        for axis in axes
    }
    return shifted(state, inst, image, shifts, zero(builder, image.array_shape.element_type))


def _is_there(
    state: State, inst: HloInstruction, axis: Axis, tap: int, shape: ArrayShape, at: int
) -> HloInstruction:
    """For each place along dimension `at` of `shape`: whether element `tap` of the window meets an element."""
    builder, arithmetic = state.builder(inst), state.arithmetic(inst)
    s32 = ArrayShape(PrimitiveType.S32, shape.dimensions)

    def everywhere(scalar: HloInstruction) -> HloInstruction:
        return builder.broadcast(scalar, shape.dimensions)

    def constant(value: int) -> HloInstruction:
        return everywhere(builder.constant(value, PrimitiveType.S32))

    steps = builder.iota(s32, at)
    if axis.row.stride != 1:
        steps = builder.op(Opcode.MULTIPLY, steps, constant(axis.row.stride))
    offset = arithmetic.subtract(arithmetic.constant(tap * axis.row.window_dilation), axis.before)
    found = builder.op(Opcode.ADD, steps, everywhere(offset))
    tests = [builder.compare(found, constant(0), "GE")]
    if axis.spread != 1:
        between = builder.op(Opcode.REMAINDER, found, constant(axis.spread))
        tests.append(builder.compare(between, constant(0), "EQ"))
        found = builder.op(Opcode.DIVIDE, found, constant(axis.spread))
    tests.append(builder.compare(found, everywhere(axis.size), "LT"))
    return arithmetic.all_of(tests)


def _strided(
    builder: Builder, x: HloInstruction, dimension: int, start: int, count: int, stride: int
) -> HloInstruction:
    """`count` elements of `x` along one dimension."""
    dims = x.array_shape.dimensions
    limit = start + (count - 1) * stride + 1 if count else start
    rows = [(start, limit, stride) if d == dimension else (0, size, 1) for d, size in enumerate(dims)]
    starts, limits, strides = zip(*rows, strict=True)
    return builder.op(Opcode.SLICE, x, attributes=SliceBounds(starts, limits, strides))


def _summed(
    state: State,
    inst: HloInstruction,
    numbers: ConvolutionDimensions,
    sides: Sequence[HloInstruction],
    axes: Sequence[Axis],
) -> HloInstruction:
    """The convolution of an image that is shifted along `axes`: over their taps, the sum of what each tap meets."""
    builder = state.builder(inst)
    image, kernel = sides
    if not axes:
        return builder.convolution(image, kernel, numbers)
    axis, *others = axes
    window = list(numbers.window)
    window[axis.number] = WindowDimension()
    one = replace(numbers, window=tuple(window))
    spatial, taps = numbers.input_spatial[axis.number], axis.row.size
    total: HloInstruction | None = None
    for tap in range(taps):
        met = _strided(builder, image, spatial, tap * axis.row.window_dilation, axis.count, axis.row.stride)
        weight = taps - 1 - tap if axis.row.reversal else tap
        weights = _strided(builder, kernel, numbers.kernel_spatial[axis.number], weight, 1, 1)
        part = _summed(state, inst, one, (met, weights), others)
        shape = part.array_shape
        there = _is_there(state, inst, axis, tap, shape, numbers.output_spatial[axis.number])
        nothing = builder.broadcast(zero(builder, shape.element_type), shape.dimensions)
        part = builder.op(Opcode.SELECT, there, part, nothing)
        total = part if total is None else builder.op(Opcode.ADD, total, part)
    assert total is not None
    return total


def _finish(state: State, inst: HloInstruction, result: HloInstruction, rule: str) -> None:
    kind = inst.array_shape.element_type
    if result.array_shape.element_type is not kind:
        result = state.builder(inst).convert(result, kind)
    state.replace(inst, result, rule)


def _forward(state: State, inst: HloInstruction) -> None:
    numbers, same = stated_convolution(inst)
    arithmetic = state.arithmetic(inst)
    axes: list[Axis] = []
    for number, row in enumerate(numbers.window):
        size = state.size(inst.operand(0), numbers.input_spatial[number])
        if size is None:
            continue
        before = same_padding(arithmetic, size, row) if same else arithmetic.constant(row.padding_low)
        count = inst.array_shape.dimensions[numbers.output_spatial[number]]
        axes.append(Axis(number, row, count, size, before))
    image, kernel = _sides(state, inst, numbers, 0)
    image = _seen(state, inst, numbers, image, axes)
    _finish(state, inst, _summed(state, inst, numbers, (image, kernel), axes), "convolution-forward")


def _input_gradient(state: State, inst: HloInstruction) -> None:
    """A convolution of the gradient, its elements as far apart as the forward convolution's stride."""
    numbers, same = stated_convolution(inst)
    arithmetic = state.arithmetic(inst)
    axes: list[Axis] = []
    for number, row in enumerate(numbers.window):
        at = numbers.output_spatial[number]
        wanted = state.size(inst, at)
        if wanted is None:
            continue
        spread = row.base_dilation
        before = arithmetic.constant(reach(row) - 1)
        if same:
            padding = same_padding(arithmetic, wanted, replace(row, stride=spread, base_dilation=1))
            before = arithmetic.subtract(before, padding)
        size = state.bound_or_size(inst.operand(1), numbers.input_spatial[number])
        axes.append(Axis(number, row, inst.array_shape.dimensions[at], size, before, spread))
    image, kernel = _sides(state, inst, numbers, 1)
    image = _seen(state, inst, numbers, image, axes)
    _finish(state, inst, _summed(state, inst, numbers, (image, kernel), axes), "convolution-input-gradient")


def _kernel_gradient(state: State, inst: HloInstruction) -> None:
    """For each place of the kernel, the sum over all places of the gradient of what it met there."""
    numbers, same = stated_convolution(inst)
    arithmetic = state.arithmetic(inst)
    axes: list[Axis] = []
    for number, row in enumerate(numbers.window):
        size = state.size(inst.operand(0), numbers.input_spatial[number])
        if size is None:
            continue
        taps = inst.array_shape.dimensions[numbers.output_spatial[number]]
        forward = WindowDimension(taps, stride=row.window_dilation, window_dilation=row.stride)
        before = same_padding(arithmetic, size, forward) if same else arithmetic.constant(row.padding_low)
        count = inst.operand(1).array_shape.dimensions[numbers.kernel_spatial[number]]
        axes.append(Axis(number, forward, count, size, before))
    image, kernel = _sides(state, inst, numbers, 0)
    image = _seen(state, inst, numbers, image, axes)
    _finish(state, inst, _joined(state, inst, numbers, (image, kernel), axes), "convolution-kernel-gradient")


def _joined(
    state: State,
    inst: HloInstruction,
    numbers: ConvolutionDimensions,
    sides: Sequence[HloInstruction],
    axes: Sequence[Axis],
) -> HloInstruction:
    """The gradient, one place of the kernel after the other along `axes`, both sides 0 where they do not meet."""
    builder = state.builder(inst)
    image, gradient = sides
    if not axes:
        return builder.convolution(image, gradient, numbers)
    axis, *others = axes
    spatial, at = numbers.input_spatial[axis.number], numbers.kernel_spatial[axis.number]
    window = list(numbers.window)
    window[axis.number] = WindowDimension(axis.count)
    one = replace(numbers, window=tuple(window))
    places = state.size(inst.operand(1), at)
    assert places is not None
    parts: list[HloInstruction] = []
    for tap in range(axis.row.size):
        met = _strided(builder, image, spatial, tap * axis.row.window_dilation, axis.count, axis.row.stride)
        clean: list[HloInstruction] = []
        for x, d in ((met, spatial), (gradient, at)):
            shape = x.array_shape
            there = _is_there(state, inst, axis, tap, shape, d)
            there = builder.op(Opcode.AND, there, is_live(builder, shape, d, places))
            nothing = builder.broadcast(zero(builder, shape.element_type), shape.dimensions)
            clean.append(builder.op(Opcode.SELECT, there, x, nothing))
        parts.append(_joined(state, inst, one, clean, others))
    if len(parts) == 1:
        return parts[0]
    return builder.concatenate(parts, numbers.output_spatial[axis.number])


WINDOWED: dict[str, Rewrite] = {
    FORWARD: _forward,
    INPUT_GRADIENT: _input_gradient,
    KERNEL_GRADIENT: _kernel_gradient,
}
