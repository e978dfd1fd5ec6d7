"""How programs are run: inputs checked, observers told, limits kept, values never shared for writing."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from hlo import HloModule, InvalidInput, Opcode, PrimitiveType, UnsupportedOpcode, Value, same_bits
from hlo.evaluator import (
    EvaluationLimit,
    Evaluator,
    Limits,
    evaluate,
    evaluate_computation,
    evaluate_instruction,
)
from hlo.interchange import read_text

TEXT = """HloModule m
add_one { a = s32[2] parameter(0)
  one = s32[2] constant({1, 1})
  ROOT r = s32[2] add(a, one) }
ENTRY e { x = s32[2] parameter(0)
  t = (s32[2]) parameter(1)
  y = s32[2] get-tuple-element(t), index=0
  c = s32[2] call(x), to_apply=add_one
  ROOT p = s32[2] multiply(c, y) }"""
X, Y = np.array([1, 2], np.int32), np.array([10, 20], np.int32)


def run(module: HloModule, inputs: Sequence[Value], **options: Any) -> Any:
    return evaluate(module, inputs, **options)


def run_one(module: HloModule, name: str, *operands: Value) -> Any:
    inst = module.find_instruction(name)
    assert inst is not None
    return evaluate_instruction(inst, operands)


@pytest.fixture
def module() -> HloModule:
    return read_text(TEXT)


def test_an_observer_sees_every_execution_in_order(module: HloModule) -> None:
    seen = []
    run(module, [X, (Y,)], observer=lambda inst, operands, value: seen.append((inst.name, operands, value)))
    names = [name for name, _, _ in seen]
    assert sorted(names) == ["a", "c", "one", "p", "r", "t", "x", "y"]
    assert names.index("r") < names.index("c") < names.index("p")  # a callee runs before its call is done
    values = {name: value for name, _, value in seen}
    _, operands, value = seen[-1]
    assert (
        [x.tolist() for x in operands] == [values["c"].tolist(), values["y"].tolist()] == [[2, 3], [10, 20]]
    )
    assert value.tolist() == [20, 60]


def test_with_and_without_an_observer_the_value_is_the_same(module: HloModule) -> None:
    observed = run(module, [X, (Y,)], observer=lambda *_: None)
    assert same_bits(observed, run(module, [X, (Y,)]))


def test_instructions_that_nothing_needs_run_too() -> None:
    text = "HloModule m\nENTRY e { x = s32[] parameter(0)\n dead = s32[] negate(x)\n ROOT r = s32[] copy(x) }"
    seen = []
    run(read_text(text), [np.array(1, np.int32)], observer=lambda inst, *_: seen.append(inst.name))
    assert "dead" in seen


def test_one_evaluator_serves_many_inputs(module: HloModule) -> None:
    evaluator: Any = Evaluator(module)
    assert [evaluator.run([X * n, (Y,)]).tolist() for n in (1, 2)] == [[20, 60], [30, 100]]


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ([X], "e takes 2 arguments, not 1"),
        ([X, (Y,), X], "e takes 2 arguments, not 3"),
        ([X, Y], r"t is \(s32\[2\]\), and cannot be given int32\[2\]"),
        ([X, (Y, Y)], r"t is \(s32\[2\]\), and cannot be given \(int32\[2\], int32\[2\]\)"),
        ([X.astype(np.int64), (Y,)], r"x is s32\[2\], and cannot be given int64\[2\]"),
        ([X[:1], (Y,)], r"cannot be given int32\[1\]"),
        ([[1, 2], (Y,)], "cannot be given a list"),
        ([np.int32(1), (Y,)], "cannot be given a int32"),
    ],
)
def test_inputs_that_do_not_fit_are_named(module: HloModule, inputs, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        run(module, inputs)


def test_a_result_does_not_change_with_the_inputs_it_came_from() -> None:
    module = read_text(
        "HloModule m\nENTRY e { x = s32[2,2] parameter(0)\n ROOT t = s32[2,2] transpose(x), dimensions={1,0} }"
    )
    x = np.array([[1, 2], [3, 4]], np.int32)
    result = run(module, [x])
    x[:] = 0
    assert result.tolist() == [[1, 3], [2, 4]]
    with pytest.raises(ValueError, match="read-only"):
        result[0, 0] = 7


def test_one_computation_by_itself(module: HloModule) -> None:
    add_one = next(c for c in module.computations if c.name == "add_one")
    assert same_bits(evaluate_computation(add_one, [X]), np.array([2, 3], np.int32))


def test_one_instruction_by_itself_with_what_it_calls(module: HloModule) -> None:
    assert run_one(module, "c", X).tolist() == [2, 3]
    assert run_one(module, "p", X, Y).tolist() == [10, 40]
    assert run_one(module, "one").tolist() == [1, 1]
    with pytest.raises(InvalidInput, match="parameter x has no value of its own"):
        run_one(module, "x")


def test_an_array_beyond_the_limit_is_not_made() -> None:
    module = read_text(
        "HloModule m\nENTRY e { x = s8[] parameter(0)\n ROOT b = s8[1000,1001] broadcast(x), dimensions={} }"
    )
    assert run(module, [np.array(1, np.int8)], limits=Limits(elements=1_001_000)).shape == (1000, 1001)
    with pytest.raises(EvaluationLimit) as error:
        run(module, [np.array(1, np.int8)], limits=Limits(elements=1_000_999))
    assert (error.value.kind, error.value.where) == ("elements", "b")


def test_instructions_are_counted_over_all_calls(module: HloModule) -> None:
    assert run(module, [X, (Y,)], limits=Limits(instructions=8)) is not None  # 5 and, called once, 3
    with pytest.raises(EvaluationLimit, match="add_one: evaluation stopped at the limit of instructions"):
        run(module, [X, (Y,)], limits=Limits(instructions=7))


def test_limits_are_for_each_run_anew(module: HloModule) -> None:
    evaluator: Any = Evaluator(module, limits=Limits(instructions=12))  # a run takes 8
    assert evaluator.run([X, (Y,)]).tolist() == evaluator.run([X, (Y,)]).tolist()


def test_an_opcode_without_a_rule_is_named() -> None:
    text = """HloModule m
    ENTRY e { x = f32[3] parameter(0)
      ROOT f = f32[3] all-gather(x), dimensions={0}, replica_groups={{0}} }"""
    with pytest.raises(UnsupportedOpcode, match="evaluator: no rule for opcode 'all-gather'") as error:
        run(read_text(text), [np.zeros(3, np.float32)])
    assert error.value.opcode == Opcode.ALL_GATHER


def test_control_dependencies_order_execution() -> None:
    text = """HloModule m
    ENTRY e { x = s32[] parameter(0)
      a = s32[] negate(x)
      b = s32[] copy(x)
      ROOT r = s32[] add(a, x) }"""
    module = read_text(text)
    entry = module.entry_computation
    a, b = (next(inst for inst in entry.instructions if inst.name == name) for name in "ab")
    entry.add_control_dependency(b, a)
    seen = []
    run(module, [np.array(1, np.int32)], observer=lambda inst, *_: seen.append(inst.name))
    assert seen.index("b") < seen.index("a")


def test_no_floating_point_warning_escapes() -> None:
    # warnings are errors in these tests; the operations are those that NumPy warns of
    text = """HloModule m
    ENTRY e { x = f32[2] parameter(0)
      z = f32[2] subtract(x, x)
      a = f32[2] divide(x, z)
      b = f32[2] exponential(a)
      c = f32[2] log(z)
      d = s8[2] convert(a)
      e = f16[2] convert(x)
      ROOT t = (f32[2], f32[2], s8[2], f16[2]) tuple(b, c, d, e) }"""
    _, _, saturated, halves = run(read_text(text), [np.array([1e30, -1e30], np.float32)])
    assert saturated.tolist() == [127, -128]
    assert halves.dtype == PrimitiveType.F16.numpy
