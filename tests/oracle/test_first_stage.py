"""Is the step inside a compiler named after which a program's value departs?"""

from dataclasses import replace

import numpy as np
import pytest

from hlo import HloModule
from hlo.interchange import read_text
from oracle.first_stage import CODE_GENERATION, Departure, Unanimous, first_bad_stage, located
from oracle.verdict import Finding, Kind, Mismatch
from passes.xla import Stage, XlaPass, pipeline_stages, xla_pass

X = np.arange(1, 5, dtype=np.int32)


def program(*operations: str) -> HloModule:
    lines = [f"  v{i} = s32[4] {operation}" for i, operation in enumerate(operations)]
    lines[-1] = lines[-1].replace("  v", "  ROOT v")
    return read_text("HloModule m\nENTRY e {\n  x = s32[4] parameter(0)\n" + "\n".join(lines) + "\n}\n")


TWICE = program("add(x, x)")
SAME = program("add(x, x)", "negate(v0)", "negate(v1)")
WRONG = program("add(x, x)", "negate(v0)")
UNKNOWN = read_text(
    'HloModule m\nENTRY e {\n  x = s32[4] parameter(0)\n  ROOT c = s32[4] custom-call(x), custom_call_target="?"\n}\n'
)


def stages(*modules: HloModule) -> list[Stage]:
    return [Stage(f"pass{i}", "simplification", module) for i, module in enumerate(modules)]


def finding(pass_: XlaPass, module: HloModule, *, crashed: bool = False) -> Finding:
    mismatch = None if crashed else Mismatch((), (0,), "s32 2", "s32 -2", 4, 4, "evaluator", "execution")
    return Finding(
        "execution", Kind.VALUE, f"{pass_.name}: wrong", 0, pass_.name, module, None, (X,), mismatch
    )


def test_the_first_stage_that_departs_is_found_though_later_ones_are_right_again() -> None:
    found = first_bad_stage(TWICE, [X], stages(SAME, WRONG, SAME))
    assert isinstance(found, Departure)
    assert (found.stage.name, found.number, found.total) == ("pass1", 2, 3)
    assert (found.before, found.stage.module) == (SAME, WRONG)
    assert found.mismatch.actual == "s32 -2"
    assert found.unseen == ()


def test_stages_that_all_agree_depart_nowhere() -> None:
    found = first_bad_stage(TWICE, [X], stages(SAME, TWICE))
    assert isinstance(found, Unanimous)
    assert found.last is TWICE


def test_a_stage_that_cannot_be_evaluated_is_passed_over_and_named() -> None:
    found = first_bad_stage(TWICE, [X], stages(SAME, UNKNOWN, WRONG))
    assert isinstance(found, Departure)
    assert (found.stage.name, found.unseen, found.before) == ("pass2", ("pass1",), SAME)


def told(monkeypatch: pytest.MonkeyPatch, name: str, *recorded: Stage) -> Finding:
    monkeypatch.setattr("oracle.first_stage.pipeline_stages", lambda module, timeout: list(recorded))
    pass_ = xla_pass(name)()
    return located(finding(pass_, TWICE), TWICE, pass_)


def test_a_finding_gets_the_name_of_the_stage_and_the_programs_around_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bad = Stage("algsimp", "simplification", WRONG)
    found = told(monkeypatch, "cpu", Stage("import", "", SAME), bad, replace_stage(bad, SAME))
    assert found.pass_name == "xla:cpu (algsimp)"
    assert found.message == "xla:cpu (algsimp): wrong"
    assert (found.before, found.after) == (SAME, WRONG)
    assert found.details[0].startswith(
        "first bad stage: xla:algsimp in simplification, number 2 of 3 that changed the program: result[0] is s32 -2"
    )
    # the real pass folds the two negations, and is right
    assert found.details[1].startswith("xla:algsimp alone on the program before it does not depart")


def replace_stage(stage: Stage, module: HloModule) -> Stage:
    return stage._replace(module=module)


def test_where_all_stages_agree_it_is_what_comes_behind_them(monkeypatch: pytest.MonkeyPatch) -> None:
    found = told(monkeypatch, "cpu", Stage("import", "", SAME), Stage("cse", "simplification", TWICE))
    assert found.pass_name == f"xla:cpu ({CODE_GENERATION})"
    assert found.details == (
        f"first bad stage: {CODE_GENERATION}: all 2 programs on the way agree",
        "no operation is wrong by itself: it takes several together",
    )


def test_the_pipeline_without_its_code_generator_is_not_blamed_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert told(monkeypatch, "pipeline", Stage("import", "", SAME)).pass_name == "xla:pipeline"


def test_a_crash_behind_the_passes_is_told_from_one_in_them(monkeypatch: pytest.MonkeyPatch) -> None:
    pass_ = xla_pass("cpu")()
    monkeypatch.setattr("oracle.first_stage.pipeline_stages", lambda module, timeout: [])
    crash = finding(pass_, TWICE, crashed=True)
    assert located(crash, TWICE, pass_).pass_name == f"xla:cpu ({CODE_GENERATION})"


def test_a_program_that_the_passes_refuse_keeps_its_finding() -> None:
    pass_ = xla_pass("cpu")()
    found = located(replace(finding(pass_, UNKNOWN), inputs=(X,)), UNKNOWN, pass_)
    assert found.pass_name == "xla:cpu"
    assert found.details == ("first bad stage: not to be seen (xla:pipeline: c calls ?)",)


def test_the_real_import_of_a_large_unsigned_start_departs_and_does_so_alone() -> None:
    """u8 255 is past the end, so the slice is the last element, 4; XLA's import reads the first."""
    text = "HloModule m\nENTRY e {\n  x = s32[4] parameter(0)\n  i = u8[] constant(255)\n"
    module = read_text(text + "  ROOT d = s32[1] dynamic-slice(x, i), dynamic_slice_sizes={1}\n}\n")
    found = first_bad_stage(module, [X], pipeline_stages(module))
    assert isinstance(found, Departure)
    assert (found.stage.name, found.number) == ("import", 1)
    assert (found.mismatch.expected, found.mismatch.actual) == ("s32 4", "s32 1")
    pass_ = xla_pass("cpu")()
    assert (
        "xla:import alone on the program before it departs, too"
        in located(finding(pass_, module), module, pass_).details
    )
