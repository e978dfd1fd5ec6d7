"""Which scalar holds the size of which dynamic dimension?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from hlo import ArrayShape, HloInstruction, IllegalRewrite, PrimitiveType, Shape, TupleShape, compatible
from hlo.shape import with_element

Index = tuple[int, ...]
"""Where an array is in nested tuples."""

Key = tuple[HloInstruction, Index, int]
"""An instruction, a shape index, and a dimension of the array there."""

SIZE = ArrayShape(PrimitiveType.S32)


class DynamicSizes:
    """The side table of the inference: for each dynamic dimension an s32[] instruction of the same computation.

    Source: `stock_passes.md` section 4.1. Recording a size clears the flag in the instruction's own shape, so that
    afterwards a flag means an array that is really smaller than its bound.
    """

    def __init__(self) -> None:
        self._sizes: dict[HloInstruction, dict[tuple[Index, int], HloInstruction]] = {}
        self.changed = False
        self.on_dynamic_arrays: dict[HloInstruction, None] = {}
        """What runs on arrays that are really smaller than their bounds, in order: operands must be made such."""

    def size(self, inst: HloInstruction, index: Index, dimension: int) -> HloInstruction | None:
        """The scalar with the size, or None where the dimension is static."""
        return self._sizes.get(inst, {}).get((index, dimension))

    def sizes(self, inst: HloInstruction, index: Index = ()) -> tuple[HloInstruction | None, ...]:
        """One entry for each dimension of the array at `index`."""
        rank = leaf(inst.shape, index).rank
        mine = self._sizes.get(inst, {})
        return tuple(mine.get((index, dimension)) for dimension in range(rank))

    def has_dynamic(self, inst: HloInstruction, under: Index = ()) -> bool:
        """Whether an array at or below the shape index `under` has a dimension with a size."""
        return any(index[: len(under)] == under for index, _ in self._sizes.get(inst, {}))

    def of(self, inst: HloInstruction) -> Iterator[tuple[Index, int, HloInstruction]]:
        """Every (shape index, dimension, size) of `inst`, in shape order."""
        mine = self._sizes.get(inst, {})
        for index, dimension in sorted(mine):
            yield index, dimension, mine[index, dimension]

    def items(self) -> Iterator[tuple[Key, HloInstruction]]:
        """Every key and its size, in the order of recording."""
        for inst, mine in self._sizes.items():
            for (index, dimension), size in mine.items():
                yield (inst, index, dimension), size

    def shape_with_flags(self, inst: HloInstruction) -> Shape:
        """The shape of `inst` with exactly those dimensions flagged that have a size."""
        mine = self._sizes.get(inst, {})

        def flagged(shape: Shape, index: Index) -> Shape:
            if isinstance(shape, TupleShape):
                return TupleShape(tuple(flagged(e, (*index, i)) for i, e in enumerate(shape.elements)))
            if isinstance(shape, ArrayShape):
                return replace(shape, dynamic=tuple((index, d) in mine for d in range(shape.rank)))
            return shape

        return flagged(inst.shape, ())

    def set_size(
        self,
        inst: HloInstruction,
        index: Index,
        dimension: int,
        size: HloInstruction,
        *,
        keep_flag: bool = False,
    ) -> None:
        """Record `size`. Raises IllegalRewrite for one that is none, or another than is recorded already."""
        if size.shape != SIZE or size.parent is not inst.parent:
            raise IllegalRewrite(f"{size.name} is not an s32[] in the computation of {inst.name}")
        if not 0 <= dimension < leaf(inst.shape, index).rank:
            raise IllegalRewrite(f"{inst.name} has no dimension {dimension} at {list(index)}")
        mine = self._sizes.setdefault(inst, {})
        known = mine.setdefault((index, dimension), size)
        if known is not size:
            raise IllegalRewrite(f"dimension {dimension} of {inst.name} has the size {known.name} already")
        if not keep_flag:
            shape = without_flag(inst.shape, index, dimension)
            self.changed |= shape != inst.shape
            inst.shape = shape

    def forward(self, old: HloInstruction, new: HloInstruction) -> None:
        """Record for `new`, which stands for `old`, the sizes of `old`. Raises IllegalRewrite for another shape."""
        if not compatible(old.shape, new.shape):
            raise IllegalRewrite(f"{new.name} {new.shape} does not stand for {old.name} {old.shape}")
        for index, dimension, size in tuple(self.of(old)):
            self.set_size(new, index, dimension, size)

    def forget(self, inst: HloInstruction) -> None:
        """Drop what is known of an instruction that is to be removed."""
        self._sizes.pop(inst, None)

    def replace_size(self, old: HloInstruction, new: HloInstruction) -> None:
        """Let `new` be the size wherever `old` was. Both are s32[]."""
        for mine in self._sizes.values():
            for key, size in mine.items():
                if size is old:
                    mine[key] = new


def leaf(shape: Shape, index: Index) -> ArrayShape:
    """The array at `index` of `shape`. Raises IllegalRewrite where there is none."""
    for i in index:
        if not isinstance(shape, TupleShape) or i >= len(shape.elements):
            raise IllegalRewrite(f"{shape} has no element {i}")
        shape = shape.elements[i]
    if not isinstance(shape, ArrayShape):
        raise IllegalRewrite(f"{shape} is not an array")
    return shape


def without_flag(shape: Shape, index: Index, dimension: int) -> Shape:
    """`shape` with one dimension of the array at `index` not flagged as dynamic."""
    if index:
        assert isinstance(shape, TupleShape)
        return with_element(shape, index[0], without_flag(shape.elements[index[0]], index[1:], dimension))
    assert isinstance(shape, ArrayShape)
    if not shape.is_dynamic_dimension(dimension):
        return shape
    return replace(shape, dynamic=tuple(f and d != dimension for d, f in enumerate(shape.dynamic)))
