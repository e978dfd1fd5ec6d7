from dataclasses import fields

import pytest

from hlo import InvalidInput
from passes import PASSES, SWITCHES, apply_switches, parse_assignment, parse_pipeline

KILL_SWITCH = "NEURON_DISABLE_MOVEMENT_OF_SLICE_FROM_PARAM"
PIPELINE = "dynamic-slice-mover,dce"
ON = "dynamic-slice-mover{disable_movement_of_slice_from_param=true},dce"


@pytest.mark.parametrize("switch", SWITCHES, ids=[switch.variable for switch in SWITCHES])
def test_every_switch_sets_a_flag_that_exists(switch) -> None:
    flags = {field.name: field.default for field in fields(PASSES[switch.pass_name])}
    assert flags[switch.option] is False


def test_the_kill_switch_is_on_at_exactly_1() -> None:
    assert str(apply_switches(parse_pipeline(PIPELINE), {KILL_SWITCH: "1"})) == ON


@pytest.mark.parametrize("value", ["0", "", "true", "01", " 1", "1 ", "2"])
def test_any_other_value_leaves_it_off(value: str) -> None:
    assert str(apply_switches(parse_pipeline(PIPELINE), {KILL_SWITCH: value})) == PIPELINE


def test_other_variables_are_nobodys_business() -> None:
    assert str(apply_switches(parse_pipeline(PIPELINE), {"PATH": "1", KILL_SWITCH.lower(): "1"})) == PIPELINE


def test_an_option_that_the_pipeline_sets_stays_set() -> None:
    assert str(apply_switches(parse_pipeline(ON), {KILL_SWITCH: "0"})) == ON


def test_other_options_stay_as_they_are() -> None:
    pipeline = parse_pipeline("dynamic-slice-mover{clamp_starts=false}")
    text = str(apply_switches(pipeline, {KILL_SWITCH: "1"}))
    assert set(text.removeprefix("dynamic-slice-mover{").removesuffix("}").split(",")) == {
        "clamp_starts=false",
        "disable_movement_of_slice_from_param=true",
    }


@pytest.mark.parametrize("value", ["1", "", "a=b"])
def test_an_assignment_is_split_at_the_first_equals_sign(value: str) -> None:
    assert parse_assignment(f"{KILL_SWITCH}={value}") == (KILL_SWITCH, value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (KILL_SWITCH, f"--env '{KILL_SWITCH}' is not NAME=VALUE"),
        ("", "--env '' is not NAME=VALUE"),
        (
            "NEURON_DISABLE_MOVEMENT_OF_SLICE_FROM_PRARAM=1",
            "--env 'NEURON_DISABLE_MOVEMENT_OF_SLICE_FROM_PRARAM=1': no pass reads "
            f"'NEURON_DISABLE_MOVEMENT_OF_SLICE_FROM_PRARAM'; did you mean {KILL_SWITCH}?",
        ),
        ("=1", f"--env '=1': no pass reads ''; known: {KILL_SWITCH}"),
    ],
)
def test_a_bad_assignment_is_refused_in_one_line(text: str, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_assignment(text)
    assert str(caught.value) == message
