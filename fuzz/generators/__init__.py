"""Which programs does a campaign try? Hypothesis strategies of valid HLO, aimed at where slice passes go wrong."""

from fuzz.generators.features import Feature
from fuzz.generators.profile import DEFAULT, SMALL, Extra, Form, Profile
from fuzz.generators.program import KILL_SWITCH, Program, programs
from fuzz.generators.sample import draw_sample

__all__ = [
    "DEFAULT",
    "KILL_SWITCH",
    "SMALL",
    "Extra",
    "Feature",
    "Form",
    "Profile",
    "Program",
    "draw_sample",
    "programs",
]
