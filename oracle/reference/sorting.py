"""In which order do sort and topk put elements, in JAX?

`lax.sort` orders by the values of its keys, never by a computation. A comparator that compares one pair of
elements becomes such a key. Any other is asked about all pairs: of two elements the later one goes first only
where the comparator says so, which makes the sort stable, and an element's place is the number of those before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from hlo import HloInstruction, Opcode, PrimitiveType, UnsupportedOpcode
from hlo.attributes import Comparison, SortDimension, TopKOptions
from oracle.reducers import plain_comparison
from oracle.reference.kernels import WHERE, JaxFunction, Kernel
from oracle.reference.rule import Rule, Trace

_MOST_PAIRS = 1 << 22


def total_order_key(x: Any) -> Any:
    """Integers that are ordered as the elements of `x` are; floats by the total order (-NaN first, NaN last)."""
    kind = PrimitiveType.of(np.dtype(x.dtype))
    if not kind.is_float:
        # narrow integers have their order in a wider type, too
        return x.astype(np.int8 if kind.is_signed else np.uint8) if kind.bit_width < 8 else x
    if kind.bit_width < 8 or kind is PrimitiveType.F8E8M0FNU:
        x = x.astype(np.float32)
    bits = lax.bitcast_convert_type(x, np.dtype(f"i{np.dtype(x.dtype).itemsize}"))
    # the bits of a negative float count backwards
    flipped = lax.bitwise_xor(bits, lax.full_like(bits, np.iinfo(bits.dtype).max))
    return lax.select(lax.lt(bits, lax.full_like(bits, 0)), flipped, bits)


def _partial_order_key(x: Any) -> Any:
    """As `total_order_key`, but both zeros are one number."""
    kind = PrimitiveType.of(np.dtype(x.dtype))
    return total_order_key(lax.select(x == 0, lax.full_like(x, 0), x) if kind.is_float else x)


def _sort(inst: HloInstruction, trace: Trace) -> Kernel:
    options = inst.attributes
    assert isinstance(options, SortDimension)
    (comparator,) = inst.called_computations
    dim = options.dimension
    size = inst.operand(0).array_shape.dimensions[dim]
    plain = plain_comparison(comparator)
    if plain is not None and plain[1].direction in ("LT", "GT"):
        number, comparison = plain
        return Kernel((inst.opcode, dim, number, comparison), _by_key(number, comparison, dim))
    if inst.operand(0).array_shape.element_count * size > _MOST_PAIRS:
        raise UnsupportedOpcode(f"{inst.opcode} of {size} elements by more than one comparison", WHERE)
    function, key = trace(comparator)
    return Kernel((inst.opcode, dim, key), _by_pairs(function, dim))


def _by_key(number: int, comparison: Comparison, dim: int) -> JaxFunction:
    """Sorted by operand `number`, always stable: where a sort promises nothing, that is one of its results."""
    key_of = total_order_key if comparison.type == "TOTALORDER" else _partial_order_key

    def function(*operands: Any) -> Any:
        key = key_of(operands[number])
        if comparison.direction == "GT":
            # not(x) decreases as x increases, over all integers
            key = lax.bitwise_not(key)
        _, *results = lax.sort((key, *operands), dimension=dim, is_stable=True, num_keys=1)
        return tuple(results) if len(results) > 1 else results[0]

    return function


def _by_pairs(comparator: JaxFunction, dim: int) -> JaxFunction:
    def function(first_operand: Any, *others: Any) -> Any:
        operands = (first_operand, *others)
        size = first_operand.shape[dim]
        if first_operand.size == 0:
            return operands if others else first_operand
        moved = [jnp.moveaxis(x, dim, -1) for x in operands]
        square = (*moved[0].shape, size)
        pairs: list[Any] = []
        for x in moved:
            pairs.append(jnp.broadcast_to(x[..., :, None], square).reshape(-1))
            pairs.append(jnp.broadcast_to(x[..., None, :], square).reshape(-1))
        first = jax.vmap(comparator)(*pairs).reshape(square)  # [..., i, j]: i goes before j
        earlier = np.tri(size, k=-1, dtype=bool).T  # [i, j]: i < j
        before = jnp.where(earlier, ~jnp.swapaxes(first, -1, -2), first & ~np.eye(size, dtype=bool))
        place = jnp.sum(before, axis=-2, dtype=np.int64)
        # no order at all (an odd comparator) still gives every element a place
        order = jnp.argsort(place, axis=-1, stable=True)
        results = [jnp.moveaxis(jnp.take_along_axis(x, order, axis=-1), -1, dim) for x in moved]
        return tuple(results) if len(results) > 1 else results[0]

    return function


def _topk(inst: HloInstruction, trace: Trace) -> Kernel:
    """The first k of the last dimension by the total order and where they were; equal ones by position."""
    options = inst.attributes
    assert isinstance(options, TopKOptions)

    def function(x: Any) -> Any:
        key = total_order_key(x)
        key = lax.bitwise_not(key) if options.largest else key
        places = lax.broadcasted_iota(np.int32, x.shape, x.ndim - 1)
        _, values, where = lax.sort((key, x, places), dimension=x.ndim - 1, is_stable=True, num_keys=1)
        return values[..., : options.k], where[..., : options.k]

    return Kernel((inst.opcode, options), function)


RULES: Mapping[Opcode, Rule] = {Opcode.SORT: _sort, Opcode.TOPK: _topk}
