"""How is a command that reads an HLO module and writes one a pass?"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import ClassVar

from hlo import HloFuzzError, HloModule, InvalidInput
from hlo.interchange import export_proto, read_file, write_text
from passes.base import PassCrashed, PassError, Trace
from passes.external.base import ExternalPass, take_over
from passes.pipeline import written

PREFIX = "cmd:"
INPUT, OUTPUT = "{input}", "{output}"
"""Stand for the files to read and to write. Without them it is standard input and output."""

TEXT, PROTO = "text", "proto"
_SUFFIX = {TEXT: ".hlo", PROTO: ".pb"}
_TAIL = 2000
_LAST_WORDS = 5.0
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)


@dataclass(frozen=True)
class CommandPass(ExternalPass):
    """A command that reads an HLO module and writes one, without a shell.

    One class for each command: `command_pass`.
    """

    format: str = TEXT
    """What it reads and writes: "text" or "proto" (a serialised HloModuleProto)."""
    timeout: int = 60
    """Seconds after which it counts as hung and is killed, with every process that it started."""
    env: str = ""
    """Variables set for it beside those of this process: `NAME=VALUE …`, quoted as in a shell."""
    refuse_codes: str = ""
    """The exit codes that say "I refuse this module", with commas between; any other but 0 is a crash."""

    command: ClassVar[str]

    def __post_init__(self) -> None:
        """Raises InvalidInput for an option that says nothing."""
        super().__post_init__()
        if self.format not in _SUFFIX:
            raise InvalidInput(f"{self.name}: option format is {TEXT} or {PROTO}, not {self.format!r}")
        for assignment in _split(self.env, "option env"):
            if not _ASSIGNMENT.fullmatch(assignment):
                raise InvalidInput(f"{self.name}: option env: {assignment!r} is not NAME=VALUE")
        if not re.fullmatch(r"(\d+(,\d+)*)?", self.refuse_codes):
            raise InvalidInput(f"{self.name}: option refuse_codes is numbers with commas between")
        if self.timeout < 1:
            raise InvalidInput(f"{self.name}: option timeout is at least 1, not {self.timeout}")

    def run(self, module: HloModule, trace: Trace) -> bool:
        """Raises PassError for an exit code of `refuse_codes`, PassCrashed for any other failure."""
        with tempfile.TemporaryDirectory(prefix="hlofuzz-") as folder:
            before, after = (Path(folder, stem + _SUFFIX[self.format]) for stem in ("input", "output"))
            data = export_proto(module) if self.format == PROTO else write_text(module).encode()
            before.write_bytes(data)
            self._execute(data, before, after)
            if not after.exists():
                raise PassCrashed(self.name, "it wrote no output")
            if after.read_bytes() == data:
                return False
            try:
                result = read_file(after)
            except HloFuzzError as error:
                raise PassCrashed(self.name, f"its output cannot be read: {error}") from None
        return take_over(module, result, trace)

    def _execute(self, data: bytes, before: Path, after: Path) -> None:
        """Run the command; what it printed where it knows no `{output}` goes to `after`."""
        words = _split(self.command, "the command")
        arguments = [word.replace(INPUT, str(before)).replace(OUTPUT, str(after)) for word in words]
        # `env` sets variables without our reading the environment, which is read in one place only.
        child = subprocess.Popen(
            ["env", *_split(self.env, "option env"), *arguments],
            stdin=subprocess.DEVNULL if INPUT in self.command else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        with child:
            try:
                printed, complaints = child.communicate(None if INPUT in self.command else data, self.timeout)
            except subprocess.TimeoutExpired:
                raise PassCrashed(self.name, f"no end in {self.timeout} s", _tail(_end(child))) from None
        self._judge_exit(child.returncode, complaints)
        if OUTPUT not in self.command:
            after.write_bytes(printed)

    def _judge_exit(self, code: int, complaints: bytes) -> None:
        if code == 0:
            return
        tail = _tail(complaints)
        if str(code) in self.refuse_codes.split(","):
            raise PassError(self.name, tail.partition("\n")[0] or f"exit code {code}")
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        raise PassCrashed(self.name, f"it ended with {how}", tail)


def _end(child: subprocess.Popen[bytes]) -> bytes:
    """Kill it and all that it started. Returns what it wrote to standard error."""
    with contextlib.suppress(ProcessLookupError):  # it ended just now
        os.killpg(child.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):  # something left its group and holds the pipes
        return child.communicate(timeout=_LAST_WORDS)[1]
    return b""


def _tail(output: bytes) -> str:
    return output[-_TAIL:].decode(errors="replace").strip()


def _split(text: str, what: str) -> Sequence[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise InvalidInput(f"{what} {text!r}: {error}") from None


@cache
def command_pass(command: str) -> type[CommandPass]:
    """The class of `cmd:COMMAND`. Raises InvalidInput for a command that is empty or not there."""
    words = _split(command, "the command")
    if not words:
        raise InvalidInput(f"{PREFIX} says no command")
    program = words[0]
    if shutil.which(program) is None:
        raise InvalidInput(f"{PREFIX} there is no program {program!r} to run")
    namespace = {
        "__doc__": f"The command {command}.",
        "__module__": __name__,
        "command": command,
        "name": f"{PREFIX}{written(command)}",
    }
    return type(f"CommandPass({program})", (CommandPass,), namespace)
