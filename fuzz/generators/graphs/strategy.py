"""How is a whole graph drawn? A header says which operations and types it may have, then each has its own bytes.

Swarm: a graph of everything at once has little of anything. So each graph has a random subset of the opcodes and
a few element types, and its operations, choosing among these only, meet one another.
"""

from __future__ import annotations

from functools import partial
from types import MappingProxyType

from hypothesis import strategies as st

from fuzz.generators.draft import Draft
from fuzz.generators.graphs.graph import RECORD_BYTES, Graph
from fuzz.generators.graphs.palette import STORED
from fuzz.generators.graphs.profile import GraphProfile
from fuzz.generators.graphs.rules import RULES
from fuzz.generators.program import Program
from fuzz.generators.tape import Tape
from hlo import SPECS, Opcode

_HEADER_BYTES = 10
_BYTE = tuple(range(256))
_SHARES = (256, 256, 128, 128, 64, 32)  # of the opcodes, in 1/256
_TYPE_COUNTS = (1, 2, 2, 3)
_WITHOUT_REFERENCE = frozenset({Opcode.RNG_BIT_GENERATOR})  # XLA's bits are its own choice
_RARELY = (False,) * 11 + (True,)
_NO_SWITCHES = MappingProxyType[str, str]({})
_DEFAULT = GraphProfile()


def graphs(profile: GraphProfile = _DEFAULT) -> st.SearchStrategy[Program]:
    """Valid programs: operations of all families, on one another's results. All results reach the root.

    The simplest is a few times the absolute value of one parameter.
    """
    header = st.binary(min_size=_HEADER_BYTES, max_size=_HEADER_BYTES)
    record = st.binary(min_size=RECORD_BYTES, max_size=RECORD_BYTES)
    records = st.lists(record, min_size=profile.least_operations, max_size=profile.most_operations)
    return st.tuples(header, records).map(partial(_assemble, profile))


def _assemble(profile: GraphProfile, drawn: tuple[bytes, list[bytes]]) -> Program:
    header, records = Tape(drawn[0]), drawn[1]
    opcodes = _swarm(profile, header)
    types = tuple(dict.fromkeys(header.choice(profile.types) for _ in range(header.choice(_TYPE_COUNTS))))
    draft = Draft("graph")
    graph = Graph(draft, draft.entry, types, profile.shapes, header.choice(STORED))
    input_seed = drawn[0][-2] << 8 | drawn[0][-1]
    for record in records:
        graph.read(record)
        opcode = graph.choice(opcodes)
        RULES[opcode](graph, opcode)
    _finish(graph)
    return Program(draft.module, input_seed, _NO_SWITCHES, frozenset())


def _swarm(profile: GraphProfile, header: Tape) -> list[Opcode]:
    """The opcodes of one graph: a share, picked by a byte. Ones that JAX is not asked about are rare."""
    share, salt = header.choice(_SHARES), header.choice(_BYTE)
    unreferenced = header.choice(_RARELY)
    allowed = [opcode for opcode in RULES if SPECS[opcode].family in profile.families]
    referenced = [opcode for opcode in allowed if opcode not in _WITHOUT_REFERENCE]
    # an odd multiplier spreads neighbours over all the bytes
    picked = [
        opcode for i, opcode in enumerate(referenced) if (i * 157 + salt * 91 + i * salt * 34) % 256 < share
    ]
    if unreferenced:
        picked.extend(opcode for opcode in allowed if opcode in _WITHOUT_REFERENCE)
    return picked or allowed[:1]


def _finish(graph: Graph) -> None:
    """The root: a tuple of everything that nothing else uses, or the only such array itself."""
    outputs = graph.results() or graph.values[:1]
    root = outputs[0] if len(outputs) == 1 else graph.builder.tuple_(*outputs)
    graph.builder.computation.set_root(root)
