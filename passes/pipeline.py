"""How do several passes run as one, and how is that written down?

A pipeline's text form is its passes' names with the options that differ from their defaults, for example
`dynamic-slice-mover{clamp_starts=false},dce`. `passes.registry.parse_pipeline` reads it back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import ClassVar, Protocol

from hlo import HloModule
from passes.base import Exactness, Pass, Trace

PLAIN_TEXT = re.compile(r"[\w./:+-]+")
"""Text that a string option may have unquoted."""


class Observer(Protocol):
    """Hears of each pass of a pipeline; `index` counts from 0. It must not change the module."""

    def before(self, index: int, pass_: Pass, module: HloModule) -> None:
        """`pass_` is about to run on `module`."""

    def after(self, index: int, pass_: Pass, module: HloModule, changed: bool) -> None:
        """`pass_` ran on `module` and said `changed`. Not called for a pass that raised."""


@dataclass(frozen=True)
class Pipeline(Pass):
    """Runs passes one after the other.

    Passes of a pipeline inside become passes of this one, so that equal text means equal pipelines.
    """

    passes: tuple[Pass, ...] = ()

    name: ClassVar[str] = "pipeline"
    promise: ClassVar[Exactness] = (
        Exactness.REASSOCIATES
    )  # all that holds of any pipeline; each pass has its own
    # A later pass can make work for an earlier one, although each alone is idempotent.
    idempotent: ClassVar[bool] = False

    def __post_init__(self) -> None:
        flat = [
            inner
            for pass_ in self.passes
            for inner in (pass_.passes if isinstance(pass_, Pipeline) else (pass_,))
        ]
        object.__setattr__(self, "passes", tuple(flat))

    def run(self, module: HloModule, trace: Trace) -> bool:
        """Run every pass. Raises what a pass raises; the module then holds what the passes before it did."""
        return self.run_each(module, trace)

    def run_each(self, module: HloModule, trace: Trace, observers: Sequence[Observer] = ()) -> bool:
        """As `run`, telling each observer before and after each pass."""
        changed = False
        for index, pass_ in enumerate(self.passes):
            for observer in observers:
                observer.before(index, pass_, module)
            changed_now = pass_.run(module, trace)
            for observer in observers:
                observer.after(index, pass_, module, changed_now)
            changed |= changed_now
        return changed

    def __str__(self) -> str:
        return ",".join(map(pass_text, self.passes))


def pass_text(pass_: Pass) -> str:
    """The text form of one pass: its name and, in field order, each option that differs from its default."""
    options = [
        f"{field.name}={_option_text(value)}"
        for field in fields(pass_)
        if (value := getattr(pass_, field.name)) != field.default
    ]
    return f"{pass_.name}{{{','.join(options)}}}" if options else pass_.name


def written(text: str) -> str:
    """`text` as a pipeline's text has it: quoted as in JSON where it has other characters than PLAIN_TEXT."""
    return text if PLAIN_TEXT.fullmatch(text) else json.dumps(text)


def _option_text(value: bool | int | str) -> str:
    # what reads as a flag or a number is told apart from it by the option's type, not by its spelling
    return written(value) if isinstance(value, str) else str(value).lower()
