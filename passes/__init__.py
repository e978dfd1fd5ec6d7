"""Rewrites of HLO modules. They know nothing of testing."""

from passes.base import Exactness, Pass, PassCrashed, PassError, Trace
from passes.pipeline import Observer, Pipeline, pass_text
from passes.registry import DEFAULT_PIPELINE, PASSES, PIPELINES, CodeRefused, named_passes, parse_pipeline
from passes.stablehlo_pass import AnyProgram, NotInStableHlo, StableHloPass, run_on_program
from passes.switches import SWITCHES, Switch, apply_switches, parse_assignment

__all__ = [
    "DEFAULT_PIPELINE",
    "PASSES",
    "PIPELINES",
    "SWITCHES",
    "AnyProgram",
    "CodeRefused",
    "Exactness",
    "NotInStableHlo",
    "Observer",
    "Pass",
    "PassCrashed",
    "PassError",
    "Pipeline",
    "StableHloPass",
    "Switch",
    "Trace",
    "apply_switches",
    "named_passes",
    "parse_assignment",
    "parse_pipeline",
    "pass_text",
    "run_on_program",
]
