"""How are windows over dynamic arrays drawn, with padding that the program states or that depends on sizes?

Source of the custom-calls: `stock_passes.md` sections 4.9, 4.11 and 5.16. Operands whose sizes must fit those of
another are given them by get-dimension-size, so that each program means something whatever sizes it is given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from fuzz.generators.dynamic.graph import DynamicGraph, Held, Name
from fuzz.generators.dynamic.operations import REDUCERS, initial, ranked
from fuzz.generators.palette import array_shape
from hlo import ArrayShape, HloComputation, HloInstruction, Opcode, PrimitiveType
from hlo.attributes import (
    ConvolutionDimensions,
    CustomCallTarget,
    Ints,
    Window,
    WindowDimension,
)

T = PrimitiveType
Draw = Callable[[DynamicGraph], None]


def _window(graph: DynamicGraph, dimensions: Ints) -> Window:
    rows: list[WindowDimension] = []
    for size in dimensions:
        row = WindowDimension(
            size=min(graph.choice((2, 1, 3)), max(size, 1)),
            stride=graph.choice((1, 1, 2)),
            padding_low=graph.choice((0, 0, 1)),
            padding_high=graph.choice((0, 0, 1)),
            base_dilation=graph.choice((1, 1, 1, 2)),
        )
        rows.append(row)
    return Window(tuple(rows))


def _reduce_window(graph: DynamicGraph) -> None:
    x = graph.array(ranked(1, 2))
    kind, opcode = x.shape.element_type, graph.choice(REDUCERS)
    window = _window(graph, x.shape.dimensions)
    function, init = graph.draft.reducer(opcode, kind), initial(graph, opcode, kind)
    inst = graph.builder.reduce_window(function, [x.inst], [init], window)
    graph.hold(inst, tuple(Name() if name else None for name in x.names))


def _select(graph: DynamicGraph, kind: PrimitiveType) -> HloComputation:
    select = graph.draft.computation("select")
    left, right = (select.parameter(number, array_shape(kind, ())) for number in range(2))
    select.computation.set_root(select.compare(left, right, graph.choice(("GE", "LE", "GT"))))
    return select.computation


def _source(graph: DynamicGraph, x: Held, counted: HloInstruction) -> HloInstruction:
    """What is scattered to the elements selected of `x`: as many as `counted`, the result of such a window, has."""
    source = graph.made(x.shape.element_type, counted.array_shape.dimensions, dynamic=False).inst
    for d in x.dynamic:
        source = graph.builder.set_dimension_size(source, graph.builder.get_dimension_size(counted, d), d)
    return source


def _select_and_scatter(graph: DynamicGraph) -> None:
    """Of windows that each see at least one element of an array that has any."""
    x = graph.array(ranked(1, 2))
    kind = x.shape.element_type
    window = Window(
        tuple(
            replace(
                row,
                base_dilation=1,
                padding_low=min(row.padding_low, row.size - 1),
                padding_high=min(row.padding_high, row.size - 1),
            )
            for row in _window(graph, x.shape.dimensions).dimensions
        )
    )
    init = graph.builder.constant(0, kind)
    counted = graph.builder.reduce_window(graph.draft.reducer(Opcode.ADD, kind), [x.inst], [init], window)
    select, scatter = _select(graph, kind), graph.draft.reducer(Opcode.ADD, kind)
    source = _source(graph, x, counted)
    graph.hold(graph.builder.select_and_scatter(select, scatter, x.inst, source, init, window), x.names)


# padding that depends on sizes


def _call(
    graph: DynamicGraph,
    attributes: CustomCallTarget,
    operands: Sequence[HloInstruction],
    shape: ArrayShape,
    *called: HloComputation,
) -> HloInstruction:
    return graph.builder.op(Opcode.CUSTOM_CALL, *operands, attributes=attributes, shape=shape, called=called)


def _same_window(graph: DynamicGraph, x: Held) -> Window:
    """A window whose padding along dynamic dimensions is not looked at, unless it is a window of one element."""
    rows: list[WindowDimension] = []
    for d, row in enumerate(_window(graph, x.shape.dimensions).dimensions):
        stated = row if x.names[d] is None else replace(row, padding_low=0, padding_high=0)
        rows.append(
            replace(stated, base_dilation=1, window_dilation=graph.choice((1, 1, 2)) if row.size > 1 else 1)
        )
    fits = [
        row if x.names[d] is not None or _count(size, row) else replace(row, window_dilation=1)
        for d, (size, row) in enumerate(zip(x.shape.dimensions, rows, strict=True))
    ]
    return Window(tuple(fits))


def _count(size: int, row: WindowDimension) -> int:
    reach = (row.size - 1) * row.window_dilation + 1
    return max(0, (size + row.padding_low + row.padding_high - reach) // row.stride + 1)


def _same_reduce_window(
    graph: DynamicGraph, x: Held, window: Window, opcode: Opcode, init: HloInstruction
) -> Held:
    kind = x.shape.element_type
    bounds = tuple(
        _count(size, row) if name is None or row == WindowDimension() else -(-size // row.stride)
        for size, row, name in zip(x.shape.dimensions, window.dimensions, x.names, strict=True)
    )
    shape = ArrayShape(kind, bounds, tuple(name is not None for name in x.names))
    target = CustomCallTarget("DynamicReduceWindowSamePadding", window=window)
    inst = _call(graph, target, [x.inst, init], shape, graph.draft.reducer(opcode, kind))
    return Held(inst, tuple(Name() if name else None for name in x.names))


def _reduce_window_same(graph: DynamicGraph) -> None:
    x = graph.array(ranked(1, 2))
    opcode = graph.choice(REDUCERS)
    init = initial(graph, opcode, x.shape.element_type)
    held = _same_reduce_window(graph, x, _same_window(graph, x), opcode, init)
    graph.hold(held.inst, held.names)


def _select_and_scatter_same(graph: DynamicGraph) -> None:
    x = graph.array(ranked(1, 2))
    kind = x.shape.element_type
    window = _same_window(graph, x)
    stated = zip(window.dimensions, x.names, strict=True)
    window = Window(
        tuple(row if name else replace(row, padding_low=0, padding_high=0) for row, name in stated)
    )
    init = graph.builder.constant(0, kind)
    counted = _same_reduce_window(graph, x, window, Opcode.ADD, init)
    called = _select(graph, kind), graph.draft.reducer(Opcode.ADD, kind)
    source = _source(graph, x, counted.inst)
    target = CustomCallTarget("DynamicSelectAndScatterSamePadding", window=window)
    shape = ArrayShape(kind, x.shape.dimensions, tuple(name is not None for name in x.names))
    graph.hold(_call(graph, target, [x.inst, source, init], shape, *called), x.names)


# convolutions: batches of a line of features, times taps of features in and out

_OUT = 2
"""How many features come out."""


@dataclass(frozen=True)
class _Forward:
    """A convolution whose padding depends on the size of the line."""

    image: Held
    kernel: HloInstruction
    row: WindowDimension
    padding: str
    result: Held


def _image(graph: DynamicGraph) -> Held:
    """A new array of three dimensions whose features are static and whose line is dynamic."""
    kind = graph.choice((T.S32, T.F32))
    dims = graph.choice(((2, 4, 2), (1, 5, 1), (2, 3, 2)))
    flags = (graph.choice((False, True)), True, False)
    if graph.is_entry and graph.choice((True, False)):
        inst = graph.draft.parameter(ArrayShape(kind, dims, flags))
        return graph.hold(inst, tuple(Name() if flag else None for flag in flags))
    held = graph.made(kind, dims, dynamic=False)
    for d, flag in enumerate(flags):
        if flag:
            held = graph.set_size(held, d, graph.scalar(dims[d]))
    return held


def _forward(graph: DynamicGraph, image: Held) -> _Forward:
    kind = image.shape.element_type
    batch, line, features = image.shape.dimensions
    row = WindowDimension(
        graph.choice((2, 1, 3)), stride=graph.choice((1, 2)), window_dilation=graph.choice((1, 1, 2))
    )
    padding = graph.choice(("SAME", "VALID"))
    if not _count(line, row):
        row, padding = replace(row, window_dilation=1), "SAME"
    names = image.names
    count = -(-line // row.stride) if padding == "SAME" and names[1] else _count(line, row)
    kernel = graph.made(kind, (row.size, features, _OUT), dynamic=False).inst
    numbers = ConvolutionDimensions((), 0, 2, (1,), 1, 2, (0,), 0, 2, (1,))
    target = CustomCallTarget(
        "DynamicConvolutionForward", window=Window((row,)), numbers=numbers, padding_type=padding
    )
    flags = (names[0] is not None, names[1] is not None, False)
    shape = ArrayShape(kind, (batch, count, _OUT), flags)
    inst = _call(graph, target, [image.inst, kernel], shape)
    result = Held(inst, (names[0], Name() if names[1] else None, None))
    return _Forward(image, kernel, row, padding, result)


def _convolution_forward(graph: DynamicGraph) -> None:
    x = graph.array(lambda dims: len(dims) == 3 and min(dims) > 0, kind=graph.choice((T.S32, T.F32)))
    if x.shape.rank != 3:
        x = _image(graph)
    result = _forward(graph, x).result
    graph.hold(result.inst, result.names)


def _convolution_input_gradient(graph: DynamicGraph) -> None:
    """As large as the image was; its sizes come in a vector."""
    forward = _forward(graph, _image(graph))
    builder, image = graph.builder, forward.image
    sizes = [builder.reshape(builder.get_dimension_size(image.inst, d), (1,)) for d in range(image.rank)]
    row = WindowDimension(
        forward.row.size,
        base_dilation=forward.row.stride,
        window_dilation=forward.row.window_dilation,
        reversal=True,
    )
    numbers = ConvolutionDimensions((), 0, 2, (1,), 2, 1, (0,), 0, 2, (1,))
    target = CustomCallTarget(
        "DynamicConvolutionInputGrad", window=Window((row,)), numbers=numbers, padding_type=forward.padding
    )
    shape = ArrayShape(
        image.shape.element_type, image.shape.dimensions, tuple(name is not None for name in image.names)
    )
    operands = [builder.concatenate(sizes, 0), forward.result.inst, forward.kernel]
    graph.hold(_call(graph, target, operands, shape), image.names)


def _convolution_kernel_gradient(graph: DynamicGraph) -> None:
    """As large as the kernel, which is static: batches and places are summed over."""
    forward = _forward(graph, _image(graph))
    image, gradient = forward.image, forward.result
    count = gradient.shape.dimensions[1]
    row = WindowDimension(count, stride=forward.row.window_dilation, window_dilation=forward.row.stride)
    numbers = ConvolutionDimensions((), 2, 0, (1,), 0, 2, (1,), 1, 2, (0,))
    target = CustomCallTarget(
        "DynamicConvolutionKernelGrad", window=Window((row,)), numbers=numbers, padding_type=forward.padding
    )
    shape = forward.kernel.array_shape.to_static()
    graph.hold(_call(graph, target, [image.inst, gradient.inst], shape), (None,) * 3)


WINDOWED_CALLS: Mapping[str, Draw] = {
    "reduce-window-same": _reduce_window_same,
    "select-and-scatter-same": _select_and_scatter_same,
    "convolution-forward": _convolution_forward,
    "convolution-input-gradient": _convolution_input_gradient,
    "convolution-kernel-gradient": _convolution_kernel_gradient,
}
"""The custom-calls."""

RULES: Mapping[str, Draw] = {
    "reduce-window": _reduce_window,
    "select-and-scatter": _select_and_scatter,
    **WINDOWED_CALLS,
}
