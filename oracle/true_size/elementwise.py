"""What do operations on elements do with arrays whose sizes differ?

Source: `stock_passes.md` section 4.7, Binary, and 15.2 points 5 to 7, for what programs rely on: a size of 1 at run
time is repeated, otherwise the smaller size counts; a side whose size is not set at run time follows the other.
"""

from __future__ import annotations

from collections.abc import Sequence

from hlo import ArrayShape, HloInstruction, Opcode
from hlo.opcode import ELEMENTWISE_BINARY, ELEMENTWISE_UNARY
from oracle.true_size.leaf import Sized, Sizes, UndefinedSizes
from oracle.true_size.rule import Rule
from oracle.true_size.tracing import Tracer, filled


def agreed(leaves: Sequence[Sized]) -> tuple[Sizes, tuple[bool, ...]]:
    """The sizes that arrays of equal rank come to, and which of them were set at run time."""
    sizes: list[int] = []
    dynamic: list[bool] = []
    for dimension in range(len(leaves[0].sizes)):
        ruling = [leaf.sizes[dimension] for leaf in leaves if leaf.dynamic[dimension]]
        dynamic.append(bool(ruling))
        size = ruling[0] if ruling else leaves[0].sizes[dimension]
        for other in ruling[1:]:
            repeats = (size == 1 and size < other) or (other == 1 and other < size)
            size = max(size, other) if repeats else min(size, other)
        sizes.append(size)
    return tuple(sizes), tuple(dynamic)


def fitted(tracer: Tracer, leaf: Sized, sizes: Sizes) -> HloInstruction:
    """The array of `leaf` cut, or repeated where its size is 1, to `sizes`."""
    held = tuple(min(mine, wanted) for mine, wanted in zip(leaf.sizes, sizes, strict=True))
    return tracer.spread(tracer.resized(leaf.inst, held), sizes)


def elementwise(tracer: Tracer, inst: HloInstruction, leaves: Sequence[Sized]) -> Sized:
    """Scalars among the operands (of clamp and select) stay scalars."""
    rank = max(len(leaf.sizes) for leaf in leaves)
    sizes, dynamic = agreed([leaf for leaf in leaves if len(leaf.sizes) == rank])
    operands = [fitted(tracer, leaf, sizes) if leaf.sizes else leaf.inst for leaf in leaves]
    shape = inst.array_shape.with_dimensions(sizes)
    return filled(tracer.emit(inst, operands, shape=shape), dynamic)


def _bitcast_convert(tracer: Tracer, inst: HloInstruction, leaves: Sequence[Sized]) -> Sized:
    """Types of other widths add or take away a last dimension, which holds all parts of an element."""
    (leaf,) = leaves
    before, after = len(leaf.sizes), inst.array_shape.rank
    if after < before and leaf.sizes[-1] != inst.operand(0).array_shape.dimensions[-1]:
        raise UndefinedSizes(inst, f"an element is made of parts, of which there are {leaf.sizes[-1]}")
    sizes = (*leaf.sizes, *inst.array_shape.dimensions[before:])[:after]
    dynamic = (*leaf.dynamic, *(False,) * (after - before))[:after]
    shape = ArrayShape(inst.array_shape.element_type, sizes)
    return filled(tracer.emit(inst, [tracer.cut(leaf)], shape=shape), dynamic)


RULES: dict[Opcode, Rule] = {
    **dict.fromkeys((*ELEMENTWISE_UNARY, *ELEMENTWISE_BINARY), elementwise),
    Opcode.CLAMP: elementwise,
    Opcode.COMPARE: elementwise,
    Opcode.CONVERT: elementwise,
    Opcode.COPY: elementwise,
    Opcode.MAP: elementwise,
    Opcode.REDUCE_PRECISION: elementwise,
    Opcode.SELECT: elementwise,
    Opcode.STOCHASTIC_CONVERT: elementwise,
    Opcode.BITCAST_CONVERT: _bitcast_convert,
}
