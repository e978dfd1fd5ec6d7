"""Which program does `hlofuzz check` mean: a file, or a function that JAX traces?"""

from __future__ import annotations

import difflib
import importlib
import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import jax
from jax.export import is_symbolic_dim

from fuzz.calling import pack_arguments
from hlo import HloModule, InvalidInput
from hlo.interchange import from_jax
from hlo.stablehlo import StableHloModule, export_jax, read_program
from oracle.reference import X64_BEFORE
from passes import AnyProgram

EXAMPLE_ARGUMENTS = "_example_args"
"""A function `f` has a companion `f_example_args()` beside it, which returns a tuple of arguments to trace it with:
arrays, `jax.ShapeDtypeStruct`s, or trees of them. Dimensions may be symbols (`jax.export.symbolic_shape`)."""

_FUNCTION = re.compile(r"(\w+(?:\.\w+)*):(\w+)")


class Target(NamedTuple):
    """A program to check, with unknown sizes where it is StableHLO.

    `packed` counts the called computations whose arguments were put into one tuple.
    """

    module: AnyProgram
    packed: int

    @property
    def hlo(self) -> HloModule:
        """The program as HLO. Raises InvalidInput for one with unknown sizes."""
        if not isinstance(self.module, HloModule):
            raise InvalidInput("the program has unknown sizes")
        return self.module


def load_target(text: str, *, pack: bool = True, stablehlo: bool = False) -> Target:
    """A file as it is (`hlo.stablehlo.read_program`), or a JAX function `package.module:function`.

    `pack`: the calls of a JAX function take one tuple (`fuzz.calling`). `stablehlo`: see `read_program`. Importing the
    module runs its code; what that raises, other than a module that is not there, comes through. Raises InvalidInput
    with the place.
    """
    match = _FUNCTION.fullmatch(text)
    if match is None or Path(text).exists():
        return Target(read_program(text, stablehlo=stablehlo), 0)
    with _precision_of_the_user():
        program = _traced(match[1], match[2], text)
    if isinstance(program, StableHloModule):
        return Target(program, 0)
    return Target(program, pack_arguments(program) if pack else 0)


@contextmanager
def _precision_of_the_user() -> Generator[None, None, None]:
    """JAX without the 64-bit types that the reference turns on: as it is where the program usually runs.

    For the whole process rather than this thread, so that a program can turn them on itself.
    """
    ours = jax.config.values["jax_enable_x64"]
    jax.config.update("jax_enable_x64", X64_BEFORE)
    try:
        yield
    finally:
        jax.config.update("jax_enable_x64", ours)


def _traced(module_name: str, name: str, text: str) -> AnyProgram:
    module = _import(module_name, text)
    function = _function(module, name, text)
    arguments = _function(module, name + EXAMPLE_ARGUMENTS, text)()
    if not isinstance(arguments, tuple):
        raise InvalidInput(f"{name}{EXAMPLE_ARGUMENTS}() returns no tuple of arguments", path=text)
    return export_jax(function, *arguments) if _is_symbolic(arguments) else from_jax(function, *arguments)


def _is_symbolic(arguments: tuple[Any, ...]) -> bool:
    """Whether a dimension of an argument is a symbol."""
    shapes = (getattr(leaf, "shape", ()) for leaf in jax.tree.leaves(arguments))
    return any(is_symbolic_dim(size) for shape in shapes for size in shape)


def _import(name: str, text: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise InvalidInput(f"no module named {error.name!r}", path=text) from None


def _function(module: ModuleType, name: str, text: str) -> Callable[..., Any]:
    found = getattr(module, name, None)
    if callable(found):
        return found
    callables = [other for other, value in vars(module).items() if callable(value)]
    close = difflib.get_close_matches(name, callables, n=1)
    hint = f"; did you mean {close[0]}?" if close else ""
    if name.endswith(EXAMPLE_ARGUMENTS):
        hint = ", which returns the arguments to trace the function with"
    raise InvalidInput(f"{module.__name__} has no function {name}{hint}", path=text)
