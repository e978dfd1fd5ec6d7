"""Where does a program pass by on its way from JAX to XLA, so that it can be replaced?

JAX's public hook, `jax.extend.xla.register_hlo_module_transformation`, comes too late: it sees what XLA has fused
and laid out, where passes over slices and calls find nothing, and where a constant in the wrong place makes the
executable hang. So this is the private function that JAX calls to have a program compiled. It is above the
compilation cache on disk, which therefore keeps the replaced program under a key of its own; and the caches in the
process are told apart by a user context, which is public.
"""

from __future__ import annotations

import importlib
import inspect
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from io import BytesIO
from typing import Any

import jax
from jax.extend.mlir import ir

from hlo import BridgeUnavailable

Rewrite = Callable[[str, bytes], str | None]
"""Given a program's name and StableHLO bytecode: the StableHLO text to compile in its place, or None."""

_MODULE, _FUNCTION = "jax._src.compiler", "compile_or_get_cached"
_TAKES = ["backend", "computation"]
"""What its first parameters are called."""

# Part of the key of each cache of traced, lowered and compiled functions. None in threads that are not inside.
_REWRITE = jax.make_user_context(None)
_LOCK = threading.Lock()
_inside = 0
"""How many contexts are open, in all threads."""


@contextmanager
def intercept(rewrite: Rewrite) -> Generator[None]:
    """In this thread, hand each program that JAX compiles to `rewrite` first.

    Each time is new to JAX's caches: what was compiled before is compiled again, and what is compiled inside is not
    met again outside. Raises BridgeUnavailable where this JAX has no such place.
    """
    _install()
    try:
        with _REWRITE(_Key(rewrite)):
            yield
    finally:
        _uninstall()


class _Key:
    """Equal to itself only. JAX asks a context's value for its hash and for equality."""

    def __init__(self, rewrite: Rewrite) -> None:
        self.rewrite = rewrite


def compile_function() -> tuple[Any, Any]:
    """JAX's module, and its function that compiles, or what stands in for it. Raises BridgeUnavailable."""
    try:
        module = importlib.import_module(_MODULE)
        function = getattr(module, _FUNCTION)
        takes = list(inspect.signature(function).parameters)[: len(_TAKES)]
    except (ImportError, AttributeError, ValueError, TypeError):
        module = function = takes = None
    if takes != _TAKES:
        raise BridgeUnavailable(f"{_MODULE}.{_FUNCTION}({', '.join(_TAKES)}, …)", jax.__version__)
    return module, function


def _install() -> None:
    global _inside
    with _LOCK:
        module, function = compile_function()
        if not isinstance(function, _Intercepting):
            setattr(module, _FUNCTION, _Intercepting(function))
        _inside += 1


def _uninstall() -> None:
    global _inside
    with _LOCK:
        _inside -= 1
        module, function = compile_function()
        # Where somebody else has wrapped ours meanwhile, it stays: with nobody inside it does nothing.
        if _inside == 0 and isinstance(function, _Intercepting):
            setattr(module, _FUNCTION, function.compiles_with)


class _Intercepting:
    """Stands in for JAX's function."""

    def __init__(self, compiles_with: Callable[..., Any]) -> None:
        self.compiles_with = compiles_with

    def __call__(self, backend: Any, computation: Any, *rest: Any, **named: Any) -> Any:
        key = _REWRITE.value
        if key is not None:
            name = ir.StringAttr(computation.operation.attributes["sym_name"]).value
            text = key.rewrite(name, _bytecode(computation))
            if text is not None:
                computation = replaced(computation, text)
        return self.compiles_with(backend, computation, *rest, **named)


def _bytecode(module: Any) -> bytes:
    with BytesIO() as data:
        module.operation.write_bytecode(file=data)
        return data.getvalue()


def replaced(module: Any, text: str) -> Any:
    """The MLIR module of `text`, with what JAX says about `module` and HLO does not know.

    That is, which arguments are donated, where they live and how they are laid out, and how many devices take part.
    """
    with module.context, ir.Location.unknown(module.context):
        new = ir.Module.parse(text)
        _copy_attributes(module.operation, new.operation, set(_names(new.operation)))
        _copy_attributes(_main(module), _main(new), {"arg_attrs", "res_attrs"})
    return new


def _copy_attributes(source: Any, target: Any, forget: set[str]) -> None:
    """Attributes of `source` that `target` lacks or is to `forget`."""
    for name in forget & set(_names(target)):
        del target.attributes[name]
    for name in _names(source):
        if name not in target.attributes:
            target.attributes[name] = source.attributes[name]


def _names(operation: Any) -> list[str]:
    return list(operation.attributes)


def _main(module: Any) -> Any:
    (main,) = (
        operation
        for operation in module.body.operations
        if "sym_name" in operation.attributes
        and ir.StringAttr(operation.attributes["sym_name"]).value == "main"
    )
    return main.operation
