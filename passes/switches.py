"""Which environment variables change what a pass does?

One table, applied at the door: the environment is a mapping handed in, and passes only see their options.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from hlo import InvalidInput
from passes.base import Pass
from passes.pipeline import Pipeline
from passes.registry import nearest


@dataclass(frozen=True)
class Switch:
    """`variable`, set to exactly `on_value`, sets the boolean `option` of the pass called `pass_name`."""

    variable: str
    pass_name: str
    option: str
    on_value: str
    description: str


SWITCHES = (
    Switch(
        variable="NEURON_DISABLE_MOVEMENT_OF_SLICE_FROM_PARAM",
        pass_name="dynamic-slice-mover",
        option="disable_movement_of_slice_from_param",
        on_value="1",
        description="do not move a slice whose source is a parameter of the entry computation",
    ),
)


def apply_switches(pipeline: Pipeline, environment: Mapping[str, str]) -> Pipeline:
    """`pipeline` with the options set that `environment` switches on.

    A variable with another value, or absent, leaves the options as the pipeline has them. Variables that are
    not in SWITCHES are nobody's business here: `environment` may be a whole process environment.
    """
    on = [switch for switch in SWITCHES if environment.get(switch.variable) == switch.on_value]
    return Pipeline(tuple(_with(pass_, on) for pass_ in pipeline.passes))


def _with(pass_: Pass, on: list[Switch]) -> Pass:
    options = {switch.option: True for switch in on if switch.pass_name == pass_.name}
    return replace(pass_, **options) if options else pass_


def parse_assignment(text: str) -> tuple[str, str]:
    """`NAME=VALUE` as (name, value), for `--env`. The value may be empty and may hold "=".

    Raises InvalidInput where there is no "=", or for a name that is not in SWITCHES, with the nearest one.
    """
    name, equals, value = text.partition("=")
    if not equals:
        raise InvalidInput(f"--env {text!r} is not NAME=VALUE")
    known = [switch.variable for switch in SWITCHES]
    if name not in known:
        raise InvalidInput(f"--env {text!r}: no pass reads {name!r}; {nearest(name, known)}")
    return name, value
