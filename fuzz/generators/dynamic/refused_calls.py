"""Which custom-calls have to be refused, and which results and sizes? As `refusals`, of which these are a part.

Source: `stock_passes.md` sections 4.11 and 5.16.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from fuzz.generators.dynamic.graph import DynamicGraph
from fuzz.generators.palette import array_shape
from hlo import ArrayShape, HloComputation, HloInstruction, Opcode, PrimitiveType
from hlo.attributes import ConvolutionDimensions, CustomCallTarget, Ints, Window, WindowDimension
from hlo.evaluator import SLICE_TO_DYNAMIC

T = PrimitiveType
Refused = Callable[[DynamicGraph], HloInstruction]
"""Appends the operation and returns it: an array, or a tuple of arrays."""

_TAPS = WindowDimension(2)
_NUMBERS = ConvolutionDimensions((), 0, 2, (1,), 1, 2, (0,), 0, 2, (1,))
_KERNEL_NUMBERS = ConvolutionDimensions((), 2, 0, (1,), 0, 2, (1,), 1, 2, (0,))
_FORWARD = CustomCallTarget(
    "DynamicConvolutionForward", window=Window((_TAPS,)), numbers=_NUMBERS, padding_type="SAME"
)
_INPUT = replace(_FORWARD, target="DynamicConvolutionInputGrad")
_KERNEL = replace(
    _FORWARD,
    target="DynamicConvolutionKernelGrad",
    numbers=_KERNEL_NUMBERS,
    window=Window((WindowDimension(4),)),
)
_WINDOW = CustomCallTarget("DynamicReduceWindowSamePadding", window=Window((_TAPS,)))
_SELECT = CustomCallTarget("DynamicSelectAndScatterSamePadding", window=Window((replace(_TAPS, stride=2),)))


def _shape(kind: PrimitiveType, bounds: Ints, *dynamic: int) -> ArrayShape:
    return ArrayShape(kind, bounds, tuple(d in dynamic for d in range(len(bounds))))


def _given(graph: DynamicGraph, bounds: Ints, *dynamic: int, kind: PrimitiveType = T.F32) -> HloInstruction:
    """A parameter, with these dimensions dynamic."""
    return graph.draft.parameter(_shape(kind, bounds, *dynamic))


def _call(
    graph: DynamicGraph,
    target: CustomCallTarget,
    operands: Sequence[HloInstruction],
    shape: ArrayShape,
    *called: HloComputation,
) -> HloInstruction:
    return graph.builder.op(Opcode.CUSTOM_CALL, *operands, attributes=target, shape=shape, called=called)


def _reduced(graph: DynamicGraph, target: CustomCallTarget, *xs: HloInstruction) -> HloInstruction:
    zeros = [graph.builder.constant(0, T.F32) for _ in xs]
    return _call(graph, target, [*xs, *zeros], xs[0].array_shape, graph.draft.reducer(Opcode.ADD, T.F32))


def _several_windows(graph: DynamicGraph) -> HloInstruction:
    return _reduced(graph, _WINDOW, _given(graph, (4,), 0), _given(graph, (4,), 0))


def _window_of_another_rank(graph: DynamicGraph) -> HloInstruction:
    return _reduced(graph, _WINDOW, _given(graph, (4, 4), 0))


def _same_padding_of_a_dilated_base(graph: DynamicGraph) -> HloInstruction:
    target = replace(_WINDOW, window=Window((replace(_TAPS, base_dilation=2),)))
    return _reduced(graph, target, _given(graph, (4,), 0))


def _selected(graph: DynamicGraph, x: HloInstruction, source: HloInstruction) -> HloInstruction:
    select = graph.draft.computation("select")
    left, right = (select.parameter(number, array_shape(T.F32, ())) for number in range(2))
    select.computation.set_root(select.compare(left, right, "GE"))
    zero, add = graph.builder.constant(0, T.F32), graph.draft.reducer(Opcode.ADD, T.F32)
    return _call(graph, _SELECT, [x, source, zero], x.array_shape, select.computation, add)


def _dynamic_source_of_static_windows(graph: DynamicGraph) -> HloInstruction:
    return _selected(graph, _given(graph, (4,)), _given(graph, (2,), 0))


def _convolved(
    graph: DynamicGraph,
    target: CustomCallTarget,
    image: HloInstruction,
    kernel: HloInstruction,
) -> HloInstruction:
    return _call(graph, target, [image, kernel], _shape(T.F32, (1, 4, 3), 1))


def _convolution_without_window(graph: DynamicGraph) -> HloInstruction:
    target = CustomCallTarget(_FORWARD.target)
    return _convolved(graph, target, _given(graph, (1, 4, 2), 1), _given(graph, (2, 2, 3)))


def _convolution_of_groups(graph: DynamicGraph) -> HloInstruction:
    target = replace(_FORWARD, feature_group_count=2)
    return _call(
        graph,
        target,
        [_given(graph, (1, 4, 2), 1), _given(graph, (2, 1, 4))],
        _shape(T.F32, (1, 4, 4), 1),
    )


def _convolution_of_a_dilated_base(graph: DynamicGraph) -> HloInstruction:
    target = replace(_FORWARD, window=Window((replace(_TAPS, base_dilation=2),)))
    return _convolved(graph, target, _given(graph, (1, 4, 2), 1), _given(graph, (2, 2, 3)))


def _convolution_by_a_dynamic_kernel(graph: DynamicGraph) -> HloInstruction:
    return _convolved(graph, _FORWARD, _given(graph, (1, 4, 2), 1), _given(graph, (2, 2, 3), 0))


def _convolution_declared_wrongly(graph: DynamicGraph) -> HloInstruction:
    operands = [_given(graph, (1, 4, 2), 1), _given(graph, (2, 2, 3))]
    return _call(graph, _FORWARD, operands, _shape(T.F32, (1, 4, 5), 1))


def _input_gradient(
    graph: DynamicGraph, sizes: HloInstruction, gradient: HloInstruction, shape: ArrayShape
) -> HloInstruction:
    return _call(graph, _INPUT, [sizes, gradient, _given(graph, (2, 2, 3))], shape)


def _input_gradient_of_any_rank(graph: DynamicGraph) -> HloInstruction:
    sizes, gradient = _given(graph, (3,), 0, kind=T.S32), _given(graph, (1, 4, 2), 1)
    return _input_gradient(graph, sizes, gradient, _shape(T.F32, (1, 4, 3), 1))


def _input_gradient_not_asked_for(graph: DynamicGraph) -> HloInstruction:
    sizes, gradient = _given(graph, (3,), kind=T.S32), _given(graph, (1, 4, 2), 1)
    return _input_gradient(graph, sizes, gradient, _shape(T.F32, (1, 4, 3)))


def _kernel_gradient_of_dynamic_activations(graph: DynamicGraph) -> HloInstruction:
    operands = [_given(graph, (1, 4, 2), 1), _given(graph, (1, 4, 3))]
    return _call(graph, _KERNEL, operands, _shape(T.F32, (2, 2, 3)))


def _kernel_gradient_of_a_dynamic_gradient(graph: DynamicGraph) -> HloInstruction:
    operands = [_given(graph, (1, 4, 2)), _given(graph, (1, 4, 3), 1)]
    return _call(graph, _KERNEL, operands, _shape(T.F32, (2, 2, 3)))


def _window_of_two_types(graph: DynamicGraph) -> HloInstruction:
    x, zero = _given(graph, (4,), 0), graph.builder.constant(0, T.S32)
    return _call(graph, _WINDOW, [x, zero], x.array_shape, graph.draft.reducer(Opcode.ADD, T.S32))


def _cut_to_too_few_sizes(graph: DynamicGraph) -> HloInstruction:
    target = CustomCallTarget(SLICE_TO_DYNAMIC)
    cut = _call(graph, target, [_given(graph, (4,))], _shape(T.F32, (4,), 0))
    return graph.builder.op(Opcode.NEGATE, cut)


def _resize(graph: DynamicGraph) -> HloInstruction:
    x = _given(graph, (2, 4, 4, 1), 0, 1)
    return _call(graph, CustomCallTarget("ResizeNearest"), [x], _shape(T.F32, (2, 8, 8, 1), 0))


def _clamp_by_dynamic_bounds(graph: DynamicGraph) -> HloInstruction:
    """Its type is that of what is clamped, and tells nothing of a size."""
    bound, x = _given(graph, (4,), 0, kind=T.S32), _given(graph, (4,), kind=T.S32)
    return graph.builder.op(Opcode.CLAMP, bound, x, bound)


def _constant_size_outside(graph: DynamicGraph) -> HloInstruction:
    size = graph.builder.constant(graph.choice((5, -1)), T.S32)
    return graph.builder.set_dimension_size(_given(graph, (4,), kind=T.S32), size, 0)


REFUSED_CALLS: dict[str, Refused] = {
    function.__name__.removeprefix("_").replace("_", "-"): function
    for function in (
        *(_several_windows, _window_of_another_rank, _same_padding_of_a_dilated_base),
        *(_dynamic_source_of_static_windows, _convolution_without_window, _convolution_of_groups),
        *(_convolution_of_a_dilated_base, _convolution_by_a_dynamic_kernel, _convolution_declared_wrongly),
        *(_input_gradient_of_any_rank, _input_gradient_not_asked_for),
        *(_kernel_gradient_of_dynamic_activations, _kernel_gradient_of_a_dynamic_gradient),
        *(
            _window_of_two_types,
            _cut_to_too_few_sizes,
            _resize,
            _clamp_by_dynamic_bounds,
            _constant_size_outside,
        ),
    )
}
"""By name."""
