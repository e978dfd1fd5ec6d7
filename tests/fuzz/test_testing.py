"""The helpers for test suites of others."""

import sys
from types import ModuleType

import pytest
from hypothesis import find, given, settings

from fuzz.testing import (
    Program,
    SymbolicProgram,
    any_program,
    any_stablehlo_program,
    assert_keeps_meaning,
)
from hlo import HloModule, Opcode
from hlo.interchange import read_text
from hlo.stablehlo import StableHloModule
from oracle import Agree, Skip

WRONG = "py:passes_under_test:negate_nothing"
ADD = "HloModule m\nENTRY e {\n  x = s32[2] parameter(0)\n  ROOT r = s32[2] negate(x)\n}\n"


def negate_nothing(module: HloModule) -> bool:
    """Wrong: drops every negate."""
    found = [i for c in module.computations for i in c.instructions if i.opcode is Opcode.NEGATE]
    for inst in found:
        inst.parent.replace_instruction(inst, inst.operand(0))
    return bool(found)


@pytest.fixture(autouse=True)
def passes_under_test(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("passes_under_test")
    module.negate_nothing = negate_nothing  # pyright: ignore[reportAttributeAccessIssue]
    monkeypatch.setitem(sys.modules, module.__name__, module)


@given(any_program())
@settings(max_examples=10)
def test_a_right_pass_keeps_the_meaning(program: Program) -> None:
    assert isinstance(assert_keeps_meaning("dce", program).verdict, Agree | Skip)


def test_a_wrong_pass_fails_with_the_report() -> None:
    with pytest.raises(AssertionError, match=f"first bad pass: {WRONG}"):
        assert_keeps_meaning(WRONG, read_text(ADD))


def test_hypothesis_finds_a_program_that_a_wrong_pass_breaks() -> None:
    def breaks(program: Program) -> bool:
        try:
            assert_keeps_meaning(WRONG, program, use_jax=False)
        except AssertionError:
            return True
        return False

    found = find(any_program(), breaks, settings=settings(max_examples=2000, database=None))
    assert found.module.instruction_count < 10


def test_it_says_whether_the_pass_did_anything() -> None:
    assert assert_keeps_meaning("dce", read_text(ADD)).fired == {}


FOLDING = "canonicalize-for-tensorizer{static_dims_only=false}"
SIZE = """module { func.func @main(%x: tensor<?xf32>) -> tensor<i32> {
  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
  return %n : tensor<i32> } }"""


@given(any_stablehlo_program())
@settings(max_examples=5)
def test_a_right_pass_over_stablehlo_keeps_the_meaning(program: SymbolicProgram) -> None:
    judgement = assert_keeps_meaning("canonicalize-for-tensorizer", program, use_jax=False)
    assert isinstance(judgement.verdict, Agree | Skip)


def test_a_wrong_pass_over_stablehlo_fails_with_the_report() -> None:
    with pytest.raises(AssertionError, match="first bad pass: canonicalize-for-tensorizer"):
        assert_keeps_meaning(FOLDING, StableHloModule.read(SIZE), use_jax=False)
