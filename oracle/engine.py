"""What does an engine promise? Whatever a program does to it, running it gives an outcome."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from hlo import HloModule, Value


@dataclass(frozen=True, eq=False)
class Ran:
    """The program ran and gave this value."""

    value: Value


@dataclass(frozen=True)
class Unsupported:
    """The engine does not do this program."""

    reason: str


@dataclass(frozen=True)
class Crashed:
    """The engine's process ended, or an engine in our own process broke."""

    reason: str


@dataclass(frozen=True)
class TimedOut:
    """No answer in time."""

    reason: str


Outcome = Ran | Unsupported | Crashed | TimedOut


class Lineage(Enum):
    """Where an engine's idea of what an operation does comes from. Engines of one lineage share their mistakes."""

    OURS = "ours"
    XLA = "XLA's CPU compiler"
    STABLEHLO = "StableHLO's interpreter"


class Engine(Protocol):
    """Something that runs programs."""

    @property
    def name(self) -> str:
        """How reports call it."""
        ...

    @property
    def lineage(self) -> Lineage:
        """Whose reading of HLO it follows."""
        ...

    def run(self, module: HloModule, inputs: Sequence[Value]) -> Outcome:
        """The result of `module` for `inputs`, one value for each parameter. Never raises for what `module` does."""
        ...
