"""Is a crash of a pass told so that the report can be read, and shown, anywhere?"""

import importlib.util
from pathlib import Path
from types import ModuleType

from hlo import HloModule, TupleShape
from hlo.builder import Builder
from oracle.guarded import Crash, run_guarded
from passes import Trace

FAULTY = """
class Faulty:
    def run(self, module, trace):
        return {}[module]
"""


class RemovesTheRoot:
    """What `hlo` does not allow."""

    def run(self, module: HloModule, trace: Trace) -> bool:
        module.entry_computation.remove_instruction(module.entry_computation.root)
        return True


def crash_of(pass_: object) -> Crash:
    module = HloModule("m")
    entry = module.add_computation("main")
    module.set_entry_computation(entry)
    entry.set_root(Builder(entry).parameter(0, TupleShape(())))
    crash = run_guarded(pass_, module, Trace())  # pyright: ignore[reportArgumentType]
    assert isinstance(crash, Crash)
    return crash


def files(crash: Crash) -> list[str]:
    return [line.split('"')[1] for line in crash.lines if line.startswith("  File ")]


def imported_from(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("faulty", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_files_are_named_from_where_their_package_is_imported() -> None:
    crash = crash_of(RemovesTheRoot())
    assert files(crash)[-1] == "hlo/graph.py"
    assert not [file for file in files(crash) if Path(file).is_absolute()]
    assert str(Path.cwd()) not in "\n".join(crash.lines)


def test_a_file_that_is_in_no_package_is_named_alone(tmp_path: Path) -> None:
    path = tmp_path / "faulty.py"
    path.write_text(FAULTY)
    crash = crash_of(imported_from(path).Faulty())
    assert files(crash)[-1] == "faulty.py"
    assert str(tmp_path) not in "\n".join(crash.lines)
    assert crash.error.startswith("KeyError: ")
