"""What does the process environment say? The one place that reads it; everything else is handed a value.

The variables that switch passes (`passes.SWITCHES`) are read here once and handed down; `--env` overrides
them, and commands print what is in force. A corpus file's own ENV lines are all that its replay sees.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from passes import SWITCHES

CACHE_VARIABLE = "XDG_CACHE_HOME"


@dataclass(frozen=True)
class Settings:
    """`switches` are the pass switches that are set; `compilation_cache` is where JAX keeps what it compiled."""

    switches: Mapping[str, str]
    compilation_cache: Path

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Settings:
        """The settings that a process environment means."""
        known = {switch.variable for switch in SWITCHES}
        cache = environment.get(CACHE_VARIABLE) or Path.home() / ".cache"
        return cls(
            switches={name: value for name, value in environment.items() if name in known},
            compilation_cache=Path(cache) / "hlofuzz" / "xla",
        )


def read_settings() -> Settings:
    """The settings of this process, whose environment is made fit for our use of JAX on the way."""
    # Before anything imports JAX: the reference is JAX on CPU, and workers cannot share an accelerator.
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    return Settings.of(os.environ)


def child_environment() -> dict[str, str]:
    """The environment of a child: ours, where it finds the modules that we find, and hashes alike in every run."""
    return {**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
