"""How do we talk to the child process in which XLA runs? It is kept warm, and replaced when it dies or hangs."""

from __future__ import annotations

import atexit
import json
import os
import select
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from hlo import BridgeUnavailable

CHILD = Path(__file__).with_name("child.py")

START_LIMIT = 60.0
"""Seconds in which the child must be ready. It takes one or two, unless the machine is busy."""

MEMORY_LIMIT = 4 << 30
"""Bytes of private memory that the child may have. At rest it has 0.15 GiB."""

REQUEST_LIMIT = 20_000
"""Requests after which a fresh child takes over: XLA keeps a little of each module."""

_TAIL = 4096
_LENGTH = struct.Struct(">Q")

# XLA logs which passes it runs and which of them change anything, which is how the child knows.
_LOGGING = ("env", "TF_CPP_MIN_LOG_LEVEL=0", "TF_CPP_VMODULE=hlo_pass_pipeline=3")


class XlaRefused(Exception):
    """XLA answered with an error. `in_import`: while it read the module, before any pass."""

    def __init__(self, message: str, *, in_import: bool) -> None:
        self.message = message
        self.in_import = in_import
        super().__init__(message)


class XlaDied(Exception):
    """The child ended, or was ended because it did not answer. `log` is the end of what XLA said before."""

    def __init__(self, message: str, log: str) -> None:
        self.message = message
        self.log = log
        super().__init__(message)


class Result(NamedTuple):
    """The HLO proto in the end, and which passes say that they changed anything."""

    proto: bytes
    changed: frozenset[str]


class XlaProcess:
    """A running child. `version` is jaxlib's, `passes` the whole pipeline's passes in order."""

    def __init__(self, command: Sequence[str] = ()) -> None:
        """Starts CHILD, or another command that talks as it does.

        Raises BridgeUnavailable where this jaxlib has no hook for us, XlaDied where the child does not start.
        """
        # A file of its own: a pipe would have to be emptied all the time, and this one survives a crash.
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (lives as long as the child)
        self._child = subprocess.Popen(
            [*_LOGGING, *(command or (sys.executable, "-P", str(CHILD))), str(MEMORY_LIMIT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            bufsize=0,
            start_new_session=True,  # Ctrl-C is for us: a child that it ended would look like a crash
        )
        self.process_id = self._child.pid
        self._requests = 0
        hello, _ = self._answer(START_LIMIT)
        self.version = str(hello["version"])
        if "missing" in hello:
            self.close()
            raise BridgeUnavailable(str(hello["missing"]), self.version)
        self.passes: tuple[str, ...] = tuple(hello["passes"])

    @property
    def is_fit(self) -> bool:
        """Whether it can take another request."""
        return self._child.poll() is None and self._requests < REQUEST_LIMIT

    def run(self, proto: bytes, passes: Sequence[str] | None, time_limit: float) -> Result:
        """What `passes` (None: all before scheduling) make of an HLO proto, within `time_limit` seconds.

        Raises XlaRefused, after which the child goes on, or XlaDied, after which it is gone.
        """
        stages, changed = self._ask(proto, passes, time_limit, stages=False)
        return Result(stages[-1][1], changed)

    def stages(
        self, proto: bytes, passes: Sequence[str] | None, time_limit: float
    ) -> list[tuple[str, bytes]]:
        """What each pass left that changed anything, by its name; the first is "import", no pass yet.

        A pass comes as often as it did something. Raises as `run` does.
        """
        return self._ask(proto, passes, time_limit, stages=True)[0][:-1]

    def _ask(
        self, proto: bytes, passes: Sequence[str] | None, time_limit: float, *, stages: bool
    ) -> tuple[list[tuple[str, bytes]], frozenset[str]]:
        self._requests += 1
        request = {"passes": None if passes is None else list(passes), "stages": stages}
        try:
            for frame in (json.dumps(request).encode(), proto):
                self._write(_LENGTH.pack(len(frame)) + frame)
        except BrokenPipeError:
            raise self._died() from None
        answer, data = self._answer(time_limit)
        if "error" in answer:
            raise XlaRefused(str(answer["error"]), in_import=answer["where"] == "import")
        found: list[tuple[str, bytes]] = []
        for name, length in answer["stages"]:
            found.append((name, data[:length]))
            data = data[length:]
        return found, frozenset(answer["changed"])

    def close(self) -> None:
        """End it."""
        self._child.kill()
        self._child.wait()
        for stream in (self._child.stdin, self._child.stdout, self._log):
            if stream is not None:
                stream.close()

    def _write(self, data: bytes) -> None:
        assert self._child.stdin is not None
        view = memoryview(data)
        while view:
            view = view[self._child.stdin.write(view) :]

    def _answer(self, time_limit: float) -> tuple[dict[str, Any], bytes]:
        deadline = time.monotonic() + time_limit
        head, proto = self._frame(deadline, time_limit), self._frame(deadline, time_limit)
        return json.loads(head), proto

    def _frame(self, deadline: float, time_limit: float) -> bytes:
        (length,) = _LENGTH.unpack(self._read(_LENGTH.size, deadline, time_limit))
        return self._read(length, deadline, time_limit)

    def _read(self, count: int, deadline: float, time_limit: float) -> bytes:
        assert self._child.stdout is not None
        descriptor = self._child.stdout.fileno()
        data = bytearray()
        while len(data) < count:
            left = max(deadline - time.monotonic(), 0)
            if not select.select([descriptor], [], [], left)[0]:
                raise self._gone(f"no answer in {time_limit:g} s")
            chunk = os.read(descriptor, count - len(data))
            if not chunk:
                raise self._died()
            data += chunk
        return bytes(data)

    def _died(self) -> XlaDied:
        status = self._child.wait()
        how = f"signal {-status}" if status < 0 else f"status {status}"
        return self._gone(f"the XLA process ended with {how}")

    def _gone(self, message: str) -> XlaDied:
        size = os.fstat(self._log.fileno()).st_size
        log = os.pread(self._log.fileno(), _TAIL, max(size - _TAIL, 0)).decode(errors="replace")
        self.close()
        return XlaDied(message, log)


class _Warm:
    """The one child of this process, made when first needed. A forked process gets its own."""

    def __init__(self) -> None:
        self._process: XlaProcess | None = None
        self._owner = 0

    def get(self) -> XlaProcess:
        if self._process is not None and self._owner == os.getpid():
            if self._process.is_fit:
                return self._process
            self._process.close()
        self._process = XlaProcess()
        self._owner = os.getpid()
        return self._process

    def close(self) -> None:
        if self._process is not None and self._owner == os.getpid():
            self._process.close()
            self._process = None


_WARM = _Warm()


def end_warm_process() -> None:
    """End the warm child, if there is one. The next request starts a new one."""
    _WARM.close()


atexit.register(end_warm_process)


def warm_process() -> XlaProcess:
    """The warm child, started where there is none or where it is not fit. Raises as `XlaProcess` does."""
    return _WARM.get()
