"""Which sizes has an array that was rearranged, joined or spread?"""

from __future__ import annotations

from hlo import HloInstruction, Opcode
from hlo.attributes import PaddingConfig
from passes.stock.dynamic_dimension_inference.elementwise import passed_on
from passes.stock.dynamic_dimension_inference.reshape import reshape
from passes.stock.dynamic_dimension_inference.state import Rule, State


def _broadcast(state: State, inst: HloInstruction) -> None:
    for dimension, size in state.array_sizes(inst, 0):
        state.record(inst, inst.dimensions[dimension], size)


def _transpose(state: State, inst: HloInstruction) -> None:
    for dimension, size in state.array_sizes(inst, 0):
        state.record(inst, inst.dimensions.index(dimension), size)


def _concatenate(state: State, inst: HloInstruction) -> None:
    """Along the joined dimension sizes add up, bounds standing in where there is none."""
    (joined,) = inst.dimensions
    for dimension in range(inst.array_shape.rank):
        sizes = [state.sizes.size(operand, (), dimension) for operand in inst.operands]
        dynamic = [size for size in sizes if size is not None]
        if not dynamic:
            continue
        if dimension != joined:
            state.record(inst, dimension, dynamic[-1])
            continue
        static = [
            o.array_shape.dimensions[dimension]
            for o, s in zip(inst.operands, sizes, strict=True)
            if s is None
        ]
        arithmetic = state.arithmetic(inst)
        total = arithmetic.add(dynamic[0], sum(static))
        for size in dynamic[1:]:
            total = arithmetic.add(total, size)
        state.record(inst, dimension, total)


def _pad(state: State, inst: HloInstruction) -> None:
    """size + low + high, and `interior` more between each two elements; at least 0."""
    padding = inst.attributes
    assert isinstance(padding, PaddingConfig)
    if state.sizes.has_dynamic(inst.operand(1)):
        state.refuse(inst, "the padding value is dynamic", operand=1)
    arithmetic = state.arithmetic(inst)
    for dimension, size in state.array_sizes(inst, 0):
        padded = size
        if interior := padding.interior[dimension]:
            gaps = arithmetic.maximum(arithmetic.subtract(size, 1), 0)
            padded = arithmetic.add(padded, arithmetic.multiply(gaps, interior))
        edges = padding.low[dimension] + padding.high[dimension]
        padded = arithmetic.add(padded, edges)
        state.record(inst, dimension, padded if edges >= 0 else arithmetic.maximum(padded, 0))


RULES: dict[Opcode, Rule] = {
    Opcode.BROADCAST: _broadcast,
    Opcode.CONCATENATE: _concatenate,
    Opcode.PAD: _pad,
    Opcode.RESHAPE: reshape,
    Opcode.REVERSE: passed_on,
    Opcode.TRANSPOSE: _transpose,
}
