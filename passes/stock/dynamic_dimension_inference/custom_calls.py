"""Which custom-calls can have dynamic dimensions, and what becomes of their sizes?

Source: `stock_passes.md` section 4.11.
"""

from __future__ import annotations

from collections.abc import Callable

from hlo import ArrayShape, HloInstruction
from hlo.attributes import ConvolutionDimensions, CustomCallTarget, Window
from hlo.builder import Builder
from hlo.evaluator import PAD_TO_STATIC, SET_BOUND, SLICE_TO_DYNAMIC
from hlo.windowed_calls import (
    FORWARD,
    INPUT_GRADIENT,
    KERNEL_GRADIENT,
    REDUCE_WINDOW,
    SELECT_AND_SCATTER,
    complaint,
)
from passes.stock.dynamic_dimension_inference.bridges import pad_to_static
from passes.stock.dynamic_dimension_inference.dynamic import refuse_outside
from passes.stock.dynamic_dimension_inference.reduction import TRIVIAL
from passes.stock.dynamic_dimension_inference.state import State
from passes.stock.dynamic_dimension_inference.windows import places, same_places, valid_places

_SAME = frozenset({"Sharding", SET_BOUND})
_RESIZE = "Resize"
_RESIZED = (0, 3)
"""The dimensions of an image, batch and feature, that resizing leaves alone."""


def custom_call(state: State, inst: HloInstruction) -> None:
    """A target that is not known here may produce a dynamic array, but not be given one."""
    target = inst.custom_call_target
    if target == PAD_TO_STATIC:
        # what it gives is static, with whatever in the padding; only what it is given is dynamic
        if state.sizes.has_dynamic(inst.operand(0)):
            state.sizes.on_dynamic_arrays[inst] = None
    elif target == SLICE_TO_DYNAMIC:
        _slice_to_dynamic(state, inst)
    elif state.custom_call is not None and any(map(state.sizes.has_dynamic, inst.operands)):
        state.custom_call(inst, state.sizes)
        pad_to_static(state, inst)
    elif target in _SAME:
        for _, index, dimension, size in state.operand_sizes(inst):
            state.record(inst, dimension, size, index)
    elif rule := WINDOWED.get(target):
        if wrong := complaint(inst):
            state.refuse(inst, wrong)
        rule(state, inst)
        _bounds_elsewhere(state, inst)
    elif target.startswith(_RESIZE):
        _resize(state, inst)
    elif any(state.sizes.has_dynamic(operand) for operand in inst.operands):
        number, _, dimension, _ = next(state.operand_sizes(inst))
        state.refuse(
            inst, f"custom-call {target} cannot have a dynamic dimension", operand=number, dimension=dimension
        )
    else:
        pad_to_static(state, inst)


def _slice_to_dynamic(state: State, inst: HloInstruction) -> None:
    """It gives an array that is really smaller than its bounds."""
    if len(inst.operands) != 1 + inst.array_shape.rank:
        state.refuse(inst, "it has not one size for each dimension")
    for dimension in range(inst.array_shape.rank):
        refuse_outside(state, inst, dimension + 1, dimension)
    pad_to_static(state, inst)


def _resize(state: State, inst: HloInstruction) -> None:
    for number, _, d, size in state.operand_sizes(inst):
        if number or d not in _RESIZED or not isinstance(inst.shape, ArrayShape):
            state.refuse(inst, "what is resized is dynamic", operand=number, dimension=d)
        state.record(inst, d, size)


def _bounds_elsewhere(state: State, inst: HloInstruction) -> None:
    """A dimension that is flagged, and has no size by the rules, is as large as its bound."""
    for d, flag in enumerate(inst.array_shape.dynamic):
        if flag and state.sizes.size(inst, (), d) is None:
            state.record(inst, d, state.arithmetic(inst).constant(inst.array_shape.dimensions[d]))


# windows


def stated_window(inst: HloInstruction) -> Window:
    """The window of a well-formed call, with a row for each dimension of its first operand."""
    call = inst.attributes
    assert isinstance(call, CustomCallTarget)
    assert call.window is not None
    return call.window


def _reduce_window(state: State, inst: HloInstruction) -> None:
    window = stated_window(inst)
    for d, size in state.array_sizes(inst, 0):
        row = window.dimensions[d]
        if row.base_dilation != 1:
            state.refuse(inst, "a dilated base has no SAME padding", operand=0, dimension=d)
        state.record(inst, d, size if row == TRIVIAL else same_places(state.arithmetic(inst), size, row))


def _select_and_scatter(state: State, inst: HloInstruction) -> None:
    window = stated_window(inst)
    for d, size in state.array_sizes(inst, 0):
        if window.dimensions[d].base_dilation != 1:
            state.refuse(inst, "a dilated base has no SAME padding", operand=0, dimension=d)
        state.record(inst, d, size)
    for d, _ in state.array_sizes(inst, 1):
        if state.sizes.size(inst.operand(0), (), d) is None:
            state.refuse(inst, "the source is dynamic where the operand is not", operand=1, dimension=d)


# convolutions


def stated_convolution(inst: HloInstruction) -> tuple[ConvolutionDimensions, bool]:
    """The attributes of a well-formed call's convolution, and whether its padding is SAME."""
    call = inst.attributes
    assert isinstance(call, CustomCallTarget)
    assert call.convolution is not None
    return call.convolution, call.padding_type == "SAME"


def _refuse_groups(state: State, inst: HloInstruction, numbers: ConvolutionDimensions) -> None:
    if numbers.feature_group_count != 1 or numbers.batch_group_count != 1:
        state.refuse(inst, "it has groups")


def _forward(state: State, inst: HloInstruction) -> None:
    numbers, same = stated_convolution(inst)
    arithmetic = state.arithmetic(inst)
    for d, size in state.array_sizes(inst, 0):
        _refuse_groups(state, inst, numbers)
        if d == numbers.input_batch:
            state.record(inst, numbers.output_batch, size)
        elif d != numbers.input_feature:
            at = numbers.input_spatial.index(d)
            row = numbers.window[at]
            if row.base_dilation != 1:
                state.refuse(inst, "the base is dilated", operand=0, dimension=d)
            if same:
                count = same_places(arithmetic, size, row)
            else:
                count = (places if state.sound.window_padding else valid_places)(arithmetic, size, row)
            state.record(inst, numbers.output_spatial[at], count)
    for d, _ in state.array_sizes(inst, 1):
        _refuse_groups(state, inst, numbers)
        if d != numbers.kernel_input_feature:
            state.refuse(inst, "the kernel is dynamic", operand=1, dimension=d)


def _input_gradient(state: State, inst: HloInstruction) -> None:
    """The sizes of flagged dimensions are elements of the first operand."""
    numbers, _ = stated_convolution(inst)
    builder = Builder(inst.parent)
    asked = inst.operand(0)
    gives = dict(
        zip(
            (numbers.input_batch, *numbers.input_spatial),
            (numbers.output_batch, *numbers.output_spatial),
            strict=True,
        )
    )
    for d, flag in enumerate(inst.array_shape.dynamic):
        if flag:
            element = builder.slice_(asked, (d,), (d + 1,))
            state.record(inst, d, builder.reshape(element, ()))
    for number, _, d, _ in state.operand_sizes(inst):
        _refuse_groups(state, inst, numbers)
        if number == 0:
            state.refuse(inst, "how many sizes there are is dynamic", operand=0, dimension=d)
        feature = (numbers.input_feature, numbers.kernel_input_feature)[number - 1]
        if d == feature:
            continue
        if number == 2 or state.sizes.size(inst, (), gives[d]) is None:
            state.refuse(inst, "the gradient's size is not asked for", operand=number, dimension=d)


def _kernel_gradient(state: State, inst: HloInstruction) -> None:
    """The result is static: what is dynamic is summed over. Space must be dynamic on both sides or neither."""
    numbers, _ = stated_convolution(inst)
    spatial = dict(zip(numbers.input_spatial, numbers.kernel_spatial, strict=True))
    mine, theirs = dict(state.array_sizes(inst, 0)), dict(state.array_sizes(inst, 1))
    if mine or theirs:
        _refuse_groups(state, inst, numbers)
    for d in mine:
        if d == numbers.input_batch or (d in spatial and spatial[d] not in theirs):
            state.refuse(inst, "the gradient is static there", operand=0, dimension=d)
    back = {j: i for i, j in spatial.items()}
    for d in theirs:
        if d == numbers.kernel_output_feature or (d in back and back[d] not in mine):
            state.refuse(inst, "the activations are static there", operand=1, dimension=d)


WINDOWED: dict[str, Callable[[State, HloInstruction], None]] = {
    REDUCE_WINDOW: _reduce_window,
    SELECT_AND_SCATTER: _select_and_scatter,
    FORWARD: _forward,
    INPUT_GRADIENT: _input_gradient,
    KERNEL_GRADIENT: _kernel_gradient,
}
"""Calls whose padding depends on sizes."""
