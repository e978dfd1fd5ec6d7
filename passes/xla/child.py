"""The child process that runs passes of the installed XLA, one request after the other. Nothing else runs in it.

jaxlib lets a callback see and replace a module in the middle of XLA's CPU compile (`register_xla_transform`,
called before scheduling). Ours keeps what it sees and raises, which ends the compile before any code is
generated. The debug option `xla_disable_hlo_passes` switches off every pass that was not asked for. (Its twin
`xla_enable_hlo_passes_only` will not do: jaxlib 0.10 does not enter a pipeline inside the pipeline with it.)

A frame is eight bytes, the length of what follows, big-endian, and then that. A request is a frame of JSON and one
of HLO proto; an answer is a frame of JSON and one of the HLO protos that it tells of, one behind the other. The
first answer comes unasked: `{"version": …, "passes": [names in the order of the whole pipeline]}`, or `{"version":
…, "missing": …}` where this jaxlib lacks what we need.

`{"passes": [names] or null for all, "stages": bool}` runs the passes together. Its answer is `{"changed": [the
passes that say they changed anything, in order], "stages": [[pass, its pipeline, length in bytes], …]}`, in the end
the result, whose name is empty, and before it, if asked for, what each pass that changed anything left; or
`{"error": message, "where": "import" or "compile"}` where XLA refused.

`{"each": [names], "always": [names]}` runs each pass on the module by itself, with those of `always`. Its answer is
`{"runs": [[pass, length of its result in bytes], …]}` of those that changed anything, where XLA refused the
message in place of the length; or the `error` from above where no pass came to run.

Standard error, which the parent makes a file, holds XLA's log since the request, or since the last run of a pass.

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
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

HOOK = "apply-xla-transforms"
"""The pass that calls us; jaxlib 0.12 numbers it."""

_BEFORE_SCHEDULING = 0
_FEW, _OFTEN = 10, 3  # after ten modules, a pass that changed every third of them is usually busy
_LENGTH = struct.Struct(">Q")
_LOG_LIMIT = 1 << 24
_CONTEXT_LIMIT = (
    1000  # modules after which MLIR's context is renewed: it keeps every constant that it has seen
)
_LOGGED_PASS = re.compile(r"\] +HLO pass (.+)$", re.MULTILINE)
_LOGGED_PIPELINE = re.compile(r"\] Running HLO pass pipeline on module [^:]*: (.+)$", re.MULTILINE)
_LOGGED_CHANGE = re.compile(r"\] +Pass caused changes (.+)$", re.MULTILINE)
_DUMPED = re.compile(
    r".*\.(\d+)\.([^.]+)\.after_(.+)\.before_[^.]+\.hlo\.pb|.*\.before_optimizations\.hlo\.pb"
)
IMPORTED = "import"
"""The stage before the first pass."""

Stages = list[tuple[str, str, bytes]]
"""Names of passes, each with that of its pipeline and the HLO proto that it left."""

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


class Modules:
    """Makes modules of StableHLO in a context that stays warm."""

    def __init__(self) -> None:
        """Raises Missing."""
        self._module = feature("jaxlib.mlir.ir", "Module")
        self._make = feature("jaxlib.mlir.ir", "Context")
        self._registry = feature("jaxlib.mlir.ir", "DialectRegistry")
        self._error = feature("jaxlib.mlir.ir", "MLIRError")
        self._dialects = feature("jaxlib.mlir._mlir_libs._jax_mlir_ext", "register_dialects")
        self._more = (
            feature("jaxlib.mlir.dialects.stablehlo", "register_dialect"),
            feature("jaxlib.mlir.dialects.chlo", "register_dialect"),
            feature("jaxlib.mlir._mlir_libs._mlirHlo", "register_mhlo_dialect"),
        )
        self._context = self._new_context()
        self._parsed = 0

    def _new_context(self) -> Any:
        registry = self._registry()
        self._dialects(registry)
        context = self._make()
        context.append_dialect_registry(registry)
        context.enable_multithreading(False)  # threads cost more than such small modules
        for register in self._more:
            register(context)
        context.load_all_available_dialects()
        return context

    def parsed(self, stablehlo: bytes) -> Any:
        """A module of its own: the compiler may change it. Raises ValueError."""
        if self._parsed >= _CONTEXT_LIMIT:
            self._context, self._parsed = self._new_context(), 0
        self._parsed += 1
        try:
            return self._module.parse(stablehlo, self._context)
        except self._error as error:
            raise ValueError(str(error)) from None


class Xla:
    """XLA's CPU compiler, as a machine that takes a module and gives back what the chosen passes make of it."""

    def __init__(self) -> None:
        """Raises Missing."""
        self._options = feature("jaxlib._jax", "CompileOptions")
        self._devices = feature("jaxlib._jax", "DeviceList")
        self._convert = feature("jaxlib._jax", "mlir").hlo_to_stablehlo
        self._modules = Modules()
        self._parse = feature("jaxlib._hlo", "hlo_module_from_text")
        self._client = feature("jaxlib._jax", "get_tfrt_cpu_client")(asynchronous=False)
        self._captured: bytes | None = None
        self._asked: Counter[str] = Counter()
        self._changed: Counter[str] = Counter()
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
        return self._convert(proto)

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
            # given bytes, jaxlib would make a context of its own each time, which takes longer than most passes
            self._client.compile_and_load(self._modules.parsed(stablehlo), devices, options)
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
            dumped = sorted(_dumped(Path(folder)))
            return [(name, pipeline, path.read_bytes()) for _, name, pipeline, path in dumped]

    def changes(self, stablehlo: bytes, passes: Collection[str] | None) -> tuple[bytes, list[str]]:
        """As `run`, and which passes say they changed anything, in the order in which they ran."""
        empty_log()
        proto = self.run(stablehlo, passes)
        return proto, _LOGGED_CHANGE.findall(read_log())

    def busy(self, stablehlo: bytes, names: Sequence[str], always: Sequence[str]) -> list[str]:
        """Those of `names` that may change the module, run by themselves. The others do not.

        Where several passes run together and none changes anything, each has seen the module as it was.
        """
        idle = [name for name in names if not self._is_usually_busy(name)]
        while idle:
            try:
                _, changed = self.changes(stablehlo, (*always, *idle))
            except (RuntimeError, ValueError):
                return list(names)
            if not set(idle) & set(changed):
                break
            idle = [name for name in idle if name not in changed]
        return [name for name in names if name not in idle]

    def each(
        self, stablehlo: bytes, names: Sequence[str], always: Sequence[str]
    ) -> list[tuple[str, bytes | str]]:
        """What those passes of `names` leave, by themselves, that change the module; XLA's message where it refuses."""
        found: list[tuple[str, bytes | str]] = []
        self._asked.update(names)
        for name in self.busy(stablehlo, names, always):
            try:
                proto, changed = self.changes(stablehlo, (*always, name))
            except (RuntimeError, ValueError) as error:
                found.append((name, str(error)))
                continue
            if name in changed:
                self._changed[name] += 1
                found.append((name, proto))
        return found

    def _is_usually_busy(self, name: str) -> bool:
        """Whether a pass has changed so many modules that it would only make work for the others of a group."""
        return self._asked[name] > _FEW and _OFTEN * self._changed[name] > self._asked[name]

    def _all_passes(self) -> list[str]:
        """The names of all passes in the order in which they run, repeated where repeated, from XLA's own log."""
        proto = self._parse(_SAMPLE).as_serialized_hlo_module_proto()
        self.changes(self.to_stablehlo(proto), None)
        log = read_log()
        pipelines = set(_LOGGED_PIPELINE.findall(log))
        found = _LOGGED_PASS.findall(log)
        return [name for name in found if name not in pipelines and not name.startswith(HOOK)]


def _dumped(folder: Path) -> Iterator[tuple[int, str, str, Path]]:
    """XLA's dumps, each with its number, the pass after which it was written, and the pipeline of that pass."""
    for path in folder.iterdir():
        if match := _DUMPED.fullmatch(path.name):
            number, name, pipeline = (int(match[1]), match[3], match[2]) if match[1] else (-1, IMPORTED, "")
            if name != "pipeline-start":
                yield number, name, pipeline.replace("_", " "), path


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
    try:
        stablehlo = xla.to_stablehlo(proto)
        where = "compile"
        if "each" in request:
            return answer_each(xla.each(stablehlo, request["each"], request["always"]))
        stages = xla.stages(stablehlo, request["passes"]) if request["stages"] else []
        result, changed = xla.changes(stablehlo, request["passes"])
    except (RuntimeError, ValueError) as error:
        return {"error": str(error), "where": where}, b""
    stages.append(("", "", result))
    answer = {"changed": changed, "stages": [(name, pipeline, len(data)) for name, pipeline, data in stages]}
    return answer, b"".join(data for _, _, data in stages)


def answer_each(found: Sequence[tuple[str, bytes | str]]) -> tuple[dict[str, Any], bytes]:
    """The answer that `each` makes."""
    runs = [(name, result if isinstance(result, str) else len(result)) for name, result in found]
    return {"runs": runs}, b"".join(result for _, result in found if isinstance(result, bytes))


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
