"""What do the opcodes that slide a window compute, in JAX?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from hlo import HloInstruction, Opcode, TupleShape
from hlo.attributes import ConvolutionDimensions, Window, WindowDimension
from oracle.reference.kernels import JaxFunction, Kernel
from oracle.reference.rule import Rule, Trace

Ints = tuple[int, ...]


def _field(window: Sequence[WindowDimension], name: str) -> Ints:
    return tuple(getattr(dimension, name) for dimension in window)


def _padding(window: Sequence[WindowDimension]) -> list[tuple[int, int]]:
    return [(dimension.padding_low, dimension.padding_high) for dimension in window]


def _reduce_window(inst: HloInstruction, trace: Trace) -> Kernel:
    """Operands, then as many initial values, as in a reduce.

    Padding and the holes of a dilated base are no elements. Whether a window runs backwards changes only the
    order of the reduction, which HLO leaves open.
    """
    attributes = inst.attributes
    assert isinstance(attributes, Window)
    window = attributes.dimensions
    (reducer,) = inst.called_computations
    computation, key = trace(reducer)
    count = len(inst.operands) // 2
    takes = [p.array_shape.element_type.numpy for p in reducer.parameters]
    accumulators, elements = takes[:count], takes[count:]
    whole = isinstance(inst.shape, TupleShape)

    def fold(left: Any, right: Any) -> Any:
        folded = computation(*left, *right)
        return folded if isinstance(folded, tuple) else (folded,)

    def function(*operands: Any) -> Any:
        arrays = tuple(map(lax.convert_element_type, operands, (*elements, *accumulators)))
        reduced = lax.reduce_window(
            arrays[:count],
            arrays[count:],
            fold,
            window_dimensions=_field(window, "size"),
            window_strides=_field(window, "stride"),
            padding=_padding(window),
            base_dilation=_field(window, "base_dilation"),
            window_dilation=_field(window, "window_dilation"),
        )
        return tuple(reduced) if whole else reduced[0]

    return Kernel((inst.opcode, window, whole, *takes, key), function)


def _select_and_scatter(inst: HloInstruction, trace: Trace) -> Kernel:
    """Operand, source, initial value. In each window one element is selected: the first of those inside the

    operand, and then each further one that `select(selected, candidate)` is false for. Where it was, `scatter`
    combines an element of the source into an array of initial values; in row-major order of the source.
    """
    attributes = inst.attributes
    assert isinstance(attributes, Window)
    (select, select_key), (scatter, scatter_key) = map(trace, inst.called_computations)
    window = attributes.dimensions

    def function(operand: Any, source: Any, init: Any) -> Any:
        result = jnp.full(operand.size, init)
        if operand.size and source.size:
            places, inside = _window_places(window, operand.shape, source.shape)
            chosen, found = _selected(select, operand.reshape(-1), places, inside)
            result = _scattered(scatter, result, source.reshape(-1), chosen, found)
        return result.reshape(operand.shape)

    return Kernel((inst.opcode, window, select_key, scatter_key), function)


def _window_places(
    window: Sequence[WindowDimension], operand: Ints, result: Ints
) -> tuple[np.ndarray[Any, np.dtype[np.int64]], np.ndarray[Any, np.dtype[np.bool_]]]:
    """[elements of a window, windows]: where in the flat operand each element is, and whether it is there at all."""
    sizes = _field(window, "size")
    within = np.indices(sizes).reshape(len(sizes), -1, 1)
    windows = np.indices(result).reshape(len(result), 1, -1)
    place = np.zeros((math.prod(sizes), math.prod(result)), np.int64)
    inside = np.ones(place.shape, np.bool_)
    for d, dim in enumerate(window):
        at = windows[d] * dim.stride - dim.padding_low + within[d] * dim.window_dilation
        index, hole = at // dim.base_dilation, at % dim.base_dilation
        inside &= (hole == 0) & (index >= 0) & (index < operand[d])
        place = place * operand[d] + index
    return np.where(inside, place, 0), inside


def _selected(select: JaxFunction, operand: Any, places: Any, inside: Any) -> tuple[Any, Any]:
    """For each window the place of its selected element, and whether there is one."""
    all_places, all_inside = jnp.asarray(places), jnp.asarray(inside)
    ask = jax.vmap(select)

    def one(i: Any, state: tuple[Any, Any]) -> tuple[Any, Any]:
        chosen, found = state
        stays = ask(operand[chosen], operand[all_places[i]])
        better = all_inside[i] & ~(found & stays)
        return jnp.where(better, all_places[i], chosen), found | all_inside[i]

    nothing = jnp.zeros(places.shape[1], np.int64), jnp.zeros(places.shape[1], bool)
    return lax.fori_loop(0, places.shape[0], one, nothing)


def _scattered(scatter: JaxFunction, result: Any, source: Any, chosen: Any, found: Any) -> Any:
    def one(i: Any, state: Any) -> Any:
        old = state[chosen[i]]
        new = lax.select(found[i], scatter(old, source[i]), old)
        return lax.dynamic_update_slice(state, new[None], (chosen[i],))

    return lax.fori_loop(0, source.size, one, result)


def _convolution(inst: HloInstruction, trace: Trace) -> Kernel:
    dims = inst.attributes
    assert isinstance(dims, ConvolutionDimensions)
    dtype = inst.array_shape.element_type.numpy
    numbers = lax.ConvDimensionNumbers(
        lhs_spec=(dims.input_batch, dims.input_feature, *dims.input_spatial),
        rhs_spec=(dims.kernel_output_feature, dims.kernel_input_feature, *dims.kernel_spatial),
        out_spec=(dims.output_batch, dims.output_feature, *dims.output_spatial),
    )
    window = dims.window
    # `lax` has no backward windows: the kernel is turned round instead
    backwards = [d for d, dim in zip(dims.kernel_spatial, window, strict=True) if dim.reversal]

    def function(left: Any, right: Any) -> Any:
        if left.dtype != right.dtype:
            left, right = lax.convert_element_type(left, dtype), lax.convert_element_type(right, dtype)
        return lax.conv_general_dilated(
            left,
            lax.rev(right, backwards),
            window_strides=_field(window, "stride"),
            padding=_padding(window),
            lhs_dilation=_field(window, "base_dilation"),
            rhs_dilation=_field(window, "window_dilation"),
            dimension_numbers=numbers,
            feature_group_count=dims.feature_group_count,
            batch_group_count=dims.batch_group_count,
            precision=lax.Precision.HIGHEST,
            preferred_element_type=dtype,
        )

    return Kernel((inst.opcode, dims, dtype), function)


RULES: Mapping[Opcode, Rule] = {
    Opcode.CONVOLUTION: _convolution,
    Opcode.REDUCE_WINDOW: _reduce_window,
    Opcode.SELECT_AND_SCATTER: _select_and_scatter,
}
