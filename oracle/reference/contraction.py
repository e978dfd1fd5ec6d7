"""How are arrays multiplied, in JAX?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from hlo import HloInstruction, Opcode, UnsupportedOpcode
from hlo.attributes import DotDimensions, RaggedDotDimensions
from oracle.reference.kernels import WHERE, JaxFunction, Kernel
from oracle.reference.rule import Rule, Trace

Numbers = tuple[tuple[tuple[int, ...], tuple[int, ...]], tuple[tuple[int, ...], tuple[int, ...]]]


def _dot(inst: HloInstruction, trace: Trace) -> Kernel:
    """Batch dimensions first, then the free ones of the left and of the right side: HLO's order is JAX's."""
    if len(inst.operands) != 2:
        raise UnsupportedOpcode("dot with sparsity metadata", WHERE)
    dims = inst.attributes
    assert isinstance(dims, DotDimensions)
    dtype = inst.array_shape.element_type.numpy
    return Kernel((inst.opcode, dims, dtype), _product(_numbers(dims), dtype))


def _numbers(dims: DotDimensions) -> Numbers:
    return (dims.lhs_contracting, dims.rhs_contracting), (dims.lhs_batch, dims.rhs_batch)


def _product(numbers: Numbers, dtype: np.dtype[Any]) -> JaxFunction:
    def function(left: Any, right: Any) -> Any:
        if left.dtype != right.dtype:
            left, right = lax.convert_element_type(left, dtype), lax.convert_element_type(right, dtype)
        return lax.dot_general(
            left, right, numbers, precision=lax.Precision.HIGHEST, preferred_element_type=dtype
        )

    return function


def _ragged_dot(inst: HloInstruction, trace: Trace) -> Kernel:
    """JAX's own, but where a row meets its group's slice of the right side.

    There JAX multiplies each row with every group, masked by zeros, which makes NaN of another group's infinity.
    Here it is the products that are masked.
    """
    ragged = inst.attributes
    assert isinstance(ragged, RaggedDotDimensions)
    dtype = inst.array_shape.element_type.numpy
    function = _by_rows(ragged, dtype) if ragged.rhs_group else _by_jax(ragged, dtype)
    return Kernel((inst.opcode, ragged, dtype), function)


def _by_jax(ragged: RaggedDotDimensions, dtype: np.dtype[Any]) -> JaxFunction:
    dimensions = lax.RaggedDotDimensionNumbers(_numbers(ragged.dot), ragged.lhs_ragged, ragged.rhs_group)

    def function(left: Any, right: Any, sizes: Any) -> Any:
        if left.dtype != right.dtype:
            left, right = lax.convert_element_type(left, dtype), lax.convert_element_type(right, dtype)
        return lax.ragged_dot_general(
            left,
            right,
            sizes.astype(np.int64),
            dimensions,
            precision=lax.Precision.HIGHEST,
            preferred_element_type=dtype,
        )

    return function


def _by_rows(ragged: RaggedDotDimensions, dtype: np.dtype[Any]) -> JaxFunction:
    dot, (group,) = ragged.dot, ragged.rhs_group

    def after(dimensions: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(d - (d > group) for d in dimensions)

    numbers = (
        (dot.lhs_contracting, after(dot.rhs_contracting)),
        (dot.lhs_batch, after(dot.rhs_batch)),
    )
    multiply = _product(numbers, dtype)

    def function(left: Any, right: Any, sizes: Any) -> Any:
        products = jax.vmap(multiply, (None, group))(left, right)  # [groups, batches, rows, columns]
        outside = ragged.outside(left.ndim)
        rows = left.shape[ragged.lhs_ragged[0]]
        wide = (*(left.shape[d] for d in outside), sizes.shape[-1])
        ends = jnp.cumsum(jnp.broadcast_to(sizes.astype(np.int64), wide), axis=-1)
        starts = ends - sizes.astype(np.int64)
        row = jnp.arange(rows)[:, None]
        members = (starts[..., None, :] <= row) & (row < ends[..., None, :])  # [outside, rows, groups]
        members = jnp.moveaxis(members, -1, 0)
        members = members.reshape(members.shape + (1,) * (products.ndim - members.ndim))
        chosen = jnp.where(members, products, jnp.zeros_like(products))
        return jnp.any(chosen, 0) if dtype == np.bool_ else jnp.sum(chosen, 0, dtype=dtype)

    return function


def _scaled_dot(inst: HloInstruction, trace: Trace) -> Kernel:
    """Both sides times their scales, repeated over the blocks; rounded to BF16 where nothing is wider, then the dot.

    `lax.scaled_dot` is for the types that make BF16 only.
    """
    dims = inst.attributes
    assert isinstance(dims, DotDimensions)
    dtype = inst.array_shape.element_type.numpy
    multiply = _product(_numbers(dims), dtype)

    def function(left: Any, right: Any, left_scale: Any, right_scale: Any) -> Any:
        left, right = _scaled(left, left_scale), _scaled(right, right_scale)
        wider = max(np.dtype(left.dtype), np.dtype(right.dtype), np.dtype(np.float32), key=_size)
        return multiply(left.astype(wider), right.astype(wider)).astype(dtype)

    return Kernel((inst.opcode, dims, dtype), function)


def _scaled(x: Any, scale: Any) -> Any:
    if not scale.ndim:
        return x
    kinds = {np.dtype(x.dtype), np.dtype(scale.dtype)}
    to = max(kinds, key=_size)
    if _size(to) < 2:
        to = np.dtype(jnp.bfloat16)
    elif len(kinds) == 2 and len({*map(_size, kinds)}) == 1:
        to = np.dtype(np.float32)
    scale = scale.astype(to)
    for d, size in enumerate(x.shape):
        if size != scale.shape[d]:
            scale = jnp.repeat(scale, size // scale.shape[d], axis=d)
    # XLA would leave out the rounding where a wider type follows
    return lax.optimization_barrier(x.astype(to) * scale)


def _size(dtype: np.dtype[Any]) -> int:
    return dtype.itemsize


RULES: Mapping[Opcode, Rule] = {
    Opcode.DOT: _dot,
    Opcode.RAGGED_DOT: _ragged_dot,
    Opcode.SCALED_DOT: _scaled_dot,
}
