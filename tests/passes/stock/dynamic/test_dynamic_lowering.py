"""Is a back end that runs some operations on dynamic arrays given such, and their results padded for the others?

Scenarios: `stock_passes.md` section 5.19, DynamicLowering and WhileLoopCarriesRequiredDynamicShape.
"""

import pytest

from hlo import HloInstruction, HloModule, Opcode
from hlo.interchange import read_text
from hlo.verify import verify
from passes import Trace
from passes.stock import DynamicPadder, TupleSimplifier
from passes.stock.dynamic_dimension_inference import (
    DynamicSizes,
    DynamismRefused,
    Support,
    infer_dynamic_dimensions,
)

TARGET = "OpWithDynamicLowering"


def lowered(inst: HloInstruction) -> Support:
    if inst.opcode is Opcode.CUSTOM_CALL and inst.custom_call_target == TARGET:
        return Support.REQUIRED
    return Support.NONE


def padded(entry: str, *computations: str) -> HloModule:
    module = read_text("HloModule m\n" + "".join(computations) + f"ENTRY main {{ {entry} }}\n")
    trace = Trace()
    assert DynamicPadder().pad(module, trace, supports=lowered)
    assert set(trace.fired) <= set(DynamicPadder.rules)
    TupleSimplifier().run(module, Trace())
    assert verify(module) == []
    return module


def what(inst: HloInstruction) -> str:
    return inst.custom_call_target if inst.opcode is Opcode.CUSTOM_CALL else inst.opcode.value


def named(module: HloModule, name: str) -> HloInstruction:
    found = module.find_instruction(name)
    assert found is not None
    return found


def chain(inst: HloInstruction) -> list[str]:
    """`inst` and the first operand of each, down to a parameter."""
    found = [what(inst)]
    while inst.operands:
        inst = inst.operand(0)
        found.append(what(inst))
    return found


SET = """param = s32[5] parameter(0)
         const = s32[] constant(3)
         param_padded = s32[<=5] set-dimension-size(param, const), dimensions={0}
"""


def test_bridges_stand_where_dynamic_arrays_begin_and_end() -> None:
    module = padded(
        f"""{SET}
            one = s32[<=5] custom-call(param_padded), custom_call_target="{TARGET}"
            two = s32[<=5] custom-call(one), custom_call_target="{TARGET}"
            ROOT negate = s32[<=5] negate(two)"""
    )
    root = module.entry_computation.root
    assert chain(root) == [
        *("SliceToDynamic", "negate", "get-tuple-element", "PadToStatic"),
        *(TARGET, TARGET, "SliceToDynamic", "parameter"),
    ]
    assert str(root.shape) == "s32[<=5]"
    assert str(root.operand(0).shape) == "s32[5]"
    size = root.operand(1)
    assert (size.opcode, size.tuple_index) == (Opcode.GET_TUPLE_ELEMENT, 1)
    one = named(module, "one")
    (inner,) = one.operands
    assert (str(one.shape), inner.operand(1).literal.value) == ("s32[<=5]", 3)


def test_without_a_word_of_the_back_end_such_a_call_is_refused() -> None:
    module = read_text(
        f"""HloModule m
        ENTRY main {{ {SET}
            ROOT one = s32[<=5] custom-call(param_padded), custom_call_target="{TARGET}" }}"""
    )
    with pytest.raises(DynamismRefused, match=f"custom-call {TARGET} cannot have a dynamic dimension"):
        DynamicPadder().run(module, Trace())


def test_the_dynamic_array_of_a_tuple_is_bridged_alone() -> None:
    module = padded(
        f"""{SET}
            arg = (s32[], s32[<=5]) tuple(const, param_padded)
            one = (s32[], s32[<=5]) custom-call(arg), custom_call_target="{TARGET}"
            two = (s32[], s32[<=5]) custom-call(one), custom_call_target="{TARGET}"
            data = s32[<=5] get-tuple-element(two), index=1
            ROOT negate = s32[<=5] negate(data)"""
    )
    root = module.entry_computation.root
    assert [what(root), what(root.operand(0))] == ["SliceToDynamic", "negate"]
    (one,) = named(module, "two").operands
    assert what(one) == TARGET
    (arg,) = one.operands
    assert [what(part) for part in arg.operands] == ["constant", "SliceToDynamic"]
    assert str(root.operand(1).shape) == "s32[]"
    assert what(root.operand(1).operand(0)) == "PadToStatic"


def test_nested_tuples_are_cut_where_they_are_dynamic() -> None:
    module = padded(
        f"""{SET}
            inner = (s32[<=5]) tuple(param_padded)
            ROOT outer = (s32[], (s32[<=5])) tuple(const, inner)"""
    )
    first, second = module.entry_computation.root.operands
    assert (what(first), [what(part) for part in second.operands]) == ("constant", ["SliceToDynamic"])


LOOP = (
    """body {{ s = (s32[], f32[<=4]) parameter(0)
            i = s32[] get-tuple-element(s), index=0
            x = f32[<=4] get-tuple-element(s), index=1
            one = s32[] constant(1)
            j = s32[] add(i, one)
            y = f32[<=4] {0}
            ROOT r = (s32[], f32[<=4]) tuple(j, y) }}
    """,
    """cond { s = (s32[], f32[<=4]) parameter(0)
            i = s32[] get-tuple-element(s), index=0
            three = s32[] constant(3)
            ROOT r = pred[] compare(i, three), direction=LT }
    """,
)
AROUND = """x = f32[<=4] parameter(0)
            zero = s32[] constant(0)
            init = (s32[], f32[<=4]) tuple(zero, x)
            loop = (s32[], f32[<=4]) while(init), condition=cond, body=body
            got = f32[<=4] get-tuple-element(loop), index=1
            ROOT end = {0}"""
CALL = f'custom-call(x), custom_call_target="{TARGET}"'


def targets(module: HloModule) -> list[str]:
    return sorted(
        what(i) for c in module.computations for i in c.instructions if i.opcode is Opcode.CUSTOM_CALL
    )


def test_a_loop_that_only_such_a_back_end_reads_carries_dynamic_arrays() -> None:
    module = padded(
        AROUND.format(f'f32[<=4] custom-call(got), custom_call_target="{TARGET}"'),
        LOOP[0].format(CALL),
        LOOP[1],
    )
    assert targets(module) == [TARGET, TARGET]
    assert str(named(module, "loop").shape) == "(s32[], f32[<=4])"


def test_what_a_loop_carried_is_padded_for_those_behind_it() -> None:
    module = padded(AROUND.format("f32[<=4] negate(got)"), LOOP[0].format(CALL), LOOP[1])
    assert targets(module) == [TARGET, "PadToStatic", "SliceToDynamic"]
    assert chain(module.entry_computation.root)[:5] == [
        *("SliceToDynamic", "negate", "get-tuple-element", "PadToStatic", "get-tuple-element"),
    ]


def test_a_loop_that_computes_with_its_state_carries_padded_arrays() -> None:
    module = padded(AROUND.format("f32[<=4] negate(got)"), LOOP[0].format("negate(x)"), LOOP[1])
    assert targets(module) == ["PadToStatic", "SliceToDynamic"]
    (body,) = (c for c in module.computations if c.name == "body")
    assert str(body.root.shape) == "(s32[], f32[4], s32[])"


def test_what_may_run_on_dynamic_arrays_does_so_when_it_is_given_one() -> None:
    def optional(inst: HloInstruction) -> Support:
        return Support.OPTIONAL if inst.opcode is Opcode.NEGATE else lowered(inst)

    module = read_text(
        f"""HloModule m
        ENTRY main {{ {SET}
            first = s32[<=5] negate(param_padded)
            one = s32[<=5] custom-call(first), custom_call_target="{TARGET}"
            second = s32[<=5] negate(one)
            ROOT end = s32[<=5] abs(second) }}"""
    )
    assert DynamicPadder().pad(module, Trace(), supports=optional)
    assert verify(module) == []
    assert chain(module.entry_computation.root) == [
        *("SliceToDynamic", "abs", "get-tuple-element", "PadToStatic"),
        *("negate", TARGET, "SliceToDynamic", "negate", "parameter"),
    ]


def test_a_branch_must_not_give_a_dynamic_array() -> None:
    with pytest.raises(DynamismRefused, match="gives an array that has no size beside it"):
        padded(
            """p = pred[] parameter(0)
               x = f32[<=4] parameter(1)
               t = (f32[<=4]) tuple(x)
               ROOT r = (f32[<=4]) conditional(p, t, t), true_computation=yes, false_computation=no""",
            f"""yes {{ a = (f32[<=4]) parameter(0)
                      x = f32[<=4] get-tuple-element(a), index=0
                      y = f32[<=4] {CALL}
                      ROOT r = (f32[<=4]) tuple(y) }}
                no {{ a = (f32[<=4]) parameter(0)
                     x = f32[<=4] get-tuple-element(a), index=0
                     y = f32[<=4] negate(x)
                     ROOT r = (f32[<=4]) tuple(y) }}
            """,
        )


def test_a_handler_says_the_sizes_of_custom_calls() -> None:
    asked: list[str] = []

    def handler(inst: HloInstruction, sizes: DynamicSizes) -> None:
        asked.append(inst.custom_call_target)
        (operand,) = inst.operands
        size = sizes.size(operand, (), 0)
        assert size is not None
        sizes.set_size(inst, (), 0, size)

    module = read_text(
        f"""HloModule m
        ENTRY main {{ {SET}
            ROOT one = s32[<=5] custom-call(param_padded), custom_call_target="MyCustomOp" }}"""
    )
    sizes = infer_dynamic_dimensions(module, Trace(), custom_call=handler)
    assert asked == ["MyCustomOp"]
    size = sizes.size(module.entry_computation.root, (), 0)
    assert size is not None
    assert size.literal.value == 3


def test_a_loop_may_carry_a_padded_array_beside_a_dynamic_one() -> None:
    state = "(s32[], f32[<=4], f32[<=4])"
    module = padded(
        f"""x = f32[<=4] parameter(0)
            y = f32[<=4] parameter(1)
            zero = s32[] constant(0)
            init = {state} tuple(zero, x, y)
            loop = {state} while(init), condition=cond, body=body
            a = f32[<=4] get-tuple-element(loop), index=1
            b = f32[<=4] get-tuple-element(loop), index=2
            c = f32[<=4] negate(a)
            d = f32[<=4] negate(b)
            ROOT end = (f32[<=4], f32[<=4]) tuple(c, d)""",
        f"""body {{ s = {state} parameter(0)
            i = s32[] get-tuple-element(s), index=0
            x = f32[<=4] get-tuple-element(s), index=1
            y = f32[<=4] get-tuple-element(s), index=2
            one = s32[] constant(1)
            j = s32[] add(i, one)
            u = f32[<=4] {CALL}
            v = f32[<=4] negate(y)
            ROOT r = {state} tuple(j, u, v) }}
        """,
        LOOP[1].replace("(s32[], f32[<=4])", state),
    )
    assert targets(module) == [TARGET, *["PadToStatic"] * 2, *["SliceToDynamic"] * 2]
    assert [what(part) for part in module.entry_computation.root.operands] == ["SliceToDynamic"] * 2
