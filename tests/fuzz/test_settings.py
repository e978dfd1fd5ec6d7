import os
from pathlib import Path

from fuzz.settings import Settings, child_environment

KILL_SWITCH = "NEURON_DISABLE_MOVEMENT_OF_SLICE_FROM_PARAM"


def test_only_the_switches_of_passes_are_taken_from_the_environment() -> None:
    assert Settings.of({KILL_SWITCH: "0", "PATH": "/bin"}).switches == {KILL_SWITCH: "0"}


def test_the_compilation_cache_is_where_caches_go() -> None:
    assert Settings.of({"XDG_CACHE_HOME": "/caches"}).compilation_cache == Path("/caches/hlofuzz/xla")
    assert Settings.of({}).compilation_cache == Path.home() / ".cache/hlofuzz/xla"


def test_children_hash_alike(monkeypatch) -> None:
    monkeypatch.setenv("PYTHONHASHSEED", "7")
    monkeypatch.setenv("KEPT", "yes")
    assert child_environment()["PYTHONHASHSEED"] == "0"
    assert child_environment()["KEPT"] == "yes"


def test_children_find_the_modules_that_this_process_finds(monkeypatch, tmp_path) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    assert child_environment()["PYTHONPATH"].split(os.pathsep)[0] == str(tmp_path)
