"""`hlofuzz passes`: which passes are there?"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from dataclasses import fields
from importlib.metadata import version

from fuzz.commands.common import Exit
from fuzz.report import say
from fuzz.settings import Settings
from hlo import BridgeUnavailable
from oracle.trust import rows
from passes import PASSES, PIPELINES, SWITCHES, Pass, named_passes
from passes.xla import SPECIAL, available_xla_passes, known_passes


def list_passes(options: Namespace, settings: Settings) -> Exit:
    """List the passes, their options and the switches that set them."""
    if options.opcodes:
        for opcode, state, reason in rows():
            say(f"{opcode:<32} {state:<11}  {reason}")
        return Exit.PRESERVED
    for pass_ in PASSES.values():
        for line in _lines(pass_):
            say(line)
    for line in (*_pipeline_lines(), *_xla_lines(), *_CODE):
        say(line)
    return Exit.PRESERVED


_CODE = (
    "",
    'cmd:"COMMAND {input} {output}"',
    "  Any command that reads HLO and writes it, in files or on standard input and output.",
    "py:package.module:callable",
    "  A Python callable over a module of ours or over proto bytes; found from the working directory, too.",
)


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


def _pipeline_lines() -> Iterator[str]:
    for name in PIPELINES:
        passes = named_passes(name)
        yield ""
        yield f"{name}, a pipeline; {name}:1 to {name}:{len(passes)} are its first passes"
        for number, pass_ in enumerate(passes, start=1):
            yield f"  {number}. {pass_.name}"


def _xla_lines() -> Iterator[str]:
    yield ""
    try:
        names = available_xla_passes()
    except BridgeUnavailable as error:
        yield f"xla:NAME is not to be had: {error}"
        return
    swept = sum(name in known_passes() and known_passes()[name].preserves for name in names)
    yield f"xla:NAME, a pass of jaxlib {version('jaxlib')}: {len(names)}, of which xla:* runs {swept}"
    for name in names:
        yield f"xla:{name}"
        known = known_passes().get(name)
        if known is None:
            yield "  Not in our list, so that nothing is known of it; xla:* leaves it out."
            continue
        yield f"  {known.does} Promise: {known.promise.value}."
        if known.excluded:
            yield f"  xla:* leaves it out: {known.excluded}"
    yield from (line for name, does in SPECIAL.items() for line in (f"xla:{name}", f"  {does}"))
