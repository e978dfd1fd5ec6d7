"""The child process that runs passes of the installed XLA, one request after the other. Nothing else runs in it.

jaxlib lets a callback see and replace a module in the middle of XLA's CPU compile (`register_xla_transform`,
called before scheduling). Ours keeps what it sees and raises, which ends the compile before any code is
generated. The debug option `xla_disable_hlo_passes` switches off every pass that was not asked for. (Its twin
`xla_enable_hlo_passes_only` will not do: jaxlib 0.10 does not enter a pipeline inside the pipeline with it.)

A frame is eight bytes, the length of what follows, big-endian, and then that. A request is a frame of JSON,
`{"passes": [names] or null for all, "stages": bool}`, and one of HLO proto. An answer is a frame of JSON and one
of the HLO protos that it tells of, one behind the other. The first answer comes unasked: `{"version": …, "passes":
[names in the order of the whole pipeline]}`, or `{"version": …, "missing": …}` where this jaxlib lacks what we
need. Later ones are `{"changed": [the passes that say they changed anything, in order], "stages": [[pass, length in
bytes], …]}`, in the end the result, whose name is empty, and before it, if asked for, what each pass that changed
anything left; or `{"error": message, "where": "import" or
"compile"}` where XLA refused. Standard error, which the parent makes a file, holds XLA's log since the request.

Run by its path, so that it starts without the rest of the project: `python child.py MEMORY_IN_BYTES`.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import resource
import struct
import sys
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, BinaryIO

HOOK = "apply-xla-transforms"
"""The pass that calls us; jaxlib 0.12 numbers it."""

_BEFORE_SCHEDULING = 0
_LENGTH = struct.Struct(">Q")
_LOG_LIMIT = 1 << 20
_LOGGED_PASS = re.compile(r"\] +HLO pass (.+)$", re.MULTILINE)
_LOGGED_PIPELINE = re.compile(r"\] Running HLO pass pipeline on module [^:]*: (.+)$", re.MULTILINE)
_LOGGED_CHANGE = re.compile(r"\] +Pass caused changes (.+)$", re.MULTILINE)
_DUMPED = re.compile(r".*\.(\d+)\.[^.]+\.after_(.+)\.before_[^.]+\.hlo\.pb|.*\.before_optimizations\.hlo\.pb")
IMPORTED = "import"
"""The stage before the first pass."""

Stages = list[tuple[str, bytes]]
"""Names of passes, each with the HLO proto that the pass left."""

# Any module will do: the pipeline is the same for all.
_SAMPLE = "HloModule sample\nENTRY e {\n  ROOT p = f32[] parameter(0)\n}\n"


class Missing(Exception):
    """This jaxlib lacks a function that we need; the message is its name."""


class _Captured(Exception):
    """Ends the compile: the module is ours."""


def feature(module: str, name: str) -> Any:
    """What `module` calls `name`. Raises Missing."""
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError):
        raise Missing(f"{module}.{name}") from None


class Xla:
    """XLA's CPU compiler, as a machine that takes a module and gives back what the chosen passes make of it."""

    def __init__(self) -> None:
        """Raises Missing."""
        self._options = feature("jaxlib._jax", "CompileOptions")
        self._devices = feature("jaxlib._jax", "DeviceList")
        self._mlir = feature("jaxlib._jax", "mlir")
        self._parse = feature("jaxlib._hlo", "hlo_module_from_text")
        self._client = feature("jaxlib._jax", "get_tfrt_cpu_client")(asynchronous=False)
        self._captured: bytes | None = None
        feature("jaxlib._xla", "register_xla_transform")("capture", _BEFORE_SCHEDULING, self._capture)
        self.passes = self._all_passes()
        self._names = tuple(dict.fromkeys(self.passes))
        if not self.passes:
            raise Missing("a log of the passes that run (TF_CPP_VMODULE=hlo_pass_pipeline=3)")

    def _capture(self, proto: bytes) -> None:
        self._captured = proto
        raise _Captured

    def to_stablehlo(self, proto: bytes) -> bytes:
        """The module as the compiler takes it. Raises RuntimeError or ValueError."""
        return self._mlir.hlo_to_stablehlo(proto)

    def run(self, stablehlo: bytes, passes: Collection[str] | None, folder: str = "") -> bytes:
        """The module after `passes` (None: all). Raises RuntimeError or ValueError where XLA refuses.

        `folder` is where XLA writes what each pass left.
        """
        options = self._options()
        debug = options.executable_build_options.debug_options
        if passes is not None:
            debug.xla_disable_hlo_passes = ",".join(name for name in self._names if name not in passes)
        if folder:
            debug.xla_dump_to = folder
            debug.xla_dump_hlo_pass_re = ".*"
            debug.xla_dump_hlo_as_proto = True
            debug.xla_dump_hlo_as_text = False
        self._captured = None
        devices = self._devices(tuple(self._client.devices()[:1]))
        try:
            self._client.compile_and_load(stablehlo, devices, options)
        except (RuntimeError, ValueError):
            # The callback's exception comes back as an XLA error, too.
            if self._captured is None:
                raise
            return self._captured
        raise Missing(f"{HOOK} in its pipeline")

    def stages(self, stablehlo: bytes, passes: Collection[str] | None) -> Stages:
        """What each of `passes` left that changed anything, after IMPORTED. Raises as `run` does."""
        with tempfile.TemporaryDirectory(prefix="hlofuzz-") as folder:
            self.run(stablehlo, passes, folder)
            return [(name, path.read_bytes()) for _, name, path in sorted(_dumped(Path(folder)))]

    def _all_passes(self) -> list[str]:
        """The names of all passes in the order in which they run, repeated where repeated, from XLA's own log."""
        proto = self._parse(_SAMPLE).as_serialized_hlo_module_proto()
        empty_log()
        self.run(self.to_stablehlo(proto), None)
        log = read_log()
        pipelines = set(_LOGGED_PIPELINE.findall(log))
        found = _LOGGED_PASS.findall(log)
        return [name for name in found if name not in pipelines and not name.startswith(HOOK)]


def _dumped(folder: Path) -> Iterator[tuple[int, str, Path]]:
    """XLA's dumps, each with its number and the pass after which it was written."""
    for path in folder.iterdir():
        if match := _DUMPED.fullmatch(path.name):
            number, name = (int(match[1]), match[2]) if match[1] else (-1, IMPORTED)
            if name != "pipeline-start":
                yield number, name, path


def empty_log() -> None:
    """Forget what is on standard error."""
    os.ftruncate(sys.stderr.fileno(), 0)
    os.lseek(sys.stderr.fileno(), 0, os.SEEK_SET)


def read_log() -> str:
    """What is on standard error."""
    return os.pread(sys.stderr.fileno(), _LOG_LIMIT, 0).decode(errors="replace")


def read_frame(stream: BinaryIO) -> bytes | None:
    """The next frame, or None where the parent has no more to ask."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    body = stream.read(length)
    return body if len(body) == length else None


def write_answer(stream: BinaryIO, answer: dict[str, Any], proto: bytes = b"") -> None:
    """Send two frames."""
    for body in (json.dumps(answer).encode(), proto):
        stream.write(_LENGTH.pack(len(body)) + body)
    stream.flush()


def answer_one(xla: Xla, request: dict[str, Any], proto: bytes) -> tuple[dict[str, Any], bytes]:
    """Do what a request asks."""
    where = "import"
    passes, stages = request["passes"], []
    try:
        stablehlo = xla.to_stablehlo(proto)
        where = "compile"
        if request["stages"]:
            stages = xla.stages(stablehlo, passes)
            empty_log()
        stages.append(("", xla.run(stablehlo, passes)))
    except (RuntimeError, ValueError) as error:
        return {"error": str(error), "where": where}, b""
    answer = {
        "changed": _LOGGED_CHANGE.findall(read_log()),
        "stages": [(name, len(data)) for name, data in stages],
    }
    return answer, b"".join(data for _, data in stages)


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Say what there is, then answer until the parent ends."""
    version = str(feature("jaxlib", "__version__"))
    try:
        xla = Xla()
    except Missing as missing:
        write_answer(answers, {"version": version, "missing": str(missing)})
        return
    write_answer(answers, {"version": version, "passes": xla.passes})
    while (head := read_frame(requests)) is not None and (proto := read_frame(requests)) is not None:
        empty_log()
        write_answer(answers, *answer_one(xla, json.loads(head), proto))


def main() -> None:
    """Serve on standard input and output, within the memory given."""
    limit = int(sys.argv[1])
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (limit if hard < 0 else min(limit, hard), hard))
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever XLA prints must not get between the answers
    serve(sys.stdin.buffer, answers)


if __name__ == "__main__":
    main()
