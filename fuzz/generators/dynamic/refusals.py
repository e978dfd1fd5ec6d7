"""What has to be refused, because no one knows how to do it right for arrays of sizes known at run time only?

Each rule here ends a program with one operation of that kind. They are kept apart from the others: a program that is
refused says nothing about what the rest of it becomes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fuzz.generators.dynamic.graph import DynamicGraph
from fuzz.generators.dynamic.refused_calls import REFUSED_CALLS, Refused
from fuzz.generators.palette import array_shape
from hlo import ArrayShape, HloComputation, HloInstruction, Opcode, PrimitiveType, Shape, TupleShape
from hlo.attributes import (
    BatchNormOptions,
    ConvolutionDimensions,
    GatherDimensions,
    Ints,
    ScatterDimensions,
    TriangularSolveOptions,
    Window,
    WindowDimension,
)

T = PrimitiveType


def _given(graph: DynamicGraph, kind: PrimitiveType, bounds: Ints, *dynamic: int) -> HloInstruction:
    """A parameter, with these dimensions dynamic."""
    flags = tuple(d in dynamic for d in range(len(bounds)))
    return graph.draft.parameter(ArrayShape(kind, bounds, flags))


def _static(graph: DynamicGraph, kind: PrimitiveType, dims: Ints) -> HloInstruction:
    return graph.draft.parameter(array_shape(kind, dims))


def _zero(graph: DynamicGraph, kind: PrimitiveType = T.S32) -> HloInstruction:
    return graph.builder.constant(0, kind)


# operations without a rule


def _call(graph: DynamicGraph) -> HloInstruction:
    x = _given(graph, T.S32, (4,), 0)
    callee = graph.draft.computation("callee")
    callee.computation.set_root(callee.op(Opcode.NEGATE, callee.parameter(0, x.shape)))
    return graph.builder.call(callee.computation, x)


def _fft(graph: DynamicGraph) -> HloInstruction:
    return graph.builder.fft(_given(graph, T.C64, (3, 4), 0), "FFT", (4,))


def _cholesky(graph: DynamicGraph) -> HloInstruction:
    return graph.builder.cholesky(_given(graph, T.F32, (3, 2, 2), 0))


def _triangular_solve(graph: DynamicGraph) -> HloInstruction:
    sides = _given(graph, T.F32, (2, 3), 1)
    options = TriangularSolveOptions(True, True, False, "NO_TRANSPOSE")
    return graph.builder.triangular_solve(_static(graph, T.F32, (2, 2)), sides, options)


def _topk(graph: DynamicGraph) -> HloInstruction:
    return graph.builder.topk(_given(graph, T.F32, (3, 4), 0), 2)


_FEATURES = (2,)


def _batch_norm_training(graph: DynamicGraph) -> HloInstruction:
    x = _given(graph, T.F32, (4, 2), 0)
    scale, offset = (_static(graph, T.F32, _FEATURES) for _ in range(2))
    return graph.builder.batch_norm_training(x, scale, offset, BatchNormOptions(0.5, 1))


def _batch_norm_inference(graph: DynamicGraph) -> HloInstruction:
    x = _given(graph, T.F32, (4, 2), 0)
    scale, offset, mean, variance = (_static(graph, T.F32, _FEATURES) for _ in range(4))
    return graph.builder.batch_norm_inference(x, scale, offset, mean, variance, BatchNormOptions(0.5, 1))


def _batch_norm_grad(graph: DynamicGraph) -> HloInstruction:
    x, gradient = (_given(graph, T.F32, (4, 2), 0) for _ in range(2))
    scale, mean, variance = (_static(graph, T.F32, _FEATURES) for _ in range(3))
    return graph.builder.batch_norm_grad(x, scale, mean, variance, gradient, BatchNormOptions(0.5, 1))


def _unknown_custom_call(graph: DynamicGraph) -> HloInstruction:
    x = _given(graph, T.S32, (4,), 0)
    return graph.builder.custom_call("nobody_knows_this", [x], array_shape(T.S32, (4,)))


# operations that have a rule, which does not hold for everything


def _bitcast_convert_to_narrow(graph: DynamicGraph) -> HloInstruction:
    return graph.builder.bitcast_convert(_given(graph, T.S32, (4,), 0), T.S8)


def _reshape_without_flag(graph: DynamicGraph) -> HloInstruction:
    return graph.builder.reshape(_given(graph, T.S32, (6,), 0), (2, 3), dynamic=(False, False))


def _reshape_with_two_flags(graph: DynamicGraph) -> HloInstruction:
    return graph.builder.reshape(_given(graph, T.S32, (6,), 0), (2, 3), dynamic=(True, True))


def _part_of_a_dimension(graph: DynamicGraph) -> HloInstruction:
    return graph.builder.dynamic_slice(_given(graph, T.S32, (4,), 0), [graph.start()], (2,))


def _gathered(
    graph: DynamicGraph, x: HloInstruction, indices: HloInstruction, **numbers: Ints | int
) -> HloInstruction:
    given = {"offset_dims": (), "collapsed_slice_dims": (), "start_index_map": (0,), "index_vector_dim": 1}
    return graph.builder.gather(x, indices, GatherDimensions(**(given | numbers)))  # pyright: ignore[reportArgumentType]


def _gather_part(graph: DynamicGraph) -> HloInstruction:
    x, indices = _given(graph, T.S32, (4,), 0), _static(graph, T.S32, (3,))
    return _gathered(graph, x, indices, offset_dims=(1,), slice_sizes=(2,))


def _gather_by_dynamic_vectors(graph: DynamicGraph) -> HloInstruction:
    x, indices = _static(graph, T.S32, (4,)), _given(graph, T.S32, (3, 1), 1)
    return _gathered(graph, x, indices, collapsed_slice_dims=(0,), slice_sizes=(1,))


def _gather_with_batch(graph: DynamicGraph) -> HloInstruction:
    dynamic = graph.choice(("array", "indices", "both"))
    x = _given(graph, T.S32, (3, 4), *((0,) if dynamic != "indices" else ()))
    indices = _given(graph, T.S32, (3, 2), *((0,) if dynamic != "array" else ()))
    return _gathered(
        graph,
        x,
        indices,
        collapsed_slice_dims=(1,),
        operand_batching_dims=(0,),
        start_indices_batching_dims=(0,),
        start_index_map=(1,),
        index_vector_dim=2,
        slice_sizes=(1, 1),
    )


def _scattered(
    graph: DynamicGraph,
    x: HloInstruction,
    indices: HloInstruction,
    updates: HloInstruction,
    **numbers: Ints | int,
) -> HloInstruction:
    given = {
        "update_window_dims": (),
        "inserted_window_dims": (0,),
        "scatter_dims_to_operand_dims": (0,),
        "index_vector_dim": 1,
    }
    reducer = graph.draft.reducer(Opcode.ADD, T.S32)
    return graph.builder.scatter(reducer, [x], indices, [updates], ScatterDimensions(**(given | numbers)))  # pyright: ignore[reportArgumentType]


def _scatter_by_dynamic_vectors(graph: DynamicGraph) -> HloInstruction:
    x, indices = _static(graph, T.S32, (4,)), _given(graph, T.S32, (3, 1), 1)
    return _scattered(graph, x, indices, _static(graph, T.S32, (3,)))


def _scatter_with_batch(graph: DynamicGraph) -> HloInstruction:
    x, indices = _given(graph, T.S32, (3, 4), 0), _given(graph, T.S32, (3, 2), 0)
    return _scattered(
        graph,
        x,
        indices,
        _given(graph, T.S32, (3, 2), 0),
        inserted_window_dims=(1,),
        input_batching_dims=(0,),
        scatter_indices_batching_dims=(0,),
        scatter_dims_to_operand_dims=(1,),
        index_vector_dim=2,
    )


def _scatter_into_several(graph: DynamicGraph) -> HloInstruction:
    xs = [_given(graph, T.S32, (4,), 0) for _ in range(2)]
    indices, updates = _static(graph, T.S32, (3,)), [_static(graph, T.S32, (3,)) for _ in range(2)]
    builder = graph.draft.computation("both")
    parameters = [builder.parameter(number, array_shape(T.S32, ())) for number in range(4)]
    builder.computation.set_root(
        builder.tuple_(*[builder.op(Opcode.ADD, parameters[i], parameters[2 + i]) for i in range(2)])
    )
    numbers = ScatterDimensions((), (0,), (0,), 1)
    return graph.builder.scatter(builder.computation, xs, indices, updates, numbers)


_WINDOWS: Mapping[str, Ints] = {"update_window_dims": (1,), "inserted_window_dims": ()}


def _scatter_windows(graph: DynamicGraph, x: HloInstruction, updates: HloInstruction) -> HloInstruction:
    return _scattered(graph, x, _static(graph, T.S32, (2,)), updates, **_WINDOWS)


def _scatter_dynamic_window(graph: DynamicGraph) -> HloInstruction:
    return _scatter_windows(graph, _static(graph, T.S32, (4,)), _given(graph, T.S32, (2, 3), 1))


def _scatter_dynamic_window_into_static(graph: DynamicGraph) -> HloInstruction:
    return _scatter_windows(graph, _static(graph, T.S32, (4,)), _given(graph, T.S32, (2, 4), 1))


def _scatter_small_window(graph: DynamicGraph) -> HloInstruction:
    return _scatter_windows(graph, _given(graph, T.S32, (4,), 0), _static(graph, T.S32, (2, 3)))


def _convolution_over_dynamic_space(graph: DynamicGraph) -> HloInstruction:
    x, kernel = _given(graph, T.F32, (2, 5, 2), 1), _static(graph, T.F32, (3, 2, 2))
    numbers = ConvolutionDimensions((WindowDimension(3),), 0, 2, (1,), 1, 2, (0,), 0, 2, (1,))
    return graph.builder.op(Opcode.CONVOLUTION, x, kernel, attributes=numbers)


def _subtraction(graph: DynamicGraph) -> HloComputation:
    return graph.draft.reducer(Opcode.SUBTRACT, T.S32)


def _reduce_by_subtraction(graph: DynamicGraph) -> HloInstruction:
    return graph.builder.reduce(_subtraction(graph), [_given(graph, T.S32, (4,), 0)], [_zero(graph)], (0,))


def _reduce_window_by_subtraction(graph: DynamicGraph) -> HloInstruction:
    window = Window((WindowDimension(2),))
    x = _given(graph, T.S32, (4,), 0)
    return graph.builder.reduce_window(_subtraction(graph), [x], [_zero(graph)], window)


def _scatter_what_has_no_size(graph: DynamicGraph) -> HloInstruction:
    x = _given(graph, T.S32, (4,), 0)
    select = graph.draft.computation("select")
    left, right = (select.parameter(number, array_shape(T.S32, ())) for number in range(2))
    select.computation.set_root(select.compare(left, right, "GE"))
    scatter = graph.draft.reducer(Opcode.ADD, T.S32)
    source, window = _given(graph, T.S32, (2,)), Window((WindowDimension(2, stride=2),))
    return graph.builder.select_and_scatter(select.computation, scatter, x, source, _zero(graph), window)


# loops and branches

_LOOP = 2


def _loop(graph: DynamicGraph, first: HloInstruction, step: Callable[..., HloInstruction]) -> HloInstruction:
    """A loop over `first` alone, which `step(builder, x)` changes."""
    state: Shape = TupleShape((array_shape(T.S32, ()), first.shape))
    body, condition = graph.draft.computation("body"), graph.draft.computation("condition")
    parameter = body.parameter(0, state)
    counted = body.op(Opcode.ADD, body.gte(parameter, 0), body.constant(1, T.S32))
    body.computation.set_root(body.tuple_(counted, step(body, body.gte(parameter, 1))))
    count = condition.gte(condition.parameter(0, state), 0)
    condition.computation.set_root(condition.compare(count, condition.constant(_LOOP, T.S32), "LT"))
    init = graph.builder.tuple_(_zero(graph), first)
    return graph.builder.gte(graph.builder.while_(condition.computation, body.computation, init), 1)


def _static_after_an_iteration(graph: DynamicGraph) -> HloInstruction:
    other = array_shape(T.S32, (4,))
    return _loop(graph, _given(graph, T.S32, (4,), 0), lambda body, _: body.iota(other, 0))


def _dynamic_after_an_iteration(graph: DynamicGraph) -> HloInstruction:
    def step(body, x):
        return body.set_dimension_size(x, body.constant(2, T.S32), 0)

    return _loop(graph, _static(graph, T.S32, (4,)), step)


def _branches(graph: DynamicGraph, x: HloInstruction, *, sized: bool) -> HloInstruction:
    branches: list[HloComputation] = []
    for name in ("yes", "no"):
        branch = graph.draft.computation(name)
        given = branch.parameter(0, x.shape)
        same = branch.op(Opcode.NEGATE, given)
        branch.computation.set_root(
            branch.set_dimension_size(same, branch.constant(2, T.S32), 0) if sized else same
        )
        branches.append(branch.computation)
    return graph.builder.conditional(_static(graph, T.PRED, ()), branches, [x, x])


def _branch_of_no_tuple(graph: DynamicGraph) -> HloInstruction:
    return _branches(graph, _given(graph, T.S32, (4,), 0), sized=False)


def _branch_gives_no_tuple(graph: DynamicGraph) -> HloInstruction:
    return _branches(graph, _static(graph, T.S32, (4,)), sized=True)


REFUSALS: Mapping[str, Refused] = REFUSED_CALLS | {
    function.__name__.removeprefix("_").replace("_", "-"): function
    for function in (
        *(_call, _fft, _cholesky, _triangular_solve, _topk, _unknown_custom_call),
        *(_batch_norm_training, _batch_norm_inference, _batch_norm_grad),
        *(_bitcast_convert_to_narrow, _reshape_without_flag, _reshape_with_two_flags, _part_of_a_dimension),
        *(_gather_part, _gather_by_dynamic_vectors, _gather_with_batch),
        *(_scatter_by_dynamic_vectors, _scatter_with_batch, _scatter_into_several, _scatter_dynamic_window),
        *(_scatter_dynamic_window_into_static, _scatter_small_window, _convolution_over_dynamic_space),
        *(_reduce_by_subtraction, _reduce_window_by_subtraction, _scatter_what_has_no_size),
        *(_static_after_an_iteration, _dynamic_after_an_iteration),
        *(_branch_of_no_tuple, _branch_gives_no_tuple),
    )
}
"""By name."""
