"""Does a module reach XLA's passes as it is, and come back with its signature, names and metadata?"""

import numpy as np
import pytest
from hypothesis import given, settings

from fuzz.generators import Program, programs
from hlo import HloModule
from hlo.canonical import structure
from hlo.interchange import read_text
from hlo.verify import verify
from oracle.inputs import draw_inputs
from oracle.judge import judge
from oracle.verdict import Agree
from passes import Trace, parse_pipeline
from passes.xla import xla_pass
from passes.xla.wrapping import without_marks
from tests.passes.xla.programs import CALLS, DEAD, DYNAMIC, FOLDABLE, REDUCER

TUPLES = """HloModule m
ENTRY e {
  unused = () parameter(0)
  pair = (s32[4], (s32[], f32[2])) parameter(1)
  x = s32[4] parameter(2)
  head = s32[4] get-tuple-element(pair), index=0
  rest = (s32[], f32[2]) get-tuple-element(pair), index=1
  sum = s32[4] add(head, x)
  ROOT r = ((s32[4]), (s32[], f32[2])) RESULT
}
"""


def made(xla_name: str, text: str) -> HloModule:
    module = read_text(text)
    xla_pass(xla_name)().run(module, Trace())
    assert verify(module) == []
    return module


@pytest.mark.parametrize("text", [FOLDABLE, CALLS, REDUCER, DYNAMIC])
def test_what_no_pass_touches_comes_back_to_the_letter(text: str) -> None:
    assert structure(made("nothing", text)) == structure(read_text(text))


def test_without_wrapping_mlir_leaves_less() -> None:
    assert made("import", FOLDABLE).instruction_count < read_text(FOLDABLE).instruction_count - 5


def test_a_pass_finds_the_constants_the_dead_and_the_calls() -> None:
    assert [i.name for i in made("dce", DEAD).entry_computation.instructions] == ["x", "y"]
    assert structure(made("dce", FOLDABLE)) == structure(read_text(FOLDABLE))
    folded = made("constant_folding", FOLDABLE).find_instruction("wide")
    assert folded is not None
    assert [operand.literal.value for operand in folded.operands] == [np.array(3)]
    inlined = made("flatten-call-graph+call-inliner", CALLS)
    assert [i.opcode for i in inlined.entry_computation.instructions] == ["parameter", "add", "add"]


def test_what_a_pass_leaves_alone_keeps_its_name_and_metadata() -> None:
    before, after = read_text(FOLDABLE), made("algsimp", FOLDABLE)
    kept = [i for i in after.entry_computation.instructions if before.find_instruction(i.name)]
    assert {"x", "sum"} <= {i.name for i in kept} != {i.name for i in before.entry_computation.instructions}
    for inst in kept:
        original = before.find_instruction(inst.name)
        assert original is not None
        assert inst.metadata == original.metadata


def test_calls_of_the_program_are_not_inlined_by_other_passes_and_not_marked_for_good() -> None:
    module = made("flatten-call-graph", CALLS)
    calls = [i for i in module.entry_computation.instructions if i.called_computations]
    assert [dict(i.frontend_attributes) for i in calls] == [{}, {}]
    assert len({i.called_computations for i in calls}) == 2  # the pass gave each its own


def test_inlining_puts_the_names_of_calls_in_front() -> None:
    module = made("flatten-call-graph+call-inliner", CALLS)
    op_names = [i.metadata.op_name for i in module.entry_computation.instructions]
    assert sorted(op_names) == ["", "first/twice/add", "twice/add"]


@pytest.mark.parametrize(
    "result",
    ["tuple(one, rest)\n  one = (s32[4]) tuple(sum)", "tuple(one, last)"],
    ids=["nested", "taken apart"],
)
def test_tuples_at_the_entry_stay(result: str) -> None:
    extra = "one = (s32[4]) tuple(sum)\n  n = s32[] get-tuple-element(rest), index=0\n"
    extra += "  f = f32[2] get-tuple-element(rest), index=1\n  last = (s32[], f32[2]) tuple(n, f)"
    text = TUPLES.replace("  ROOT", f"  {extra}\n  ROOT").replace("RESULT", result.partition("\n")[0])
    before, after = read_text(text), made("nothing", text)
    entries = before.entry_computation, after.entry_computation
    assert len({tuple(str(p.shape) for p in entry.parameters) for entry in entries}) == 1
    assert len({str(entry.root.shape) for entry in entries}) == 1
    assert [p.name for p in after.entry_computation.parameters] == ["unused", "pair", "x"]


def test_a_tuple_of_one_element_and_a_parameter_as_the_result_stay() -> None:
    text = "HloModule m\nENTRY e {\n  x = (s32[4]) parameter(0)\n  ROOT r = (s32[4]) copy(x)\n}\n"
    assert str(made("nothing", text).entry_computation.root.shape) == "(s32[4])"
    text = "HloModule m\nENTRY e {\n  ROOT x = (s32[4], ()) parameter(0)\n}\n"
    assert str(made("nothing", text).entry_computation.root.shape) == "(s32[4], ())"


@pytest.mark.parametrize(
    ("marked", "plain"),
    [
        ("hlofuzz-mark.3", ""),
        ("hlofuzz-mark.3/a/b", "a/b"),
        ("hlofuzz-mark.1/f/hlofuzz-mark.2/g", "f/g"),
        ("hlofuzz-mark.1/hlofuzz-mark.2", ""),
        ("hlofuzz-mark.1/f/hlofuzz-mark.2", "f"),
        ("hlofuzz-mark.1/f/", "f/"),
    ],
)
def test_marks_leave_no_trace(marked: str, plain: str) -> None:
    assert without_marks(marked) == plain


NOTHING = parse_pipeline("xla:nothing")


@settings(max_examples=20)
@given(programs())
def test_the_way_to_xla_and_back_keeps_the_meaning_of_every_program(program: Program) -> None:
    inputs = tuple(draw_inputs(program.module, program.input_seed, 1))
    assert judge(program.module, NOTHING, inputs, {}, use_jax=False).verdict == Agree()
