"""Rewrites of HLO modules. They know nothing of testing."""

from passes.base import Exactness, Pass, PassCrashed, PassError, Trace
from passes.pipeline import Observer, Pipeline, pass_text
from passes.registry import DEFAULT_PIPELINE, PASSES, CodeRefused, parse_pipeline
from passes.switches import SWITCHES, Switch, apply_switches, parse_assignment

__all__ = [
    "DEFAULT_PIPELINE",
    "PASSES",
    "SWITCHES",
    "CodeRefused",
    "Exactness",
    "Observer",
    "Pass",
    "PassCrashed",
    "PassError",
    "Pipeline",
    "Switch",
    "Trace",
    "apply_switches",
    "parse_assignment",
    "parse_pipeline",
    "pass_text",
]
