"""What is there while a StableHLO program is being written? Its text so far, its arrays, and how large each one is.

An array's type says less than the writer knows: a size that is known may be written `?` all the same, which is what
dynamism that is only apparent looks like.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from fuzz.generators.stablehlo.sizes import Size
from fuzz.generators.tape import Tape

C = TypeVar("C")

RECORD_BYTES = 28
"""Decisions of one operation that are drawn; those behind are the simplest."""

_MOST_PARAMETERS = 5
_REACH = 10  # how many of the latest fitting arrays an operand is chosen of

ELEMENTS = ("f32", "i32", "f32", "i32", "i64", "f16", "ui8")
SMALL = (3, 2, 4, 1, 5)


@dataclass(frozen=True)
class Held:
    """An array: its name, its element type, and its sizes. `hidden` are the known ones that its type does not tell."""

    name: str
    element: str
    sizes: tuple[Size, ...]
    hidden: tuple[bool, ...]

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.sizes)

    @property
    def is_float(self) -> bool:
        """Whether its elements are floats."""
        return self.element.startswith("f")

    @property
    def dims(self) -> tuple[str, ...]:
        """Its sizes as its type tells them."""
        pairs = zip(self.sizes, self.hidden, strict=True)
        return tuple("?" if hidden or size.constant is None else str(size.constant) for size, hidden in pairs)

    @property
    def type(self) -> str:
        """Its type."""
        return tensor(self.dims, self.element)


def tensor(dims: Iterable[str | int], element: str) -> str:
    """A tensor type."""
    return f"tensor<{''.join(f'{dim}x' for dim in dims)}{element}>"


@dataclass
class Shared:
    """What all functions of a program have in common. `require` has sizes that must not be negative."""

    features: set[str] = field(default_factory=set[str])
    functions: list[str] = field(default_factory=list[str])
    require: list[Size] = field(default_factory=list[Size])
    names: int = 0


class Graph:
    """The arrays of one function, and the bytes that decide what comes next.

    `symbols` are the sizes that parameters may have which nobody knows; `shyness` is how many of 8 known sizes a type
    does not tell.
    """

    def __init__(self, shared: Shared, symbols: Sequence[Size], shyness: int) -> None:
        self.shared = shared
        self.symbols = tuple(symbols)
        self.shyness = shyness
        self.lines: list[str] = []
        self.parameters: list[Held] = []
        self.scalars: dict[Size, list[str]] = {}
        """i32 scalars that have a size, by the size."""
        self.known: dict[int, Size] = {}
        """Parameters whose element is a size, by number."""
        self.held: list[Held] = []
        self.used: set[str] = set()
        self.takes_parameters = True
        self.only_symbols = False
        self._tape = Tape(b"")
        self.read(b"")

    def read(self, record: bytes) -> None:
        """Decide by `record` from here on."""
        self._tape = Tape(record + bytes(256))

    def choice(self, options: Sequence[C]) -> C:
        """One of `options`, the first of which is the simplest."""
        return self._tape.choice(options)

    def note(self, *features: str) -> None:
        """Say that the program has these features."""
        self.shared.features.update(features)

    def inner(self) -> Graph:
        """A new function, decided by the same bytes."""
        graph = Graph(self.shared, (), self.shyness)
        graph._tape = self._tape
        graph.takes_parameters = False
        return graph

    # operations

    def fresh_name(self, stem: str = "v") -> str:
        """A name that nothing has."""
        self.shared.names += 1
        return f"%{stem}{self.shared.names}"

    def op(
        self,
        name: str,
        operands: Sequence[tuple[str, str]],
        result: str,
        attributes: str = "",
        regions: str = "",
    ) -> str:
        """Write an operation, in MLIR's generic form; operands have a name and a type. Returns the result's name."""
        made = self.fresh_name()
        given, types = ", ".join(n for n, _ in operands), ", ".join(t for _, t in operands)
        properties = f" <{{{attributes}}}>" if attributes else ""
        self.lines.append(
            f'{made} = "stablehlo.{name}"({given}){properties}{regions} : ({types}) -> {result}'
        )
        self.used.update(n for n, _ in operands)
        return made

    def hold(
        self, name: str, element: str, sizes: Sequence[Size], hidden: Sequence[bool] | None = None
    ) -> Held:
        """Say that `name` is an array. Returns it."""
        held = Held(
            name, element, tuple(sizes), tuple(hidden) if hidden is not None else (False,) * len(sizes)
        )
        self.held.append(held)
        return held

    def made(
        self,
        name: str,
        operands: Sequence[Held | tuple[str, str]],
        element: str,
        sizes: Sequence[Size],
        hidden: Sequence[bool],
        attributes: str = "",
        regions: str = "",
    ) -> Held:
        """Write an operation whose result is an array of the graph."""
        result = Held("", element, tuple(sizes), tuple(hidden))
        pairs = [(o.name, o.type) if isinstance(o, Held) else o for o in operands]
        return self.hold(self.op(name, pairs, result.type, attributes, regions), element, sizes, hidden)

    def demand(self, size: Size) -> bool:
        """Whether `size` can be 0 or more; the program is then judged for such sizes only."""
        if size.constant is None:
            self.shared.require.append(size)
            return True
        return size.constant >= 0

    def shy(self, sizes: Sequence[Size]) -> tuple[bool, ...]:
        """Which of the known sizes a new type does not tell."""
        hidden: list[bool] = []
        for size in sizes:
            hides = self.choice((False, *range(1, 8))) > 8 - 1 - self.shyness if self.shyness else False
            hidden.append(hides and size.constant is not None)
        return tuple(hidden)

    # operands

    def array(self, where: Callable[[Held], bool] = lambda held: True, rank: int | None = None) -> Held:
        """One that `where` likes; a new parameter if need be, which it must like where it has `rank` dimensions."""
        fits = [held for held in reversed(self.held) if where(held) and rank in (None, held.rank)]
        chosen = self.choice((None, *fits[:_REACH]))
        if chosen is not None:
            return chosen
        if fits and (not self.takes_parameters or len(self.parameters) >= _MOST_PARAMETERS):
            return fits[0]
        for _ in range(8):
            fresh = self.draw_parameter(rank)
            if where(fresh):
                return self.parameter(fresh)
        return fits[0] if fits else self.parameter(self.plain_parameter(rank or 1))

    def draw_parameter(self, rank: int | None = None) -> Held:
        """What a new parameter could be."""
        many = rank if rank is not None else self.choice((1, 2, 2, 3, 0))
        sizes = tuple(self.some_size() for _ in range(many))
        return Held("", self.choice(ELEMENTS), sizes, (False,) * many)

    def plain_parameter(self, rank: int) -> Held:
        """A parameter with which every operation can do something."""
        sizes = tuple(
            self.symbols[i % 2] if self.only_symbols else Size.of(SMALL[i % 3]) for i in range(rank)
        )
        return Held("", "f32", sizes, (False,) * rank)

    def some_size(self) -> Size:
        """A size of a new parameter: a symbol or a number."""
        if not self.symbols:
            return Size.of(self.choice(SMALL))
        numbers = () if self.only_symbols else tuple(map(Size.of, SMALL[:3]))
        return self.choice((*self.symbols, *self.symbols, *numbers))

    def parameter(self, like: Held) -> Held:
        """A new parameter of this type."""
        name = f"%p{len(self.parameters)}" if self.takes_parameters else self.fresh_name("a")
        held = self.hold(name, like.element, like.sizes, like.hidden)
        self.parameters.append(held)
        return held

    def like(self, held: Held, element: str | None = None) -> Held:
        """An array as large as `held`, another one if there is: its type may tell other sizes."""
        same = [
            other
            for other in reversed(self.held)
            if other.sizes == held.sizes and other.element == (element or held.element) and other is not held
        ]
        may_be_new = self.takes_parameters and len(self.parameters) < _MOST_PARAMETERS
        if (
            not same
            and may_be_new
            and all(map(self.is_symbol, held.sizes))
            and self.choice((False, False, True))
        ):
            return self.parameter(Held("", element or held.element, held.sizes, (False,) * held.rank))
        return self.choice(
            (*([held] if held.element == (element or held.element) else []), *same[:_REACH]) or (held,)
        )

    def is_symbol(self, size: Size) -> bool:
        """Whether a parameter can have this size."""
        return size.constant is not None or size in self.symbols

    def results(self) -> list[Held]:
        """What nothing uses, and so has to be returned."""
        parameters = {held.name for held in self.parameters}
        found = [held for held in self.held if held.name not in self.used and held.name not in parameters]
        return found or self.held[-1:]

    # functions

    def function(self, name: str, visibility: str, results: Sequence[Held]) -> str:
        """The text of the function that was written."""
        taken = ", ".join(f"{held.name}: {held.type}" for held in self.parameters)
        types = ", ".join(held.type for held in results)
        given = ", ".join(held.name for held in results)
        body = "\n".join(f"    {line}" for line in self.lines)
        return f"  func.func {visibility} @{name}({taken}) -> ({types}) {{\n{body}\n    return {given} : {types}\n  }}"
