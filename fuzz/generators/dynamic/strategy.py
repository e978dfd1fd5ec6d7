"""How is a bounded-dynamic program drawn? A header says which operations it may have, then each has its own bytes.

A few programs end with an operation that has to be refused.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from types import MappingProxyType

from hypothesis import strategies as st

from fuzz.generators.draft import Draft
from fuzz.generators.dynamic.binding import bind_parameters
from fuzz.generators.dynamic.bridges import RULES as BRIDGES
from fuzz.generators.dynamic.control import RULES as CONTROL
from fuzz.generators.dynamic.graph import RECORD_BYTES, DynamicGraph
from fuzz.generators.dynamic.operations import RULES as OPERATIONS
from fuzz.generators.dynamic.outside import give_size_outside
from fuzz.generators.dynamic.refusals import REFUSALS
from fuzz.generators.dynamic.reshaping import RULES as RESHAPING
from fuzz.generators.dynamic.windows import RULES as WINDOWS
from fuzz.generators.dynamic.windows import WINDOWED_CALLS
from fuzz.generators.program import Program
from fuzz.generators.tape import Tape

RULES = MappingProxyType({**OPERATIONS, **RESHAPING, **WINDOWS, **BRIDGES, **CONTROL})
"""By name: each appends one operation."""

CUSTOM_CALLS = frozenset({*BRIDGES, *WINDOWED_CALLS})
"""Those of RULES whose operations are custom-calls, which not every compiler can be given."""

_BOUND, _OUTSIDE = "bound-parameter", "size-outside"

DynamicFeature: type[StrEnum] = StrEnum(  # pyright: ignore[reportAssignmentType]
    "DynamicFeature",
    {
        name.upper().replace("-", "_"): name
        for name in (*RULES, *(f"refused-{n}" for n in REFUSALS), _BOUND, _OUTSIDE)
    },
)
"""What programs have, for statistics: each operation by its name, each that is refused, and where sizes come from."""

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
    """What is drawn how often. Sequences hold the options, a repeated one is likelier.

    `refused`: whether a program ends with what has to be refused. `bound`: whether sizes of parameters are given by the
    module's binding where that can be. `sizes_outside`: every program gives some array a size that it cannot have.
    `without`: the operations of RULES that no program has.
    """

    refused: tuple[bool, ...] = (False,) * 15 + (True,)
    bound: tuple[bool, ...] = (False, False, True)
    sizes_outside: bool = False
    without: frozenset[str] = frozenset()


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
    # of all bytes: a header is often as it was before, and a refused program says nothing of the rest of it
    lot = zlib.crc32(b"".join((drawn[0], *records)))
    is_refused = profile.refused[lot % len(profile.refused)]
    refused = _REFUSED[lot // len(profile.refused) % len(_REFUSED)] if is_refused else None
    is_bound = header.choice(profile.bound)
    names = [name for i, name in enumerate(RULES) if (i * 157 + salt * 91) % 256 < share]
    names = [name for name in names if name not in profile.without] or list(RULES)[:1]
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
    if profile.sizes_outside:
        graph.read(records[0][::-1])
        graph.note(_FEATURES[_OUTSIDE])
        outputs = [*outputs, give_size_outside(graph)]
    root = outputs[0] if len(outputs) == 1 else graph.builder.tuple_(*outputs)
    draft.entry.computation.set_root(root)
    if is_bound and bind_parameters(draft.module):
        graph.note(_FEATURES[_BOUND])
    input_seed = drawn[0][-2] << 8 | drawn[0][-1]
    return Program(draft.module, input_seed, _NO_SWITCHES, frozenset(draft.features))
