"""How does a campaign hold its child processes? Their lines arrive in one queue, each with who sent it."""

from __future__ import annotations

import contextlib
import json
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from fuzz.settings import child_environment

END = "end"
"""The only key of a child's last message, which the queue gets when its output ends."""


START_LIMIT = 120.0
"""Seconds that a process may take until it does its work: Python, JAX and a cold machine."""


class HarnessError(Exception):
    """A child met an error of this project, not of a pass: it must be seen, not counted. May span many lines."""


class Child:
    """One child process. It is a session of its own, so that Ctrl-C reaches the parent alone.

    Its answers, lines of JSON, come into `queue` as (child, message). It ends when its standard input does.
    """

    def __init__(
        self, command: Sequence[str], queue: SimpleQueue[tuple[Child, dict[str, Any]]], log: Path
    ) -> None:
        self._queue = queue
        self.started = time.monotonic()
        self.log = log
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as file:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=file,
                env=child_environment(),
                start_new_session=True,
                text=True,
            )
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._queue.put((self, self._message(line)))
        self.process.stdout.close()
        self.process.wait()
        self._queue.put((self, {END: self.process.returncode}))

    def _message(self, line: str) -> dict[str, Any]:
        try:
            return json.loads(line)
        except json.JSONDecodeError:
            return {"error": f"{line.rstrip()!r} is no answer of {self.process.args}"}

    def tell(self, line: str) -> None:
        """Send one line; a child that is gone does not hear it."""
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()

    def kill(self) -> None:
        """End it now."""
        self.process.kill()
        self.close()

    def close(self) -> None:
        """Wait for its end, and for its last message."""
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self._listener.join()

    def last_words(self) -> str:
        """The end of what it wrote to standard error."""
        return self.log.read_text("utf-8", errors="replace")[-4000:].strip()
