"""What tests of campaigns share: a plan whose processes know the passes of `misbehaving.py`."""

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import fuzz.isolate
import passes.registry
from fuzz.campaign import Campaign, Plan, Result
from fuzz.campaign.source import for_each_program
from hlo import HloModule
from passes import parse_pipeline

SCRIPT = Path(__file__).with_name("misbehaving.py")
SEED = 3
EXAMPLES = 25

RunCampaign = Callable[..., Result]


@pytest.fixture
def misbehaving(monkeypatch) -> ModuleType:
    """The script, imported, with its passes registered in this process, too."""
    spec = importlib.util.spec_from_file_location("misbehaving", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(passes.registry, "PASSES", {**passes.registry.PASSES, **module.PASSES})
    monkeypatch.setattr(fuzz.isolate, "COMMAND", (sys.executable, str(SCRIPT), "judge"))
    return module


@pytest.fixture
def make_plan(misbehaving, tmp_path, tmp_path_factory) -> Callable[..., Plan]:
    """`make_plan(pipeline, …, **fields)`: a plan of few graphs, findings in a folder of its own."""

    def make(*pipelines: str, **fields) -> Plan:
        values: dict[str, Any] = {
            "pipelines": tuple(map(parse_pipeline, pipelines)),
            "environment": {},
            "seed": SEED,
            "workers": 1,
            "directory": tmp_path / "findings",
            # shared by all tests and workers: it grows warm
            "cache": tmp_path_factory.getbasetemp().parent / "hlofuzz-xla",
            "examples": EXAMPLES,
            "reduce_seconds": 20.0,
            "worker_command": (sys.executable, str(SCRIPT), "worker"),
            "reducer_command": (sys.executable, str(SCRIPT), "reducer"),
        }
        return Plan(**(values | fields))

    return make


@pytest.fixture
def run_campaign(make_plan) -> RunCampaign:
    """`run_campaign(pipeline, …, **fields)`: the result of a small campaign."""
    return lambda *pipelines, **fields: Campaign(make_plan(*pipelines, **fields), lambda _: None).run()


@pytest.fixture
def graphs() -> list[HloModule]:
    """The graphs that a campaign with these settings looks at."""
    found: list[HloModule] = []
    for_each_program(SEED, 0, EXAMPLES, lambda _, program: found.append(program.module))
    return found
