"""How do we talk to the child process in which XLA runs? It is kept warm, and replaced when it dies or hangs."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hlo import BridgeUnavailable
from hlo.isolation import ChildProcess, WarmChild

CHILD = Path(__file__).with_name("child.py")

MEMORY_LIMIT = 4 << 30
"""Bytes of private memory that the child may have. At rest it has 0.15 GiB."""

# XLA logs which passes it runs and which of them change anything, which is how the child knows.
_LOGGING = ("env", "TF_CPP_MIN_LOG_LEVEL=0", "TF_CPP_VMODULE=hlo_pass_pipeline=3")


class XlaRefused(Exception):
    """XLA answered with an error. `in_import`: while it read the module, before any pass."""

    def __init__(self, message: str, *, in_import: bool) -> None:
        self.message = message
        self.in_import = in_import
        super().__init__(message)


class Result(NamedTuple):
    """The HLO proto in the end, and which passes say that they changed anything."""

    proto: bytes
    changed: frozenset[str]


class Dump(NamedTuple):
    """What a pass left: its name, that of the pipeline it ran in, and the HLO proto."""

    name: str
    pipeline: str
    proto: bytes


class XlaProcess(ChildProcess):
    """A running child. `version` is jaxlib's, `passes` the whole pipeline's passes in order."""

    called = "XLA process"

    def __init__(self, command: Sequence[str] = ()) -> None:
        """Starts CHILD, or another command that talks as it does.

        Raises BridgeUnavailable where this jaxlib has no hook for us, ChildDied where the child does not start.
        """
        super().__init__([*_LOGGING, *(command or (sys.executable, "-P", str(CHILD))), str(MEMORY_LIMIT)])
        self.version = str(self.hello["version"])
        if "missing" in self.hello:
            self.close()
            raise BridgeUnavailable(str(self.hello["missing"]), self.version)
        self.passes: tuple[str, ...] = tuple(self.hello["passes"])

    def run(self, proto: bytes, passes: Sequence[str] | None, time_limit: float) -> Result:
        """What `passes` (None: all before scheduling) make of an HLO proto, within `time_limit` seconds.

        Raises XlaRefused, after which the child goes on, or ChildDied, after which it is gone.
        """
        stages, changed = self._results(proto, passes, time_limit, stages=False)
        return Result(stages[-1].proto, changed)

    def run_each(
        self, proto: bytes, passes: Sequence[str], always: Sequence[str], time_limit: float
    ) -> dict[str, bytes | XlaRefused]:
        """What each of `passes` makes of an HLO proto by itself, `always` running with it.

        Those that change nothing are left out. `time_limit` is for all. Raises as `run` does.
        """
        answer, data = self.ask({"each": list(passes), "always": list(always)}, proto, time_limit)
        _refused(answer)
        found: dict[str, bytes | XlaRefused] = {}
        for name, result in answer["runs"]:
            if isinstance(result, str):
                found[name] = XlaRefused(result, in_import=False)
            else:
                found[name], data = data[:result], data[result:]
        return found

    def stages(self, proto: bytes, passes: Sequence[str] | None, time_limit: float) -> list[Dump]:
        """What each pass left that changed anything, by its name; the first is "import", no pass yet.

        A pass comes as often as it did something. Raises as `run` does.
        """
        return self._results(proto, passes, time_limit, stages=True)[0][:-1]

    def _results(
        self, proto: bytes, passes: Sequence[str] | None, time_limit: float, *, stages: bool
    ) -> tuple[list[Dump], frozenset[str]]:
        request = {"passes": None if passes is None else list(passes), "stages": stages}
        answer, data = self.ask(request, proto, time_limit)
        _refused(answer)
        found: list[Dump] = []
        for name, pipeline, length in answer["stages"]:
            found.append(Dump(name, pipeline, data[:length]))
            data = data[length:]
        return found, frozenset(answer["changed"])


def _refused(answer: Mapping[str, Any]) -> None:
    if "error" in answer:
        raise XlaRefused(str(answer["error"]), in_import=answer["where"] == "import")


_WARM = WarmChild(XlaProcess)


def end_warm_process() -> None:
    """End the warm child, if there is one. The next request starts a new one."""
    _WARM.close()


def warm_process() -> XlaProcess:
    """The warm child, started where there is none or where it is not fit. Raises as `XlaProcess` does."""
    return _WARM.get()
