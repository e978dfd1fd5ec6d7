from collections.abc import Callable

import numpy as np
import pytest

from hlo import TOKEN, Literal, PrimitiveType, Value, scalar
from hlo.attributes import (
    NONE,
    Attributes,
    ConstantValue,
    FusionKind,
    ParameterNumber,
    RandomAlgorithm,
    TupleIndex,
)

Infer = Callable[..., str]


def test_a_parameter_has_its_declared_shape(infer: Infer, refusal: Infer) -> None:
    assert (
        infer("parameter", attributes=ParameterNumber(0), declared="(f32[<=2], s32[])") == "(f32[<=2], s32[])"
    )
    assert infer("parameter", attributes=ParameterNumber(0), declared="(token[])") == "(token[])"
    assert "declare" in refusal("parameter", attributes=ParameterNumber(0))
    assert "negative" in refusal("parameter", attributes=ParameterNumber(-1), declared="f32[]")
    assert "negative" in refusal("parameter", attributes=ParameterNumber(0), declared="(f32[2,-2])")


def test_a_dimension_may_have_no_bound(infer: Infer) -> None:
    unbounded = f"f32[<={-(2**63)}]"
    assert infer("parameter", attributes=ParameterNumber(0), declared=unbounded) == unbounded


def constant(value: Value) -> ConstantValue:
    return ConstantValue(Literal(value))


def test_a_constant_has_the_shape_of_its_literal(infer: Infer, refusal: Infer) -> None:
    ones = np.ones((2, 3), np.float32)
    assert infer("constant", attributes=constant(ones)) == "f32[2,3]"
    assert infer("constant", attributes=constant(ones), declared="f32[<=2,3]") == "f32[<=2,3]"
    nested = constant((ones, (scalar(1, PrimitiveType.PRED),)))
    assert infer("constant", attributes=nested) == "(f32[2,3], (pred[]))"
    assert infer("constant", attributes=nested, declared="(f32[2,3], (pred[]))") == "(f32[2,3], (pred[]))"
    for declared in ("f32[3,2]", "s32[2,3]", "f32[6]", "(f32[2,3])", "token[]"):
        assert f"declared {declared}" in refusal("constant", attributes=constant(ones), declared=declared)
    for declared in ("(f32[2,3], pred[])", "(f32[2,3])"):
        assert refusal("constant", attributes=nested, declared=declared)


def test_a_literal_holds_no_strings_and_no_tokens(refusal: Infer) -> None:
    assert "cannot hold" in refusal("constant", attributes=constant(np.array("text")))
    assert "cannot hold" in refusal("constant", attributes=constant(TOKEN))
    assert "cannot hold" in refusal("constant", attributes=constant(TOKEN), declared="f32[]")


def test_tuples_are_made_and_taken_apart(infer: Infer, refusal: Infer) -> None:
    assert infer("tuple") == "()"
    assert infer("tuple", "f32[2]", declared="(s32[2])") == "(f32[2])"
    assert infer("tuple", "f32[2]", "(s32[])", declared="(f32[2], (s32[]))") == "(f32[2], (s32[]))"
    assert infer("get-tuple-element", "(f32[2], (s32[]))", attributes=TupleIndex(1)) == "(s32[])"
    for source, index in (("(f32[])", 1), ("(f32[])", -1), ("f32[2]", 0), ("()", 0)):
        assert refusal("get-tuple-element", source, attributes=TupleIndex(index))


@pytest.mark.parametrize(("opcode", "attributes"), [("call", NONE), ("fusion", FusionKind("kLoop"))])
def test_a_call_gives_what_its_callee_gives(
    infer: Infer, refusal: Infer, opcode: str, attributes: Attributes
) -> None:
    called, gives = ["(f32[2], s32[]) -> pred[3]"], "pred[3]"
    assert infer(opcode, "f32[<=2]", "s32[]", attributes=attributes, called=called) == gives
    for operands in ((), ("f32[2]",), ("f32[2]", "s32[]", "s32[]"), ("f32[3]", "s32[]"), ("f16[2]", "s32[]")):
        assert "parameter" in (
            message := refusal(opcode, *operands, attributes=attributes, called=called)
        ) or ("arguments" in message)


def test_a_fusion_is_of_a_known_kind(refusal: Infer) -> None:
    assert "none of kLoop" in refusal("fusion", attributes=FusionKind("kRound"), called=["() -> pred[]"])


def test_random_bits_come_with_the_next_state(infer: Infer, refusal: Infer) -> None:
    declared, default = "(u64[2], u32[4])", RandomAlgorithm("rng_default")
    assert infer("rng-bit-generator", "u64[2]", attributes=default, declared=declared) == declared
    assert infer("rng-bit-generator", "u64[3]", attributes=default, declared=declared) != declared
    for state, shape in (
        ("s64[2]", declared),
        ("u64[2]", "u32[4]"),
        ("u64[2]", "(u64[2], (u32[4]))"),
        ("u64[2]", "(u64[2], pred[4])"),
    ):
        assert refusal("rng-bit-generator", state, attributes=default, declared=shape)
    dice = RandomAlgorithm("dice")
    assert "none of rng_default" in refusal("rng-bit-generator", "u64[2]", attributes=dice, declared=declared)


def test_a_while_gives_its_initial_shape(infer: Infer) -> None:
    called = ["((s32[], f32[2])) -> (s32[], f32[2])", "((s32[], f32[2])) -> pred[]"]
    assert infer("while", "(s32[], f32[<=2])", called=called) == "(s32[], f32[<=2])"


@pytest.mark.parametrize(
    ("init", "body", "condition"),
    [
        ("s32[2]", "(s32[]) -> s32[]", "(s32[]) -> pred[]"),
        ("s32[]", "(s32[]) -> s64[]", "(s32[]) -> pred[]"),
        ("s32[]", "(s32[], s32[]) -> s32[]", "(s32[]) -> pred[]"),
        ("s32[]", "(s32[]) -> s32[]", "(s64[]) -> pred[]"),
        ("s32[]", "(s32[]) -> s32[]", "(s32[]) -> pred[1]"),
        ("s32[]", "(s32[]) -> s32[]", "(s32[]) -> s32[]"),
    ],
)
def test_while_refuses(refusal: Infer, init: str, body: str, condition: str) -> None:
    assert refusal("while", init, called=[body, condition])


@pytest.mark.parametrize(("selector", "count"), [("pred[]", 2), ("s32[]", 1), ("s32[]", 3)])
def test_a_conditional_merges_the_flags_of_its_branches(infer: Infer, selector: str, count: int) -> None:
    branches = ["(f32[2]) -> (f32[<=2,3], s32[])", "(f32[2]) -> (f32[2,<=3], s32[])"][:count]
    branches += branches[:1] * (count - len(branches))
    gives = infer("conditional", selector, *["f32[2]"] * count, called=branches)
    assert gives == ("(f32[<=2,3], s32[])" if count == 1 else "(f32[<=2,<=3], s32[])")


def test_branches_may_give_tokens(infer: Infer) -> None:
    branch = "(f32[]) -> (token[], (f32[<=2]))"
    assert infer("conditional", "s32[]", "f32[]", "f32[]", called=[branch, branch]) == "(token[], (f32[<=2]))"


@pytest.mark.parametrize(
    ("operands", "branches"),
    [
        ((), ("(f32[]) -> f32[]",)),
        (("s32[]",), ()),
        (("pred[]", "f32[]"), ("(f32[]) -> f32[]",)),
        (("pred[]", *["f32[]"] * 3), ("(f32[]) -> f32[]",) * 3),
        (("s64[]", "f32[]"), ("(f32[]) -> f32[]",)),
        (("s32[1]", "f32[]"), ("(f32[]) -> f32[]",)),
        (("s32[]", "f32[]"), ("(f32[]) -> f32[]",) * 2),
        (("s32[]", "f32[]", "f32[]"), ("(f32[]) -> f32[]",)),
        (("s32[]", "f32[]"), ("(f32[], f32[]) -> f32[]",)),
        (("s32[]", "f32[]"), ("() -> f32[]",)),
        (("s32[]", "f32[]"), ("(s32[]) -> f32[]",)),
        (("s32[]", "f32[]", "f32[]"), ("(f32[]) -> f32[]", "(f32[]) -> f32[1]")),
    ],
)
def test_conditional_refuses(refusal: Infer, operands: tuple[str, ...], branches: tuple[str, ...]) -> None:
    assert refusal("conditional", *operands, called=branches)


def test_a_barrier_changes_nothing(infer: Infer) -> None:
    assert infer("opt-barrier", "(f32[<=2], token[])") == "(f32[<=2], token[])"
    assert infer("domain", "f32[2]") == "f32[2]"


def test_tokens_join_and_are_depended_on(infer: Infer, refusal: Infer) -> None:
    assert infer("after-all") == "token[]"
    assert infer("after-all", "token[]", "token[]") == "token[]"
    assert infer("add-dependency", "f32[2]", "token[]") == "f32[2]"
    assert "f32[]" in refusal("after-all", "token[]", "f32[]")
    assert "f32[]" in refusal("add-dependency", "f32[2]", "f32[]")
