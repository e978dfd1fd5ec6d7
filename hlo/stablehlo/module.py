"""How is a StableHLO program held that cannot be HLO, because sizes of it are not known until it runs?

The module of MLIR itself: passes over StableHLO rewrite real modules with MLIR's own bindings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from hlo.errors import InvalidInput
from hlo.interchange import export_proto, import_proto, mlir
from hlo.module import HloModule
from hlo.stablehlo.tensor_type import TensorType, type_of

ENTRY: Final = "main"
"""The function that a program begins with."""


# dynamic_slice and dynamic_update_slice are none: the sizes of their results are attributes
_SHAPED: Final = tuple(
    f"stablehlo.{name}"
    for name in (
        "real_dynamic_slice",
        *(f"dynamic_{kind}" for kind in ("br", "reshape", "iota", "pad", "gather", "conv")),
    )
)


class StableHloModule:
    """A StableHLO program. `mlir` is its `jaxlib.mlir.ir.Module`, which passes edit in place."""

    def __init__(self, module: Any) -> None:
        self.mlir = module

    @classmethod
    def read(cls, source: str | bytes) -> StableHloModule:
        """The program that text or bytecode spells. Raises InvalidInput with line and column."""
        return cls(mlir.parse_stablehlo(source))

    @classmethod
    def from_hlo(cls, module: HloModule) -> StableHloModule:
        """`module` as StableHLO; `op_name`s become locations. Raises InvalidInput where it has no such form."""
        return cls.from_proto(export_proto(module))

    @classmethod
    def from_proto(cls, proto: bytes) -> StableHloModule:
        """As `from_hlo`, for a module that is an HLO proto already."""
        return cls.read(mlir.proto_to_bytecode(proto))

    def to_hlo(self) -> HloModule:
        """The program as HLO; jaxlib folds constants on the way.

        Raises InvalidInput where the size of a tensor is neither known nor bounded.
        """
        for place, kind in self._tensors():
            if kind.is_unbounded:
                raise InvalidInput(f"{place}: {kind} has a size that is neither known nor bounded")
        return import_proto(mlir.stablehlo_to_proto(mlir.bytecode_of(self.mlir)))

    def clone(self) -> StableHloModule:
        """A copy that shares nothing."""
        return StableHloModule.read(mlir.bytecode_of(self.mlir))

    def assign(self, other: StableHloModule) -> None:
        """Become what `other` is; `other` must not be used afterwards."""
        self.mlir = other.mlir

    @property
    def text(self) -> str:
        """The program in MLIR's generic way of printing StableHLO, without locations."""
        return str(self.mlir)

    def __str__(self) -> str:
        return self.text

    def violations(self) -> list[str]:
        """What MLIR's verifier has against it."""
        return mlir.violations(self.mlir)

    @property
    def entry(self) -> Any:
        """The `func.FuncOp` called `main`. Raises InvalidInput where there is none."""
        for op in self.mlir.body.operations:
            if op.operation.name == "func.func" and op.name.value == ENTRY:
                return op
        raise InvalidInput(f"the program has no function {ENTRY}")

    @property
    def parameters(self) -> tuple[TensorType, ...]:
        """The types of what the program takes. Raises InvalidInput where one is no ranked tensor."""
        return tuple(map(type_of, self.entry.type.inputs))

    @property
    def results(self) -> tuple[TensorType, ...]:
        """The types of what the program gives. Raises InvalidInput where one is no ranked tensor."""
        return tuple(map(type_of, self.entry.type.results))

    @property
    def is_static(self) -> bool:
        """Whether the size of every tensor is known."""
        return all(kind.is_static for _, kind in self._tensors())

    @property
    def is_unbounded(self) -> bool:
        """Whether the size of some tensor is neither known nor bounded: such a program cannot be HLO."""
        return any(kind.is_unbounded for _, kind in self._tensors())

    @property
    def has_shape_operands(self) -> bool:
        """Whether some operation takes the size of its result as an operand."""
        return any(op.name.startswith(_SHAPED) for op in self.operations())

    def operations(self) -> Iterator[Any]:
        """Every operation, regions included, each before those inside it."""
        yield from _walk(self.mlir.operation)

    def _tensors(self) -> Iterator[tuple[str, TensorType]]:
        """Each ranked tensor, and where it is: the parameters of the entry first."""
        for number, kind in enumerate(self.parameters):
            yield f"parameter {number}", kind
        for op in self.operations():
            for result in op.results:
                if str(result.type).startswith("tensor<") and result.type.has_rank:
                    yield op.name, type_of(result.type)

    def specialised(self, sizes: Sequence[Sequence[int]]) -> StableHloModule:
        """The static program for parameters of these dimensions, one sequence a parameter. Bounded sizes stay so.

        Raises InvalidInput where they contradict the parameters' types or each other, where an assertion of the
        program does not hold, or where a shape depends on data.
        """
        kinds = self.parameters
        if len(sizes) != len(kinds):
            raise InvalidInput(f"{len(kinds)} parameters, but sizes for {len(sizes)}")
        wanted = [
            _refined(number, kind, given)
            for number, (kind, given) in enumerate(zip(kinds, sizes, strict=True))
        ]
        copy = self.clone()
        types = ",".join(map(str, wanted))
        if types:
            mlir.run_mlir_passes(copy.mlir, f"builtin.module(stablehlo-refine-arguments{{types={types}}})")
        bounded = any(any(kind.bounds) for _, kind in copy._tensors())
        return StableHloModule.read(mlir.refine_shapes(mlir.bytecode_of(copy.mlir), to_the_end=not bounded))


def _refined(number: int, kind: TensorType, sizes: Sequence[int]) -> TensorType:
    if len(sizes) != kind.rank or any(
        known not in (None, size) for known, size in zip(kind.dimensions, sizes, strict=True)
    ):
        raise InvalidInput(f"parameter {number} is {kind}, which is never {list(sizes)}")
    return kind.with_dimensions(sizes)


def _walk(op: Any) -> Iterator[Any]:
    yield op
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield from _walk(inner.operation)
