from collections.abc import Sequence

import numpy as np
import pytest

from fuzz.case import Case
from fuzz.reduce.calls import fewer_calls
from fuzz.reduce.decoration import less_decoration, plain_names, shorter_op_names
from fuzz.reduce.dimensions import smaller_dimensions
from fuzz.reduce.driver import reduce_case
from fuzz.reduce.editing import Transformation
from fuzz.reduce.instructions import no_dead_code, simpler_instructions
from fuzz.reduce.literals import plainer_constants, plainer_inputs
from fuzz.reduce.loops import flat_loop_states, smaller_loop_states
from fuzz.reduce.outputs import smaller_root
from fuzz.reduce.recipe import default_options, fewer_inputs, fewer_passes, fewer_switches
from fuzz.reduce.signatures import fewer_parameters, fewer_results
from fuzz.reduce.types import plainer_types
from hlo import HloInstruction, Opcode, TupleShape, Value, same_bits, value_shape
from hlo.evaluator import EvaluationLimit, evaluate
from hlo.verify import verify


def built(transformation: Transformation, case: Case) -> list[Case]:
    """What the transformation's candidates make of the case."""
    return [made for candidate in transformation(case) if (made := candidate()) is not None]


PAIR = """HloModule m

ENTRY main {
  x = f32[8] parameter(0)
  a = f32[8] negate(x)
  b = f32[8] abs(a)
  ROOT r = (f32[8], f32[8]) tuple(a, b)
}
"""


def test_one_element_of_the_result_is_enough(make_case, offers) -> None:
    only = "HloModule m\nENTRY main {\n x = f32[8] parameter(0)\n ROOT a = f32[8] negate(x)\n}"
    assert offers(smaller_root, make_case(PAIR), only)


def test_a_tuple_can_lose_an_element(make_case, offers) -> None:
    case = make_case(PAIR)
    one = (
        "HloModule m\nENTRY main {\n x = f32[8] parameter(0)\n a = f32[8] negate(x)\n"
        " ROOT r = (f32[8]) tuple(a)\n}"
    )
    assert offers(smaller_root, case, one)


def test_a_value_in_the_entry_becomes_a_parameter_that_has_it(make_case) -> None:
    case = make_case(PAIR)
    parameters = [made for made in built(simpler_instructions, case) if len(made.inputs[0]) == 2]
    assert all(len(made.module.entry_computation.parameters) == 2 for made in parameters)
    (x,) = case.inputs[0]
    negated, absolute = np.negative(np.asarray(x)), np.asarray(x)
    for value in (negated, absolute, (negated, absolute)):
        assert any(same_bits(made.inputs[0][1], value) for made in parameters)


@pytest.mark.parametrize("body", [" ROOT b = f32[8] negate(x)\n", " ROOT b = f32[8] abs(x)\n"])
def test_an_instruction_becomes_its_operand(make_case, offers, body: str) -> None:
    text = PAIR.replace("ROOT r = (f32[8], f32[8]) tuple(a, b)", "").replace("  b =", "  ROOT b =")
    assert offers(
        simpler_instructions,
        make_case(text),
        f"HloModule m\nENTRY main {{\n x = f32[8] parameter(0)\n{body}}}",
    )


def test_an_instruction_becomes_the_constant_that_it_is(make_case, offers) -> None:
    text = "HloModule m\nENTRY main {\n x = s32[2] iota(), iota_dimension=0\n ROOT y = s32[2] negate(x)\n}"
    wanted = "HloModule m\nENTRY main {\n ROOT c = s32[2] constant({0, -1})\n}"
    assert offers(simpler_instructions, make_case(text), wanted)


DEAD = (
    "HloModule m\nENTRY main {\n x = f32[8] parameter(0)\n d = f32[8] abs(x)\n ROOT y = f32[8] negate(x)\n}"
)


def test_dead_code_goes(make_case, offers) -> None:
    alive = "HloModule m\nENTRY main {\n x = f32[8] parameter(0)\n ROOT y = f32[8] negate(x)\n}"
    assert offers(no_dead_code, make_case(DEAD), alive)


CALLS = """HloModule m

f {
  p = (f32[8], f32[8], s32[]) parameter(0)
  q = f32[4] parameter(1)
  a = f32[8] get-tuple-element(p), index=1
  b = f32[8] negate(a)
  ROOT r = (f32[8], f32[8]) tuple(b, a)
}

ENTRY main {
  x = f32[8] parameter(0)
  y = f32[4] parameter(1)
  i = s32[] parameter(2)
  t = (f32[8], f32[8], s32[]) tuple(x, x, i)
  c = (f32[8], f32[8]) call(t, y), to_apply=f
  ROOT g = f32[8] get-tuple-element(c), index=0
}
"""


def test_a_call_becomes_the_body(make_case) -> None:
    (made,) = built(fewer_calls, make_case(CALLS))
    module = made.module
    assert len(module.computations) == 1
    assert module.entry_computation.root.opcode == "negate"
    assert module.entry_computation.root.operand(0).parameter_number == 0
    assert len(module.entry_computation) == 4


def test_a_parameter_that_nobody_reads_goes_with_its_argument(make_case, offers) -> None:
    wanted = CALLS.replace("  q = f32[4] parameter(1)\n", "").replace("call(t, y)", "call(t)")
    assert offers(fewer_parameters, make_case(CALLS), wanted)


def test_a_tuple_element_that_nobody_reads_goes_at_both_ends(make_case, offers) -> None:
    wanted = (
        CALLS.replace("p = (f32[8], f32[8], s32[])", "p = (f32[8], s32[])")
        .replace("(p), index=1", "(p), index=0")
        .replace("t = (f32[8], f32[8], s32[]) tuple(x, x, i)", "t = (f32[8], s32[]) tuple(x, i)")
    )
    assert offers(fewer_parameters, make_case(CALLS), wanted)


def test_an_entry_parameter_that_nobody_reads_goes_with_its_input(make_case) -> None:
    case = make_case(
        DEAD.replace("ROOT y = f32[8] negate(x)", "z = f32[4] parameter(1)\n ROOT y = f32[8] negate(x)")
    )
    (made,) = built(fewer_parameters, case)
    assert [len(inputs) for inputs in made.inputs] == [1]


def test_a_result_element_that_nobody_reads_goes(make_case, offers) -> None:
    wanted = CALLS.replace("ROOT r = (f32[8], f32[8]) tuple(b, a)", "ROOT r = (f32[8]) tuple(b)").replace(
        "c = (f32[8], f32[8])", "c = (f32[8])"
    )
    assert offers(fewer_results, make_case(CALLS), wanted)


def test_the_one_result_element_that_is_read_becomes_the_result(make_case, offers) -> None:
    wanted = (
        CALLS.replace("ROOT r = (f32[8], f32[8]) tuple(b, a)", "")
        .replace("  b =", "  ROOT b =")
        .replace("  c = (f32[8], f32[8])", "  ROOT c = f32[8]")
        .replace("  ROOT g = f32[8] get-tuple-element(c), index=0\n", "")
    )
    assert offers(fewer_results, make_case(CALLS), wanted)


def test_a_result_element_that_nobody_reads_becomes_what_it_is_computed_from(make_case, offers) -> None:
    text = CALLS.replace("tuple(b, a)", "tuple(a, b)")
    assert offers(
        fewer_results,
        make_case(text),
        text.replace("  b = f32[8] negate(a)\n", "").replace("(a, b)", "(a, a)"),
    )


def test_a_tuple_parameter_of_the_entry_loses_what_the_callee_does_not_read(make_case, offers) -> None:
    text = (
        CALLS[: CALLS.index("ENTRY")]
        + """ENTRY main {
  t = (f32[8], f32[8], s32[]) parameter(0)
  y = f32[4] parameter(1)
  ROOT c = (f32[8], f32[8]) call(t, y), to_apply=f
}
"""
    )
    wanted = text.replace("(f32[8], f32[8], s32[])", "(f32[8], s32[])").replace(
        "(p), index=1", "(p), index=0"
    )
    assert offers(fewer_parameters, make_case(text), wanted)


def test_a_loop_runs_once(make_case, offers) -> None:
    loop = """HloModule m
cond { p = (s32[]) parameter(0)
 a = s32[] get-tuple-element(p), index=0
 n = s32[] constant(3)
 ROOT l = pred[] compare(a, n), direction=LT }
body { p = (s32[]) parameter(0)
 a = s32[] get-tuple-element(p), index=0
 one = s32[] constant(1)
 s = s32[] add(a, one)
 ROOT r = (s32[]) tuple(s) }
ENTRY main { z = s32[] constant(0)
 t = (s32[]) tuple(z)
 ROOT w = (s32[]) while(t), condition=cond, body=body }
"""
    wanted = loop[: loop.index("cond {")] + loop[loop.index("body {") :].replace(
        "while(t), condition=cond, body=body", "call(t), to_apply=body"
    )
    assert offers(fewer_calls, make_case(loop), wanted)


SLICES = """HloModule m
ENTRY main {
  x = f32[8,4] parameter(0)
  i = s32[] parameter(1)
  z = s32[] constant(0)
  d = f32[2,4] dynamic-slice(x, i, z), dynamic_slice_sizes={2,4}
  s = f32[1,4] slice(d), slice={[1:2], [0:4]}
  k = f32[8] constant({1,2,3,4,5,6,7,8})
  ROOT r = (f32[1,4], f32[8]) tuple(s, k)
}
"""


def test_a_size_shrinks_everywhere(make_case, offers) -> None:
    wanted = SLICES.replace("[8", "[3").replace("{1,2,3,4,5,6,7,8}", "{1,2,3}")
    case = make_case(SLICES)
    assert offers(smaller_dimensions, case, wanted)
    assert "f32[3,4]" in {str(value_shape(made.inputs[0][0])) for made in built(smaller_dimensions, case)}


def test_a_static_slice_follows_its_operand(make_case, offers) -> None:
    wanted = SLICES.replace("f32[2,4]", "f32[1,4]").replace("{2,4}", "{1,4}").replace("[1:2]", "[0:1]")
    assert offers(smaller_dimensions, make_case(SLICES), wanted)


def test_types_become_plain(make_case, offers) -> None:
    text = """HloModule m
ENTRY main {
  x = bf16[2] parameter(0)
  c = bf16[2] constant({1,2})
  ROOT y = bf16[2] add(x, c)
}
"""
    case = make_case(text)
    assert offers(plainer_types, case, text.replace("bf16", "s32"))
    assert offers(plainer_types, case, text.replace("bf16", "f32"))


def test_decoration_goes_all_at_once_or_one_by_one(make_case, offers) -> None:
    names = ['metadata={op_name="a/b"}', 'metadata={op_name="c"}']
    text = (
        "HloModule m\nENTRY main {{\n x = f32[8] parameter(0)\n d = f32[8] abs(x), {}\n"
        ' ROOT y = f32[8] negate(x), {}, control-predecessors={{d}}, frontend_attributes={{a="b"}}\n}}'
    )
    case = make_case(text.format(*names))
    bare = text.format("", "").replace(", ,", ",").replace("(x), \n", "(x)\n")
    assert offers(less_decoration, case, bare)
    assert offers(less_decoration, case, text.format(names[0], "").replace(", ,", ","))
    assert offers(less_decoration, case, text.format(*names).replace(", control-predecessors={d}", ""))
    assert offers(less_decoration, case, text.format(*names).replace(', frontend_attributes={a="b"}', ""))


def test_instructions_that_share_an_op_name_go_on_sharing_it(make_case) -> None:
    text = (
        'HloModule m\nENTRY main {\n x = f32[8] parameter(0)\n d = f32[8] abs(x), metadata={op_name="jit(f)/abs"}\n'
        ' ROOT y = f32[8] negate(d), metadata={op_name="jit(f)/abs"}\n}'
    )
    for made in built(shorter_op_names, make_case(text)):
        used = {
            i.metadata.op_name for i in made.module.entry_computation.instructions if i.opcode != "parameter"
        }
        assert len(used) == 1


def test_names_say_what_an_instruction_is(make_case) -> None:
    (made,) = built(plain_names, make_case(DEAD))
    assert {inst.name for inst in made.module.entry_computation.instructions} == {"p0", "abs", "negate"}


def test_inputs_and_constants_become_plain(make_case) -> None:
    case = make_case(SLICES)
    inputs = [made.inputs[0][0] for made in built(plainer_inputs, case)]
    for plain in (np.zeros((8, 4), np.float32), np.arange(32, dtype=np.float32).reshape(8, 4)):
        assert any(same_bits(value, plain) for value in inputs)
    constants = [made.module.find_instruction("k") for made in built(plainer_constants, case)]
    assert any(k is not None and same_bits(k.literal.value, np.zeros(8, np.float32)) for k in constants)


def test_the_recipe_loses_options_switches_and_input_sets(make_case) -> None:
    switch = {"NEURON_DISABLE_MOVEMENT_OF_SLICE_FROM_PARAM": "1"}
    case = make_case(DEAD, "dynamic-slice-mover{clamp_starts=false,pass_through=false},dce", switch, sets=2)
    assert {str(made.pipeline) for made in built(default_options, case)} == {
        "dynamic-slice-mover{clamp_starts=false},dce",
        "dynamic-slice-mover{pass_through=false},dce",
    }
    assert [dict(made.environment) for made in built(fewer_switches, case)] == [{}]
    assert [made.inputs for made in built(fewer_inputs, case)] == [case.inputs[:1], case.inputs[1:]]


def test_passes_go_from_the_end_and_where_they_change_nothing(make_case) -> None:
    case = make_case(DEAD, "tuple-simplifier,dce,call-inliner")
    assert [str(made.pipeline) for made in built(fewer_passes, case)] == [
        "tuple-simplifier",
        "tuple-simplifier,dce",
        "dce,call-inliner",  # the tuple simplifier has nothing to do, but dce has
    ]


def negations(case: Case) -> int:
    """How many are made; 0 where the program does not end."""
    made = 0

    def count(inst: HloInstruction, _: Sequence[Value], __: Value) -> None:
        nonlocal made
        made += inst.opcode is Opcode.NEGATE

    try:
        evaluate(case.module, case.inputs[0], observer=count)
    except EvaluationLimit:
        return 0
    return made


LOOP = """HloModule m
cond { p = (s32[], f32[2], f32[4]) parameter(0)
 a = s32[] get-tuple-element(p), index=0
 n = s32[] constant(3)
 ROOT l = pred[] compare(a, n), direction=LT }
body { p = (s32[], f32[2], f32[4]) parameter(0)
 a = s32[] get-tuple-element(p), index=0
 one = s32[] constant(1)
 s = s32[] add(a, one)
 x = f32[2] get-tuple-element(p), index=1
 y = f32[4] get-tuple-element(p), index=2
 z = f32[4] negate(y)
 ROOT r = (s32[], f32[2], f32[4]) tuple(s, x, z) }
ENTRY main { i = s32[] constant(0)
 x = f32[2] parameter(0)
 y = f32[4] parameter(1)
 t = (s32[], f32[2], f32[4]) tuple(i, x, y)
 w = (s32[], f32[2], f32[4]) while(t), condition=cond, body=body
 g = f32[2] get-tuple-element(w), index=1
 h = f32[4] get-tuple-element(w), index=2
 ROOT r = (f32[2], f32[4]) tuple(g, h) }
"""


NESTED_STATE = """HloModule m
cond { p = (s32[], (f32[2], f32[4]), s32[]) parameter(0)
 a = s32[] get-tuple-element(p), index=0
 n = s32[] get-tuple-element(p), index=2
 ROOT l = pred[] compare(a, n), direction=LT }
body { p = (s32[], (f32[2], f32[4]), s32[]) parameter(0)
 a = s32[] get-tuple-element(p), index=0
 one = s32[] constant(1)
 s = s32[] add(a, one)
 both = (f32[2], f32[4]) get-tuple-element(p), index=1
 x = f32[2] get-tuple-element(both), index=0
 y = f32[4] get-tuple-element(both), index=1
 z = f32[4] negate(y)
 new = (f32[2], f32[4]) tuple(x, z)
 n = s32[] get-tuple-element(p), index=2
 ROOT r = (s32[], (f32[2], f32[4]), s32[]) tuple(s, new, n) }
ENTRY main { i = s32[] constant(0)
 n = s32[] constant(3)
 x = f32[2] parameter(0)
 y = f32[4] parameter(1)
 both = (f32[2], f32[4]) tuple(x, y)
 t = (s32[], (f32[2], f32[4]), s32[]) tuple(i, both, n)
 w = (s32[], (f32[2], f32[4]), s32[]) while(t), condition=cond, body=body
 g = (f32[2], f32[4]) get-tuple-element(w), index=1
 ROOT h = f32[4] get-tuple-element(g), index=1 }
"""
FLAT_STATE = """HloModule m
cond { p = (s32[], f32[2], f32[4], s32[]) parameter(0)
 a = s32[] get-tuple-element(p), index=0
 n = s32[] get-tuple-element(p), index=3
 ROOT l = pred[] compare(a, n), direction=LT }
body { p = (s32[], f32[2], f32[4], s32[]) parameter(0)
 a = s32[] get-tuple-element(p), index=0
 one = s32[] constant(1)
 s = s32[] add(a, one)
 x = f32[2] get-tuple-element(p), index=1
 y = f32[4] get-tuple-element(p), index=2
 z = f32[4] negate(y)
 n = s32[] get-tuple-element(p), index=3
 ROOT r = (s32[], f32[2], f32[4], s32[]) tuple(s, x, z, n) }
ENTRY main { i = s32[] constant(0)
 n = s32[] constant(3)
 x = f32[2] parameter(0)
 y = f32[4] parameter(1)
 t = (s32[], f32[2], f32[4], s32[]) tuple(i, x, y, n)
 w = (s32[], f32[2], f32[4], s32[]) while(t), condition=cond, body=body
 ROOT h = f32[4] get-tuple-element(w), index=2 }
"""


def test_a_tuple_in_a_loops_state_becomes_its_elements(make_case, offers) -> None:
    assert offers(flat_loop_states, make_case(NESTED_STATE), FLAT_STATE)
    assert built(flat_loop_states, make_case(FLAT_STATE)) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("new = (f32[2], f32[4]) tuple(x, z)", "new = (f32[2], f32[4]) copy(both)"),
        ("ROOT h = f32[4] get-tuple-element(g), index=1", "ROOT h = (f32[2], f32[4]) copy(g)"),
        (
            " new = (f32[2], f32[4]) tuple(x, z)",
            " out = (f32[2], f32[4]) copy(both)\n new = (f32[2], f32[4]) tuple(x, z)",
        ),
    ],
)
def test_a_tuple_that_is_used_whole_is_put_together_again(make_case, before: str, after: str) -> None:
    case = make_case(NESTED_STATE.replace(before, after))
    (made,) = built(flat_loop_states, case)
    assert verify(made.module) == []
    for inputs in case.inputs:
        assert same_bits(evaluate(made.module, inputs), evaluate(case.module, inputs))


def test_an_input_that_is_a_loops_state_gets_flat_with_it(make_case) -> None:
    text = NESTED_STATE[: NESTED_STATE.index("ENTRY")] + (
        "ENTRY main { t = (s32[], (f32[2], f32[4]), s32[]) parameter(0)\n"
        " ROOT w = (s32[], (f32[2], f32[4]), s32[]) while(t), condition=cond, body=body }\n"
    )
    (made,) = built(flat_loop_states, make_case(text))
    assert verify(made.module) == []
    assert str(value_shape(made.inputs[0][0])) == "(s32[], f32[2], f32[4], s32[])"


def test_a_state_that_the_body_hands_back_as_it_is_gets_flat(make_case) -> None:
    text = NESTED_STATE.replace(" ROOT r =", " r =").replace("body { p =", "body { ROOT p =")
    (made,) = built(flat_loop_states, make_case(text))
    assert verify(made.module) == []


def test_a_nested_state_that_is_read_whole_stays(make_case) -> None:
    whole = " q = (s32[], (f32[2], f32[4]), s32[]) copy(p)\n both = (f32[2]"
    assert built(flat_loop_states, make_case(NESTED_STATE.replace(" both = (f32[2]", whole, 1))) == []


def test_a_nested_state_is_flat_in_what_is_left_of_a_case(make_case) -> None:
    small = reduce_case(make_case(NESTED_STATE), lambda case: negations(case) >= 3).case
    loops = [i for c in small.module.computations for i in c.instructions if i.opcode is Opcode.WHILE]
    assert loops
    assert not [e for loop in loops for e in loop.tuple_shape.elements if isinstance(e, TupleShape)]


def test_an_element_that_a_loop_only_passes_on_goes_at_all_ends(make_case, offers) -> None:
    wanted = (
        LOOP.replace("(s32[], f32[2], f32[4])", "(s32[], f32[4])")
        .replace(" x = f32[2] get-tuple-element(p), index=1\n", "")
        .replace("(p), index=2", "(p), index=1")
        .replace("(w), index=2", "(w), index=1")
        .replace("tuple(s, x, z)", "tuple(s, z)")
        .replace("tuple(i, x, y)", "tuple(i, y)")
        .replace(" g = f32[2] get-tuple-element(w), index=1\n", "")
        .replace("tuple(g, h)", "tuple(x, h)")
    )
    assert offers(smaller_loop_states, make_case(LOOP), wanted)


def test_an_element_that_a_loop_makes_of_itself_stays(make_case) -> None:
    made = built(smaller_loop_states, make_case(LOOP))
    assert len(made) == 1
    assert not any(case.module.find_instruction("z") is None for case in made)


def test_an_input_that_is_a_loops_state_loses_what_the_loop_does_not_need(make_case) -> None:
    text = LOOP[: LOOP.index("ENTRY")] + (
        "ENTRY main { t = (s32[], f32[2], f32[4]) parameter(0)\n"
        " ROOT w = (s32[], f32[2], f32[4]) while(t), condition=cond, body=body }\n"
    )
    (made,) = built(smaller_loop_states, make_case(text))
    assert str(value_shape(made.inputs[0][0])) == "(s32[], f32[4])"


def test_a_loop_goes_with_the_only_element_that_is_read_of_it(make_case, offers) -> None:
    text = LOOP.replace(" h = f32[4] get-tuple-element(w), index=2\n", "").replace(
        " ROOT r = (f32[2], f32[4]) tuple(g, h)", " ROOT r = (f32[2], f32[4]) tuple(g, y)"
    )
    wanted = (
        "HloModule m\nENTRY main { x = f32[2] parameter(0)\n y = f32[4] parameter(1)\n"
        " ROOT r = (f32[2], f32[4]) tuple(x, y) }"
    )
    assert offers(smaller_loop_states, make_case(text), wanted)


def test_a_state_that_is_read_whole_stays(make_case) -> None:
    text = LOOP.replace(
        " x = f32[2] get-tuple", " q = (s32[], f32[2], f32[4]) copy(p)\n x = f32[2] get-tuple"
    )
    assert built(smaller_loop_states, make_case(text)) == []


def test_a_long_loop_gets_as_short_as_the_failure_allows(make_case) -> None:
    """By its bound: a number that is smaller is simpler, also where it has as many digits."""
    case = make_case(LOOP.replace("constant(3)", "constant(12)"))
    reduced = reduce_case(case, lambda case: negations(case) >= 5).case
    bounds = [
        int(np.asarray(inst.literal.value))
        for computation in reduced.module.computations
        for inst in computation.instructions
        if inst.opcode is Opcode.CONSTANT and inst.users and inst.users[0].opcode is Opcode.COMPARE
    ]
    assert bounds == [5]
