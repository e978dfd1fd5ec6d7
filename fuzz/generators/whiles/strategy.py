"""How is a program of rolled loops drawn? A header, then a tape for each loop."""

from __future__ import annotations

from functools import partial
from itertools import product

from hypothesis import strategies as st

from fuzz.generators.decorate import decorate, read_decoration
from fuzz.generators.draft import Draft
from fuzz.generators.program import SWITCHES, Program
from fuzz.generators.tape import Tape, tapes
from fuzz.generators.tiling import read_tiling, tell, write_tiling
from fuzz.generators.whiles.features import WhileFeature
from fuzz.generators.whiles.loop import write_while
from fuzz.generators.whiles.plan import WHILE_BYTES, read_while
from fuzz.generators.whiles.profile import DEFAULT, WhileProfile

# which environment, and whether a lone output is the root itself
_ENDS = tuple(product(SWITCHES, (True, False)))
_BYTE = tuple(range(256))


def whiles(profile: WhileProfile = DEFAULT) -> st.SearchStrategy[Program]:
    """Valid programs: one or more rolled loops, one after the other or one in the other.

    The simplest reads one row of a parameter in the only trip of a loop. Every decision shrinks by itself.
    """
    loops = st.lists(tapes(WHILE_BYTES), min_size=1, max_size=profile.max_loops)
    return st.tuples(tapes(WHILE_BYTES), loops).map(partial(_assemble, profile))


def _assemble(profile: WhileProfile, drawn: tuple[bytes, list[bytes]]) -> Program:
    header, loops = Tape(drawn[0]), drawn[1]
    lanes = (header.choice(profile.lanes), header.choice(profile.lanes))
    environment, array_root = header.choice(_ENDS if profile.environments else _ENDS[:2])
    input_seed = header.choice(_BYTE) << 8 | header.choice(_BYTE)
    decoration = read_decoration(header)

    draft = Draft("whiles")
    for tape in loops:
        write_while(draft, read_while(Tape(tape), lanes, profile))
    tiling = read_tiling(header, lanes[0], profile.tilings)
    written = write_tiling(draft, tiling) if tiling else []
    outputs = list(dict.fromkeys(draft.outputs))
    root = outputs[0] if array_root and len(outputs) == 1 else draft.entry.tuple_(*outputs)
    draft.entry.computation.set_root(root)
    if profile.decorations:
        decorate(draft, decoration)
        if tiling:
            tell(tiling, written)
    draft.note(*([WhileFeature.SEVERAL_LOOPS] if len(loops) > 1 else []))
    return Program(draft.module, input_seed, environment, frozenset(draft.features))
