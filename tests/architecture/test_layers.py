"""Do the packages keep to the architecture: one direction, one door to the outside?

Each file is read as a syntax tree, never imported. `names_used` lists every dotted name that the file takes
from elsewhere, with aliases and relative imports resolved, in functions and `TYPE_CHECKING` blocks too; the
rules are then questions about these names.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

MAY_IMPORT: dict[str, set[str]] = {
    "hlo": set(),
    "passes": {"hlo"},
    "oracle": {"hlo", "passes"},
    "fuzz": {"hlo", "passes", "oracle"},
}
ENVIRONMENT_DOOR = {"fuzz/settings.py"}
# jaxlib's private modules change without notice: they are feature-detected in one place, and engines that
# compile or interpret may hold what that place hands them. Children that jaxlib may take along start without us.
JAXLIB_DOORS = {
    "fuzz/inside_jax/door.py",
    "hlo/interchange/bridge.py",
    "hlo/interchange/installed.py",
    "hlo/interchange/mlir.py",
    "oracle/engines/compiled.py",
    "oracle/engines/compiler_child.py",
    "oracle/engines/interpreter_child.py",
    "passes/xla/child.py",
}

_OURS = re.compile(rf"({'|'.join(MAY_IMPORT)})(\.\w+)+")  # a module named in a string: `-m`, import_module
_JAXLIB = re.compile(r"jaxlib(\.\w+)+")
_ENVIRONMENT = {"os.environ", "os.environb", "os.getenv", "os.getenvb", "os.putenv", "os.unsetenv"}
_RUNS_CODE = {"builtins.eval", "builtins.exec", "builtins.__import__"}
_PUBLIC_BY_CUSTOM = {"_asdict", "_fields", "_make", "_replace"} | {"_exit"}  # of named tuples; of os
_UNSAFE_FORMATS = {"pickle", "_pickle", "cloudpickle", "dill", "joblib", "marshal", "shelve"}


def names_used(source: str, path: str) -> set[str]:
    """Dotted names that the file at `path` (relative to the root, with slashes) takes from elsewhere."""
    tree = ast.parse(source, path)
    aliases = {name: f"builtins.{name}" for name in ("eval", "exec", "__import__")}
    used: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for item in node.names:
                used.add(item.name)
                top = item.name.split(".")[0]  # `import a.b` binds a, `import a.b as c` binds a.b
                aliases[item.asname or top] = item.name if item.asname else top
        elif isinstance(node, ast.ImportFrom):
            for item in node.names:
                used.add(name := ".".join([*_origin(node, path), item.name]))
                aliases[item.asname or item.name] = name
    used.update(_references(tree, aliases))
    return used | _modules_in_strings(tree)


def _origin(node: ast.ImportFrom, path: str) -> list[str]:
    """The module of `from … import`, in parts. A file's package is its folder, also for `__init__.py`."""
    package = path.split("/")[:-1]
    parent = package[: max(len(package) - node.level + 1, 0)] if node.level else []
    return parent + (node.module.split(".") if node.module else [])


def _references(tree: ast.AST, aliases: dict[str, str]) -> Iterator[str]:
    for node in ast.walk(tree):
        attributes: list[str] = []
        while isinstance(node, ast.Attribute):
            attributes.append(node.attr)
            node = node.value
        if isinstance(node, ast.Name) and node.id in aliases:
            yield ".".join([aliases[node.id], *reversed(attributes)])


def _modules_in_strings(tree: ast.AST) -> set[str]:
    """`[sys.executable, "-m", "oracle.child"]` and `import_module("jaxlib._hlo")` are imports, too."""
    strings = (n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str))
    return {s for s in strings if _OURS.fullmatch(s) or _JAXLIB.fullmatch(s)}


def foreign_privates(source: str, path: str) -> set[str]:
    """Attributes `_x` taken from an object other than self, where no class of this file binds an `_x`.

    A file is the unit of privacy: a computation may edit its instructions' links, nobody elsewhere may.
    """
    tree = ast.parse(source, path)
    taken: set[str] = set()
    bound = set(_PUBLIC_BY_CUSTOM)
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="self" | "cls"), ctx=ast.Store()):
                bound.add(node.attr)
            case ast.Attribute(value=ast.Name(id="self" | "cls")):
                pass
            case ast.Attribute():
                taken.add(node.attr)
            case ast.FunctionDef():
                bound.add(node.name)
            case ast.AnnAssign(target=ast.Name()) | ast.Assign(targets=[ast.Name()]):
                bound.update(
                    n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
                )
            case _:
                pass
    return {n for n in taken - bound if n.startswith("_") and not n.startswith("__")}


def layers_above(names: set[str], layer: str) -> set[str]:
    return {
        n for n in names if (top := n.split(".")[0]) in MAY_IMPORT and top not in MAY_IMPORT[layer] | {layer}
    }


def environment(names: set[str]) -> set[str]:
    return {n for n in names if ".".join(n.split(".")[:2]) in _ENVIRONMENT}


def private_jax(names: set[str]) -> set[str]:
    """All of jaxlib but its version is private; of jax, what an underscore marks."""
    jaxlib = {n for n in names if _JAXLIB.fullmatch(n)} - {"jaxlib.version", "jaxlib.__version__"}
    return jaxlib | {n for n in names if re.match(r"jax\.(\w+\.)*_[a-z]", n)}


def code_runners(names: set[str]) -> set[str]:
    return {n for n in names if n in _RUNS_CODE or n.split(".")[0] in _UNSAFE_FORMATS}


@cache
def sources() -> dict[str, str]:
    """The text of every Python file of the four packages."""
    paths = [p for layer in MAY_IMPORT for p in sorted((ROOT / layer).rglob("*.py"))]
    return {p.relative_to(ROOT).as_posix(): p.read_text("utf-8") for p in paths}


@cache
def files() -> dict[str, set[str]]:
    return {name: names_used(source, name) for name, source in sources().items()}


@pytest.mark.parametrize("layer", MAY_IMPORT)
def test_layer_imports_only_the_layers_below_it(layer: str) -> None:
    mine = {name: used for name, used in files().items() if name.startswith(f"{layer}/")}
    assert mine, f"no Python files in {layer}/"
    assert not {name: bad for name, used in mine.items() if (bad := layers_above(used, layer))}


def test_passes_and_the_ir_know_nothing_of_testing() -> None:
    testing = {"hypothesis", "pytest", "unittest"}
    below = {name: used for name, used in files().items() if name.startswith(("hlo/", "passes/"))}
    assert not {
        name: bad for name, used in below.items() if (bad := {n.split(".")[0] for n in used} & testing)
    }


def test_only_settings_reads_the_environment() -> None:
    outside = {name: used for name, used in files().items() if name not in ENVIRONMENT_DOOR}
    assert not {name: bad for name, used in outside.items() if (bad := environment(used))}


def test_only_the_bridge_touches_private_jax() -> None:
    outside = {name: used for name, used in files().items() if name not in JAXLIB_DOORS}
    assert not {name: bad for name, used in outside.items() if (bad := private_jax(used))}


def test_private_attributes_stay_in_their_file() -> None:
    outside = {name: source for name, source in sources().items() if name not in JAXLIB_DOORS}
    assert not {name: bad for name, source in outside.items() if (bad := foreign_privates(source, name))}


def test_nothing_runs_code_that_it_read() -> None:
    assert not {name: bad for name, used in files().items() if (bad := code_runners(used))}


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("import oracle.compare", "oracle.compare"),
        ("def late():\n    from oracle import compare", "oracle.compare"),
        ("from ...oracle import compare", "oracle.compare"),
        ("from ... import oracle", "oracle"),
        ("from . import dce", "passes.stock.dce"),
        ("from ..base import Pass", "passes.base.Pass"),
        ("run([python, '-m', 'oracle.child'])", "oracle.child"),
        ("import os as o\no.environ['A']", "os.environ"),
        ("from os import getenv as get\nget('A')", "os.getenv"),
        ("import os.path\nos.getenv('A')", "os.getenv"),
        ("import jaxlib\njaxlib._hlo.f", "jaxlib._hlo.f"),
        ("import_module('jaxlib._xla')", "jaxlib._xla"),
        ("from jax import _src", "jax._src"),
        ("map(eval, lines)", "builtins.eval"),
    ],
)
def test_no_spelling_of_an_import_is_missed(source: str, name: str) -> None:
    assert name in names_used(source, "passes/stock/reader.py")


def test_a_word_in_a_sentence_is_no_import() -> None:
    assert names_used('"""Mirrors oracle.compare."""\nmodel.eval()', "passes/stock/reader.py") == set()


@pytest.mark.parametrize(
    ("source", "private"),
    [
        ("def f(inst):\n    return inst._users", {"_users"}),
        ("def f(inst):\n    inst._users = {}", {"_users"}),
        ("class A:\n    _users: dict\ndef f(inst):\n    return inst._users", set()),
        ("class A:\n    def __init__(self, a):\n        self._x = a._x", set()),
        ("class B(A):\n    def f(self):\n        return self._x", set()),
    ],
)
def test_a_file_is_the_unit_of_privacy(source: str, private: set[str]) -> None:
    assert foreign_privates(source, "hlo/reader.py") == private


@pytest.mark.parametrize(
    "name", ["jaxlib._hlo", "jaxlib.mlir.ir", "jaxlib._jax.mlir", "jax._src.core", "jax.lib._x"]
)
def test_what_is_private_in_jax(name: str) -> None:
    assert private_jax({name}) == {name}


@pytest.mark.parametrize(
    "name", ["jax", "jaxlib", "jaxlib.version", "jax.lax.dynamic_slice_p", "jax.__version__"]
)
def test_what_is_public_in_jax(name: str) -> None:
    assert private_jax({name}) == set()
