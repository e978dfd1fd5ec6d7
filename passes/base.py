"""What is a pass, what does it promise, and how does it say what it did?"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

from hlo import HloModule


class Exactness(Enum):
    """How close a pass keeps the values of the program it rewrites."""

    BITWISE = "bitwise"  # every output bit, NaN payloads aside
    REASSOCIATES = "reassociates"  # floating-point rounding may differ


class Trace:
    """What a pass did, told while it runs.

    `fired` counts rewrites by rule; `declined` counts the times a legality rule or guard held a rewrite back;
    `messages` holds the diagnostics that upstream would log, in order.
    """

    def __init__(self) -> None:
        self.fired: Counter[str] = Counter()
        self.declined: Counter[str] = Counter()
        self.messages: list[str] = []

    def fire(self, rule: str) -> None:
        """Count one rewrite made by `rule`."""
        self.fired[rule] += 1

    def decline(self, rule: str, *messages: str) -> None:
        """Count one rewrite that `rule` held back, and log why."""
        self.declined[rule] += 1
        self.messages.extend(messages)

    def log(self, message: str) -> None:
        """Record a diagnostic."""
        self.messages.append(message)


@dataclass(frozen=True)
class Pass(ABC):
    """A rewrite of a module.

    A concrete pass is a frozen dataclass whose fields are its options (`bool`, `int` or `str`, each with a
    default); the first line of its docstring is its one-line description. Valid HLO in, valid HLO out.
    """

    name: ClassVar[str]
    promise: ClassVar[Exactness] = Exactness.BITWISE
    """What the harness holds the pass to."""
    idempotent: ClassVar[bool] = True
    """Whether a second run must change nothing."""
    rules: ClassVar[tuple[str, ...]] = ()
    """Every rule name that `Trace.fire` may be given."""
    legality: ClassVar[tuple[str, ...]] = ()
    """Every rule name, beside the guards', that `Trace.decline` may be given."""
    guards: ClassVar[tuple[str, ...]] = ()
    """The boolean options that keep the documented algorithm sound (`neuron_passes.md` section 1)."""

    @abstractmethod
    def run(self, module: HloModule, trace: Trace) -> bool:
        """Rewrite `module` in place. Returns whether anything changed. Raises PassError where upstream fails."""

    @classmethod
    def description(cls) -> str:
        """The first line of the pass's docstring."""
        return (cls.__doc__ or "").strip().splitlines()[0]


class PassError(Exception):
    """A pass refused its input with the message that upstream gives. Not a crash: the documented failure."""

    def __init__(self, pass_name: str, message: str) -> None:
        self.pass_name = pass_name
        self.message = message
        super().__init__(f"{pass_name}: {message}")


class PassCrashed(Exception):
    """The program behind a pass died, hung or gave an answer that cannot be read: a fault, not a refusal.

    `tail` is the end of what it printed; it is a note of the exception, so that tracebacks show it.
    """

    def __init__(self, pass_name: str, message: str, tail: str = "") -> None:
        self.pass_name = pass_name
        self.message = message
        self.tail = tail
        super().__init__(f"{pass_name}: {message}")
        if tail:
            self.add_note(tail)
