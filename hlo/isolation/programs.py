"""How does a child run programs? Each request is an HLO proto and the arrays of some input sets.

A request's bytes are the proto and then the arrays, flattened: StableHLO has no tuples at its borders. Its JSON:
`proto`, the length of the proto; `arrays`, for each set what `pack_arrays` says; `options`, by the engine. An answer
has `arrays` for each set, or `unsupported` with a reason. What jaxlib raises is such a reason; what it does not
survive, the parent sees.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hlo.isolation.arrays import pack_arrays, unpack_arrays
from hlo.isolation.serving import Answer, serve

Array = np.ndarray[Any, np.dtype[Any]]
Machine = Callable[[bytes, Sequence[Sequence[Array]], dict[str, Any]], list[list[Array]]]
"""From a proto, input sets and options to the results, flattened, for each set."""


class Missing(Exception):
    """This jaxlib lacks a function that we need; the message is its name."""


class Refused(Exception):
    """The engine does not do this program; the message says why."""


def feature(module: str, path: str = "") -> Any:
    """What `module` has at the dotted `path`, or the module. Raises Missing."""
    try:
        found: Any = importlib.import_module(module)
        for name in filter(None, path.split(".")):
            found = getattr(found, name)
    except (ImportError, AttributeError):
        raise Missing(f"{module} {path}".rstrip()) from None
    return found


def serve_programs(make: Callable[[], Machine], memory: int) -> None:
    """Run the programs that the parent asks for, on what `make` makes, in `memory` bytes at most."""

    def start() -> tuple[dict[str, Any], Callable[[dict[str, Any], bytes], Answer]]:
        try:
            machine = make()
        except Missing as missing:
            reason = f"the installed jaxlib has no {missing}"
            return {}, lambda _head, _body: ({"unsupported": reason}, b"")
        return {}, lambda head, body: _answer(machine, head, body)

    serve(start, memory)


def _answer(machine: Machine, head: dict[str, Any], body: bytes) -> Answer:
    proto, rest = body[: head["proto"]], body[head["proto"] :]
    described = [description for one_set in head["arrays"] for description in one_set]
    arrays = iter(unpack_arrays(described, rest))
    sets = [[next(arrays) for _ in one_set] for one_set in head["arrays"]]
    try:
        results = machine(proto, sets, head["options"])
    except (
        RuntimeError,
        ValueError,
        Refused,
    ) as error:  # jaxlib's own errors are RuntimeErrors or ValueErrors
        return {"unsupported": _reason(error)}, b""
    packed = [pack_arrays(one_set) for one_set in results]
    return {"arrays": [described for described, _ in packed]}, b"".join(data for _, data in packed)


def _reason(error: Exception) -> str:
    """The first line of what jaxlib says, of MLIR's complaints the first one."""
    diagnostics: list[Any] = getattr(error, "error_diagnostics", [])
    text = diagnostics[0].message if diagnostics else str(error)
    return text.strip().partition("\n")[0]
