"""What is there while a bounded-dynamic graph is being written? Its arrays, and what each size is called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from fuzz.generators.draft import Draft
from fuzz.generators.palette import array_shape, filled
from fuzz.generators.tape import Tape
from hlo import ArrayShape, HloInstruction, Opcode, PrimitiveType
from hlo.attributes import Ints
from hlo.builder import Builder

C = TypeVar("C")

RECORD_BYTES = 24
"""Decisions of one operation that are drawn; those behind are the simplest."""

_REACH = 12  # how many of the latest fitting arrays an operand is chosen of

T = PrimitiveType
TYPES = (T.S32, T.S32, T.F32, T.S8)
SHAPES: tuple[Ints, ...] = ((4,), (4,), (3, 2), (2, 4), (4, 3), (6,), (1, 4), (2, 3, 2), (5,))


class Name:
    """What the size of a dimension is called: dimensions of one name have the same size."""


Names = tuple[Name | None, ...]
"""One for each dimension, None where it is static."""


@dataclass(frozen=True, slots=True)
class Held:
    """An array of the graph."""

    inst: HloInstruction
    names: Names

    @property
    def shape(self) -> ArrayShape:
        """Its shape."""
        return self.inst.array_shape

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.names)

    @property
    def dynamic(self) -> list[int]:
        """The dimensions with a size at run time."""
        return [d for d, name in enumerate(self.names) if name is not None]


def anything(_dimensions: Ints) -> bool:
    """Fits every array."""
    return True


class DynamicGraph:
    """The arrays of one computation, and the bytes that decide what comes next."""

    def __init__(self, draft: Draft, builder: Builder) -> None:
        self.draft = draft
        self.builder = builder
        self.held: list[Held] = []
        self.scalars: list[tuple[HloInstruction, int]] = []
        """s32[] sizes, each with the bound that it is at most."""
        self._tape = Tape(b"")
        self.read(b"")

    @property
    def is_entry(self) -> bool:
        """Whether new parameters may be made."""
        return self.builder is self.draft.entry

    def read(self, record: bytes) -> None:
        """Decide by `record` from here on."""
        self._tape = Tape(record + bytes(256))

    def choice(self, options: Sequence[C]) -> C:
        """One of `options`, the first of which is the simplest."""
        return self._tape.choice(options)

    def note(self, *features: StrEnum) -> None:
        """Say that the program has these features."""
        self.draft.note(*features)

    def inner(self, name: str) -> DynamicGraph:
        """A new computation, decided by the same bytes."""
        graph = DynamicGraph(self.draft, self.draft.computation(name))
        graph._tape = self._tape
        return graph

    # operands

    def array(
        self,
        where: Callable[[Ints], bool] = anything,
        *,
        dynamic: bool = True,
        kind: PrimitiveType | None = None,
    ) -> Held:
        """One that `where` likes; a new one if need be. `dynamic`: with a dynamic dimension, if there is one."""
        fits = [
            held
            for held in reversed(self.held)
            if where(held.shape.dimensions) and held.shape.element_type in ((kind,) if kind else TYPES)
        ]
        wanted = [held for held in fits if held.dynamic] if dynamic else fits
        chosen = self.choice((None, *(wanted or fits)[:_REACH]))
        return chosen or self.fresh(where, kind, dynamic=dynamic)

    def fresh(self, where: Callable[[Ints], bool], kind: PrimitiveType | None, *, dynamic: bool) -> Held:
        """A new array that `where` likes: a dynamic parameter, or a static array whose size is then set."""
        kind = kind or self.choice(TYPES)
        shapes = [dims for dims in SHAPES if where(dims)]
        return self.made(kind, self.choice(shapes or [(4, 3)]), dynamic=dynamic)

    def made(self, kind: PrimitiveType, dims: Ints, *, dynamic: bool = True) -> Held:
        """An array of these bounds with at least one dynamic dimension, if `dynamic`."""
        rank = len(dims)
        if not dynamic or not rank:
            return self.hold(self._static(kind, dims), (None,) * rank)
        flags = self.choice([(d,) for d in range(rank)] + [tuple(range(rank))])
        if self.is_entry and self.choice((True, False)):
            shape = ArrayShape(kind, dims, tuple(d in flags for d in range(rank)))
            return self.hold(
                self.draft.parameter(shape), tuple(Name() if d in flags else None for d in range(rank))
            )
        held = self.hold(self._static(kind, dims), (None,) * rank)
        for dimension in flags:
            held = self.set_size(held, dimension, self.scalar(dims[dimension]))
        return held

    def _static(self, kind: PrimitiveType, dims: Ints) -> HloInstruction:
        shape = array_shape(kind, dims)
        if self.is_entry and self.choice((True, True, False)):
            return self.draft.parameter(shape, reuse=self.choice((False, True)))
        return self.builder.constant(filled(kind, dims, self.choice((1, 2, 3))))

    def set_size(self, held: Held, dimension: int, size: HloInstruction) -> Held:
        """`held` with another size of one dimension."""
        inst = self.builder.set_dimension_size(held.inst, size, dimension)
        # one scalar is one size, wherever it is set
        name = self._name_of(size)
        return self.hold(inst, tuple(name if d == dimension else old for d, old in enumerate(held.names)))

    def _name_of(self, size: HloInstruction) -> Name:
        for held in self.held:
            if held.inst.opcode is Opcode.SET_DIMENSION_SIZE and held.inst.operand(1) is size:
                name = held.names[held.inst.dimensions[0]]
                assert name is not None
                return name
        return Name()

    def scalar(self, bound: int) -> HloInstruction:
        """An s32[] that is from 0 to `bound`: given, the size of some array, computed, or a constant."""
        known = [size for size, most in self.scalars if most == bound]
        way = self.choice(("given", "known", "computed", "asked", "constant"))
        if way == "known" and known:
            return self.choice(known)
        if way == "asked" and (
            sources := [h for h in self.held for d in h.dynamic if h.shape.dimensions[d] == bound]
        ):
            source = self.choice(sources)
            dimension = next(d for d in source.dynamic if source.shape.dimensions[d] == bound)
            return self._sized(self.builder.get_dimension_size(source.inst, dimension), bound)
        if way == "computed" and known:
            one = self.builder.constant(1, T.S32)
            less = self.builder.op(Opcode.SUBTRACT, self.choice(known), one)
            least, most = (self.builder.constant(value, T.S32) for value in (0, bound))
            return self._sized(self.builder.op(Opcode.CLAMP, least, less, most), bound)
        if way == "constant" or not self.is_entry:
            return self._sized(self.builder.constant(self.choice(range(bound + 1)), T.S32), bound)
        return self._sized(self.draft.parameter(array_shape(T.S32, ())), bound)

    def _sized(self, size: HloInstruction, bound: int) -> HloInstruction:
        self.scalars.append((size, bound))
        return size

    def like(self, held: Held, kind: PrimitiveType | None = None) -> Held:
        """Another array of the same bounds and names (or `held`), of the element type `kind`."""
        kind = kind or held.shape.element_type
        dims = held.shape.dimensions
        same = [
            other
            for other in reversed(self.held)
            if other.shape.dimensions == dims
            and other.names == held.names
            and other.shape.element_type is kind
        ]
        if chosen := self.choice((None, *[other for other in same if other is not held][:_REACH])):
            return chosen
        if self.choice((True, False)):
            made = Held(self._static(kind, dims), (None,) * held.rank)
            for dimension in held.dynamic:
                size = self.builder.get_dimension_size(held.inst, dimension)
                inst = self.builder.set_dimension_size(made.inst, size, dimension)
                made = Held(
                    inst, tuple(held.names[d] if d == dimension else n for d, n in enumerate(made.names))
                )
            return self.hold(made.inst, made.names)
        if kind is held.shape.element_type:
            return held
        return self.hold(self.builder.convert(held.inst, kind), held.names)

    def start(self, kind: PrimitiveType = T.S32) -> HloInstruction:
        """A scalar index."""
        if self.is_entry and self.choice((True, True, False)):
            return self.draft.parameter(array_shape(kind, ()))
        return self.builder.constant(self.choice((0, 1, 2, 3)), kind)

    # results

    def hold(self, inst: HloInstruction, names: Names) -> Held:
        """Make a result available."""
        held = Held(inst, names)
        self.held.append(held)
        return held

    def results(self) -> list[HloInstruction]:
        """What nothing uses, and so has to be returned."""
        found = [held.inst for held in self.held] + [size for size, _ in self.scalars]
        return list(dict.fromkeys(i for i in found if not i.users and i.opcode is not Opcode.PARAMETER))
