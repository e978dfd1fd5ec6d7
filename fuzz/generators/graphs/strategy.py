"""How is a whole graph drawn? A header says which operations and types it may have, then each has its own bytes.

Swarm: a graph of everything at once has little of anything. So each graph has a random subset of the opcodes and
a few element types, and its operations, choosing among these only, meet one another. Some graphs have idioms, too:
short chains that compilers like to rewrite, and that operations drawn one by one seldom are.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import MappingProxyType

from hypothesis import strategies as st

from fuzz.generators.draft import Draft
from fuzz.generators.graphs.algebra_idioms import algebra_idiom
from fuzz.generators.graphs.graph import RECORD_BYTES, Graph
from fuzz.generators.graphs.index_idioms import index_idiom
from fuzz.generators.graphs.palette import INTEGERS, STORED
from fuzz.generators.graphs.profile import GraphProfile
from fuzz.generators.graphs.rules import DRAWN, RULES
from fuzz.generators.program import Program
from fuzz.generators.tape import Tape
from hlo import SPECS, Opcode

_HEADER_BYTES = 12
_BYTE = tuple(range(256))
_SHARES = (256, 256, 128, 128, 64, 32)  # of the opcodes, in 1/256
_TYPE_COUNTS = (1, 2, 2, 3)
# They keep a graph from engines: StableHLO has none of them, or their bits are XLA's own choice.
_SELDOM_TAKEN = frozenset(
    {Opcode.RNG_BIT_GENERATOR, Opcode.SCALED_DOT, Opcode.EXP2, Opcode.LOG2, Opcode.SHUFFLE}
)
# which idioms a graph has; each is then as likely as half of what there is besides
_IDIOMS: tuple[tuple[Callable[[Graph], None], ...], ...] = (
    *((),) * 4,
    *((index_idiom,),) * 2,
    *((algebra_idiom,),) * 2,
    (index_idiom, algebra_idiom),
)
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
    idioms = header.choice(_IDIOMS if profile.idioms else _IDIOMS[:1])
    opcodes = _swarm(profile, header)
    types = tuple(dict.fromkeys(header.choice(profile.types) for _ in range(header.choice(_TYPE_COUNTS))))
    if algebra_idiom in idioms:
        types = tuple(dict.fromkeys((*types, header.choice(INTEGERS))))
    draft = Draft("graph")
    graph = Graph(draft, draft.entry, types, profile.shapes, header.choice(STORED))
    input_seed = drawn[0][-2] << 8 | drawn[0][-1]
    for record in records:
        graph.read(record)
        opcode, idiom = graph.choice(opcodes), graph.choice((None, None, *idioms))
        if idiom is None:
            RULES[opcode](graph, opcode)
        else:
            idiom(graph)
    _finish(graph)
    return Program(draft.module, input_seed, _NO_SWITCHES, frozenset())


def _swarm(profile: GraphProfile, header: Tape) -> list[Opcode]:
    """The opcodes of one graph: a share, picked by a byte. Ones that few engines take are rare."""
    share, salt = header.choice(_SHARES), header.choice(_BYTE)
    with_rare = header.choice(_RARELY)
    allowed = [opcode for opcode in RULES if opcode in DRAWN and SPECS[opcode].family in profile.families]
    usual = [opcode for opcode in allowed if opcode not in _SELDOM_TAKEN]
    # an odd multiplier spreads neighbours over all the bytes
    picked = [opcode for i, opcode in enumerate(usual) if (i * 157 + salt * 91 + i * salt * 34) % 256 < share]
    if with_rare:
        picked.extend(opcode for opcode in allowed if opcode in _SELDOM_TAKEN)
    return picked or allowed[:1]


def _finish(graph: Graph) -> None:
    """The root: a tuple of everything that nothing else uses, or the only such array itself."""
    outputs = graph.results() or graph.values[:1]
    root = outputs[0] if len(outputs) == 1 else graph.builder.tuple_(*outputs)
    graph.builder.computation.set_root(root)
