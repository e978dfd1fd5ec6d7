"""What may programs of rolled loops contain? Knobs that narrow them."""

from __future__ import annotations

from dataclasses import dataclass

from fuzz.generators.palette import LANES, Lane
from fuzz.generators.profile import TILINGS
from fuzz.generators.tape import weighted


@dataclass(frozen=True)
class WhileProfile:
    """Bounds and weights. Sequences hold the options simplest first; a repeated option is likelier.

    `wrong_trip_counts` lets a loop's backend_config tell a number of trips that is not true. That is an attack on
    passes that must count for themselves; XLA believes such a count, so only use it with passes of this project.
    """

    lanes: tuple[Lane, ...] = (LANES[0],) * 6 + (LANES[1],) * 3 + LANES[2:]
    trips: tuple[int, ...] = weighted(
        {1: 8, 2: 16, 3: 14, 0: 5, 4: 8, 5: 4, 6: 2, 7: 1, 8: 2, 9: 1, 10: 1, 11: 1, 12: 1, 70: 1}
    )
    max_loops: int = 2
    max_accesses: int = 3  # in one body, at most 3
    nested: bool = True
    tilings: tuple[bool, ...] = TILINGS
    environments: bool = True
    decorations: bool = True
    wrong_trip_counts: bool = False


DEFAULT = WhileProfile()
