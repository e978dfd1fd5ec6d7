"""What do the custom-calls give whose padding depends on sizes at run time?

Source: `stock_passes.md` sections 4.9, 4.11 and 5.16. On arrays cut to their sizes each is an ordinary operation
whose window is padded as if it had been written for just these sizes; a dimension whose size was not set at run
time keeps the padding that the program states.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from hlo import HloInstruction, Opcode
from hlo.attributes import ConvolutionDimensions, CustomCallTarget, Window, WindowDimension
from hlo.infer import ShapeError, window_counts
from hlo.windowed_calls import (
    FORWARD,
    INPUT_GRADIENT,
    KERNEL_GRADIENT,
    REDUCE_WINDOW,
    SELECT_AND_SCATTER,
    WINDOWED_CALLS,
    complaint,
)
from oracle.true_size.agreement import common_size, cut_to
from oracle.true_size.leaf import Sized, UndefinedSizes
from oracle.true_size.tracing import Tracer, filled


def _same(inst: HloInstruction, row: WindowDimension, size: int) -> WindowDimension:
    """`row` with the padding that gives one place for each `stride` elements of `size` (section 4.9, SAME)."""
    if row.base_dilation != 1:
        raise UndefinedSizes(inst, "a dilated base has no SAME padding")
    places = -(-size // row.stride)
    needed = max(0, (places - 1) * row.stride + _reach(row) - size)
    return replace(row, padding_low=needed // 2, padding_high=needed - needed // 2)


def _reach(row: WindowDimension) -> int:
    return (row.size - 1) * row.window_dilation + 1


def _window(inst: HloInstruction, leaf: Sized) -> Window:
    """The window of the call, padded for the sizes of `leaf`."""
    call = inst.attributes
    assert isinstance(call, CustomCallTarget)
    assert call.window is not None
    return Window(
        tuple(
            _same(inst, row, size) if dynamic and row != WindowDimension() else row
            for row, size, dynamic in zip(call.window.dimensions, leaf.sizes, leaf.dynamic, strict=True)
        )
    )


def _reduce_window(tracer: Tracer, inst: HloInstruction, leaves: Sequence[Sized]) -> Sized:
    operand, init = leaves
    operands = [tracer.cut(operand), init.inst]
    window = _window(inst, operand)
    return filled(
        tracer.emit(inst, operands, opcode=Opcode.REDUCE_WINDOW, attributes=window), operand.dynamic
    )


def _select_and_scatter(tracer: Tracer, inst: HloInstruction, leaves: Sequence[Sized]) -> Sized:
    operand, source, init = leaves
    window = _window(inst, operand)
    try:
        places = window_counts(operand.sizes, window.dimensions)
    except ShapeError as error:
        raise UndefinedSizes(inst, error.message) from error
    for d, count in enumerate(places):
        if source.dynamic[d] and source.sizes[d] != count:
            raise UndefinedSizes(
                inst, f"the source has size {source.sizes[d]} for {count} places of the window"
            )
    operands = [tracer.cut(operand), cut_to(tracer, source, places), init.inst]
    new = tracer.emit(inst, operands, opcode=Opcode.SELECT_AND_SCATTER, attributes=window)
    return filled(new, operand.dynamic)


def _numbers(inst: HloInstruction) -> tuple[ConvolutionDimensions, bool]:
    """The convolution's attributes, and whether its padding is SAME."""
    call = inst.attributes
    assert isinstance(call, CustomCallTarget)
    numbers = call.convolution
    assert numbers is not None
    return numbers, call.padding_type == "SAME"


def _contracted(
    inst: HloInstruction, numbers: ConvolutionDimensions, sides: tuple[Sized, Sized]
) -> tuple[list[int], list[int]]:
    """The sizes of both sides, which share the feature dimension."""
    image, kernel = sides
    left, right = list(image.sizes), list(kernel.sizes)
    i, j = numbers.input_feature, numbers.kernel_input_feature
    if numbers.feature_group_count == 1:
        left[i] = right[j] = common_size(inst, [(image, i), (kernel, j)])
    elif image.dynamic[i] or kernel.dynamic[j]:
        raise UndefinedSizes(inst, "the features of groups have a size at run time")
    return left, right


def _convolved(
    tracer: Tracer,
    inst: HloInstruction,
    numbers: ConvolutionDimensions,
    rows: Sequence[WindowDimension],
    sides: tuple[Sized, Sized],
) -> HloInstruction:
    sizes = _contracted(inst, numbers, sides)
    operands = [cut_to(tracer, side, tuple(size)) for side, size in zip(sides, sizes, strict=True)]
    attributes = replace(numbers, window=tuple(rows))
    return tracer.emit(inst, operands, opcode=Opcode.CONVOLUTION, attributes=attributes)


def _forward(tracer: Tracer, inst: HloInstruction, leaves: Sequence[Sized]) -> Sized:
    image, kernel = leaves
    numbers, same = _numbers(inst)
    rows = [
        _same(inst, row, image.sizes[i]) if same and image.dynamic[i] else row
        for row, i in zip(numbers.window, numbers.input_spatial, strict=True)
    ]
    new = _convolved(tracer, inst, numbers, rows, (image, kernel))
    dynamic = [False] * new.array_shape.rank
    dynamic[numbers.output_batch] = image.dynamic[numbers.input_batch]
    dynamic[numbers.output_feature] = kernel.dynamic[numbers.kernel_output_feature]
    for i, k in zip(numbers.input_spatial, numbers.output_spatial, strict=True):
        dynamic[k] = image.dynamic[i]
    return filled(new, dynamic)


def _input_gradient(tracer: Tracer, inst: HloInstruction, leaves: Sequence[Sized]) -> Sized:
    """The gradient of a convolution's input, whose sizes are the first operand; base dilation is that one's stride."""
    wanted, gradient, kernel = leaves
    numbers, same = _numbers(inst)
    shape = inst.array_shape
    asked = tracer.vector(wanted)
    if len(asked) != shape.rank:
        raise UndefinedSizes(inst, f"{len(asked)} sizes are asked for, not {shape.rank}")
    rows: list[WindowDimension] = []
    for row, i, k in zip(numbers.window, numbers.input_spatial, numbers.output_spatial, strict=True):
        if not shape.is_dynamic_dimension(k):
            rows.append(row)
            continue
        forward = replace(row, stride=row.base_dilation, base_dilation=1, padding_low=0, padding_high=0)
        size = asked[k]
        forward = _same(inst, forward, size) if same else forward
        (places,) = window_counts((size,), (forward,))
        if gradient.sizes[i] != places:
            raise UndefinedSizes(inst, f"the gradient has size {gradient.sizes[i]} for {places} places")
        low = _reach(row) - 1 - forward.padding_low
        spread = (places - 1) * row.base_dilation + 1 if places else 0
        rows.append(replace(row, padding_low=low, padding_high=size - low - spread + _reach(row) - 1))
    new = _convolved(tracer, inst, numbers, rows, (gradient, kernel))
    for d, size in enumerate(new.array_shape.dimensions):
        if shape.is_dynamic_dimension(d) and size != asked[d]:
            raise UndefinedSizes(inst, f"size {asked[d]} is asked for where the gradient has {size}")
    return filled(new, shape.dynamic)


def _kernel_gradient(tracer: Tracer, inst: HloInstruction, leaves: Sequence[Sized]) -> Sized:
    """The gradient of a convolution's kernel, which is static; window dilation is that one's stride."""
    activations, gradient = leaves
    numbers, same = _numbers(inst)
    rows: list[WindowDimension] = []
    spatial = zip(
        *(numbers.window, numbers.input_spatial, numbers.kernel_spatial, numbers.output_spatial), strict=True
    )
    for row, i, j, k in spatial:
        if not (activations.dynamic[i] or gradient.dynamic[j]):
            rows.append(row)
            continue
        taps = inst.array_shape.dimensions[k]
        forward = WindowDimension(taps, stride=row.window_dilation, window_dilation=row.stride)
        size, places = activations.sizes[i], gradient.sizes[j]
        forward = _same(inst, forward, size) if same else forward
        (expected,) = window_counts((size,), (forward,))
        if places != expected:
            raise UndefinedSizes(inst, f"the gradient has size {places} for {expected} places")
        if not places:
            raise UndefinedSizes(inst, "there is no place to sum over")
        seen = (places - 1) * row.window_dilation + 1 + (taps - 1) * row.stride
        low = forward.padding_low
        rows.append(replace(row, size=places, padding_low=low, padding_high=seen - low - size))
    return filled(_convolved(tracer, inst, numbers, rows, (activations, gradient)))


def has_meaning(inst: HloInstruction) -> bool:
    """Whether `inst` is a custom-call that means something here, and nothing to other engines."""
    return inst.opcode is Opcode.CUSTOM_CALL and inst.custom_call_target in WINDOWED_CALLS


def custom_call(tracer: Tracer, inst: HloInstruction, leaves: Sequence[Sized]) -> Sized:
    """The rule of all. Raises UndefinedSizes where the call is not well formed, or gives what is not declared."""
    if wrong := complaint(inst):
        raise UndefinedSizes(inst, wrong)
    result = _RULES[inst.custom_call_target](tracer, inst, leaves)
    bounds = inst.array_shape
    for d, (size, bound) in enumerate(zip(result.sizes, bounds.dimensions, strict=True)):
        if size > bound or (size != bound and not bounds.is_dynamic_dimension(d)):
            raise UndefinedSizes(inst, f"it has size {size} in dimension {d} of {bounds}")
    return result


_RULES: dict[str, Callable[[Tracer, HloInstruction, Sequence[Sized]], Sized]] = {
    FORWARD: _forward,
    INPUT_GRADIENT: _input_gradient,
    KERNEL_GRADIENT: _kernel_gradient,
    REDUCE_WINDOW: _reduce_window,
    SELECT_AND_SCATTER: _select_and_scatter,
}
