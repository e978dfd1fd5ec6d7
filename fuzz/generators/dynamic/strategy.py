"""How is a bounded-dynamic program drawn? A header says which operations it may have, then each has its own bytes.

A few programs end with an operation that has to be refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from types import MappingProxyType

from hypothesis import strategies as st

from fuzz.generators.draft import Draft
from fuzz.generators.dynamic.control import RULES as CONTROL
from fuzz.generators.dynamic.graph import RECORD_BYTES, DynamicGraph
from fuzz.generators.dynamic.operations import RULES as OPERATIONS
from fuzz.generators.dynamic.refusals import REFUSALS
from fuzz.generators.program import Program
from fuzz.generators.tape import Tape

RULES = MappingProxyType({**OPERATIONS, **CONTROL})
"""By name: each appends one operation."""

DynamicFeature: type[StrEnum] = StrEnum(  # pyright: ignore[reportAssignmentType]
    "DynamicFeature",
    {name.upper().replace("-", "_"): name for name in (*RULES, *(f"refused-{n}" for n in REFUSALS))},
)
"""What programs have, for statistics: each operation by its name, and each that is refused."""

_FEATURES: Mapping[str, StrEnum] = MappingProxyType(
    {str(feature).removeprefix("refused-"): feature for feature in DynamicFeature}
)

_REFUSED = tuple(REFUSALS)

_HEADER_BYTES = 6
_BYTE = tuple(range(256))
_SHARES = (256, 128, 128, 64, 48)  # of the operations, in 1/256
_MOST_OPERATIONS = 8
_NO_SWITCHES = MappingProxyType[str, str]({})


@dataclass(frozen=True)
class DynamicProfile:
    """What is drawn how often. `refused`: whether a program ends with what has to be refused, simplest first."""

    refused: tuple[bool, ...] = (False,) * 15 + (True,)


_USUAL = DynamicProfile()


def dynamics(profile: DynamicProfile = _USUAL) -> st.SearchStrategy[Program]:
    """Valid programs whose arrays have dynamic dimensions. All results reach the root."""
    header = st.binary(min_size=_HEADER_BYTES, max_size=_HEADER_BYTES)
    record = st.binary(min_size=RECORD_BYTES, max_size=RECORD_BYTES)
    return st.tuples(header, st.lists(record, min_size=1, max_size=_MOST_OPERATIONS)).map(
        partial(_assemble, profile)
    )


def _assemble(profile: DynamicProfile, drawn: tuple[bytes, list[bytes]]) -> Program:
    header, records = Tape(drawn[0]), drawn[1]
    share, salt = header.choice(_SHARES), header.choice(_BYTE)
    # of all bytes: a single one is often 0, or as it was before
    refused = _REFUSED[sum(drawn[0]) % len(_REFUSED)] if header.choice(profile.refused) else None
    names = [name for i, name in enumerate(RULES) if (i * 157 + salt * 91) % 256 < share] or list(RULES)[:1]
    draft = Draft("dynamic")
    graph = DynamicGraph(draft, draft.entry)
    for record in records:
        graph.read(record)
        name = graph.choice(names)
        graph.note(_FEATURES[name])
        RULES[name](graph)
    outputs = graph.results() or [graph.held[0].inst]
    if refused is not None:
        graph.note(_FEATURES[refused])
        outputs = [*outputs, REFUSALS[refused](graph)]
    root = outputs[0] if len(outputs) == 1 else graph.builder.tuple_(*outputs)
    draft.entry.computation.set_root(root)
    input_seed = drawn[0][-2] << 8 | drawn[0][-1]
    return Program(draft.module, input_seed, _NO_SWITCHES, frozenset(draft.features))
