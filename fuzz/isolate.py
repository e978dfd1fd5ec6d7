"""What does a case do that may take its process along, or never end?

It is judged in a child. A child that dies is a finding, and so is one that does not answer in time. Run as a
module this file is that child: it reads a corpus file's text and answers with one line of JSON.
"""

from __future__ import annotations

import faulthandler
import json
import os
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType

from fuzz.case import verdict_text
from fuzz.corpus import CorpusCase, read_case, write_case
from fuzz.judging import judge_any
from fuzz.report import verdict_line
from fuzz.settings import child_environment
from oracle.verdict import Kind
from passes import Pipeline

DIED = "process"
"""The check that a case which kills its process fails."""
HUNG = "time-limit"
"""The check that a case fails which is not judged in time."""
PIPELINE = "pipeline"
"""Stands for the pass, where nobody saw which one it was."""

TIME_LIMIT = 30.0
"""Seconds for one case beside the time limits of its passes. A case takes milliseconds; the first of a process,
some seconds."""

_RUNS = 3  # of a pass on one case: once, once more to compare, once without it to see whose fault a hang is

COMMAND: Sequence[str] = (sys.executable, "-m", "fuzz.isolate")
"""The child."""


class ChildFailed(Exception):
    """The child met an error of this project, not of a pass. The message is its traceback."""


@dataclass(frozen=True)
class ChildVerdict:
    """A verdict in the words of `fuzz.case.verdict_text`, and one line about it."""

    verdict: str
    detail: str


def case_limit(pipeline: Pipeline) -> float:
    """Seconds for one case: enough for each pass to reach a time limit of its own, which says more than ours."""
    return TIME_LIMIT + _RUNS * sum(getattr(pass_, "timeout", 0) for pass_ in pipeline.passes)


def failure_text(check: str) -> str:
    """The verdict of a case that fails `DIED` or `HUNG`."""
    return f"disagree {check}/{Kind.CRASH.value} {PIPELINE}"


def needs_child(expect: str) -> bool:
    """Whether a case that gets this verdict must be judged in a child."""
    return expect in (failure_text(DIED), failure_text(HUNG))


def judge_in_child(entry: CorpusCase, *, time_limit: float | None = None) -> ChildVerdict:
    """Judge a case in a child process, in `time_limit` seconds (`case_limit` unless told).

    Raises ChildFailed for an error of ours.
    """
    time_limit = case_limit(entry.case.pipeline) if time_limit is None else time_limit
    text = write_case(entry)
    # Should we be killed, nobody ends a child that hangs: it is told to end itself.
    command = (*COMMAND, str(2 * time_limit))
    try:
        child = subprocess.run(
            command,
            input=text,
            capture_output=True,
            text=True,
            timeout=time_limit,
            env=child_environment(),
            check=False,
        )
    except subprocess.TimeoutExpired:
        return ChildVerdict(failure_text(HUNG), f"no verdict after {time_limit:g} s")
    answer = json.loads(child.stdout.splitlines()[-1]) if child.stdout.strip() else {}
    if "error" in answer:
        raise ChildFailed(answer["error"])
    if "verdict" not in answer:
        return ChildVerdict(failure_text(DIED), death(child.returncode))
    return ChildVerdict(answer["verdict"], answer["detail"])


def death(returncode: int) -> str:
    """How a process ended, in words."""
    if returncode < 0:
        return f"the process was ended by signal {-returncode}"
    return f"the process ended itself with status {returncode}"


def report_errors_as_json() -> None:
    """From here on an uncaught exception of this process is a line `{"error": traceback}` for its parent."""

    def report(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        answer({"error": "".join(traceback.format_exception(kind, error, trace))})

    sys.excepthook = report


def answer(data: object) -> None:
    """Send one line of JSON to the parent."""
    sys.stdout.write(json.dumps(data) + "\n")
    sys.stdout.flush()


def end_after(seconds: float) -> None:
    """End this process then, whatever it is at."""
    faulthandler.dump_traceback_later(seconds, exit=True)


def parent_lines() -> Iterator[str]:
    """The lines that the parent writes to standard input, without their ends.

    Read unbuffered: a thread that waits in a buffered read would hold up the end of the process.
    """
    with open(sys.stdin.fileno(), "rb", buffering=0, closefd=False) as raw:
        for line in raw:
            yield line.decode().strip()


def live_with_parent(orders: Iterator[str], obey: Callable[[str], None] | None = None) -> None:
    """Hand each further line to `obey`, in a thread, and end this process where the parent ends, however."""

    def listen() -> None:
        for order in orders:
            if obey is not None:
                obey(order)
        os._exit(0)  # nobody wants to hear more, and what was found is on disk

    threading.Thread(target=listen, daemon=True).start()


def main() -> None:
    """Judge the case on standard input. The argument is the number of seconds after which to give up."""
    report_errors_as_json()
    end_after(float(sys.argv[1]))
    entry = read_case(sys.stdin.read(), allow_code=True)  # the parent has it from `read_case` itself
    judgement = judge_any(entry.case)
    answer({"verdict": verdict_text(judgement.verdict), "detail": verdict_line(judgement.verdict)})


if __name__ == "__main__":
    main()
