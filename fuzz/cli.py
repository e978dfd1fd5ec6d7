"""What may be written on the command line?"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from fuzz import commands
from fuzz.campaign import Programs
from fuzz.commands import Exit
from fuzz.commands.common import find_user_modules
from fuzz.commands.sweep import SWEEP
from fuzz.report import complain, say
from fuzz.settings import Settings
from hlo import BridgeUnavailable, InvalidInput, UnsupportedOpcode
from passes import DEFAULT_PIPELINE, Pipeline, parse_assignment, parse_pipeline

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|h|)")
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}


def run(arguments: Sequence[str], settings: Settings) -> int:
    """Do what the arguments say and return the exit status: 0, 1, 2 or 3, see `fuzz.commands.Exit`."""
    try:
        options = parser().parse_args(arguments)
        command: Callable[[argparse.Namespace, Settings], Exit] = options.command
        return command(options, settings)
    except InvalidInput as error:
        complain(f"hlofuzz: {error}")
        return Exit.USAGE
    except (UnsupportedOpcode, BridgeUnavailable) as error:
        complain(f"hlofuzz: {error}")
        return Exit.NOT_JUDGED


class _Parser(argparse.ArgumentParser):
    """An argument parser whose complaints are one line."""

    def error(self, message: str) -> NoReturn:
        raise InvalidInput(f"{message}; see {self.prog} --help")

    def print_help(self, file: Any = None) -> None:
        say(self.format_help().rstrip())


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    top = _Parser(
        prog="hlofuzz",
        description="Proves or breaks HLO compiler passes.",
        epilog="Exit status: 0 meaning preserved, 1 a finding, 2 unusable input, 3 could not be judged.",
    )
    subparsers = top.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def add(name: str, command: Callable[..., Exit]) -> argparse.ArgumentParser:
        text = (command.__doc__ or "").splitlines()[0]
        sub = subparsers.add_parser(name, help=text, description=text)
        sub.set_defaults(command=command)
        return sub

    listing = add("passes", commands.list_passes)
    opcodes = "list the opcodes instead, and whether independent engines see each as our evaluator does"
    listing.add_argument("--opcodes", action="store_true", help=opcodes)
    _check_options(add("check", commands.check))
    _run_options(add("run", commands.run_campaign))
    replay = add("replay", commands.replay_files)
    where = "corpus files, or folders of them (default corpus)"
    replay.add_argument("paths", nargs="*", type=Path, default=[Path("corpus")], metavar="PATH", help=where)
    _add_json(replay)
    _add_allow_code(replay)
    reduce = add("reduce", commands.reduce)
    reduce.add_argument(
        "path", type=Path, metavar="FILE", help="a corpus file whose expectation is a failure"
    )
    reduce.add_argument(
        "--time", type=_duration, default=60.0, metavar="T", help="when to stop (default 60s)"
    )
    reduce.add_argument("--out", type=Path, metavar="FILE", help="where to write (default FILE-reduced.hlo)")
    _add_allow_code(reduce)
    report = add("report", commands.report)
    report.add_argument("path", type=Path, metavar="FILE", help="a corpus file")
    _add_allow_code(report)
    conform = add("conform", commands.conform_files)
    conform.add_argument("path", type=Path, metavar="DIR", help="a folder of StableHLO programs, *.mlir")
    _add_json(conform)
    return top


def _check_options(command: argparse.ArgumentParser) -> None:
    programs = "HLO text, HLO proto, StableHLO, or a JAX function with a companion function_example_args()"
    command.add_argument("target", metavar="FILE|package.module:function", help=programs)
    _add_recipe(command, _typed_pipeline)
    _add_json(command)
    keep = "leave the arguments of JAX's calls one by one"
    command.add_argument("--keep-calls", action="store_true", help=keep)
    command.add_argument(
        "--inputs", type=_count, default=8, metavar="N", help="sets of inputs (default %(default)s)"
    )
    command.add_argument(
        "--seed", type=_number, default=0, metavar="S", help="of the inputs (default %(default)s)"
    )
    command.add_argument("--out", type=Path, metavar="DIR", help="save a finding there, as a corpus file")


def _run_options(command: argparse.ArgumentParser) -> None:
    _add_recipe(
        command,
        _typed_pipeline_or_sweep,
        "; xla:* is each of XLA's own that keeps the meaning, alone, on every graph",
    )
    _add_json(command)
    size = command.add_mutually_exclusive_group()
    size.add_argument("--examples", type=_count, metavar="N", help="how many graphs")
    size.add_argument("--time", type=_duration, metavar="T", help="how long: 60, 60s, 5m, 1h (default 60s)")
    processes, folder = os.cpu_count() or 1, Path("findings")
    command.add_argument(
        "-n", "--workers", type=_count, default=processes, help="processes (default: one a processor)"
    )
    command.add_argument("--seed", type=_number, metavar="S", help="the same graphs again (default: random)")
    command.add_argument(
        "--programs",
        choices=[str(kind) for kind in Programs],
        help="unrolled loops, rolled ones, graphs of all operations, or all of these (default: whiles for "
        "pipelines with while-loop-unroller, loops for the Neuron passes without it, dynamic for those that make "
        "arrays static, symbolic for passes over StableHLO, else all); wrong-counts: rolled loops that lie about "
        "their trips, for passes that count; "
        "sizes-outside: dynamic arrays of sizes below 0 or above their bound, all of which must be skipped",
    )
    command.add_argument(
        "--out", type=Path, default=folder, metavar="DIR", help="for findings (default %(default)s)"
    )


def _add_recipe(
    command: argparse.ArgumentParser, read: Callable[[str], Pipeline | str], more: str = ""
) -> None:
    default = parse_pipeline(DEFAULT_PIPELINE)
    example = "for example dynamic-slice-mover{clamp_starts=false},dce (default: the two Neuron passes)"
    command.add_argument("--passes", type=read, default=default, metavar="PIPELINE", help=example + more)
    switch = "set a switch of a pass; may be repeated"
    command.add_argument(
        "--env", type=parse_assignment, action="append", default=[], metavar="NAME=VALUE", help=switch
    )


def _add_json(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="end the output with one line of JSON")


def _add_allow_code(command: argparse.ArgumentParser) -> None:
    allow = "run the commands (cmd:) and import the Python modules (py:) that a file names: only for files you trust"
    command.add_argument("--allow-code", action="store_true", help=allow)


def _typed_pipeline(text: str) -> Pipeline:
    """What the user typed may run code, and means the user's modules."""
    if "py:" in text:
        find_user_modules()
    return parse_pipeline(text, allow_code=True)


def _typed_pipeline_or_sweep(text: str) -> Pipeline | str:
    return SWEEP if text.strip() == SWEEP else _typed_pipeline(text)


def _duration(text: str) -> float:
    match = _DURATION.fullmatch(text.strip())
    if match is None or float(match[1]) <= 0:
        raise InvalidInput(f"{text!r} is no duration; write for example 60, 60s, 5m or 1h")
    return float(match[1]) * _SECONDS[match[2]]


def _number(text: str) -> int:
    if not re.fullmatch(r"\d+", text):
        raise InvalidInput(f"{text!r} is no whole number")
    return int(text)


def _count(text: str) -> int:
    number = _number(text)
    if number < 1:
        raise InvalidInput(f"{text!r} is not at least 1")
    return number
