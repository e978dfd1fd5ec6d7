"""What do we know of XLA's passes? Which keep a program's meaning, and how exactly: `passes.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

from passes.base import Exactness

DATA = Path(__file__).with_name("passes.toml")


@dataclass(frozen=True)
class Known:
    """One pass. `excluded` says why a sweep leaves it out, and is empty for one that keeps the meaning.

    `refuses`, if there is one, is part of the message by which the pass says that a program is not for it.
    """

    name: str
    does: str
    promise: Exactness
    excluded: str
    refuses: str = ""

    @property
    def preserves(self) -> bool:
        """Whether a sweep holds it to keeping every program's meaning."""
        return not self.excluded


@cache
def known_passes() -> Mapping[str, Known]:
    """Every pass of `passes.toml`, by name."""
    rows = tomllib.loads(DATA.read_text("utf-8"))
    return MappingProxyType({name: _known(name, row) for name, row in rows.items()})


def _known(name: str, row: Mapping[str, str]) -> Known:
    return Known(
        name, row["does"], Exactness(row["promise"]), row.get("excluded", ""), row.get("refuses", "")
    )
