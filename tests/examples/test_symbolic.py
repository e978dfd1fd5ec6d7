"""The programs of `examples/symbolic` go the whole way to the Tensorizer, for any size, and keep their meaning."""

import importlib
import inspect
import json
from pathlib import Path

import jax
import pytest

from fuzz.__main__ import main
from fuzz.targets import EXAMPLE_ARGUMENTS, load_target
from fuzz.work import dynamic_copies
from hlo import HloModule
from passes import AnyProgram, Trace, parse_pipeline, run_on_program

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples" / "symbolic"
DOCUMENT = (ROOT / "docs" / "front_end.md").read_text("utf-8")
MODULES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "shapes")
PROGRAMS = [
    f"examples.symbolic.{module}:{name.removesuffix(EXAMPLE_ARGUMENTS)}"
    for module in MODULES
    for name in vars(importlib.import_module(f"examples.symbolic.{module}"))
    if name.endswith(EXAMPLE_ARGUMENTS)
]

COPIED = {
    "examples.symbolic.cache:decode_step": {"dynamic-slice", "dynamic-update-slice"},
    "examples.symbolic.cache:one_of_them": {"dynamic-slice"},
    "examples.symbolic.sequences:recurrent": {"dynamic-slice", "dynamic-update-slice"},
}
"""What is left at starts that only a run tells."""


def row_of(target: str) -> str:
    """The line of the table in `docs/front_end.md`."""
    program: AnyProgram = load_target(target).module
    folded, bounded, rest = Trace(), Trace(), Trace()
    first, second, *others = parse_pipeline("front-end").passes
    for pass_, trace in ((first, folded), (second, bounded), *((other, rest) for other in others)):
        program, _ = run_on_program(pass_, program, trace)
    assert isinstance(program, HloModule)
    copies = dynamic_copies(program)
    left = ", ".join(f"`{copy.opcode}` of {copy.shape}, {copy.bytes}" for copy in copies)
    counts = (
        sum(folded.fired.values()),
        bounded.fired["size-parameter"],
        bounded.fired["lower"],
        bounded.fired["bound-type"],
        sum(count for rule, count in rest.fired.items() if rule.startswith("mask-")),
    )
    numbers = " | ".join(map(str, counts))
    return f"| `{target.removeprefix('examples.symbolic.')}` | {numbers} | {left or '-'} |"


@pytest.mark.parametrize("target", PROGRAMS)
def test_the_table_has_a_row_for_each_program(target: str) -> None:
    name = f"| `{target.removeprefix('examples.symbolic.')}` |"
    rows = [line for line in DOCUMENT.splitlines() if line.startswith(name)]
    assert len(rows) == 1
    if f"with JAX {jax.__version__}" in DOCUMENT:
        assert rows == [row_of(target)]


def test_there_are_more_than_six() -> None:
    assert len(PROGRAMS) > 6


@pytest.mark.parametrize("target", PROGRAMS)
def test_a_program_of_any_size_keeps_its_meaning_through_the_front_end(capsys, target: str) -> None:
    assert main(["check", target, "--passes", "front-end", "--inputs", "4", "--json"]) == 0
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert told["verdict"] == "agree"
    assert told["fired"]["bound-dynamic-dimensions:size-parameter"] > 0
    assert {copy["opcode"] for copy in told["scratch"]} == COPIED.get(target, set())
    assert all(copy["bytes"] > 0 for copy in told["scratch"])


@pytest.mark.parametrize("target", PROGRAMS)
def test_a_program_says_in_a_line_what_it_is(target: str) -> None:
    module, _, name = target.partition(":")
    for function in (name, name + EXAMPLE_ARGUMENTS):
        text = inspect.getdoc(getattr(importlib.import_module(module), function))
        assert text
        assert "\n" not in text


def test_a_program_that_stays_dynamic_is_rejected_in_the_words_of_the_guard(capsys, tmp_path: Path) -> None:
    # its parameter is dynamic by its type: there is no scalar that could be passed beside it
    path = tmp_path / "dynamic.hlo"
    path.write_text(
        "HloModule m\nENTRY main { x = f32[<=8] parameter(0)\n ROOT y = f32[<=8] negate(x) }", "utf-8"
    )
    assert main(["check", str(path), "--passes", "front-end"]) == 3
    assert "tensorizer-guard: Input tensor x has dynamic shape" in capsys.readouterr().out


def test_a_program_without_a_bound_gets_no_further_than_stablehlo(capsys) -> None:
    target = "examples.symbolic.sequences:ranked"
    assert main(["check", target, "--passes", "canonicalize-dynamism,tensorizer-guard"]) == 3
    assert (
        "parameter 0: tensor<?x?xf32> has a size that is neither known nor bounded" in capsys.readouterr().out
    )
