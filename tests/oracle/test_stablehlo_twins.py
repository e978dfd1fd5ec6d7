"""Our `canonicalize-dynamism` beside MHLO's canonicaliser and StableHLO's own pass."""

from typing import Any

import pytest

from hlo import InvalidInput
from hlo.stablehlo import StableHloModule, apply_patterns
from oracle.twins import (
    DYNAMISM_CASES,
    FAILURES,
    MHLO,
    REASONS,
    STABLEHLO,
    CanonicalisersCompared,
    Folded,
    compare_canonicalisers,
    dynamism,
    in_stablehlo,
)
from oracle.twins.dynamism_reasons import Case
from passes.stock import CanonicalizeDynamism

INPUTS = 4


def compared(name: str) -> CanonicalisersCompared:
    return compare_canonicalisers(StableHloModule.read(DYNAMISM_CASES[name]), 1, INPUTS)


@pytest.mark.parametrize("name", DYNAMISM_CASES)
def test_each_difference_has_a_reason_and_ours_keeps_the_meaning(name: str) -> None:
    found = compared(name)
    assert found.operations
    assert found.unexplained == []
    assert "ours" not in found.wrong
    assert found.inputs == (0 if name == "reshape-bounded" else INPUTS)


EXPECTED = [
    ("reshape-static-type", Folded.BOTH, {MHLO}, ""),
    ("pad-constant", Folded.BOTH, {MHLO, STABLEHLO}, ""),
    ("reshape-unknown-shape", Folded.NONE, set(), ""),
    ("iota-constant-shape", Folded.OURS, set(), "constant in effect"),
    ("slice-of-constant-size-in-effect", Folded.OURS, set(), "size is a constant"),
    ("own-shape-1", Folded.OURS, set(), "spelling of a shape"),
    ("own-shape-4-upstream", Folded.OURS, set(), "spelling of a shape"),
    ("reshape-to-own-shape", Folded.OURS, set(), "reshape to its own shape"),
    ("one-size-of-reshape", Folded.OURS, set(), "sizes of a reshape"),
    ("reshape-bounded", Folded.THEIRS, {MHLO}, "bounded operand"),
    ("own-shape-transposed", Folded.THEIRS, {MHLO}, "transposition"),
    ("non-expanding", Folded.THEIRS, {MHLO}, "promise of the program"),
]


@pytest.mark.parametrize(("name", "folded", "by", "reason"), EXPECTED)
def test_who_folds_what_and_why(name: str, folded: Folded, by: set[str], reason: str) -> None:
    (operation,) = compared(name).operations
    assert (operation.folded, operation.by) == (folded, by)
    assert (operation.reason.name if operation.reason else "") == reason


def test_each_reason_has_a_program() -> None:
    assert {reason for *_, reason in EXPECTED} - {""} == {reason.name for reason in REASONS}


@pytest.mark.parametrize(
    ("name", "failure"),
    [("iota-unknown-of-two", "index cast"), ("slice-of-constant-size-returned", "returned type")],
)
def test_mhlo_fails_in_known_ways(name: str, failure: str) -> None:
    assert {who: found.name for who, found in compared(name).failures.items()} == {MHLO: failure}
    assert failure in {known.name for known in FAILURES}


def test_upstream_takes_a_transposition_for_nothing() -> None:
    found = compared("own-shape-transposed")
    assert list(found.wrong) == [MHLO]
    assert found.unexplained == []


@pytest.mark.parametrize(
    ("name", "is_one"), [("own-shape-transposed", True), ("own-shape-2-upstream", False)]
)
def test_a_transposition_has_its_dimensions_in_another_order(name: str, is_one: bool) -> None:
    program = StableHloModule.read(DYNAMISM_CASES[name])
    (op,) = (op for op in program.operations() if op.name == "stablehlo.dynamic_broadcast_in_dim")
    (reason,) = (reason for reason in REASONS if reason.name == "transposition")
    who = frozenset({MHLO})
    assert reason.holds(Case(program, op, {}, who, who)) == is_one
    assert not reason.holds(Case(program, op, {}, who, frozenset())), "only where the result is wrong"


def test_a_difference_without_a_reason_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dynamism, "REASONS", ())
    assert compared("own-shape-2").unexplained == ["stablehlo.dynamic_broadcast_in_dim"]
    found = compared("own-shape-transposed")
    assert [said.partition(":")[0] for said in found.unexplained] == [
        "stablehlo.dynamic_broadcast_in_dim",
        MHLO,
    ]


def test_a_failure_without_a_reason_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dynamism, "FAILURES", ())
    (said,) = compared("iota-unknown-of-two").unexplained
    assert said.startswith(f"{MHLO}: 'arith.index_cast'")


def test_a_wrong_result_of_ours_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def drop_broadcasts(_self: CanonicalizeDynamism, program: StableHloModule, _trace: object) -> bool:
        def pattern(op: Any, rewriter: Any) -> bool:
            rewriter.replace_op(op, [op.operands[0]])
            return True

        apply_patterns(program, [("stablehlo.dynamic_broadcast_in_dim", pattern)])
        return True

    monkeypatch.setattr(CanonicalizeDynamism, "rewrite", drop_broadcasts)
    found = compared("own-shape-transposed")
    assert "ours" in found.wrong
    assert any(said.startswith("ours") for said in found.unexplained)


def test_shapes_of_other_dialects_become_stablehlo() -> None:
    program = StableHloModule.read(DYNAMISM_CASES["own-shape-3-upstream"])
    plain = in_stablehlo(program)
    assert {op.name.partition(".")[0] for op in plain.operations()} == {"builtin", "func", "stablehlo"}
    assert plain.violations() == []
    assert plain.specialised([(2, 4)]).results[0].dimensions == (2, 4)
    with pytest.raises(InvalidInput):
        plain.specialised([(2, 5)])
    assert "shape.shape_of" in program.text, "the program itself stays"


def test_what_has_no_stablehlo_is_refused_by_name() -> None:
    program = StableHloModule.read("""module { func.func @main(%x: tensor<?xf32>) -> index {
      %s = shape.shape_of %x : tensor<?xf32> -> tensor<1xindex>
      %n = shape.num_elements %s : tensor<1xindex> -> index
      return %n : index } }""")
    with pytest.raises(InvalidInput, match=r"no StableHLO for shape\.num_elements, shape\.shape_of"):
        in_stablehlo(program)
