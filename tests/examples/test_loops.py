"""The programs of `examples/loops` keep their meaning, and `docs/loops.md` says what becomes of them."""

import importlib
import inspect

import pytest

from benchmarks.loops import (
    BEGIN,
    DOCUMENT,
    END,
    ROOT,
    WITH,
    jax_version,
    number_row,
    outcomes_of,
    programs,
    reason_row,
)
from fuzz.__main__ import main
from fuzz.targets import EXAMPLE_ARGUMENTS, load_target
from hlo import HloModule, Opcode
from passes import Trace, parse_pipeline

TABLES = DOCUMENT.read_text("utf-8").partition(BEGIN)[2].partition(END)[0]
ROWS = [line for line in TABLES.splitlines() if line.startswith("| `")]
PROGRAMS = list(programs())


def rows_of(target: str) -> list[str]:
    return [row for row in ROWS if row.startswith(f"| `{target.removeprefix('examples.loops.')}` |")]


def dynamic_slices(module: HloModule) -> int:
    reachable = module.make_computation_post_order()
    return sum(
        i.opcode is Opcode.DYNAMIC_SLICE for computation in reachable for i in computation.instructions
    )


def after(pipeline: str, target: str) -> tuple[HloModule, Trace]:
    module, trace = load_target(target).hlo, Trace()
    parse_pipeline(pipeline).run(module, trace)
    return module, trace


@pytest.mark.parametrize("target", PROGRAMS)
def test_a_program_keeps_its_meaning_and_comes_out_as_the_tables_say(target: str) -> None:
    off, on = outcomes_of(target)
    assert (off.verdict, on.verdict) == ("agree", "agree")
    assert any(" yes " in row for row in rows_of(target)) == off.is_complete
    if f"{WITH}{jax_version()}." in TABLES:
        assert rows_of(target) == [
            row for row in (number_row(target, off, on), reason_row(target, off)) if row
        ]


@pytest.mark.parametrize("target", PROGRAMS)
def test_every_slice_became_static_or_is_left(target: str) -> None:
    (unrolled, _), (result, trace) = after("neuron:1", target), after("neuron", target)
    assert dynamic_slices(unrolled) == trace.fired["make-static"] + dynamic_slices(result)


def test_the_tables_have_every_program_once() -> None:
    assert len(PROGRAMS) >= 15
    assert [len([row for row in rows_of(target) if row.count("|") > 5]) for target in PROGRAMS] == [1] * len(
        PROGRAMS
    )
    assert len({row.split("|")[1] for row in ROWS}) == len(PROGRAMS)


@pytest.mark.parametrize(
    ("document", "arguments"),
    [
        ("README.md", ["examples.kv_cache:decode_step"]),
        ("docs/loops.md", ["examples.loops.running:chunked_sum", "--passes", "neuron"]),
    ],
)
def test_the_documents_show_what_check_prints(capsys, document: str, arguments: list[str]) -> None:
    assert main(["check", *arguments]) == 0
    shown = f"$ hlofuzz check {' '.join(arguments)}\n{capsys.readouterr().out}```"
    assert shown in (ROOT / document).read_text("utf-8")


def test_in_ten_programs_every_slice_that_a_counter_starts_became_static() -> None:
    assert sum(" yes " in row for row in ROWS) >= 10


@pytest.mark.parametrize("target", PROGRAMS)
def test_a_program_says_in_a_line_what_it_is(target: str) -> None:
    module, _, name = target.partition(":")
    for function in (name, name + EXAMPLE_ARGUMENTS):
        text = inspect.getdoc(getattr(importlib.import_module(module), function))
        assert text
        assert text.count("\n") == 0
