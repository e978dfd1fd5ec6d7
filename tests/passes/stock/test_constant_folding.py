import numpy as np
import pytest

from hlo import HloModule, Opcode
from hlo.canonical import structure
from hlo.interchange import read_text
from passes import Trace
from passes.stock import ConstantFolding

SUM = "sum {\n  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n  ROOT s = s32[] add(a, b)\n}\n"


def program(*lines: str) -> str:
    """An entry computation with the parameter x, so that there is something that cannot be folded."""
    body = "\n".join(f"  {line}" for line in lines)
    callee = SUM if "to_apply=sum" in body else ""
    return f"HloModule m\n{callee}ENTRY e {{\n  x = s32[] parameter(0)\n{body}\n}}"


def folded(text: str, pass_: ConstantFolding | None = None) -> HloModule:
    module = read_text(text)
    (pass_ or ConstantFolding()).run(module, Trace())
    return module


def root_value(text: str, pass_: ConstantFolding | None = None) -> list[object]:
    root = folded(text, pass_).entry_computation.root
    assert root.opcode is Opcode.CONSTANT
    assert isinstance(root.literal.value, np.ndarray)
    return root.literal.value.tolist()


def test_what_depends_on_constants_alone_becomes_its_value(becomes) -> None:
    before = program(
        "a = s32[] constant(3)",
        "b = s32[] constant(4)",
        "m = s32[] multiply(a, b)",
        "s = s32[] add(m, a)",
        "ROOT r = s32[] subtract(x, s)",
    )
    after = program("k = s32[] constant(15)", "ROOT r = s32[] subtract(x, k)")
    assert becomes(ConstantFolding(), before, after).fired == {"fold": 2}


def test_what_depends_on_a_parameter_stays(stays) -> None:
    stays(ConstantFolding(), program("a = s32[] constant(3)", "ROOT m = s32[] multiply(a, x)"))


EIGHT = "c = s32[8] constant({15, 13, 11, 8, 7, 5, 9, 2})"
FOUR = "c = s32[4] constant({1, 2, 3, 4})"
SQUARE = "c = s32[2,2] constant({{1, 2}, {3, 4}})"
TWO = "c = s32[2] constant({7, 8})"
ONE = "c = s32[] constant(1)"
ONES = "b = s32[4] broadcast(c), dimensions={}"


@pytest.mark.parametrize(
    ("lines", "value"),
    [
        (["c = f32[] constant(42)", "ROOT r = s64[] convert(c)"], 42),
        (["c = s64[] constant(42)", "ROOT r = f32[] convert(c)"], 42.0),
        ([TWO, "n = s32[0] constant({})", "ROOT r = s32[2] concatenate(c, n), dimensions={0}"], [7, 8]),
        ([EIGHT, "ROOT r = s32[3] slice(c), slice={[2:8:2]}"], [11, 7, 9]),
        ([SQUARE, "ROOT r = s32[2,2] transpose(c), dimensions={1,0}"], [[1, 3], [2, 4]]),
        (
            [FOUR, "i = s8[] constant(-5)", "ROOT r = s32[2] dynamic-slice(c, i), dynamic_slice_sizes={2}"],
            [1, 2],
        ),
        (
            [FOUR, "i = u8[] constant(200)", "ROOT r = s32[2] dynamic-slice(c, i), dynamic_slice_sizes={2}"],
            [3, 4],
        ),
        ([TWO, "i = s32[2] iota(), iota_dimension=0", "ROOT r = s32[2] add(c, i)"], [7, 9]),
        ([ONE, ONES, FOUR.replace("c", "d", 1), "ROOT r = s32[4] add(b, d)"], [2, 3, 4, 5]),
        ([ONE, "t = (s32[], s32[]) tuple(c, c)", "ROOT r = s32[] get-tuple-element(t), index=1"], 1),
        ([TWO, "ROOT r = s32[2] copy(c)"], [7, 8]),
    ],
)
def test_values(lines: list[str], value: object) -> None:
    assert root_value(program(*lines)) == value


REDUCE = ["z = s32[] constant(0)", "ROOT r = s32[] reduce(c, z), dimensions={0}, to_apply=sum"]


def test_a_reduction_folds() -> None:
    assert root_value(program(FOUR, *REDUCE)) == 10


def test_the_start_of_a_reduction_is_no_argument_of_its_body(stays) -> None:
    stays(ConstantFolding(), program(*REDUCE).replace("x = s32[]", "c = s32[4]"))


@pytest.mark.parametrize(
    "lines",
    [
        [ONE, "ROOT r = s32[4] broadcast(c), dimensions={}"],
        ["ROOT r = s32[4] iota(), iota_dimension=0"],
        [ONE, "ROOT r = (s32[]) tuple(c)"],
        [ONE, "ROOT r = s32[] opt-barrier(c)"],
        [TWO, "ROOT r = s32[] get-dimension-size(c), dimensions={0}"],
        [ONE, 'ROOT r = s32[] custom-call(c), custom_call_target="NeuronBoundaryMarker-End"'],
        [TWO, "k = s32[] constant(1)", "ROOT r = s32[<=2] set-dimension-size(c, k), dimensions={0}"],
        ["i = s32[4] iota(), iota_dimension=0", "ROOT r = s32[4] negate(i)"],
        [ONE, ONES, "ROOT r = s32[4] negate(b)"],
        [ONE, ONES, "ROOT r = s32[6] pad(b, c), padding=1_1"],
        [ONE, "ROOT r = s32[] rng(c, c), distribution=rng_uniform"],
        [
            "c = u64[2] constant({1, 2})",
            "ROOT r = (u64[2], u8[4]) rng-bit-generator(c), algorithm=rng_default",
        ],
        ["c = f32[4] constant({1, 2, 3, 4})", "ROOT r = c64[3] fft(c), fft_type=RFFT, fft_length={4}"],
        [ONE, "ROOT r = s32[] all-reduce(c), replica_groups={}, to_apply=sum"],
        [
            ONE,
            'ROOT r = s32[] domain(c), domain={kind="sharding", entry={replicated}, exit={maximal device=0}}',
        ],
        [
            "c = f32[2,3] constant({{1, 2, 3}, {4, 5, 6}})",
            "d = f32[1,3,1] constant({{{1}, {2}, {3}}})",
            "g = s64[1] constant({2})",
            "ROOT r = f32[2,1] ragged-dot(c, d, g), lhs_contracting_dims={1}, rhs_contracting_dims={1}, "
            "lhs_ragged_dims={0}, rhs_group_dims={0}",
        ],
        ["c = s4[2] constant({1, 2})", "ROOT r = s8[] bitcast-convert(c)"],
        [
            ONE,
            "b = s32[<=4] broadcast(c), dimensions={}",
            "ROOT r = s32[] reduce(b, c), dimensions={0}, to_apply=sum",
        ],
        [ONE, "t = (s32[], s32[]) tuple(c, x)", "ROOT r = s32[] get-tuple-element(t), index=0"],
        [
            "i = s32[4] iota(), iota_dimension=0",
            "t = (s32[4]) tuple(i)",
            "ROOT r = s32[4] get-tuple-element(t), index=0",
        ],
        [FOUR, "b = s32[4] broadcast(x), dimensions={}", "ROOT r = s32[4] add(b, c)"],
    ],
)
def test_never_folded(lines: list[str]) -> None:
    trace = Trace()
    assert not ConstantFolding().run(read_text(program(*lines)), trace)
    assert not trace.declined  # not even tried


def test_what_nothing_reads_is_left_to_dce() -> None:
    module = read_text(program("c = s32[] constant(1)", "d = s32[] negate(c)", "ROOT r = s32[] abs(x)"))
    assert not ConstantFolding().run(module, Trace())


def test_what_has_a_control_edge_stays(stays) -> None:
    lines = [
        "c = s32[] constant(1)",
        "d = s32[] copy(c), control-predecessors={x}",
        "ROOT r = s32[] add(x, d)",
    ]
    stays(ConstantFolding(), program(*lines))


def test_the_constant_keeps_the_metadata_of_what_it_replaces() -> None:
    text = program("c = s32[] constant(1)", 'ROOT r = s32[] negate(c), metadata={op_name="here"}')
    assert folded(text).entry_computation.root.metadata.op_name == "here"


def test_too_many_elements_are_left_alone() -> None:
    lines = ["c = s32[3] constant({1, 2, 3})", "ROOT r = s32[6] concatenate(c, c), dimensions={0}"]
    assert root_value(program(*lines), ConstantFolding(max_elements=6)) == [1, 2, 3, 1, 2, 3]
    trace = Trace()
    assert not ConstantFolding(max_elements=5).run(read_text(program(*lines)), trace)
    assert trace.declined == {"max-elements": 1}


def test_the_result_counts_too() -> None:
    lines = [FOUR, "z = s32[] constant(0)", "ROOT r = s32[13] pad(c, z), padding=0_9"]
    assert not ConstantFolding(max_elements=12).run(read_text(program(*lines)), Trace())
    assert ConstantFolding(max_elements=13).run(read_text(program(*lines)), Trace())


def test_operands_count_together() -> None:
    lines = ["c = s32[3] constant({1, 2, 3})", "ROOT r = s32[3] add(c, c)"]
    assert not ConstantFolding(max_elements=5).run(read_text(program(*lines)), Trace())
    assert ConstantFolding(max_elements=6).run(read_text(program(*lines)), Trace())


def test_a_huge_broadcast_is_never_laid_out() -> None:
    module = read_text(program(
        "c = s32[] constant(1)",
        "b = s32[1000000000] broadcast(c), dimensions={}",
        "i = s32[] constant(2)",
        "ROOT r = s32[1] dynamic-slice(b, i), dynamic_slice_sizes={1}",
    ))  # fmt: skip
    trace = Trace()
    assert not ConstantFolding().run(module, trace)
    assert trace.declined == {"max-elements": 1}


def test_what_the_evaluator_cannot_do_stays() -> None:
    lines = [
        "c = f32[2] constant({1, 2})",
        "b = u32[2] constant({3, 4})",
        "ROOT r = bf16[2] stochastic-convert(c, b)",
    ]
    trace = Trace()
    assert not ConstantFolding().run(read_text(program(*lines)), trace)
    assert trace.declined == {"evaluator": 1}


def test_float_arithmetic_can_be_left_alone() -> None:
    moving = program("c = f32[2] constant({1, 2})", "ROOT r = f32[2] reverse(c), dimensions={0}")
    rounding = program("c = f32[2] constant({1, 2})", "ROOT r = f32[2] negate(c)")
    integers = program("c = s32[2] constant({1, 2})", "ROOT r = s32[2] negate(c)")
    reading = program("c = f32[2] constant({1, 2})", "ROOT r = s32[2] convert(c)")
    pass_ = ConstantFolding(fold_float_arithmetic=False)
    folds = [pass_.run(read_text(text), Trace()) for text in (moving, integers, rounding, reading)]
    assert folds == [True, True, False, False]


LOOP = """HloModule m
body {
  a = s32[] parameter(0)
  one = s32[] constant(1)
  ROOT n = s32[] add(a, one)
}
condition {
  b = s32[] parameter(0)
  ten = s32[] constant(10)
  ROOT p = pred[] compare(b, ten), direction=LT
}
ENTRY e {
  c = s32[] constant(2)
  ROOT w = s32[] while(c), condition=condition, body=body
}"""


def test_loops_fold_on_request_only(stays) -> None:
    stays(ConstantFolding(), LOOP)
    assert root_value(LOOP, ConstantFolding(fold_while=True)) == 10


def test_an_endless_loop_is_given_up() -> None:
    endless = read_text(LOOP.replace("direction=LT", "direction=NE").replace("constant(2)", "constant(11)"))
    trace = Trace()
    assert not ConstantFolding(fold_while=True).run(endless, trace)
    assert trace.declined == {"evaluator": 1}


def test_loops_that_are_too_long_together_fold_one_by_one() -> None:
    loops = "w = s32[] while(c), condition=condition, body=body\n  ROOT s = s32[] add(v, w)"
    callee = LOOP.replace("ENTRY e {", "f {\n  p = s32[] parameter(0)").replace(
        "constant(10)", "constant(6000)"
    )
    callee = callee.replace("ROOT w", "v").replace("body=body", f"body=body\n  {loops}")
    entry = "ENTRY e {\n  k = s32[] constant(1)\n  ROOT r = s32[] call(k), to_apply=f\n}"
    module = read_text(f"{callee}\n{entry}")
    trace = Trace()
    assert ConstantFolding(fold_while=True).run(module, trace)
    assert trace.declined == {"evaluator": 1}
    assert module.entry_computation.root.literal.value == np.int32(12_000)


CALL = """HloModule m
f {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT r = s32[] INSIDE
}
ENTRY e {
  x = s32[] parameter(0)
  k = s32[] constant(6)
  l = s32[] constant(SECOND)
  c = s32[] call(k, FIRST), to_apply=f
  d = s32[] call(l, x), to_apply=f
  ROOT r = s32[] add(c, d)
}"""


def call(first: str, second: int, inside: str = "multiply(a, b)") -> str:
    return CALL.replace("FIRST", first).replace("SECOND", str(second)).replace("INSIDE", inside)


def test_a_call_on_constants_folds() -> None:
    module = read_text(call("k", 5))
    trace = Trace()
    assert ConstantFolding().run(module, trace)
    assert trace.fired["fold"] == 1
    assert module.entry_computation.root.operand(0).literal.value == np.int32(36)


def test_an_argument_that_is_the_same_constant_everywhere_moves_inside(becomes) -> None:
    after = """HloModule m
f {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  k = s32[] constant(6)
  ROOT r = s32[] multiply(k, b)
}
ENTRY e {
  x = s32[] parameter(0)
  k = s32[] constant(6)
  l = s32[] constant(6)
  c = s32[] call(k, x), to_apply=f
  d = s32[] call(l, x), to_apply=f
  ROOT r = s32[] add(c, d)
}"""
    assert becomes(ConstantFolding(), call("x", 6), after).fired == {"constant-argument": 1}


def test_a_constant_argument_folds_on_inside() -> None:
    module = folded(
        call("x", 6, "add(b, c1)").replace(
            "  ROOT r = s32[] add(b", "  c1 = s32[] negate(a)\n  ROOT r = s32[] add(b"
        )
    )
    inside = module.entry_computation.root.operand(0).called_computations[0].root.operand(1)
    assert inside.literal.value == np.int32(-6)


def test_arguments_that_differ_stay(stays) -> None:
    stays(ConstantFolding(), call("x", 5))


def test_a_parameter_that_nothing_reads_is_left_alone(stays) -> None:
    stays(ConstantFolding(), call("x", 6, "abs(b)"))


def test_a_body_that_is_also_a_loop_body_takes_no_arguments(stays) -> None:
    stays(
        ConstantFolding(),
        """HloModule m
f {
  p = (s32[], s32[]) parameter(0)
  a = s32[] get-tuple-element(p), index=0
  b = s32[] get-tuple-element(p), index=1
  n = s32[] add(a, b)
  ROOT t = (s32[], s32[]) tuple(n, b)
}
condition {
  q = (s32[], s32[]) parameter(0)
  c = s32[] get-tuple-element(q), index=0
  ten = s32[] constant(10)
  ROOT less = pred[] compare(c, ten), direction=LT
}
ENTRY e {
  k = s32[] constant(6)
  l = s32[] constant(1)
  t = (s32[], s32[]) tuple(k, l)
  ROOT w = (s32[], s32[]) while(t), condition=condition, body=f
}""",
    )


@pytest.mark.parametrize("obstacle", ["s32[] opt-barrier(a)", "token[] after-all()"])
def test_a_call_around_something_unfoldable_stays(stays, obstacle: str) -> None:
    body = f"f {{\n  a = s32[] parameter(0)\n  o = {obstacle}\n  ROOT n = s32[] negate(a)\n}}\n"
    entry = "ENTRY e {\n  k = s32[] constant(1)\n  ROOT c = s32[] call(k), to_apply=f\n}"
    assert not stays(ConstantFolding(), f"HloModule m\n{body}{entry}").declined


def test_an_argument_does_not_take_the_place_of_a_dynamic_parameter() -> None:
    body = "f {\n  a = s32[<=2] parameter(0)\n  b = s32[] parameter(1)\n  ROOT n = s32[<=2] negate(a)\n}\n"
    call = "  c = s32[2] constant({7, 8})\n  ROOT r = s32[<=2] call(c, x), to_apply=f\n}"
    module = read_text(f"HloModule m\n{body}ENTRY e {{\n  x = s32[] parameter(0)\n{call}")
    assert not ConstantFolding().run(module, Trace())


def test_a_result_that_is_a_tuple_becomes_a_tuple_of_constants() -> None:
    before = """HloModule m
f {
  a = s32[] parameter(0)
  n = s32[] negate(a)
  ROOT t = (s32[], s32[]) tuple(n, a)
}
ENTRY e {
  x = s32[] parameter(0)
  k = s32[] constant(6)
  c = (s32[], s32[]) call(k), to_apply=f
  ROOT r = (s32[], (s32[], s32[])) tuple(x, c)
}"""
    after = """HloModule m
ENTRY e {
  x = s32[] parameter(0)
  a = s32[] constant(-6)
  b = s32[] constant(6)
  c = (s32[], s32[]) tuple(a, b)
  ROOT r = (s32[], (s32[], s32[])) tuple(x, c)
}"""
    module = read_text(before)
    assert ConstantFolding().run(module, Trace())
    module.remove_unused_computations()
    assert structure(module, names=False) == structure(read_text(after), names=False)
