"""How does a pass run so that whatever it does is a verdict?"""

from __future__ import annotations

import re
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from hlo import HloModule
from passes import PassError, Trace

_SHOWN = 8
"""Lines of a traceback that are kept, from the end."""

_FRAME = re.compile(r'(?<=^  File ")[^"]+(?=", line \d)', re.MULTILINE)


@dataclass(frozen=True)
class Crash:
    """A pass raised what it does not document. `lines` ends its traceback, with files as packages know them.

    A report is read on other machines than the one it was made on, and shared: where the project lies on this one
    is nobody's business.
    """

    error: str
    lines: tuple[str, ...]


class Runs(Protocol):
    """A pass, or what stands for one."""

    def run(self, module: HloModule, trace: Trace) -> bool:
        """See `passes.Pass.run`."""
        ...


def run_guarded(pass_: Runs, module: HloModule, trace: Trace) -> bool | Crash:
    """Run `pass_` on `module` in place. Returns what it returned, or how it crashed.

    Raises PassError where the pass refuses, which is documented behaviour.
    """
    try:
        return pass_.run(module, trace)
    except PassError:
        raise
    except Exception as error:  # noqa: BLE001
        # The one place where any error is caught: a pass is what is being judged, so whatever it raises is a
        # finding about it. Interrupts and exits are no Exceptions and go through.
        text = _FRAME.sub(lambda frame: _in_package(frame[0]), "".join(traceback.format_exception(error)))
        lines = text.rstrip().splitlines()[-_SHOWN:]
        return Crash(" ".join(f"{type(error).__name__}: {error}".split()), tuple(lines))


def _in_package(file: str) -> str:
    """The path of a source file from where its package is imported; its name where no import would find it."""
    path = Path(file)
    if not path.is_absolute():
        return file
    roots = [root for entry in sys.path if path.is_relative_to(root := Path(entry).absolute())]
    return path.relative_to(max(roots, key=lambda root: len(root.parts), default=path.parent)).as_posix()
