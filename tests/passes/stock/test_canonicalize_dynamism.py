"""Each pattern where it applies and where it must not, with the text that it leaves and what that computes."""

import textwrap
from collections import Counter

import numpy as np
import pytest

from hlo import Opcode, same_bits
from hlo.evaluator import evaluate
from hlo.interchange import read_text
from hlo.stablehlo import StableHloModule
from hlo.verify import verify
from oracle.symbolic import assignment_of, draw_sized_inputs, specialise
from oracle.twins import DYNAMISM_CASES, in_stablehlo
from passes import Trace, parse_pipeline
from passes.stock import CanonicalizeDynamism
from passes.stock.canonicalize_dynamism import DYNAMIC_OPERATIONS

Expected = tuple[dict[str, int], str]

TO_SLICE = "real-dynamic-slice-op-to-slice"
TO_DYNAMIC_SLICE = "real-dynamic-slice-op-to-dynamic-slice"
RESHAPE = "dynamic-reshape-op-not-actually-dynamic"
BROADCAST = "dynamic-broadcast-in-dim-op-not-actually-dynamic"
CHAINED = "chained-dynamic-broadcast-in-dim-canonicalization"
REFINED = "refine-result-type"

APPLIES: dict[str, Expected] = {
    "reshape-static-type": (
        {RESHAPE: 1},
        "%0 = stablehlo.reshape %arg0 : (tensor<?x4xf32>) -> tensor<8xf32>",
    ),
    "reshape-constant-shape": (
        {REFINED: 1, RESHAPE: 1},
        """
        %0 = stablehlo.reshape %arg0 : (tensor<2x4xf32>) -> tensor<8xf32>
        %1 = stablehlo.convert %0 : (tensor<8xf32>) -> tensor<?xf32>
        """,
    ),
    "reshape-constant-in-effect": (
        {REFINED: 2, RESHAPE: 1},
        """
        %0 = stablehlo.reshape %arg0 : (tensor<2x4xf32>) -> tensor<8xf32>
        %1 = stablehlo.negate %0 : tensor<8xf32>
        %2 = stablehlo.convert %1 : (tensor<8xf32>) -> tensor<?xf32>
        """,
    ),
    "reshape-of-reshape": (
        {"remove-redundant-dynamic-reshape": 1},
        "%0 = stablehlo.dynamic_reshape %arg0, %arg2 : (tensor<?x4xf32>, tensor<2xi32>) -> tensor<?x?xf32>",
    ),
    "reshape-to-own-shape": ({"remove-redundant-dynamic-reshape": 1}, ""),
    "reshape-to-given-shape-again": (
        {"remove-redundant-dynamic-reshape": 1},
        """
        %0 = stablehlo.dynamic_reshape %arg0, %arg1 : (tensor<?x4xf32>, tensor<2xi32>) -> tensor<?x?xf32>
        %1 = stablehlo.negate %0 : tensor<?x?xf32>
        """,
    ),
    "reshape-of-one-dimension": ({"remove-redundant-dynamic-reshape": 1}, ""),
    "sizes-of-reshape": (
        {"shape-of-dynamic-reshape": 1},
        """
        %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
        %0 = stablehlo.dynamic_broadcast_in_dim %cst, %arg1, dims = [] : (tensor<f32>, tensor<2xi32>) -> tensor<?x?xf32>
        """,
    ),
    "one-size-of-reshape": (
        {"shape-of-dynamic-reshape": 1},
        """
        %0 = stablehlo.slice %arg1 [1:2] : (tensor<2xi64>) -> tensor<1xi64>
        %1 = stablehlo.reshape %0 : (tensor<1xi64>) -> tensor<i64>
        %2 = stablehlo.convert %1 : (tensor<i64>) -> tensor<i32>
        """,
    ),
    "shape-of-reshape": (
        {"shape-of-dynamic-reshape": 1},
        """
        %0 = arith.index_cast %arg1 : tensor<2xi32> to tensor<2xindex>
        %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
        %1 = stablehlo.dynamic_broadcast_in_dim %cst, %0, dims = [] : (tensor<f32>, tensor<2xindex>) -> tensor<?x?xf32>
        """,
    ),
    "broadcast-static-type": (
        {BROADCAST: 1},
        "%0 = stablehlo.broadcast_in_dim %arg0, dims = [1] : (tensor<4xf32>) -> tensor<3x4xf32>",
    ),
    "broadcast-constant-shape": (
        {REFINED: 2, BROADCAST: 1},
        """
        %0 = stablehlo.broadcast_in_dim %arg0, dims = [1] : (tensor<4xf32>) -> tensor<3x4xf32>
        %1 = stablehlo.negate %0 : tensor<3x4xf32>
        %2 = stablehlo.convert %1 : (tensor<3x4xf32>) -> tensor<?x4xf32>
        """,
    ),
    "broadcast-of-broadcast": (
        {CHAINED: 1},
        "%0 = stablehlo.dynamic_broadcast_in_dim %arg0, %arg2, dims = [2]"
        " : (tensor<?xf32>, tensor<3xi32>) -> tensor<?x?x?xf32>",
    ),
    "broadcast-of-broadcast-to-known-sizes": (  # one dynamic operation is better than a dynamic and a static one
        {REFINED: 3, CHAINED: 1},
        """
        %c = stablehlo.constant dense<[2, 3, 4]> : tensor<3xi32>
        %0 = stablehlo.dynamic_broadcast_in_dim %arg0, %c, dims = [1, 2] : (tensor<?x4xf32>, tensor<3xi32>) -> tensor<2x3x4xf32>
        %1 = stablehlo.negate %0 : tensor<2x3x4xf32>
        %2 = stablehlo.convert %1 : (tensor<2x3x4xf32>) -> tensor<2x?x4xf32>
        """,  # noqa: E501 - as MLIR prints it
    ),
    "broadcast-of-static-broadcast": (
        {CHAINED: 1},
        "%0 = stablehlo.dynamic_broadcast_in_dim %arg0, %arg1, dims = [0]"
        " : (tensor<4xf32>, tensor<3xi32>) -> tensor<?x?x?xf32>",
    ),
    "own-shape-1": ({"dynamic-broadcast-to-own-shape-1": 1}, ""),
    "own-shape-2": ({"dynamic-broadcast-to-own-shape-2": 1}, ""),
    "own-shape-3": (
        {"dynamic-broadcast-to-own-shape-3": 1},
        "%0 = stablehlo.convert %arg0 : (tensor<?x?xf32>) -> tensor<?x4xf32>",
    ),
    "own-shape-4": (
        {"dynamic-broadcast-to-own-shape-4": 1},
        "%0 = stablehlo.convert %arg0 : (tensor<?x?xf32>) -> tensor<?x4xf32>",
    ),
    "own-shape-1-upstream": ({"dynamic-broadcast-to-own-shape-1": 1}, ""),
    "own-shape-2-upstream": ({"dynamic-broadcast-to-own-shape-2": 1}, ""),
    "own-shape-3-upstream": (
        {"dynamic-broadcast-to-own-shape-3": 1},
        "%0 = stablehlo.convert %arg0 : (tensor<?x?xf32>) -> tensor<?x4xf32>",
    ),
    "own-shape-4-upstream": (
        {"dynamic-broadcast-to-own-shape-4": 1},
        "%0 = stablehlo.convert %arg0 : (tensor<?x?xf32>) -> tensor<?x4xf32>",
    ),
    "own-shape-after-negate": (
        {"dynamic-broadcast-to-own-shape-2": 1},
        "%0 = stablehlo.negate %arg0 : tensor<?x?xf32>",
    ),
    "iota-static-type": (
        {"dynamic-iota-op-not-actually-dynamic": 1},
        "%0 = stablehlo.iota dim = 1 : tensor<3x4xf32>",
    ),
    "iota-constant-shape": (
        {REFINED: 1, "dynamic-iota-op-not-actually-dynamic": 1},
        """
        %0 = stablehlo.iota dim = 0 : tensor<5xi32>
        %1 = stablehlo.convert %0 : (tensor<5xi32>) -> tensor<?xi32>
        """,
    ),
    "pad-constant": (
        {"dynamic-pad-op-not-actually-dynamic": 1},
        "%0 = stablehlo.pad %arg0, %arg1, low = [1], high = [-1], interior = [2]"
        " : (tensor<?xf32>, tensor<f32>) -> tensor<?xf32>",
    ),
    "gather-constant": (
        {"dynamic-gather-op-not-actually-dynamic": 1},
        '%0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1],'
        " collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false,"
        " slice_sizes = array<i64: 1, 4>}> : (tensor<?x4xf32>, tensor<?x1xi32>) -> tensor<?x4xf32>",
    ),
    "conv-constant": (
        {REFINED: 1, "dynamic-conv-op-not-actually-dynamic": 1},
        "%0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f],"
        " window = {stride = [1], pad = [[1, 0]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}"
        " : (tensor<?x8x3xf32>, tensor<2x3x5xf32>) -> tensor<?x8x5xf32>\n"
        "%1 = stablehlo.convert %0 : (tensor<?x8x5xf32>) -> tensor<?x?x5xf32>",
    ),
    "slice-constant": (
        {REFINED: 1, TO_SLICE: 1},
        """
        %0 = stablehlo.slice %arg0 [1:2, 0:7:2] : (tensor<?x8xf32>) -> tensor<1x4xf32>
        %1 = stablehlo.convert %0 : (tensor<1x4xf32>) -> tensor<?x?xf32>
        """,
    ),
    "slice-of-constant-size": (
        {REFINED: 2, TO_DYNAMIC_SLICE: 1},
        """
        %0 = stablehlo.slice %arg1 [0:1] : (tensor<2xi32>) -> tensor<1xi32>
        %1 = stablehlo.reshape %0 : (tensor<1xi32>) -> tensor<i32>
        %2 = stablehlo.slice %arg1 [1:2] : (tensor<2xi32>) -> tensor<1xi32>
        %3 = stablehlo.reshape %2 : (tensor<1xi32>) -> tensor<i32>
        %4 = stablehlo.dynamic_slice %arg0, %1, %3, sizes = [1, 3] : (tensor<?x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x3xf32>
        %5 = stablehlo.negate %4 : tensor<1x3xf32>
        %6 = stablehlo.convert %5 : (tensor<1x3xf32>) -> tensor<?x?xf32>
        """,  # noqa: E501 - as MLIR prints it
    ),
    "slice-of-constant-size-in-effect": (
        {REFINED: 2, TO_DYNAMIC_SLICE: 1},
        """
        %c = stablehlo.constant dense<0> : tensor<1xi32>
        %0 = stablehlo.reshape %c : (tensor<1xi32>) -> tensor<i32>
        %1 = stablehlo.dynamic_slice %arg0, %arg1, %0, sizes = [1, 8] : (tensor<?x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
        %2 = stablehlo.negate %1 : tensor<1x8xf32>
        %3 = stablehlo.convert %2 : (tensor<1x8xf32>) -> tensor<?x?xf32>
        """,  # noqa: E501 - as MLIR prints it
    ),
    "slice-of-constant-size-returned": (
        {REFINED: 1, TO_DYNAMIC_SLICE: 1},
        """
        %0 = stablehlo.slice %arg1 [0:1] : (tensor<2xi32>) -> tensor<1xi32>
        %1 = stablehlo.reshape %0 : (tensor<1xi32>) -> tensor<i32>
        %2 = stablehlo.slice %arg1 [1:2] : (tensor<2xi32>) -> tensor<1xi32>
        %3 = stablehlo.reshape %2 : (tensor<1xi32>) -> tensor<i32>
        %4 = stablehlo.dynamic_slice %arg0, %1, %3, sizes = [1, 3] : (tensor<?x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x3xf32>
        %5 = stablehlo.convert %4 : (tensor<1x3xf32>) -> tensor<?x?xf32>
        """,  # noqa: E501 - as MLIR prints it
    ),
    "slice-with-strides": (  # the slice itself stays
        {REFINED: 1},
        """
        %c = stablehlo.constant dense<[1, 3]> : tensor<2xi32>
        %0 = stablehlo.add %arg1, %c : tensor<2xi32>
        %c_0 = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
        %1 = stablehlo.real_dynamic_slice %arg0, %arg1, %0, %c_0 : (tensor<?x8xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<1x?xf32>
        %2 = stablehlo.convert %1 : (tensor<1x?xf32>) -> tensor<?x?xf32>
        """,  # noqa: E501 - as MLIR prints it
    ),
    "size-of-known-dimension": (  # the broadcast itself stays
        {REFINED: 1, "get-dimension-size-of-static-dimension": 1},
        """
        %c = stablehlo.constant dense<4> : tensor<i32>
        %0 = stablehlo.reshape %c : (tensor<i32>) -> tensor<1xi32>
        %1 = stablehlo.concatenate %arg1, %0, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
        %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
        %2 = stablehlo.dynamic_broadcast_in_dim %cst, %1, dims = [] : (tensor<f32>, tensor<2xi32>) -> tensor<?x4xf32>
        %3 = stablehlo.convert %2 : (tensor<?x4xf32>) -> tensor<?x?xf32>
        """,
    ),
    "chain-of-all": (
        {REFINED: 3, "dynamic-iota-op-not-actually-dynamic": 1, BROADCAST: 1},
        """
        %0 = stablehlo.iota dim = 0 : tensor<4xf32>
        %1 = stablehlo.broadcast_in_dim %0, dims = [1] : (tensor<4xf32>) -> tensor<4x4xf32>
        %2 = stablehlo.negate %1 : tensor<4x4xf32>
        %3 = stablehlo.convert %2 : (tensor<4x4xf32>) -> tensor<?x?xf32>
        """,
    ),
}

LOOKS_ALIKE = sorted(DYNAMISM_CASES.keys() - APPLIES.keys())


def canonicalized(program: StableHloModule) -> tuple[StableHloModule, Trace, bool]:
    copy, trace = program.clone(), Trace()
    changed = CanonicalizeDynamism().rewrite(copy, trace)
    return copy, trace, changed


def body(program: StableHloModule) -> list[str]:
    """The operations of the entry, but for what it returns."""
    return [line.strip() for line in program.text.splitlines()[2:-3]]


def dynamic(program: StableHloModule) -> Counter[str]:
    return Counter(op.name for op in program.operations() if op.name in DYNAMIC_OPERATIONS)


def same_for_several_sizes(before: StableHloModule, after: StableHloModule, count: int = 6) -> int:
    """Both compute the same, for different sizes. On how many input sets that was asked."""
    before, after = in_stablehlo(before), in_stablehlo(after)
    sets, _ = draw_sized_inputs(before, 3, count)
    for inputs in sets:
        assignment = assignment_of(before, inputs)
        expected = evaluate(specialise(before, assignment), inputs)
        assert same_bits(evaluate(specialise(after, assignment), inputs), expected), assignment
    return len(sets)


@pytest.mark.parametrize("name", APPLIES)
def test_each_pattern_leaves_exactly_this(name: str) -> None:
    program = StableHloModule.read(DYNAMISM_CASES[name])
    fired, expected = APPLIES[name]
    after, trace, changed = canonicalized(program)
    assert changed
    assert trace.fired == fired
    assert body(after) == textwrap.dedent(expected).strip().splitlines()
    assert after.violations() == []
    assert str(after.entry.type) == str(program.entry.type)
    again, trace, changed = canonicalized(after)
    assert (changed, trace.fired.total(), again.text) == (False, 0, after.text)


@pytest.mark.parametrize("name", LOOKS_ALIKE)
def test_what_only_looks_alike_stays(name: str) -> None:
    program = StableHloModule.read(DYNAMISM_CASES[name])
    after, trace, changed = canonicalized(program)
    assert (changed, trace.fired.total(), after.text) == (False, 0, program.text)


@pytest.mark.parametrize("name", APPLIES)
def test_values_stay_for_several_sizes(name: str) -> None:
    program = StableHloModule.read(DYNAMISM_CASES[name])
    after, _, _ = canonicalized(program)
    assert same_for_several_sizes(program, after) > 2


def test_every_rule_has_a_program_where_it_applies() -> None:
    fired = {rule for rules, _ in APPLIES.values() for rule in rules}
    elsewhere = {"custom-call-without-shape-operands", "materialize-reshape-as-expand-and-collapse"}
    assert fired | elsewhere == set(CanonicalizeDynamism.rules)


def in_function(parameters: str, results: str, text: str) -> StableHloModule:
    return StableHloModule.read(f"module {{ func.func @main({parameters}) -> ({results}) {{\n{text}\n }} }}")


def test_a_custom_call_loses_the_shapes_that_its_types_say() -> None:
    text = """%s = stablehlo.constant dense<SIZE> : tensor<1xi64>
      %y = stablehlo.custom_call @f(%x, %s) {indices_of_shape_operands = dense<[1]> : tensor<1xi64>}
        : (tensor<4xf32>, tensor<1xi64>) -> tensor<RESULTxf32>
      return %y : tensor<RESULTxf32>"""
    for size, result, folds in (("4", "4", True), ("5", "4", False), ("4", "?", False)):
        program = in_function(
            "%x: tensor<4xf32>",
            f"tensor<{result}xf32>",
            text.replace("SIZE", size).replace("RESULT", result),
        )
        after, trace, changed = canonicalized(program)
        assert changed == folds == bool(trace.fired["custom-call-without-shape-operands"])
        call = next(op for op in after.operations() if op.name == "stablehlo.custom_call")
        assert len(call.operands) == (1 if folds else 2)
        assert ("indices_of_shape_operands" in call.attributes) != folds


def test_a_contradiction_does_not_become_an_invalid_program() -> None:
    program = in_function(
        "%x: tensor<4xf32>",
        "tensor<?x?xf32>",
        """%n = stablehlo.constant dense<3> : tensor<1xi32>
        %m = stablehlo.constant dense<5> : tensor<1xi32>
        %s = stablehlo.concatenate %n, %m, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
        %y = stablehlo.dynamic_broadcast_in_dim %x, %s, dims = [1] : (tensor<4xf32>, tensor<2xi32>) -> tensor<?x?xf32>
        return %y : tensor<?x?xf32>""",
    )
    after, _, _ = canonicalized(program)
    assert after.violations() == []
    assert dynamic(after) == dynamic(program)


def test_a_slice_larger_than_its_operand_stays() -> None:
    text = DYNAMISM_CASES["slice-of-constant-size"].replace("dense<[1, 3]>", "dense<[1, 9]>")
    program = StableHloModule.read(text)
    after, trace, _ = canonicalized(program)
    assert after.violations() == []
    assert dynamic(after) == dynamic(program)
    assert not trace.fired[TO_DYNAMIC_SLICE]


def test_what_would_be_no_valid_static_operation_stays_dynamic() -> None:
    """Slices of five of four elements."""
    text = DYNAMISM_CASES["gather-constant"].replace("-> (tensor<?x4xf32>)", "-> (tensor<?x?xf32>)")
    text = text.replace(
        "%s = stablehlo.constant dense<[1, 4]> : tensor<2xi32>",
        """%m = stablehlo.constant dense<1> : tensor<1xi32>
        %n = stablehlo.constant dense<5> : tensor<1xi32>
        %s = stablehlo.concatenate %m, %n, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>""",
    )
    head, arrow, tail = text.rpartition("-> tensor<?x4xf32>")
    program = StableHloModule.read(head + arrow.replace("4", "?") + tail.replace("4", "?"))
    after, trace, _ = canonicalized(program)
    assert after.violations() == []
    assert dynamic(after) == dynamic(program) == {"stablehlo.dynamic_gather": 1}
    assert not trace.fired["dynamic-gather-op-not-actually-dynamic"]


def test_sizes_that_wrap_around_are_followed_as_they_wrap() -> None:
    program = in_function(
        "",
        "tensor<?xi32>",
        """%c = stablehlo.constant dense<65536> : tensor<i32>
        %n = stablehlo.multiply %c, %c : tensor<i32>
        %three = stablehlo.constant dense<3> : tensor<i32>
        %m = stablehlo.add %n, %three : tensor<i32>
        %s = stablehlo.reshape %m : (tensor<i32>) -> tensor<1xi32>
        %y = stablehlo.dynamic_iota %s, dim = 0 : (tensor<1xi32>) -> tensor<?xi32>
        return %y : tensor<?xi32>""",
    )
    after, _, _ = canonicalized(program)
    assert body(after)[0] == "%0 = stablehlo.iota dim = 0 : tensor<3xi32>"
    assert same_for_several_sizes(program, after, 1) == 1


def test_sizes_of_narrow_integers_are_not_followed() -> None:
    """100 + n wraps around at 128."""
    text = """%n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
        %b = stablehlo.convert %n : (tensor<i32>) -> tensor<KIND>
        %w = stablehlo.convert %b : (tensor<KIND>) -> tensor<i32>
        %s = stablehlo.reshape %w : (tensor<i32>) -> tensor<1xi32>
        %y = stablehlo.dynamic_broadcast_in_dim %x, %s, dims = [0] : (tensor<?xf32>, tensor<1xi32>) -> tensor<?xf32>
        return %y : tensor<?xf32>"""
    for kind, folds in (("i8", False), ("i64", True)):
        program = in_function("%x: tensor<?xf32>", "tensor<?xf32>", text.replace("KIND", kind))
        after, _, changed = canonicalized(program)
        assert changed == folds
        assert bool(dynamic(after)) != folds


def test_a_shape_of_narrow_integers_may_have_wrapped_around() -> None:
    program = in_function(
        "%x: tensor<?xf32>",
        "tensor<?xf32>",
        """%n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
        %b = stablehlo.convert %n : (tensor<i32>) -> tensor<i8>
        %s = stablehlo.reshape %b : (tensor<i8>) -> tensor<1xi8>
        %y = stablehlo.dynamic_broadcast_in_dim %x, %s, dims = [0] : (tensor<?xf32>, tensor<1xi8>) -> tensor<?xf32>
        return %y : tensor<?xf32>""",
    )
    assert not canonicalized(program)[2]


def test_types_of_functions_and_loops_stay() -> None:
    program = StableHloModule.read("""module {
      func.func private @f(%a: tensor<?xf32>) -> tensor<?xf32> { return %a : tensor<?xf32> }
      func.func @main(%x: tensor<f32>) -> tensor<?xf32> {
        %s = stablehlo.constant dense<4> : tensor<1xi32>
        %y = stablehlo.dynamic_broadcast_in_dim %x, %s, dims = [] : (tensor<f32>, tensor<1xi32>) -> tensor<?xf32>
        %z = func.call @f(%y) : (tensor<?xf32>) -> tensor<?xf32>
        %zero = stablehlo.constant dense<0> : tensor<i32>
        %three = stablehlo.constant dense<3> : tensor<i32>
        %one = stablehlo.constant dense<1> : tensor<i32>
        %w:2 = stablehlo.while(%i = %zero, %a = %y) : tensor<i32>, tensor<?xf32>
          cond { %c = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
                 stablehlo.return %c : tensor<i1> }
          do { %j = stablehlo.add %i, %one : tensor<i32>
               %b = stablehlo.add %a, %y : tensor<?xf32>
               stablehlo.return %j, %b : tensor<i32>, tensor<?xf32> }
        %r = stablehlo.add %w#1, %z : tensor<?xf32>
        return %r : tensor<?xf32> } }""")
    after, _, changed = canonicalized(program)
    assert changed
    assert after.violations() == []
    assert not dynamic(after)
    (loop,) = (op for op in after.operations() if op.name == "stablehlo.while")
    assert [str(operand.type) for operand in loop.operands] == ["tensor<i32>", "tensor<?xf32>"]
    (inner,) = (
        op
        for op in after.operations()
        if op.name == "stablehlo.add" and op.operands[0].type != op.operands[1].type
    )
    assert str(inner.results[0].type) == "tensor<4xf32>", "what is added to four elements has four"
    assert same_for_several_sizes(program, after, 1) == 1


def test_the_sizes_of_a_bounded_tensor_are_not_those_of_a_static_one_beside_it() -> None:
    program = in_function(
        "%x: tensor<8xf32>, %n: tensor<i32>, %y: tensor<8xf32>",
        "tensor<?xf32, #stablehlo.bounds<8>>, tensor<1xi32>",
        """%c = stablehlo.set_dimension_size %x, %n, dim = 0
            : (tensor<8xf32>, tensor<i32>) -> tensor<?xf32, #stablehlo.bounds<8>>
        %z = stablehlo.add %y, %c
            : (tensor<8xf32>, tensor<?xf32, #stablehlo.bounds<8>>) -> tensor<?xf32, #stablehlo.bounds<8>>
        %m = stablehlo.get_dimension_size %z, dim = 0 : (tensor<?xf32, #stablehlo.bounds<8>>) -> tensor<i32>
        %s = stablehlo.reshape %m : (tensor<i32>) -> tensor<1xi32>
        %r = stablehlo.dynamic_reshape %c, %s
            : (tensor<?xf32, #stablehlo.bounds<8>>, tensor<1xi32>) -> tensor<?xf32, #stablehlo.bounds<8>>
        return %r, %s : tensor<?xf32, #stablehlo.bounds<8>>, tensor<1xi32>""",
    )
    after, _, _ = canonicalized(program)
    assert after.violations() == []
    size = next(op for op in after.operations() if op.name == "stablehlo.get_dimension_size")
    assert str(size.operands[0].type) == "tensor<?xf32, #stablehlo.bounds<8>>"
    assert not dynamic(after), "of one dimension each, and as many elements"


def test_long_chains_of_one_shape_are_followed() -> None:
    chain = "\n".join(f"%v{i + 1} = stablehlo.negate %v{i} : tensor<?x4xf32>" for i in range(2000)).replace(
        "%v0 ", "%x "
    )
    program = in_function(
        "%x: tensor<?x4xf32>",
        "tensor<?x4xf32>",
        f"""%n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x4xf32>) -> tensor<i32>
        %r = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
        %f = stablehlo.constant dense<4> : tensor<1xi32>
        %s = stablehlo.concatenate %r, %f, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
        {chain}
        %y = stablehlo.dynamic_broadcast_in_dim %v2000, %s, dims = [0, 1]
            : (tensor<?x4xf32>, tensor<2xi32>) -> tensor<?x4xf32>
        return %y : tensor<?x4xf32>""",
    )
    after, trace, _ = canonicalized(program)
    assert trace.fired == {"dynamic-broadcast-to-own-shape-2": 1}
    assert not dynamic(after)


def test_shapes_that_are_computed_from_shapes_without_end_are_given_up() -> None:
    """Each size is that of the tensor before: too deep to follow, and no error."""
    steps = "\n".join(
        f"""%n{i} = stablehlo.get_dimension_size %y{i}, dim = 0 : (tensor<?xf32>) -> tensor<i32>
        %s{i} = stablehlo.reshape %n{i} : (tensor<i32>) -> tensor<1xi32>
        %y{i + 1} = stablehlo.dynamic_iota %s{i}, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>"""
        for i in range(300)
    ).replace("%y0,", "%x,")
    last = """%n = stablehlo.get_dimension_size %y300, dim = 0 : (tensor<?xf32>) -> tensor<i32>
        %s = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
        %y = stablehlo.dynamic_broadcast_in_dim %x, %s, dims = [0] : (tensor<?xf32>, tensor<1xi32>) -> tensor<?xf32>"""
    program = in_function("%x: tensor<?xf32>", "tensor<?xf32>", f"{steps}\n{last}\nreturn %y : tensor<?xf32>")
    after, _, changed = canonicalized(program)
    assert not changed
    assert after.text == program.text


def test_a_module_of_hlo_is_rewritten_by_way_of_stablehlo() -> None:
    module = read_text("""HloModule m
      ENTRY e {
        x = f32[2,4] parameter(0)
        n = s32[] parameter(1)
        ROOT r = f32[8] dynamic-reshape(x, n)
      }""")
    before = module.clone()
    trace = Trace()
    assert parse_pipeline("canonicalize-dynamism").run(module, trace)
    assert trace.fired == {RESHAPE: 1}
    assert not verify(module)
    opcodes = {inst.opcode for inst in module.entry_computation.instructions}
    assert Opcode.RESHAPE in opcodes
    assert Opcode.DYNAMIC_RESHAPE not in opcodes
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    values = (x, np.array(8, np.int32))
    assert same_bits(evaluate(module, values), evaluate(before, values))


def test_a_module_of_hlo_without_dynamic_operations_is_left_alone() -> None:
    module = read_text("""HloModule m
      ENTRY e { x = f32[<=8] parameter(0)
        ROOT n = s32[] get-dimension-size(x), dimensions={0} }""")
    assert not CanonicalizeDynamism().run(module, Trace())
