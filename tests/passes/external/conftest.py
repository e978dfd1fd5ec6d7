"""Small programs that stand in for somebody's compiler."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from passes import Pass, parse_pipeline
from passes.pipeline import written

Command = Callable[..., Pass]


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """`command(script, arguments="", options="")`: the pass that runs a Python script."""

    def make(script: str, arguments: str = "", options: str = "") -> Pass:
        path = tmp_path / "tool.py"
        path.write_text(f"import os, signal, sys, time\n{script}\n")
        text = written(f"{sys.executable} -S {path} {arguments}".strip())
        return parse_pipeline(
            f"cmd:{text}{{{options}}}" if options else f"cmd:{text}", allow_code=True
        ).passes[0]

    return make
