"""Where does the time of a judgement go?"""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager


class Stopwatch:
    """Seconds by stage. A stage measured inside another is taken off the other one: the sum is the time passed."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._stages: list[str] = []
        self._since = 0.0

    @contextmanager
    def measure(self, stage: str) -> Generator[None]:
        """Add the time that the block takes to `stage`."""
        self._charge()
        self._stages.append(stage)
        try:
            yield
        finally:
            self._charge()
            self._stages.pop()

    def _charge(self) -> None:
        now = time.perf_counter()
        if self._stages:
            stage = self._stages[-1]
            self.seconds[stage] = self.seconds.get(stage, 0.0) + now - self._since
        self._since = now
