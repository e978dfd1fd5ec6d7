"""What does a check look at, and what does it say?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from hlo import HloModule, Value
from hlo.canonical import Tree
from oracle.verdict import Finding, Kind, Mismatch
from passes import Pass


@dataclass(frozen=True)
class PassRun:
    """One pass that ran without raising. `before` and `after` are two modules, both left alone from now on.

    `index` counts in the pipeline, 0-based; `said_changed` is what the pass returned; the structures are those
    of `hlo.canonical`, by which `really_changed` decides.
    """

    index: int
    pass_: Pass
    before: HloModule
    after: HloModule
    said_changed: bool
    structure_before: Tree
    structure_after: Tree

    @property
    def really_changed(self) -> bool:
        """Whether the printed module differs."""
        return self.structure_before != self.structure_after

    def finding(
        self,
        check: str,
        kind: Kind,
        message: str,
        *,
        inputs: tuple[Value, ...] = (),
        mismatch: Mismatch | None = None,
        details: tuple[str, ...] = (),
    ) -> Finding:
        """A departure of this pass. `message` is a line without the pass's name."""
        return Finding(
            check=check,
            kind=kind,
            message=f"{self.pass_.name}: {message}",
            pass_index=self.index,
            pass_name=self.pass_.name,
            before=self.before,
            after=self.after,
            inputs=inputs,
            mismatch=mismatch,
            details=details,
        )


class Check(Protocol):
    """Asks one question of each pass that ran."""

    def __call__(self, run: PassRun) -> Finding | None:
        """What is wrong, or None."""
        ...
