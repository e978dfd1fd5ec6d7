"""What do all commands share?"""

from __future__ import annotations

import json
import os
import sys
from argparse import Namespace
from collections.abc import Mapping
from enum import IntEnum
from typing import Any

from fuzz.report import environment_text, say
from fuzz.settings import Settings
from passes import Pipeline, StableHloPass


class Exit(IntEnum):
    """What the exit status means."""

    PRESERVED = 0
    FINDING = 1
    USAGE = 2
    NOT_JUDGED = 3


def begins_with_stablehlo(pipeline: Pipeline) -> bool:
    """Whether the first pass is one over StableHLO."""
    return isinstance(next(iter(pipeline.passes), None), StableHloPass)


def prepare_jax(settings: Settings) -> None:
    """Import the reference: not before it is needed, because it switches JAX to 64 bits for the whole process."""
    from oracle.reference import use_compilation_cache

    use_compilation_cache(str(settings.compilation_cache))


def find_user_modules() -> None:
    """Let this process and its children import from the working directory, as `python -m` does."""
    if (here := os.getcwd()) not in sys.path:
        sys.path.insert(0, here)


def switches_in_force(options: Namespace, settings: Settings) -> Mapping[str, str]:
    """The environment for passes: `--env` over this process's own. Printed where there is any."""
    given = dict(options.env)
    environment = {**settings.switches, **given}
    if environment:
        inherited = [name for name in environment if name not in given]
        note = f" ({', '.join(inherited)} from the environment of this process)" if inherited else ""
        say(f"switches in force: {environment_text(environment)}{note}")
    return environment


def say_json(data: Mapping[str, Any]) -> None:
    """One object, on one line."""
    say(json.dumps(data))
