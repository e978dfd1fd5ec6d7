"""How does a child serve its parent? The other side of `hlo.isolation.process`."""

from __future__ import annotations

import faulthandler
import json
import os
import resource
import sys
from collections.abc import Callable
from typing import Any, BinaryIO

from hlo.isolation.process import LENGTH

Answer = tuple[dict[str, Any], bytes]


def serve(
    start: Callable[[], tuple[dict[str, Any], Callable[[dict[str, Any], bytes], Answer]]], memory: int
) -> None:
    """Answer requests until the parent ends, in `memory` bytes at most.

    `start` gives what to say first and the function that answers; it is called when memory is limited and
    whatever native code prints can no longer get between the answers.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (memory if hard < 0 else min(memory, hard), hard))
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    hello, answer = start()
    _send(answers, (hello, b""))
    requests = sys.stdin.buffer
    while (head := _frame(requests)) is not None and (body := _frame(requests)) is not None:
        _forget_log()
        request: dict[str, Any] = json.loads(head)
        # The parent ends a child that is late. Should the parent be gone by then, the child does it.
        faulthandler.dump_traceback_later(2 * request["time_limit"], exit=True)
        _send(answers, answer(request, body))
        faulthandler.cancel_dump_traceback_later()


def _send(stream: BinaryIO, answer: Answer) -> None:
    head, body = answer
    for frame in (json.dumps(head).encode(), body):
        stream.write(LENGTH.pack(len(frame)) + frame)
    stream.flush()


def _frame(stream: BinaryIO) -> bytes | None:
    """The next frame, or None where the parent has no more to ask."""
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(head)
    body = stream.read(length)
    return body if len(body) == length else None


def _forget_log() -> None:
    """A log starts with the request that it belongs to."""
    os.ftruncate(sys.stderr.fileno(), 0)
    os.lseek(sys.stderr.fileno(), 0, os.SEEK_SET)
