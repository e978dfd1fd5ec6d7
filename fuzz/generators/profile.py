"""What may a campaign's programs contain? Knobs that narrow the generator; nothing is generated to be discarded."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum, auto

from fuzz.generators.palette import LANES, Lane
from fuzz.generators.tape import weighted
from hlo import PrimitiveType


class Form(Enum):
    """How an unrolled loop is written down."""

    INLINE = auto()
    PER_ITERATION = auto()  # one body computation an iteration
    SHARED = auto()  # one body computation, called many times
    MIXED = auto()  # a wrapper an iteration around one shared body
    ROLLED = auto()  # not unrolled after all: a while


class Extra(Enum):
    """What else may be done to a value; the family names are those of `hlo.Family`."""

    ELEMENTWISE = auto()
    SHAPE = auto()
    REDUCTION = auto()
    CONTRACTION = auto()
    CONDITIONAL = auto()


_FORMS = weighted({Form.INLINE: 2, Form.PER_ITERATION: 16, Form.SHARED: 4, Form.MIXED: 2, Form.ROLLED: 1})
_EXTRAS: tuple[Extra | None, ...] = weighted(
    {
        None: 40,
        Extra.ELEMENTWISE: 5,
        Extra.SHAPE: 5,
        Extra.REDUCTION: 2,
        Extra.CONTRACTION: 2,
        Extra.CONDITIONAL: 1,
    }
)
# What an iteration does differently shows by the second one, so 1 to 4 are usual; but an unrolled loop is longer.
# Of those that are drawn with 8 or more, about every third fits into the budget.
_ITERATIONS = weighted({1: 4, 2: 7, 3: 5, 4: 3, 5: 1, 6: 1, 7: 1, 8: 6, 9: 1, 10: 2, 11: 1, 12: 2})
_DEPTHS = weighted({0: 20, 1: 4, 2: 1, 3: 1})

TILINGS = (False,) * 5 + (True,)
"""Whether a program has a chain of updates that write a value piece by piece (`tiling`)."""


@dataclass(frozen=True)
class Profile:
    """Bounds and weights. Sequences hold the options simplest first; a repeated option is likelier.

    `budgets` bound, about, the instructions of a graph's first loop, and `later_budget` those of each further one:
    fewer iterations are written where they would not fit, but at least one.
    """

    lanes: tuple[Lane, ...] = (LANES[0],) * 5 + (LANES[1],) * 3 + LANES[2:]
    forms: tuple[Form, ...] = _FORMS
    iterations: tuple[int, ...] = _ITERATIONS
    depths: tuple[int, ...] = _DEPTHS
    extras: tuple[Extra | None, ...] = _EXTRAS
    max_loops: int = 3
    max_steps: int = 3  # an iteration, at most 3
    max_extras: int = 4
    budgets: tuple[int, ...] = weighted({60: 5, 140: 5})
    later_budget: int = 20
    tilings: tuple[bool, ...] = TILINGS
    environments: bool = True
    decorations: bool = True

    def with_types(self, *types: PrimitiveType) -> Profile:
        """Only the lanes whose data and index types are all in `types`. Raises ValueError where none is."""
        lanes = tuple(lane for lane in self.lanes if lane.data in types and lane.index in types)
        if not lanes:
            raise ValueError(f"no lane uses only {', '.join(t.text for t in types)}")
        return replace(self, lanes=lanes)


DEFAULT = Profile()
SMALL = Profile(
    lanes=LANES[:1],
    iterations=(1, 2, 3),
    depths=(0, 0, 1),
    max_loops=1,
    max_steps=2,
    max_extras=0,
    tilings=(False,),
    budgets=(40,),
)
