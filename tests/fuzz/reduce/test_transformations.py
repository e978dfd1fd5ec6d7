import numpy as np
import pytest

from fuzz.case import Case
from fuzz.reduce.calls import fewer_calls
from fuzz.reduce.decoration import less_decoration, plain_names, shorter_op_names
from fuzz.reduce.dimensions import smaller_dimensions
from fuzz.reduce.editing import Transformation
from fuzz.reduce.instructions import no_dead_code, simpler_instructions
from fuzz.reduce.literals import plainer_constants, plainer_inputs
from fuzz.reduce.outputs import smaller_root
from fuzz.reduce.recipe import default_options, fewer_inputs, fewer_passes, fewer_switches
from fuzz.reduce.signatures import fewer_parameters, fewer_results
from fuzz.reduce.types import plainer_types
from hlo import same_bits, value_shape


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
