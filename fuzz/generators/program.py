"""What is one case of the campaign, and how is it drawn? The strategy that the other files of this package serve."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from itertools import product
from types import MappingProxyType

from hypothesis import strategies as st

from fuzz.generators.decorate import decorate, read_decoration
from fuzz.generators.draft import Draft
from fuzz.generators.features import Feature
from fuzz.generators.loops import write_loop
from fuzz.generators.plan import read_loop
from fuzz.generators.profile import DEFAULT, Profile
from fuzz.generators.straightline import write_extra
from fuzz.generators.tape import Tape, tapes
from fuzz.generators.tiling import read_tiling, tell, write_tiling
from hlo import HloModule

KILL_SWITCH = "NEURON_DISABLE_MOVEMENT_OF_SLICE_FROM_PARAM"

SWITCHES: tuple[Mapping[str, str], ...] = (
    *(MappingProxyType({}),) * 6,
    MappingProxyType({KILL_SWITCH: "0"}),
    MappingProxyType({KILL_SWITCH: "1"}),
)
SWITCH_FEATURES = {"0": Feature.KILL_SWITCH_OFF, "1": Feature.KILL_SWITCH_ON}
# which environment, and whether a lone output is the root itself
_ENDS = tuple(product(SWITCHES, (True, False)))
_BYTE = tuple(range(256))


@dataclass(frozen=True, eq=False)
class Program:
    """A module, what to draw its inputs with, the environment to set for the passes, and what is in it."""

    module: HloModule
    input_seed: int
    environment: Mapping[str, str]
    features: frozenset[StrEnum]


def programs(profile: Profile = DEFAULT) -> st.SearchStrategy[Program]:
    """Valid programs: one or more unrolled loops, other operations on what they give, decorations.

    The simplest is one dynamic-slice of an entry parameter at a literal 0. Every decision shrinks by itself.
    """
    loops = st.lists(tapes(), min_size=1, max_size=profile.max_loops)
    return st.tuples(tapes(), loops).map(partial(_assemble, profile))


def _assemble(profile: Profile, drawn: tuple[bytes, list[bytes]]) -> Program:
    header, loops = Tape(drawn[0]), drawn[1]
    lanes = (header.choice(profile.lanes), header.choice(profile.lanes))
    environment, array_root = header.choice(_ENDS if profile.environments else _ENDS[:2])
    input_seed = header.choice(_BYTE) << 8 | header.choice(_BYTE)
    budget = header.choice(profile.budgets)
    decoration = read_decoration(header)

    draft = Draft("fuzz")
    plans = [read_loop(Tape(loop), lanes, profile) for loop in loops]
    for plan in plans:
        write_loop(draft, plan, budget)
        budget = profile.later_budget
    for _ in range(profile.max_extras):
        write_extra(draft, header.choice(profile.extras), header)
    tiling = read_tiling(header, lanes[0], profile.tilings)
    written = write_tiling(draft, tiling) if tiling else []
    _finish(draft, array_root)
    if profile.decorations:
        decorate(draft, decoration)
        if tiling:
            tell(tiling, written)
    draft.note(*([Feature.TWO_LOOPS] if len(plans) > 1 else []))
    draft.note(*([Feature.TWO_LANES] if len({plan.lane for plan in plans}) > 1 else []))
    draft.note(*(SWITCH_FEATURES[value] for value in environment.values()))
    return Program(draft.module, input_seed, environment, frozenset(draft.features))


def _finish(draft: Draft, array_root: bool) -> None:
    """The root: all outputs, as an array where there is one and `array_root` says so."""
    outputs = list(dict.fromkeys(draft.outputs))
    if array_root and len(outputs) == 1:
        draft.note(Feature.ARRAY_ROOT)
        root = outputs[0]
    else:
        root = draft.entry.tuple_(*outputs)
    draft.entry.computation.set_root(root)
