"""`hlofuzz passes`: which passes are there?"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from dataclasses import fields

from fuzz.commands.common import Exit
from fuzz.report import say
from fuzz.settings import Settings
from passes import PASSES, SWITCHES, Pass


def list_passes(options: Namespace, settings: Settings) -> Exit:
    """List the passes, their options and the switches that set them."""
    for pass_ in PASSES.values():
        for line in _lines(pass_):
            say(line)
    return Exit.PRESERVED


def _lines(pass_: type[Pass]) -> Iterator[str]:
    yield pass_.name
    yield f"  {pass_.description()}"
    for option in fields(pass_):
        guard = " (a guard)" if option.name in pass_.guards else ""
        yield f"  option {option.name}={str(option.default).lower()}{guard}"
    for switch in SWITCHES:
        if switch.pass_name == pass_.name:
            yield f"  switch {switch.variable}={switch.on_value} sets {switch.option}: {switch.description}"
    if pass_.rules:
        yield f"  rules {', '.join(pass_.rules)}"
