"""How is a user's Python callable a pass?"""

from __future__ import annotations

import difflib
import importlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

from hlo import HloFuzzError, HloModule, InvalidInput
from hlo.canonical import structure
from hlo.interchange import export_proto, import_proto
from passes.base import Pass, PassCrashed, Trace
from passes.external.base import REWRITE, ExternalPass, take_over

PREFIX = "py:"
MODULE, PROTO = "module", "proto"
_PLACE = re.compile(r"(\w+(?:\.\w+)*):(\w+(?:\.\w+)*)")


@dataclass(frozen=True)
class PythonPass(ExternalPass):
    """A Python callable that rewrites a module of our IR in place, or turns proto bytes into proto bytes.

    In place, it returns whether it changed anything, or None. One class for each callable: `python_pass`.
    """

    over: str = MODULE
    """What it is called with: "module" (an HloModule) or "proto" (a serialised HloModuleProto)."""

    function: ClassVar[Callable[..., Any]]

    def __post_init__(self) -> None:
        """Raises InvalidInput for an option that says nothing."""
        super().__post_init__()
        if self.over not in (MODULE, PROTO):
            raise InvalidInput(f"{self.name}: option over is {MODULE} or {PROTO}, not {self.over!r}")

    def run(self, module: HloModule, trace: Trace) -> bool:
        """Raises what the callable raises, and PassCrashed for an answer that makes no sense."""
        return self._run_on_proto(module, trace) if self.over == PROTO else self._run_in_place(module, trace)

    def _run_in_place(self, module: HloModule, trace: Trace) -> bool:
        before = structure(module)
        said = self.function(module)
        if said is not None and not isinstance(said, bool):
            raise PassCrashed(
                self.name, f"it returned {_shortened(said)}; whether it changed anything, or None"
            )
        changed = structure(module) != before
        if changed:
            trace.fire(REWRITE)
        return changed if said is None else said

    def _run_on_proto(self, module: HloModule, trace: Trace) -> bool:
        data = export_proto(module)
        answer = self.function(data)
        if not isinstance(answer, bytes):
            raise PassCrashed(self.name, f"it returned {_shortened(answer)}, not the bytes of a module")
        if answer == data:
            return False
        try:
            result = import_proto(answer)
        except HloFuzzError as error:
            raise PassCrashed(self.name, f"its output cannot be read: {error}") from None
        return take_over(module, result, trace)


def _shortened(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"


@cache
def python_pass(place: str) -> type[Pass]:
    """The class of `py:package.module:callable`. Imports the module, which runs its code.

    Where the callable is a subclass of Pass, it is that, with its own options, rules and promise, by this name.
    Raises InvalidInput for a module or a callable that is not there; whatever else importing raises comes through.
    """
    match = _PLACE.fullmatch(place)
    if match is None:
        raise InvalidInput(f"{PREFIX}{place}: write {PREFIX}package.module:callable")
    found, name = _find(place, match[1], match[2]), f"{PREFIX}{place}"
    if isinstance(found, type) and issubclass(found, Pass):
        return type(
            found.__name__, (found,), {"__doc__": found.__doc__, "__module__": __name__, "name": name}
        )
    namespace = {
        "__doc__": f"The Python callable {place}.",
        "__module__": __name__,
        "function": staticmethod(found),
        "name": name,
    }
    return type(f"PythonPass({place})", (PythonPass,), namespace)


def _find(place: str, module: str, path: str) -> Callable[..., Any]:
    try:
        found: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise InvalidInput(f"{PREFIX}{place}: no module named {error.name!r}") from None
    for name in path.split("."):
        inside = found
        found = getattr(inside, name, None)
        if found is None:
            close = difflib.get_close_matches(name, [n for n in dir(inside) if not n.startswith("_")], n=1)
            hint = f"; did you mean {close[0]}?" if close else ""
            raise InvalidInput(f"{PREFIX}{place}: there is no {name}{hint}")
    if not callable(found):
        raise InvalidInput(f"{PREFIX}{place} is not callable")
    return found
