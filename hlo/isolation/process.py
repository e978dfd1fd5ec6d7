"""How do we talk to a child process that may die or hang at any request?

A frame is eight bytes, the length of what follows, big-endian, and then that. A request is a frame of JSON and one
of bytes, and so is an answer; the first answer, `hello`, comes unasked. The child's standard error is a file of
its own, whose end is kept for the report when the child dies. `hlo.isolation.serving` is the other side.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import struct
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import IO, Any, Generic, TypeVar

LENGTH = struct.Struct(">Q")

START_LIMIT = 60.0
"""Seconds in which a child must be ready. It takes one or two, unless the machine is busy."""

_TAIL = 4096


class ChildDied(Exception):
    """The child is gone. `message` says how it ended, `log` is the end of what it wrote to standard error."""

    def __init__(self, message: str, log: str) -> None:
        self.message = message
        self.log = log
        super().__init__(message)


class ChildHung(ChildDied):
    """The child did not answer in time, and was ended."""


class ChildProcess:
    """A running child. `hello` is the JSON of its first answer, `process_id` the system's number for it."""

    called = "process"
    """What messages call it."""

    request_limit = 10_000
    """Requests after which a fresh child takes over: a compiler keeps a little of each module."""

    def __init__(self, command: Sequence[str]) -> None:
        """Starts it and waits until it is ready. Raises ChildDied."""
        # A file of its own: a pipe would have to be emptied all the time, and this one survives a crash.
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (lives as long as the child)
        self._child = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            bufsize=0,
            start_new_session=True,  # Ctrl-C is for us: a child that it ended would look like a crash
        )
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._in, self._out = self._child.stdin.fileno(), self._child.stdout.fileno()
        os.set_blocking(self._in, False)  # a child that has hung does not read
        self.process_id = self._child.pid
        self._requests = 0
        self.hello, _ = self._answer(START_LIMIT)

    @property
    def is_fit(self) -> bool:
        """Whether it can take another request."""
        return self._child.poll() is None and self._requests < self.request_limit

    def ask(self, head: dict[str, Any], body: bytes, time_limit: float) -> tuple[dict[str, Any], bytes]:
        """The answer to a request, in `time_limit` seconds. Raises ChildDied (ChildHung where it is late)."""
        self._requests += 1
        deadline = time.monotonic() + time_limit
        for frame in (json.dumps({**head, "time_limit": time_limit}).encode(), body):
            self._write(LENGTH.pack(len(frame)), deadline, time_limit)
            self._write(frame, deadline, time_limit)
        return self._answer(time_limit)

    def close(self) -> None:
        """End it."""
        self._child.kill()
        self._child.wait()
        for stream in (self._child.stdin, self._child.stdout, self._log):
            if stream is not None:
                stream.close()

    def _write(self, data: bytes, deadline: float, time_limit: float) -> None:
        view = memoryview(data)
        while view:
            left = max(deadline - time.monotonic(), 0)
            if not select.select([], [self._in], [], left)[1]:
                raise ChildHung(f"takes no request in {time_limit:g} s", self._end())
            try:
                view = view[os.write(self._in, view) :]
            except BrokenPipeError:
                raise self._died() from None

    def _answer(self, time_limit: float) -> tuple[dict[str, Any], bytes]:
        deadline = time.monotonic() + time_limit
        head, body = self._frame(deadline, time_limit), self._frame(deadline, time_limit)
        return json.loads(head), body

    def _frame(self, deadline: float, time_limit: float) -> bytes:
        (length,) = LENGTH.unpack(self._read(LENGTH.size, deadline, time_limit))
        return self._read(length, deadline, time_limit)

    def _read(self, count: int, deadline: float, time_limit: float) -> bytes:
        data = bytearray()
        while len(data) < count:
            left = max(deadline - time.monotonic(), 0)
            if not select.select([self._out], [], [], left)[0]:
                raise ChildHung(f"no answer in {time_limit:g} s", self._end())
            chunk = os.read(self._out, count - len(data))
            if not chunk:
                raise self._died()
            data += chunk
        return bytes(data)

    def _died(self) -> ChildDied:
        status = self._child.wait()
        how = f"signal {-status}" if status < 0 else f"status {status}"
        return ChildDied(f"the {self.called} ended with {how}", self._end())

    def _end(self) -> str:
        """End the child, and give the end of its log."""
        size = os.fstat(self._log.fileno()).st_size
        log = os.pread(self._log.fileno(), _TAIL, max(size - _TAIL, 0)).decode(errors="replace")
        self.close()
        return log


P = TypeVar("P", bound=ChildProcess)


class WarmChild(Generic[P]):
    """The one child of its kind in this process, made when first needed. A forked process gets its own."""

    def __init__(self, make: Callable[[], P]) -> None:
        self._make = make
        self._process: P | None = None
        self._owner = 0
        atexit.register(self.close)

    def get(self) -> P:
        """A child that takes requests, made where there is none. Raises ChildDied where it does not start."""
        if self._process is not None and self._owner == os.getpid():
            if self._process.is_fit:
                return self._process
            self._process.close()
        self._process = self._make()
        self._owner = os.getpid()
        return self._process

    def close(self) -> None:
        """End it; the next `get` makes another."""
        if self._process is not None and self._owner == os.getpid():
            self._process.close()
        self._process = None
