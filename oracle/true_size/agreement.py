"""Which sizes do several operands come to that must have the same?"""

from __future__ import annotations

from collections.abc import Sequence

from hlo import HloInstruction
from oracle.true_size.leaf import Sized, Sizes, UndefinedSizes
from oracle.true_size.tracing import Tracer


def common_size(inst: HloInstruction, sides: Sequence[tuple[Sized, int]]) -> int:
    """The size along one dimension of each side: what was set at run time counts, and must be the same everywhere."""
    ruling = {leaf.sizes[d] for leaf, d in sides if leaf.dynamic[d]}
    if len(ruling) > 1:
        raise UndefinedSizes(inst, f"operands differ in size: {', '.join(map(str, sorted(ruling)))}")
    leaf, dimension = sides[0]
    return ruling.pop() if ruling else leaf.sizes[dimension]


def common_sizes(inst: HloInstruction, leaves: Sequence[Sized]) -> tuple[Sizes, tuple[bool, ...]]:
    """The sizes of arrays of equal rank, and which were set at run time."""
    rank = range(len(leaves[0].sizes))
    sizes = tuple(common_size(inst, [(leaf, d) for leaf in leaves]) for d in rank)
    return sizes, tuple(any(leaf.dynamic[d] for leaf in leaves) for d in rank)


def cut_to(tracer: Tracer, leaf: Sized, sizes: Sizes) -> HloInstruction:
    """The low corner of `leaf`; what it does not have is not made up."""
    return tracer.resized(leaf.inst, tuple(map(min, leaf.sizes, sizes)))
