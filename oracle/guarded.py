"""How does a pass run so that whatever it does is a verdict?"""

from __future__ import annotations

import traceback
from dataclasses import dataclass

from hlo import HloModule
from passes import Pass, PassError, Trace

_SHOWN = 8
"""Lines of a traceback that are kept, from the end."""


@dataclass(frozen=True)
class Crash:
    """A pass raised what it does not document. `lines` ends its traceback."""

    error: str
    lines: tuple[str, ...]


def run_guarded(pass_: Pass, module: HloModule, trace: Trace) -> bool | Crash:
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
        lines = traceback.format_exception(error)
        text = "".join(lines).rstrip().splitlines()[-_SHOWN:]
        return Crash(" ".join(f"{type(error).__name__}: {error}".split()), tuple(text))
