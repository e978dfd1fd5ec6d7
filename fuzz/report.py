"""How is a result told to a person? The one renderer, and the only place besides the command line that prints."""

from __future__ import annotations

import difflib
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TextIO

import numpy as np

from fuzz.case import AnyCase, verdict_text
from hlo import HloFuzzError, HloModule, Token, Value, value_shape
from hlo.interchange import write_text
from hlo.stablehlo import StableHloModule
from oracle.verdict import Agree, Around, Disagree, Finding, Mismatch, Skip, Verdict
from passes import AnyProgram

_FULL_LISTING = 150  # lines; of a longer program only the neighbourhood of the changes is shown
_SHOWN_ELEMENTS = 40
_SECONDS_BETWEEN_LINES = 5.0


class OutputClosed(Exception):
    """Nobody reads what is said any more, as after `hlofuzz passes | head`. What else is written there is dropped."""


def say(text: str) -> None:
    """An answer, on standard output. Raises OutputClosed."""
    _write(sys.stdout, text + "\n")


def complain(text: str) -> None:
    """What went wrong, on standard error. Raises OutputClosed."""
    _write(sys.stderr, text + "\n")


def _write(stream: TextIO, text: str) -> None:
    """Write and flush; the reader must not wait for an answer that is there."""
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        # The text is in the stream's buffer yet, which the interpreter flushes once more when it ends.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
        raise OutputClosed from None


def verdict_line(verdict: Verdict) -> str:
    """One line that says what is wrong, or why that is not known."""
    match verdict:
        case Agree():
            return verdict_text(verdict)
        case Disagree(finding):
            return headline(finding)
        case Skip(reason, detail):
            return f"{reason.value}: {detail}" if detail else reason.value


def headline(finding: Finding) -> str:
    """One line that says what is wrong."""
    return " ".join(finding.message.split())


def render_text(finding: Finding, case: AnyCase, replay: str = "") -> str:
    """A finding in full: what is wrong, where it began, with which values, and how to see it again.

    `replay` is what `hlofuzz replay` takes to judge it again, where there is a file.
    """
    return "\n".join(render_lines(finding, case, replay))


def render_lines(finding: Finding, case: AnyCase, replay: str = "") -> Iterator[str]:
    """`render_text`, line by line."""
    yield headline(finding)
    yield ""
    yield f"check:          {finding.check} ({finding.kind.value})"
    yield f"first bad pass: {_place(finding, case)}"
    yield f"passes:         {case.pipeline}"
    yield f"environment:    {environment_text(case.environment) or 'no switch is set'}"
    if replay:
        yield f"replay:         hlofuzz replay {replay}"
    if finding.around is not None and finding.around.sizes:
        yield f"sizes:          {finding.around.sizes}"
    inputs = finding.inputs or (case.inputs[0] if case.inputs else ())
    for number, value in enumerate(inputs):
        yield f"input {number}:        {value_text(value)}"
    if finding.mismatch is not None:
        yield from _mismatch_lines(finding.mismatch)
    for detail in finding.details:
        yield from detail.splitlines()
    yield ""
    yield from _listing(finding)


def environment_text(environment: Mapping[str, str]) -> str:
    """The assignments as a shell would take them."""
    return " ".join(f"{name}={value}" for name, value in environment.items())


def _place(finding: Finding, case: AnyCase) -> str:
    if finding.pass_index < 0 or len(case.pipeline.passes) < 2:
        return finding.pass_name
    return f"{finding.pass_name} (number {finding.pass_index + 1} of {len(case.pipeline.passes)})"


def _mismatch_lines(mismatch: Mismatch) -> Iterator[str]:
    places = [f"at [{', '.join(map(str, mismatch.index))}]"] if mismatch.index else []
    places += [f"in result {', '.join(map(str, mismatch.leaf))}"] if mismatch.leaf else []
    where = f"{' '.join(places)}; " if places else ""
    yield f"expected:       {mismatch.expected} ({mismatch.left})"
    yield f"actual:         {mismatch.actual} ({mismatch.right})"
    yield f"where:          {where}{mismatch.count} of {mismatch.total} elements differ"
    if mismatch.note:
        yield f"note:           {mismatch.note}"


def _listing(finding: Finding) -> Iterator[str]:
    around = finding.around or Around(finding.before, finding.after)
    before = _printed(around.before)
    after = _printed(around.after) if around.after is not None else before
    if before == after:
        yield f"the program that {finding.pass_name} was given:"
        yield from (f"  {line}" for line in before)
        return
    yield f"before (-) and after (+) {finding.pass_name}:"
    context = max(len(before), len(after))
    if context > _FULL_LISTING:
        context = 3
    for line in list(difflib.unified_diff(before, after, n=context, lineterm=""))[2:]:
        if not line.startswith("@@") or context == 3:
            yield f"{line[0]} {line[1:]}".rstrip() if not line.startswith("@@") else "  …"


def _printed(module: AnyProgram) -> list[str]:
    if isinstance(module, StableHloModule):
        return module.text.strip("\n").splitlines()
    try:
        return write_text(module).strip("\n").splitlines()
    except HloFuzzError as error:  # a finding can be about a module that is broken
        return [f"(jaxlib cannot print it: {error})", *_plainly_printed(module)]


def _plainly_printed(module: HloModule) -> Iterator[str]:
    """Every instruction as it stands, in whatever order, whether or not it makes sense."""
    for computation in module.computations:
        yield f"{computation.name} {{"
        for inst in computation.instructions:
            root = "ROOT " if computation.has_root and computation.root is inst else ""
            operands = ", ".join(operand.name for operand in inst.operands)
            yield f"  {root}{inst.name} = {inst.shape} {inst.opcode}({operands}), {inst.attributes}"
        yield "}"


def value_text(value: Value) -> str:
    """A value for people: its type and its first elements."""
    if isinstance(value, tuple):
        return f"({', '.join(map(value_text, value))})"
    if isinstance(value, Token):
        return "token"
    elements = np.array2string(value, threshold=_SHOWN_ELEMENTS, separator=",", max_line_width=10**6)
    return f"{value_shape(value)} {' '.join(elements.split())}"


def table(rows: Sequence[Sequence[str]], indent: str = "  ") -> Iterator[str]:
    """Rows of text in columns, the first column to the left, the others to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))] if rows else []
    for first, *others in rows:
        cells = [first.ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
        yield f"{indent}{'  '.join(cells)}".rstrip()


class ProgressLine:
    """Where something is, on standard error: one line that changes on a terminal, elsewhere one every 5 seconds."""

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream or sys.stderr
        self._clock = clock
        self._last = clock()
        self._width = 0

    def show(self, text: str) -> None:
        """It is here now."""
        if self._stream.isatty():
            _write(self._stream, "\r" + text.ljust(self._width))
            self._width = len(text)
        elif self._clock() - self._last >= _SECONDS_BETWEEN_LINES:
            self._last = self._clock()
            _write(self._stream, text + "\n")

    def end(self) -> None:
        """It is over: the next line begins below."""
        if self._width:
            self._stream.write("\n")
            self._width = 0
