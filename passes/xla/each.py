"""What does each of many passes of XLA make of one module? Asked at once, which is much faster than one by one.

Most passes have nothing to do in most programs. They are found in groups: where several run together and none
changes anything, none does by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hlo import HloModule
from hlo.canonical import structure
from hlo.interchange import import_proto
from hlo.isolation import ChildDied
from passes.base import PassCrashed, PassError, Trace
from passes.xla.arriving import moved_bitcast
from passes.xla.process import XlaRefused, warm_process
from passes.xla.restoring import restored
from passes.xla.wrapping import INLINER, Wrapped, wrapped
from passes.xla.xla_pass import DCE, SPECIAL, refuse_what_cannot_go, xla_pass


@dataclass(frozen=True, eq=False)
class Outcome:
    """What `xla:NAME` did to a module. `result` is absent where it changed nothing, and where there is an `error`."""

    name: str
    result: HloModule | None = None
    error: PassError | PassCrashed | None = None

    @property
    def changed(self) -> bool:
        """Whether the pass changed the module."""
        return self.result is not None


def run_passes_each(module: HloModule, names: Sequence[str], *, timeout: int = 30) -> list[Outcome]:
    """What each of `names` alone makes of `module`, which is left as it is: as `XlaPass.run`, in the same order.

    `timeout` is in seconds, for all passes and again for each where one of them ended the child. Raises
    BridgeUnavailable where this jaxlib has no hook for passes.
    """
    installed = warm_process().passes
    together = [
        name for name in dict.fromkeys(names) if name in installed and name not in (INLINER, DCE, *SPECIAL)
    ]
    found = _together(module, together, timeout) if len(together) > 1 else {}
    for name in names:
        if name not in found:
            found[name] = _alone(module, name, timeout)
    return [found[name] for name in names]


def _together(module: HloModule, names: Sequence[str], timeout: int) -> dict[str, Outcome]:
    """The outcomes of passes of one kind; of none where one of them takes XLA along."""
    try:
        refuse_what_cannot_go("", module)
    except PassError:
        return {}  # each refuses with its own name
    origin = wrapped(module)
    if moved := moved_bitcast(module, origin, timeout):
        return {name: Outcome(name, error=_refusal(name, moved)) for name in names}
    try:
        results = warm_process().run_each(origin.proto, names, (INLINER,), timeout)
    except (XlaRefused, ChildDied):
        return {}
    return {name: _outcome(module, name, results.get(name), origin, timeout) for name in names}


def _outcome(
    module: HloModule, name: str, result: bytes | XlaRefused | None, origin: Wrapped, timeout: int
) -> Outcome:
    if result is None:
        return Outcome(name)
    if isinstance(result, XlaRefused):
        pass_ = xla_pass(name)(timeout=timeout)
        return Outcome(name, error=pass_.failure(result, origin, (INLINER, name)))
    new = restored(import_proto(result), module, origin)
    same = structure(new, names=False) == structure(module, names=False)
    return Outcome(name, None if same else new)


def _refusal(name: str, why: str) -> PassError:
    return PassError(xla_pass(name).name, why)


def _alone(module: HloModule, name: str, timeout: int) -> Outcome:
    copy = module.clone()
    try:
        changed = xla_pass(name)(timeout=timeout).run(copy, Trace())
    except (PassError, PassCrashed) as error:
        return Outcome(name, error=error)
    return Outcome(name, copy if changed else None)
