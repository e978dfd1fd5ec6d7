"""What do rearranging, joining and spreading give on arrays cut to their sizes?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from hlo import HloInstruction, Opcode
from hlo.attributes import PaddingConfig
from hlo.infer import common_factors
from oracle.true_size.leaf import Sized, Sizes, UndefinedSizes
from oracle.true_size.rule import Rule
from oracle.true_size.tracing import Tracer, filled


def _broadcast(tracer: Tracer, inst: HloInstruction, leaves: Sequence[Sized]) -> Sized:
    (leaf,) = leaves
    sizes, dynamic = list(inst.array_shape.dimensions), [False] * inst.array_shape.rank
    for mine, to in enumerate(inst.dimensions):
        sizes[to], dynamic[to] = leaf.sizes[mine], leaf.dynamic[mine]
    shape = inst.array_shape.with_dimensions(tuple(sizes))
    return filled(tracer.emit(inst, [tracer.cut(leaf)], shape=shape), dynamic)


def _transpose(tracer: Tracer, inst: HloInstruction, leaves: Sequence[Sized]) -> Sized:
    (leaf,) = leaves
    return filled(tracer.emit(inst, [tracer.cut(leaf)]), [leaf.dynamic[d] for d in inst.dimensions])


def _reverse(tracer: Tracer, inst: HloInstruction, leaves: Sequence[Sized]) -> Sized:
    (leaf,) = leaves
    return filled(tracer.emit(inst, [tracer.cut(leaf)]), leaf.dynamic)


def _concatenate(tracer: Tracer, inst: HloInstruction, leaves: Sequence[Sized]) -> Sized:
    new = tracer.emit(inst, [tracer.cut(leaf) for leaf in leaves])
    return filled(new, [any(flags) for flags in zip(*(leaf.dynamic for leaf in leaves), strict=True)])


def _pad(tracer: Tracer, inst: HloInstruction, leaves: Sequence[Sized]) -> Sized:
    leaf, value = leaves
    padding = inst.attributes
    assert isinstance(padding, PaddingConfig)
    for d, size in enumerate(leaf.sizes):
        inside = size + max(size - 1, 0) * padding.interior[d]
        if inside + padding.low[d] + padding.high[d] < 0:
            raise UndefinedSizes(inst, f"more is cropped from dimension {d} than its {inside} elements")
    return filled(tracer.emit(inst, [tracer.cut(leaf), value.inst]), leaf.dynamic)


def _reshape(tracer: Tracer, inst: HloInstruction, leaves: Sequence[Sized]) -> Sized:
    (leaf,) = leaves
    sizes, dynamic = reshaped_sizes(inst, leaf)
    shape = inst.array_shape.with_dimensions(sizes)
    return filled(tracer.emit(inst, [tracer.cut(leaf)], shape=shape), dynamic)


def reshaped_sizes(inst: HloInstruction, leaf: Sized) -> tuple[Sizes, tuple[bool, ...]]:
    """Sizes of a reshape's result, group of dimensions by group (`stock_passes.md` sections 1.3 and 3.9).

    The flagged dimension of a group takes up what its other dimensions leave. Raises UndefinedSizes where none or
    several could, or where the elements do not come out even.
    """
    before, after = inst.operand(0).array_shape.dimensions, inst.array_shape
    sizes, dynamic = list(after.dimensions), [False] * after.rank
    for (i, j), (i_end, j_end) in pairwise(common_factors(before, after.dimensions)):
        group = range(j, j_end)
        if not any(leaf.dynamic[i:i_end]):
            continue
        if (i_end - i, j_end - j) == (1, 1):
            sizes[j], dynamic[j] = leaf.sizes[i], True
            continue
        flagged = [d for d in group if after.is_dynamic_dimension(d)]
        elements = math.prod(leaf.sizes[i:i_end])
        fixed = math.prod(after.dimensions[d] for d in group if d not in flagged)
        if not flagged:
            # the bounds are full, so nothing was cut after all
            if elements != fixed:
                raise UndefinedSizes(inst, f"no dimension of {after} takes up the {elements} elements")
        elif len(flagged) > 1:
            raise UndefinedSizes(inst, f"several dimensions of {after} could take up the sizes")
        elif not fixed or elements % fixed:
            raise UndefinedSizes(inst, f"{elements} elements do not come out even in {after}")
        else:
            sizes[flagged[0]], dynamic[flagged[0]] = elements // fixed, True
    return tuple(sizes), tuple(dynamic)


RULES: dict[Opcode, Rule] = {
    Opcode.BROADCAST: _broadcast,
    Opcode.CONCATENATE: _concatenate,
    Opcode.PAD: _pad,
    Opcode.RESHAPE: _reshape,
    Opcode.REVERSE: _reverse,
    Opcode.TRANSPOSE: _transpose,
}
