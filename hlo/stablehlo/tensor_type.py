"""What is known of a tensor before the program runs?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from hlo.errors import InvalidInput
from hlo.interchange.mlir import DYNAMIC, bounds_of
from hlo.primitive_type import PrimitiveType
from hlo.shape import ArrayShape

_SPELLINGS: Final = {
    PrimitiveType.PRED: "i1",
    PrimitiveType.C64: "complex<f32>",
    PrimitiveType.C128: "complex<f64>",
}


def _spelled(kind: PrimitiveType) -> str:
    """`kind` as MLIR spells it: `s32` is i32, `u8` ui8, `f8e4m3fn` f8E4M3FN."""
    if kind in _SPELLINGS:
        return _SPELLINGS[kind]
    text = kind.text
    if kind.is_signed:
        return f"i{text[1:]}"
    if kind.is_unsigned:
        return f"ui{text[1:]}"
    return text if kind.bit_width > 8 else f"f{text[1:].upper()}"


_BY_SPELLING: Final = {_spelled(kind): kind for kind in PrimitiveType}


@dataclass(frozen=True)
class TensorType:
    """An element type and dimensions. `None` is a dimension whose size only a run tells, written `?`.

    `bounds` says, for each unknown dimension that has one, how large it can be at most (`#stablehlo.bounds`).
    """

    element_type: PrimitiveType
    dimensions: tuple[int | None, ...]
    bounds: tuple[int | None, ...] = ()

    def __post_init__(self) -> None:
        if not self.bounds:
            object.__setattr__(self, "bounds", (None,) * len(self.dimensions))

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.dimensions)

    @property
    def is_static(self) -> bool:
        """Whether every size is known."""
        return None not in self.dimensions

    @property
    def is_unbounded(self) -> bool:
        """Whether some size is neither known nor bounded."""
        return any(
            size is None and bound is None for size, bound in zip(self.dimensions, self.bounds, strict=True)
        )

    def with_dimensions(self, dimensions: Sequence[int | None]) -> TensorType:
        """The type with these dimensions, of which none has a bound."""
        return TensorType(self.element_type, tuple(dimensions))

    def array_shape(self) -> ArrayShape:
        """The HLO shape of a static type. Raises InvalidInput for another."""
        sizes = [size for size in self.dimensions if size is not None]
        if len(sizes) != self.rank:
            raise InvalidInput(f"{self} has a size that is not known")
        return ArrayShape(self.element_type, tuple(sizes))

    def __str__(self) -> str:
        """As MLIR spells it: `tensor<?x4xf32, #stablehlo.bounds<8, ?>>`."""
        sizes = "".join(f"{_shown(size)}x" for size in self.dimensions)
        bounds = ", ".join(map(_shown, self.bounds))
        encoding = f", #stablehlo.bounds<{bounds}>" if any(self.bounds) else ""
        return f"tensor<{sizes}{_spelled(self.element_type)}{encoding}>"


def _shown(size: int | None) -> str:
    return "?" if size is None else str(size)


def type_of(mlir_type: Any) -> TensorType:
    """What an `ir.RankedTensorType` says. Raises InvalidInput for another type (a tuple, a token, no rank)."""
    text = str(mlir_type)
    element = str(getattr(mlir_type, "element_type", ""))
    if not text.startswith("tensor<") or not getattr(mlir_type, "has_rank", False):
        raise InvalidInput(f"{text} is not a tensor whose rank is known")
    if element not in _BY_SPELLING:
        raise InvalidInput(f"{text}: {element} is no element type of HLO")
    sizes = tuple(None if size == DYNAMIC else int(size) for size in mlir_type.shape)
    return TensorType(_BY_SPELLING[element], sizes, bounds_of(mlir_type))
