"""Which entry parameter has the size of which dimension of another one?

Source: `004_a2dddaa7cc47048c.txt`, "Where the size scalar originates": `DynamicParameterBinding::Bind`. The array
is given as large as its bound; what of it counts is said by an s32[] given beside it. Upstream gave the record up
for set-dimension-size at the top of the entry; `hlo.bound_parameters` leads from the one to the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hlo.errors import IllegalRewrite

Index = tuple[int, ...]


@dataclass(frozen=True, slots=True, order=True)
class DynamicDimension:
    """Dimension `dimension` of the array at shape index `index` of entry parameter `parameter`. All 0-based."""

    parameter: int
    index: Index
    dimension: int

    def __str__(self) -> str:
        return f"dimension {self.dimension} at {list(self.index)} of parameter {self.parameter}"


@dataclass(frozen=True, slots=True, order=True)
class DynamicSizeParameter:
    """The s32[] at shape index `index` of entry parameter `parameter`, 0-based."""

    parameter: int
    index: Index = ()

    def __str__(self) -> str:
        return f"{list(self.index)} of parameter {self.parameter}"


@dataclass(frozen=True, slots=True)
class DynamicParameterBinding:
    """An immutable mapping of dimensions to what has their sizes, in the order of the dimensions."""

    bindings: tuple[tuple[DynamicDimension, DynamicSizeParameter], ...] = ()

    def bind(self, size: DynamicSizeParameter, dimension: DynamicDimension) -> DynamicParameterBinding:
        """With one more binding. Raises IllegalRewrite where the dimension is bound already, as upstream does."""
        if self.size_of(dimension) is not None:
            raise IllegalRewrite(f"{dimension} is bound already")
        return DynamicParameterBinding(tuple(sorted((*self.bindings, (dimension, size)))))

    def size_of(self, dimension: DynamicDimension) -> DynamicSizeParameter | None:
        """What has the size of `dimension`, if it is bound."""
        return next((size for bound, size in self.bindings if bound == dimension), None)

    def __iter__(self) -> Iterator[tuple[DynamicDimension, DynamicSizeParameter]]:
        return iter(self.bindings)

    def __len__(self) -> int:
        return len(self.bindings)


NO_BINDING = DynamicParameterBinding()
