"""What do instructions carry besides their meaning? Names of origin, attributes, edges of control.

The Neuron passes keep their notes in `op_name`, so what a user's program has there already is where they go
wrong: nothing, one text for many instructions (as unrolled JAX code has), or text that looks like a note.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from itertools import product
from types import MappingProxyType

from fuzz.generators.draft import Draft
from fuzz.generators.features import Feature
from fuzz.generators.tape import Tape, weighted
from hlo import HloInstruction, Opcode, OpMetadata


class Names(Enum):
    """Which text instructions have in `op_name`."""

    NONE = auto()
    BY_OPCODE = auto()  # as unrolled JAX code: every copy of an instruction has the same
    UNIQUE = auto()
    ONE = auto()  # all have the same


class Text(Enum):
    """A text that looks like a token, or is one that nobody wrote for this program."""

    STALE = auto()  # as an earlier run left it, with another start
    MIDDLE = auto()  # the key at the end of a word of the user's
    AFTER_COMMA = auto()
    ITERATION_ONLY = auto()
    TOO_LARGE = auto()
    NOT_A_NUMBER = auto()
    ATTRIBUTE = auto()  # no text at all: a frontend attribute, which has to survive


_NAMES = weighted({Names.NONE: 3, Names.BY_OPCODE: 3, Names.UNIQUE: 3, Names.ONE: 1})
_NUMBERS = (0, 1, 2, 9)
_TEXTS: tuple[tuple[Text, int] | None, ...] = (None,) * 80 + tuple(product((Text.STALE, *Text), _NUMBERS))
_EDGES = (False,) * 11 + (True,)
_ANY = tuple(range(256))
_PLACE = ("jit(f)/while/body", "jit(step)/jit(main)/while/body/closed_call")
_ATTRIBUTES = MappingProxyType({"origin": "user"})
_WITHOUT_EDGES = (Opcode.PARAMETER, Opcode.CONSTANT)


@dataclass(frozen=True, slots=True)
class Decoration:
    """What to add to a finished module. Positions are bytes, scaled to as many candidates as there are."""

    names: Names
    texts: tuple[tuple[tuple[Text, int] | None, int], ...]  # which text with which number, on which slice
    edge: bool
    edge_from: int
    edge_to: int


def read_decoration(tape: Tape) -> Decoration:
    """The decoration that comes next on a tape."""
    choice = tape.choice
    return Decoration(
        names=choice(_NAMES),
        texts=tuple((choice(_TEXTS), choice(_ANY)) for _ in range(2)),
        edge=choice(_EDGES),
        edge_from=choice(_ANY),
        edge_to=choice(_ANY),
    )


def decorate(draft: Draft, decoration: Decoration) -> None:
    """Add the decoration to every computation of the draft."""
    instructions = [inst for computation in draft.module.computations for inst in computation.instructions]
    _NAMERS[decoration.names](draft, instructions)
    slices = [i for i in instructions if i.opcode in (Opcode.DYNAMIC_SLICE, Opcode.DYNAMIC_UPDATE_SLICE)]
    texts = {slices[place * len(slices) >> 8]: text for text, place in decoration.texts if text and slices}
    for inst, text in texts.items():
        _mislead(draft, inst, *text)
    if decoration.edge:
        _add_edge(draft, instructions, decoration)


def _no_names(draft: Draft, instructions: list[HloInstruction]) -> None:
    pass


def _by_opcode(draft: Draft, instructions: list[HloInstruction]) -> None:
    draft.note(Feature.SHARED_OP_NAMES)
    known: dict[Opcode, OpMetadata] = {}
    for inst in instructions:
        metadata = known.get(inst.opcode)
        if metadata is None:
            word = inst.opcode.replace("-", "_")
            metadata = known[inst.opcode] = OpMetadata(f"{_PLACE[0]}/{word}", word)
        inst.metadata = metadata


def _unique(draft: Draft, instructions: list[HloInstruction]) -> None:
    draft.note(Feature.UNIQUE_OP_NAMES)
    for inst in instructions:
        inst.metadata = OpMetadata(f"{_PLACE[1]}/{inst.name}")


def _one(draft: Draft, instructions: list[HloInstruction]) -> None:
    draft.note(Feature.SHARED_OP_NAMES)
    metadata = OpMetadata(_PLACE[0])
    for inst in instructions:
        inst.metadata = metadata


_NAMERS: Mapping[Names, Callable[[Draft, list[HloInstruction]], None]] = MappingProxyType(
    {Names.NONE: _no_names, Names.BY_OPCODE: _by_opcode, Names.UNIQUE: _unique, Names.ONE: _one}
)


def _mislead(draft: Draft, inst: HloInstruction, text: Text, number: int) -> None:
    if text is Text.ATTRIBUTE:
        draft.note(Feature.FRONTEND_ATTRIBUTES)
        inst.frontend_attributes = _ATTRIBUTES
        return
    draft.note(Feature.STALE_TOKEN if text is Text.STALE else Feature.TOKEN_LIKE_TEXT)
    inst.metadata = OpMetadata(misleading(inst, text, number))


def misleading(inst: HloInstruction, text: Text, number: int) -> str:
    """An `op_name` for a slice or update that looks as if its start were `number` in every dimension."""
    key = "dsidxnow" if inst.opcode is Opcode.DYNAMIC_SLICE else "dusidxnow"
    rank = inst.operand(0).array_shape.rank

    def entries(word: str, value: object, before: str = "") -> str:
        return ",".join([f"{before}{word}={value}"] * rank)

    return {
        Text.STALE: f"x,{entries(key, number)},{entries('iterationidx', number)}",
        Text.MIDDLE: f"{entries(key, number, 'my_')},{entries('iterationidx', number, 'my_')}",
        Text.AFTER_COMMA: f"a,{entries(key, number)}",
        Text.ITERATION_ONLY: entries("iterationidx", number),
        Text.TOO_LARGE: f"{entries(key, 99_999_999_999)},{entries('iterationidx', 99_999_999_999)}",
        Text.NOT_A_NUMBER: f"{entries(key, 'i')},{entries('iterationidx', '')}",
    }[text]


def _add_edge(draft: Draft, instructions: list[HloInstruction], decoration: Decoration) -> None:
    """One control edge, between two instructions of one computation, in the order in which they were written."""
    able = [inst for inst in instructions if inst.opcode not in _WITHOUT_EDGES]
    before = able[decoration.edge_from * len(able) >> 8]
    later = [inst for inst in able if inst.parent is before.parent]
    later = later[later.index(before) + 1 :]
    if later:
        after = later[decoration.edge_to * len(later) >> 8]
        before.parent.add_control_dependency(before, after)
        draft.note(Feature.CONTROL_EDGE)
