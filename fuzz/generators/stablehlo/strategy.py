"""How is a program drawn whose sizes are unknown, or seem to be? A header says what kind; each operation has its bytes.

The writer knows how large every array is, in symbols, so that the sizes which a program is judged for fit by
construction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from hypothesis import strategies as st

from fuzz.generators.program import Program
from fuzz.generators.stablehlo.dynamic_ops import RULES as DYNAMIC
from fuzz.generators.stablehlo.graph import RECORD_BYTES, Graph, Held, Shared
from fuzz.generators.stablehlo.plain_ops import RULES as PLAIN
from fuzz.generators.stablehlo.shapes import DETOURS
from fuzz.generators.stablehlo.sizes import Size
from fuzz.generators.tape import Tape
from hlo.stablehlo import StableHloModule
from oracle.symbolic import Assignment

RULES: Mapping[str, Callable[[Graph], Held]] = MappingProxyType({**DYNAMIC, **PLAIN})
"""By name: each appends one operation, or a few."""


class Dynamism(StrEnum):
    """Of what kind a program's unknown sizes are."""

    APPARENT = "apparent"  # all follow from constants and from the sizes of static arrays
    PARTLY = "partly-real"  # some parameters have unknown sizes
    WHOLLY = "wholly-real"  # none is known


_NOTED = ("size-of-known", "size-of-unknown", "worked-out-size", "constant-shape", "known-expansion")

SymbolicFeature: type[StrEnum] = StrEnum(  # pyright: ignore[reportAssignmentType]
    "SymbolicFeature",
    {n.upper().replace("-", "_"): n for n in (*map(str, Dynamism), *RULES, *DETOURS, *_NOTED)},
)
"""What programs have, for statistics: the kind of dynamism, each operation, each way of saying a size."""

_FEATURES: Mapping[str, StrEnum] = MappingProxyType({str(feature): feature for feature in SymbolicFeature})

_HEADER_BYTES = 12
_BYTE = tuple(range(256))
_SHARES = (256, 128, 128, 64, 48)  # of the operations, in 1/256
_MOST_OPERATIONS = 7
_MOST_RESULTS = 6
_NO_SWITCHES = MappingProxyType[str, str]({})
_KINDS = (Dynamism.APPARENT, Dynamism.PARTLY, Dynamism.WHOLLY, Dynamism.PARTLY)
_SHYNESS = (0, 2, 4, 7)
_VALUES = ((3, 2), (1, 3), (0, 2), (2, 2), (5, 1), (4, 3), (2, 0), (1, 1))
"""What the two symbols are, for one assignment."""
_ASSIGNMENTS = 3


@dataclass(frozen=True, eq=False)
class SymbolicProgram:
    """As `fuzz.generators.Program`, for a program with unknown sizes; `assignments` has sizes that fit it."""

    module: StableHloModule
    input_seed: int
    environment: Mapping[str, str]
    features: frozenset[StrEnum]
    assignments: tuple[Assignment, ...]


AnyDrawn = Program | SymbolicProgram
"""A program of a campaign, in either form."""


def symbolics() -> st.SearchStrategy[SymbolicProgram]:
    """Valid StableHLO programs with operations whose sizes are operands. The simplest returns the size of an array."""
    header = st.binary(min_size=_HEADER_BYTES, max_size=_HEADER_BYTES)
    record = st.binary(min_size=RECORD_BYTES, max_size=RECORD_BYTES)
    return st.tuples(header, st.lists(record, min_size=1, max_size=_MOST_OPERATIONS)).map(_assemble)


def _assemble(drawn: tuple[bytes, list[bytes]]) -> SymbolicProgram:
    header, records = Tape(drawn[0]), drawn[1]
    kind, shyness = header.choice(_KINDS), header.choice(_SHYNESS)
    share, salt = header.choice(_SHARES), header.choice(_BYTE)
    values = [header.choice(_VALUES) for _ in range(_ASSIGNMENTS)]
    input_seed = header.choice(_BYTE) << 8 | header.choice(_BYTE)
    names = [name for i, name in enumerate(RULES) if (i * 157 + salt * 91) % 256 < share] or list(RULES)[:1]
    graph = _graph(kind, shyness)
    for record in records:
        graph.read(record)
        name = graph.choice(names)
        graph.note(name)
        RULES[name](graph)
    module = StableHloModule.read(text_of(graph))
    features = frozenset(_FEATURES[name] for name in graph.shared.features)
    return SymbolicProgram(module, input_seed, _NO_SWITCHES, features, _assignments(graph, values))


def _graph(kind: Dynamism, shyness: int) -> Graph:
    symbols = [Size.symbol(name) for name in ("b", "s")]
    graph = Graph(Shared(), symbols if kind is not Dynamism.APPARENT else (), shyness or 2)
    graph.note(str(kind))
    if kind is Dynamism.WHOLLY:
        graph.only_symbols = True
    return graph


def text_of(graph: Graph) -> str:
    """The program whose entry was written."""
    entry = graph.function("main", "public", graph.results()[-_MOST_RESULTS:])
    return "\n".join(("module {", entry, *graph.shared.functions, "}"))


def _assignments(graph: Graph, values: list[tuple[int, int]]) -> tuple[Assignment, ...]:
    found: dict[Assignment, None] = {}
    for b, s in values:
        symbols = {"b": b, "s": s, **{size.terms[0][0][0]: s for size in graph.known.values()}}
        # what some operation cannot do with so few elements, it can with more
        for more in range(4):
            tried = {name: number + more for name, number in symbols.items()}
            if all(size.value(tried) >= 0 for size in graph.shared.require):
                found[_assignment(graph, tried)] = None
                break
    return tuple(found)


def _assignment(graph: Graph, symbols: Mapping[str, int]) -> Assignment:
    sizes = tuple(tuple(size.value(symbols) for size in held.sizes) for held in graph.parameters)
    known = tuple((number, (size.value(symbols),)) for number, size in sorted(graph.known.items()))
    return Assignment(sizes, known)
