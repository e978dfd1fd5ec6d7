"""Does every loop that runs a known number of times become its iterations, and is every other one left alone?"""

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlo import HloComputation, HloInstruction, HloModule, Opcode, same_bits
from hlo.canonical import structure
from hlo.evaluator import evaluate
from hlo.interchange import read_text
from hlo.verify import verify
from passes import Trace
from passes.stock import Dce, WhileLoopUnroller
from tests.passes.conftest import Check, run_and_hold, some_inputs
from tests.passes.loops.programs import NESTED, TRIANGLE, known_trip_count, loop

ENTRY_I = "  i = s32[] get-tuple-element(w), index=0\n  sum"


def unroll(text: str, **options: bool | int) -> tuple[HloModule, Trace]:
    module = read_text(text)
    return module, run_and_hold(WhileLoopUnroller(**options), module)  # pyright: ignore[reportArgumentType]


def declined(text: str, **options: bool | int) -> dict[str, int]:
    """Why the loops of a program that stays as it is were left."""
    module = read_text(text)
    before = structure(module)
    trace = run_and_hold(WhileLoopUnroller(**options), module)  # pyright: ignore[reportArgumentType]
    assert structure(module) == before
    return dict(trace.declined)


def every(module: HloModule, opcode: Opcode) -> list[HloInstruction]:
    return [i for c in module.computations for i in c.instructions if i.opcode is opcode]


def calls(computation: HloComputation) -> list[HloInstruction]:
    return [i for i in computation.make_instruction_post_order() if i.opcode is Opcode.CALL]


def constants_read(body: HloComputation) -> set[int]:
    """The starts of the slices in `body` that are constants."""
    starts = [i.operand(1) for i in body.instructions if i.opcode is Opcode.DYNAMIC_SLICE]
    values = [start.literal.value for start in starts if start.opcode is Opcode.CONSTANT]
    return {int(value) for value in values if isinstance(value, np.ndarray)}


def test_each_iteration_is_a_call_of_a_body_of_its_own_over_the_tuple_of_the_state() -> None:
    module, trace = unroll(loop())
    iterations = calls(module.entry_computation)
    assert len(iterations) == 5
    assert trace.fired == {"unroll": 1, "copy-body": 5, "set-counter": 5}
    assert len({call.called_computations[0] for call in iterations}) == 5
    assert all(len(call.operands) == 1 for call in iterations)
    assert all(call.operand(0).opcode is Opcode.TUPLE for call in iterations)
    for before, after in itertools.pairwise(iterations):
        for index, element in enumerate(after.operand(0).operands):
            assert element.opcode is Opcode.GET_TUPLE_ELEMENT
            assert element.operand(0) is before
            assert element.tuple_index == index
    assert {len(c.caller_instructions) for c in module.computations if not c.is_entry} == {1}


def test_the_counter_is_a_constant_in_each_iteration() -> None:
    module, _ = unroll(loop(init=2, step=3, bound=9))
    assert [constants_read(c.called_computations[0]) for c in calls(module.entry_computation)] == [
        {2},
        {5},
        {8},
    ]


def test_nothing_of_the_loop_is_left() -> None:
    module, _ = unroll(loop())
    assert every(module, Opcode.WHILE) == []
    assert len(module.computations) == 6
    assert not Dce().run(module, Trace())


@pytest.mark.parametrize(
    "options",
    [
        {"bound": 0},
        {"init": 5, "direction": "GT", "bound": 9, "step": -1},
        {"direction": "EQ"},
        {"bound": -9, "direction": "LE", "step": 2},
    ],
)
def test_a_loop_without_iterations_becomes_what_it_starts_with(options: dict[str, int | str]) -> None:
    module, trace = unroll(loop(**options))  # pyright: ignore[reportArgumentType]
    assert trace.fired == {"drop-loop": 1}
    assert calls(module.entry_computation) == every(module, Opcode.WHILE) == []


def test_one_iteration_is_one_call() -> None:
    module, _ = unroll(loop(bound=1))
    assert len(calls(module.entry_computation)) == 1


def test_without_zero_trips_a_loop_without_iterations_breaks_the_pass() -> None:
    with pytest.raises(IndexError):
        WhileLoopUnroller(zero_trips=False).run(read_text(loop(bound=0)), Trace())


def test_without_no_wrap_a_counter_that_wraps_is_counted_wrong() -> None:
    text = loop(type_="u8", init=250, bound=253, step=10)
    module = read_text(text)
    WhileLoopUnroller(no_wrap=False).run(module, Trace())
    values = next(some_inputs(module))
    assert len(calls(module.entry_computation)) == 1
    assert not same_bits(evaluate(module, values), evaluate(read_text(text), values))


def test_a_counter_that_wraps_is_declined() -> None:
    assert declined(loop(type_="u8", init=250, bound=253, step=10)) == {"no_wrap": 1}
    assert declined(loop(type_="s8", init=120, bound=125, step=10)) == {"no_wrap": 1}


def test_what_backend_config_says_of_the_number_of_iterations_is_not_believed() -> None:
    module, trace = unroll(loop(config=known_trip_count(3)))
    assert len(calls(module.entry_computation)) == 5
    assert trace.declined == {"check_known_trip_count": 1}
    assert trace.messages == ["w: known_trip_count says 3, the loop runs 5 times"]


def test_a_claim_that_is_right_is_no_news() -> None:
    module, trace = unroll(loop(config=known_trip_count(5)))
    assert len(calls(module.entry_computation)) == 5
    assert not trace.declined
    assert all(not call.carried for call in calls(module.entry_computation))


def test_a_claim_that_nothing_confirms_does_not_unroll_a_loop() -> None:
    text = loop(bound="k", config=known_trip_count(3))
    assert declined(text) == {"bound-not-known": 1, "check_known_trip_count": 1}


def test_without_check_known_trip_count_the_claim_is_believed() -> None:
    text = loop(config=known_trip_count(3))
    module = read_text(text)
    WhileLoopUnroller(check_known_trip_count=False).run(module, Trace())
    values = next(some_inputs(module))
    assert len(calls(module.entry_computation)) == 3
    assert not same_bits(evaluate(module, values), evaluate(read_text(text), values))


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"max_trip_count": 4}, "trip-count-limit"),
        ({"max_body_instructions": 11}, "body-size-limit"),
        ({"max_expansion": 5 * 12 - 1}, "expansion-limit"),
        ({"max_module_instructions": 80}, "module-size-limit"),
    ],
)
def test_a_loop_beyond_a_limit_is_left(options: dict[str, int], reason: str) -> None:
    assert declined(loop(), **options) == {reason: 1}


def test_a_loop_at_its_limits_is_unrolled() -> None:
    exact = {"max_trip_count": 5, "max_body_instructions": 12, "max_expansion": 60}
    assert unroll(loop(), **exact)[1].fired["unroll"] == 1


def test_a_loop_of_a_thousand_iterations_is_left_by_default() -> None:
    assert declined(loop(bound=1000)) == {"trip-count-limit": 1}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (loop(bound="k"), "bound-not-known"),
        (loop(init="k"), "init-not-known"),
        (loop(update="multiply(i, step)"), "counter-form"),
        (loop(compare="i, i", direction="LE", bound="k"), "bound-not-known"),
        (loop(direction="NE", step=2), "never-ends"),
        (loop().replace("ROOT more = pred[] compare(i, n), direction=LT", "ROOT more = pred[] constant(true)"),
         "condition-form"),
        (loop(update="add(i, step), control-predecessors={sum}").replace(
            "  w = (s32[], s32[8], s32[]) while(state)", "  late = s32[] add(zero, zero)\n"
            "  w = (s32[], s32[8], s32[]) while(state)").replace("body=body", "body=body, control-predecessors={late}"),
         "control-dependencies"),
        (loop().replace("  n = s32[] constant(5)\n",
            '  n = s32[] constant(5)\n  t = token[] after-all()\n  o = token[] outfeed(i, t), outfeed_shape=s32[]\n'),
         "condition-side-effect"),
        (loop().replace("  three =", "  other = s32[] all-reduce(sum), channel_id=1, to_apply=plus\n  three =").replace(
            "HloModule counted", "HloModule counted\nplus {\n  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n"
            "  ROOT c = s32[] add(a, b)\n}"),
         "channel"),
    ],
    ids=lambda value: value if len(value) < 40 else "",
)  # fmt: skip
def test_a_loop_that_the_rules_do_not_allow_is_left(text: str, reason: str) -> None:
    module = read_text(text)
    before, trace = structure(module), Trace()
    assert not WhileLoopUnroller().run(module, trace)
    assert structure(module) == before
    assert trace.declined == {reason: 1}
    assert reason in (*WhileLoopUnroller.legality, *WhileLoopUnroller.guards)


def test_a_state_that_is_no_tuple_is_left() -> None:
    text = """
HloModule m
body { p = s32[] parameter(0)
  one = s32[] constant(1)
  ROOT next = s32[] add(p, one) }
cond { p = s32[] parameter(0)
  n = s32[] constant(3)
  ROOT more = pred[] compare(p, n), direction=LT }
ENTRY main { zero = s32[] constant(0)
  ROOT w = s32[] while(zero), condition=cond, body=body }
"""
    assert declined(text) == {"state-not-tuple": 1}


def test_a_state_whose_dynamic_dimensions_change_is_left() -> None:
    text = """
HloModule m
body { p = (s32[], s32[<=4]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = s32[<=4] get-tuple-element(p), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  ROOT out = (s32[], s32[<=4]) tuple(next, x) }
cond { p = (s32[], s32[<=4]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(3)
  ROOT more = pred[] compare(i, n), direction=LT }
ENTRY main { x = s32[4] parameter(0)
  zero = s32[] constant(0)
  state = (s32[], s32[4]) tuple(zero, x)
  w = (s32[], s32[<=4]) while(state), condition=cond, body=body
  ROOT i = s32[] get-tuple-element(w), index=0 }
"""
    module, trace = read_text(text), Trace()
    assert not WhileLoopUnroller().run(module, trace)
    assert trace.declined == {"state-type-differs": 1}


def test_inner_loops_are_unrolled_first_and_each_outer_iteration_has_inner_bodies_of_its_own() -> None:
    module, trace = unroll(NESTED)
    assert trace.fired["unroll"] == 2
    outer = calls(module.entry_computation)
    assert [len(calls(call.called_computations[0])) for call in outer] == [3, 3, 3, 3]
    inner = [call for o in outer for call in calls(o.called_computations[0])]
    assert len({call.called_computations[0] for call in inner}) == 12


def test_a_loop_that_runs_as_often_as_the_outer_counter_says_is_unrolled_after_that() -> None:
    module, trace = unroll(TRIANGLE)
    assert trace.fired["unroll"] == 4
    assert trace.fired["drop-loop"] == 1
    assert [len(calls(c.called_computations[0])) for c in calls(module.entry_computation)] == [0, 1, 2, 3]


def test_a_loop_too_long_to_unroll_does_not_keep_the_one_around_it() -> None:
    module, trace = unroll(NESTED.replace("constant(3)", "constant(100)"))
    assert trace.fired["unroll"] == 1
    assert trace.declined == {"trip-count-limit": 4}
    assert len(every(module, Opcode.WHILE)) == 4


def test_a_loop_that_starts_where_another_ended_is_unrolled() -> None:
    text = loop(bound=2).replace(
        ENTRY_I,
        "  v = (s32[], s32[8], s32[]) while(w), condition=longer, body=body\n"
        "  i = s32[] get-tuple-element(v), index=0\n  sum",
    )
    longer = text[text.index("cond {") : text.index("ENTRY")].replace("cond", "longer").replace("(2)", "(5)")
    module, trace = unroll(text.replace("ENTRY", longer + "ENTRY"))
    assert trace.fired["unroll"] == 2
    assert len(calls(module.entry_computation)) == 5


def test_one_body_of_two_loops_serves_both() -> None:
    text = loop(bound=2).replace(
        ENTRY_I,
        "  seven = s32[] constant(7)\n  other = (s32[], s32[8], s32[]) tuple(seven, x, seven)\n"
        "  v = (s32[], s32[8], s32[]) while(other), condition=cond, body=body\n"
        "  i = s32[] get-tuple-element(v), index=0\n  sum",
    )
    _, trace = unroll(text)
    assert trace.fired == {"unroll": 1, "copy-body": 2, "set-counter": 2, "drop-loop": 1}


def test_a_loop_in_a_called_computation_is_unrolled() -> None:
    text = loop().replace("ENTRY main {", "run {")
    text += """ENTRY main {
  x = s32[8] parameter(0)
  k = s32[] parameter(1)
  ROOT r = (s32[], s32[]) call(x, k), to_apply=run
}
"""
    _, trace = unroll(text)
    assert trace.fired["unroll"] == 1


def test_a_bound_that_every_caller_gives_alike_is_known() -> None:
    text = loop(bound="k").replace("ENTRY main {", "run {")
    text += """ENTRY main {
  x = s32[8] parameter(0)
  k = s32[] constant(4)
  r = (s32[], s32[]) call(x, k), to_apply=run
  l = s32[] constant(4)
  s = (s32[], s32[]) call(x, l), to_apply=run
  ROOT both = ((s32[], s32[]), (s32[], s32[])) tuple(r, s)
}
"""
    _, trace = unroll(text)
    assert trace.fired["unroll"] == 1
    assert declined(text.replace("l = s32[] constant(4)", "l = s32[] constant(3)")) == {"bound-not-known": 1}


HELPED = (
    loop()
    .replace(
        "  piece = s32[1] dynamic-slice(x, i), dynamic_slice_sizes={1}\n  value = s32[] reshape(piece)\n",
        "  pair = (s32[], s32[]) call(x, i), to_apply=helper\n  value = s32[] get-tuple-element(pair), index=1\n",
    )
    .replace(
        "body {",
        """helper {
  x = s32[8] parameter(0)
  i = s32[] parameter(1)
  piece = s32[1] dynamic-slice(x, i), dynamic_slice_sizes={1}
  value = s32[] reshape(piece)
  ROOT pair = (s32[], s32[]) tuple(i, value)
}
body {""",
        1,
    )
)


def test_calls_in_a_body_are_inlined_so_that_its_slices_read_the_state() -> None:
    module, trace = unroll(HELPED)
    assert trace.fired["flatten-body"] == 1
    for call in calls(module.entry_computation):
        (piece,) = (i for i in call.called_computations[0].instructions if i.opcode is Opcode.DYNAMIC_SLICE)
        assert piece.operand(0).opcode is Opcode.GET_TUPLE_ELEMENT
        assert piece.operand(0).operand(0).opcode is Opcode.PARAMETER
        reads = [i for i in call.called_computations[0].instructions if i.opcode is Opcode.GET_TUPLE_ELEMENT]
        assert {read.operand(0).opcode for read in reads} == {Opcode.PARAMETER}


def test_what_a_helper_calls_is_inlined_with_it() -> None:
    inner = "inner {\n  y = s32[8] parameter(0)\n  j = s32[] parameter(1)\n"
    inner += "  ROOT piece = s32[1] dynamic-slice(y, j), dynamic_slice_sizes={1}\n}\nhelper {"
    text = HELPED.replace("helper {", inner, 1)
    made_here = "piece = s32[1] dynamic-slice(x, i), dynamic_slice_sizes={1}"
    text = text.replace(made_here, "piece = s32[1] call(x, i), to_apply=inner")
    module, trace = unroll(text)
    assert trace.fired["flatten-body"] == 2
    assert [calls(call.called_computations[0]) for call in calls(module.entry_computation)] == [[]] * 5
    assert {computation.name.partition(".")[0] for computation in module.computations} == {"body", "main"}


def test_without_flatten_bodies_each_iteration_has_callees_of_its_own() -> None:
    module, trace = unroll(HELPED, flatten_bodies=False)
    assert "flatten-body" not in trace.fired
    callees = [
        c.called_computations[0]
        for i in calls(module.entry_computation)
        for c in calls(i.called_computations[0])
    ]
    assert len(set(callees)) == 5


def test_a_body_that_another_loop_keeps_is_not_flattened() -> None:
    text = HELPED.replace(
        ENTRY_I,
        "  v = (s32[], s32[8], s32[]) while(w), condition=always, body=body\n"
        "  i = s32[] get-tuple-element(v), index=0\n  sum",
    )
    always = "always {\n  p = (s32[], s32[8], s32[]) parameter(0)\n  ROOT more = pred[] constant(true)\n}\n"
    module = read_text(text.replace("ENTRY", always + "ENTRY"))
    WhileLoopUnroller().run(module, Trace())
    (kept,) = every(module, Opcode.WHILE)
    assert len(calls(kept.called_computations[0])) == 1


def test_the_iterations_of_an_inner_loop_stay_calls_where_other_calls_are_inlined() -> None:
    helper = "helper {\n  a = s32[] parameter(0)\n  ROOT b = s32[] negate(a)\n}\n"
    text = NESTED.replace("HloModule nested\n", f"HloModule nested\n{helper}")
    text = text.replace("tuple(next, x, total)\n}\nouter", "tuple(next, x, less)\n}\nouter")
    total = "  total = s32[] get-tuple-element(w), index=3\n"
    text = text.replace(total, f"{total}  less = s32[] call(total), to_apply=helper\n")
    module, trace = unroll(text)
    assert trace.fired["flatten-body"] == 1
    assert [len(calls(c.called_computations[0])) for c in calls(module.entry_computation)] == [3, 3, 3, 3]


def test_a_call_that_must_stay_is_not_inlined() -> None:
    text = HELPED.replace("to_apply=helper", 'to_apply=helper, frontend_attributes={inlineable="false"}')
    assert "flatten-body" not in unroll(text)[1].fired


@pytest.mark.parametrize(
    "text", [loop(), NESTED, TRIANGLE, HELPED], ids=["one", "nested", "triangle", "helped"]
)
def test_inline_leaves_no_call(text: str) -> None:
    module, trace = unroll(text, inline=True)
    assert every(module, Opcode.CALL) == every(module, Opcode.WHILE) == []
    assert trace.fired["inline-iteration"] > 0


EFFECT = loop().replace(
    "  three =", "  t = token[] after-all()\n  o = token[] outfeed(sum, t), outfeed_shape=s32[]\n  three ="
)


def test_effects_stay_in_their_order_in_calls_and_are_not_inlined() -> None:
    module, trace = read_text(EFFECT), Trace()
    assert WhileLoopUnroller().run(module, trace)
    assert verify(module) == []
    assert len(every(module, Opcode.OUTFEED)) == 5
    trace = Trace()
    assert not WhileLoopUnroller(inline=True).run(read_text(EFFECT), trace)
    assert trace.declined == {"inline-side-effect": 1}


def test_names_metadata_and_frontend_attributes_of_the_loop_are_on_its_calls() -> None:
    config = ', metadata={op_name="jit(f)/while"}, sharding={{replicated}, {replicated}, {replicated}}'
    text = loop(config=config + ', frontend_attributes={kind="layer"}')
    module, _ = unroll(text)
    for call in calls(module.entry_computation):
        assert call.metadata.op_name == "jit(f)/while"
        assert call.frontend_attributes == {"kind": "layer"}
        assert call.carried


def test_instructions_of_a_body_keep_what_they_carry() -> None:
    text = loop().replace(
        "multiply(sum, three)", 'multiply(sum, three), metadata={op_name="jit(f)/while/body/mul"}, '
        'frontend_attributes={note="here"}'
    )  # fmt: skip
    module, _ = unroll(text)
    products = every(module, Opcode.MULTIPLY)
    assert len(products) == 5
    assert {p.metadata.op_name for p in products} == {"jit(f)/while/body/mul"}
    assert [dict(p.frontend_attributes) for p in products] == [{"note": "here"}] * 5
    assert {p.unique_id for p in products} == {None}
    assert len({i.name for c in module.computations for i in c.instructions}) == module.instruction_count


def test_control_edges_inside_a_body_are_kept() -> None:
    module, _ = unroll(loop(update="add(i, step), control-predecessors={sum}"))
    ordered = [i for i in every(module, Opcode.ADD) if i.control_predecessors]
    assert len(ordered) == 5


def test_the_same_program_is_unrolled_the_same_way() -> None:
    assert structure(unroll(NESTED)[0]) == structure(unroll(NESTED)[0])


def test_a_counter_that_nobody_else_reads(becomes: Check) -> None:
    before = """
HloModule m
body { p = (u8[], s32[2]) parameter(0)
  i = u8[] get-tuple-element(p), index=0
  x = s32[2] get-tuple-element(p), index=1
  one = u8[] constant(1)
  next = u8[] add(i, one)
  y = s32[2] add(x, x)
  ROOT out = (u8[], s32[2]) tuple(next, y) }
cond { p = (u8[], s32[2]) parameter(0)
  i = u8[] get-tuple-element(p), index=0
  n = u8[] constant(2)
  ROOT more = pred[] compare(i, n), direction=LT }
ENTRY main { x = s32[2] parameter(0)
  zero = u8[] constant(0)
  state = (u8[], s32[2]) tuple(zero, x)
  w = (u8[], s32[2]) while(state), condition=cond, body=body
  ROOT y = s32[2] get-tuple-element(w), index=1 }
"""
    body = """
%s { p = (u8[], s32[2]) parameter(0)
  x = s32[2] get-tuple-element(p), index=1
  i = u8[] constant(%d)
  one = u8[] constant(1)
  next = u8[] add(i, one)
  y = s32[2] add(x, x)
  ROOT out = (u8[], s32[2]) tuple(next, y) }"""
    after = f"""
HloModule m{body % ("first", 0)}{body % ("second", 1)}
ENTRY main {{ x = s32[2] parameter(0)
  zero = u8[] constant(0)
  state = (u8[], s32[2]) tuple(zero, x)
  a = (u8[], s32[2]) call(state), to_apply=first
  i = u8[] get-tuple-element(a), index=0
  z = s32[2] get-tuple-element(a), index=1
  again = (u8[], s32[2]) tuple(i, z)
  w = (u8[], s32[2]) call(again), to_apply=second
  ROOT y = s32[2] get-tuple-element(w), index=1 }}
"""
    becomes(WhileLoopUnroller(), before, after)


def some_loops() -> Iterator[st.SearchStrategy[str]]:
    small = st.integers(-9, 9)
    for signed, types in ((True, ["s8", "s16", "s32", "s64"]), (False, ["u8", "u16", "u32", "u64"])):
        yield st.builds(
            loop,
            type_=st.sampled_from(types),
            init=small if signed else st.integers(0, 18),
            bound=small if signed else st.integers(0, 18),
            step=small if signed else st.integers(0, 9),
            direction=st.sampled_from(["LT", "LE", "GT", "GE", "NE", "EQ"]),
            compare=st.sampled_from(["i, n", "n, i"]),
            update=st.sampled_from(["add(i, step)", "add(step, i)", "subtract(i, step)"]),
        )


@given(st.one_of(*some_loops()), st.booleans())
def test_whatever_was_unrolled_computes_what_it_did(text: str, inline: bool) -> None:
    module, trace = read_text(text), Trace()
    WhileLoopUnroller(inline=inline).run(module, trace)
    assert verify(module) == []
    assert not WhileLoopUnroller(inline=inline).run(module, Trace())
    if every(module, Opcode.WHILE):
        assert sum(trace.declined.values()) == 1  # the loop may well never end
        return
    original = read_text(text)
    for values in some_inputs(original):
        assert same_bits(evaluate(module, values), evaluate(original, values))
