"""Is `xla:cpu` judged by what it computes, and is nobody blamed for what is free or for what others get wrong, too?"""

from collections.abc import Sequence

import ml_dtypes
import numpy as np
import pytest

from hlo import HloModule, InvalidInput, Opcode, Value
from hlo.evaluator import evaluate
from hlo.interchange import read_text
from oracle.engines import Crashed, Outcome, Ran, StableHloInterpreter, TimedOut, Unsupported, XlaCpu
from oracle.execution import compilable, executed
from oracle.judge import judge
from oracle.verdict import Agree, Disagree, Kind, Skip, SkipReason, Verdict
from passes import PassError, Trace, parse_pipeline
from passes.xla import XlaExecution, xla_pass

X = np.array([1, 2, 3, 4], np.int32)
CALLED = """HloModule m
f {
  a = s32[4] parameter(0)
  ROOT n = s32[4] negate(a)
}
ENTRY e {
  x = s32[4] parameter(0)
  c = s32[4] call(x), to_apply=f
  ROOT r = s32[4] subtract(c, x)
}
"""
UNSIGNED_START = """HloModule m
ENTRY e {
  x = s32[4] parameter(0)
  i = u8[] constant(255)
  ROOT d = s32[1] dynamic-slice(x, i), dynamic_slice_sizes={1}
}
"""
FUSED = """HloModule m
f {
  a = s32[4] parameter(0)
  ROOT n = s32[4] negate(a)
}
ENTRY e {
  x = s32[4] parameter(0)
  fused = s32[4] fusion(x), kind=kLoop, calls=f
  flat = s32[2,2] bitcast(fused)
  ROOT bits = f32[2,2] bitcast(flat)
}
"""


def unary(operation: str, element_type: str = "s32") -> str:
    return f"HloModule m\nENTRY e {{\n  x = {element_type}[4] parameter(0)\n  ROOT r = {operation}\n}}\n"


def judged(text: str, passes: str = "xla:cpu", *inputs: Value) -> Verdict:
    return judge(read_text(text), parse_pipeline(passes), [inputs or (X,)], {}).verdict


class Stand:
    """Stands in for the compiler: gives what a function of the evaluator's value makes, or an outcome."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, outcome: Outcome | None = None) -> None:
        self.outcome = outcome
        self.programs: list[HloModule] = []
        monkeypatch.setattr(XlaCpu, "run_sets", lambda _self, *arguments: self.run(*arguments))

    def run(self, module: HloModule, input_sets: Sequence[Sequence[Value]]) -> list[Outcome]:
        self.programs.append(module)
        return [self.outcome or Ran(_negated(evaluate(module, inputs))) for inputs in input_sets]


def _negated(value: Value) -> Value:
    assert isinstance(value, np.ndarray)
    return -value


def test_a_program_that_is_compiled_right_agrees() -> None:
    assert judged(CALLED) == Agree()
    assert judged(CALLED, "call-inliner,xla:cpu") == Agree()


def test_it_leaves_the_program_as_it_is() -> None:
    assert xla_pass("cpu") is XlaExecution
    assert xla_pass("cpu")().run(read_text(CALLED), Trace()) is False


def test_it_comes_last() -> None:
    assert str(parse_pipeline("call-inliner,xla:cpu{timeout=5}")) == "call-inliner,xla:cpu{timeout=5}"
    with pytest.raises(InvalidInput, match="xla:cpu yields values, not a program: it comes last"):
        parse_pipeline("xla:cpu,dce")
    with pytest.raises(InvalidInput, match="cpu cannot be joined with others"):
        parse_pipeline("xla:cpu+dce")


def test_it_is_given_what_the_passes_before_it_left(monkeypatch: pytest.MonkeyPatch) -> None:
    stand = Stand(monkeypatch)
    assert isinstance(judged(CALLED, "call-inliner,xla:cpu"), Disagree)
    program = stand.programs[0]
    assert not any(inst.opcode is Opcode.CALL for inst in program.entry_computation.instructions)


def test_other_values_are_a_finding_with_the_stage_named(jaxlib_with_unsigned_starts: None) -> None:
    verdict = judged(UNSIGNED_START)
    assert isinstance(verdict, Disagree)
    finding = verdict.finding
    assert finding.identity == ("execution", Kind.VALUE, "xla:cpu (import)")
    assert finding.message == "xla:cpu (import): result[0] is s32 1, not s32 4; 1 of 1 differ"
    assert finding.after is not None
    piped = judged(UNSIGNED_START, "xla:pipeline")
    assert isinstance(piped, Disagree)
    assert piped.finding.identity == ("values", Kind.VALUE, "xla:pipeline (import)")


@pytest.fixture
def jaxlib_with_unsigned_starts() -> None:
    from importlib.metadata import version

    if not version("jaxlib").startswith(("0.10.", "0.12.0.1")):
        pytest.skip("nobody looked at this jaxlib yet")


def test_a_code_generator_that_gives_other_values_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    Stand(monkeypatch)
    verdict = judged(CALLED, "dce,xla:cpu")
    assert isinstance(verdict, Disagree)
    assert verdict.finding.pass_name == "xla:cpu (code generation of call)"
    assert "c is wrong by itself, too" in verdict.finding.details
    assert verdict.finding.pass_index == 1


def test_where_nobody_sides_with_the_evaluator_the_compiler_is_not_blamed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Stand(monkeypatch)
    monkeypatch.setattr("oracle.checks.execution.run_jax", lambda _module, _inputs: -X)
    assert isinstance(judged(unary("s32[4] abs(x)")), Disagree)  # StableHLO's interpreter does
    monkeypatch.setattr(StableHloInterpreter, "run", lambda _self, _module, _inputs: Unsupported("no"))
    verdict = judged(unary("s32[4] abs(x)"))
    assert isinstance(verdict, Skip)
    assert verdict.reason is SkipReason.ENGINES_DISAGREE


@pytest.mark.parametrize(
    "outcome", [Crashed("signal 11"), TimedOut("no answer in 30 s"), Unsupported("INTERNAL: x")]
)
def test_a_compiler_that_breaks_is_a_finding(monkeypatch: pytest.MonkeyPatch, outcome: Outcome) -> None:
    Stand(monkeypatch, outcome)
    verdict = judged(CALLED)
    assert isinstance(verdict, Disagree)
    assert verdict.finding.identity == ("crash", Kind.CRASH, "xla:cpu (code generation)")
    assert not isinstance(outcome, Ran)
    assert outcome.reason in verdict.finding.message


def test_a_compiler_that_says_it_cannot_is_a_skip_with_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    Stand(monkeypatch, Unsupported("UNIMPLEMENTED: not yet"))
    verdict = judged(CALLED)
    assert verdict == Skip(SkipReason.REFUSED, "xla:cpu: UNIMPLEMENTED: not yet")


def test_a_program_that_xla_does_not_take_in_is_no_crash() -> None:
    """A fused computation must use all its parameters: a rule of XLA's verifier that ours does not have."""
    text = FUSED.replace("a = s32[4] parameter(0)", "a = s32[4] parameter(0)\n  b = s32[4] parameter(1)")
    module = read_text(text.replace("fusion(x)", "fusion(x, x)"))
    with pytest.raises(PassError, match="xla:cpu: INTERNAL: during context"):
        executed(XlaExecution(), module, [(X,)])


def test_what_only_a_compiler_writes_is_put_in_a_programs_words() -> None:
    module = read_text(FUSED)
    plain = compilable(module)
    opcodes = {inst.opcode for computation in plain.computations for inst in computation.instructions}
    assert {Opcode.CALL, Opcode.RESHAPE, Opcode.BITCAST_CONVERT} <= opcodes
    assert not {Opcode.FUSION, Opcode.BITCAST} & opcodes
    value, expected = evaluate(plain, [X]), evaluate(module, [X])
    assert isinstance(value, np.ndarray)
    assert isinstance(expected, np.ndarray)
    assert value.tobytes() == expected.tobytes()
    assert judged(FUSED) == Agree()


@pytest.mark.parametrize(
    ("text", "x", "reason"),
    [
        (unary("s32[4] divide(x, x)"), X * 0, "integer divide by zero"),
        (unary("s32[4] remainder(x, x)"), X * 0, "integer remainder by zero"),
        (unary("u8[4] divide(x, x)", "u8"), np.zeros(4, np.uint8), "integer divide by zero"),
        (
            unary("s32[4] convert(x)", "f32"),
            np.full(4, 2.0**31, np.float32),
            "convert of a float that s32 does not have",
        ),
        (
            unary("u8[4] convert(x)", "f32"),
            np.full(4, -1, np.float32),
            "convert of a float that u8 does not have",
        ),
        (
            unary("s8[4] convert(x)", "bf16"),
            np.full(4, np.nan, ml_dtypes.bfloat16),
            "convert of a float that s8 does not have",
        ),
    ],
)
def test_what_the_definition_leaves_open_is_a_skip_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, text: str, x: Value, reason: str
) -> None:
    module = read_text(text)
    Stand(monkeypatch, Ran(np.full(4, 77, module.entry_computation.root.array_shape.element_type.numpy)))
    verdict = judged(text, "xla:cpu", x)
    assert isinstance(verdict, Skip)
    assert verdict.reason is SkipReason.ENGINES_DISAGREE
    assert verdict.detail.endswith(f"open by definition: {reason}")


@pytest.mark.parametrize(
    ("text", "x"),
    [
        (unary("s32[4] divide(x, x)"), X),
        (unary("u8[4] divide(x, x)", "u8"), np.full(4, 255, np.uint8)),
        (unary("s32[4] convert(x)", "f32"), np.full(4, -(2.0**31), np.float32)),
        (unary("u8[4] convert(x)", "f32"), np.full(4, -0.75, np.float32)),
        (unary("s8[4] convert(x)", "f32"), np.full(4, 127.5, np.float32)),
        (unary("f32[4] convert(x)"), X),
    ],
)
def test_what_it_does_not_leave_open_is_a_finding(
    monkeypatch: pytest.MonkeyPatch, text: str, x: Value
) -> None:
    module = read_text(text)
    Stand(monkeypatch, Ran(np.full(4, 77, module.entry_computation.root.array_shape.element_type.numpy)))
    assert isinstance(judged(text, "xla:cpu", x), Disagree)


def test_the_least_number_divided_by_minus_one_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "HloModule m\nENTRY e {\n  x = s8[1] parameter(0)\n  y = s8[1] parameter(1)\n"
    text += "  ROOT r = s8[1] divide(x, y)\n}\n"
    Stand(monkeypatch, Ran(np.array([77], np.int8)))
    one = np.array([-1], np.int8)
    assert isinstance(judged(text, "xla:cpu", np.array([-128], np.int8), one), Skip)
    assert isinstance(judged(text, "xla:cpu", np.array([-127], np.int8), one), Disagree)


def test_what_is_known_to_end_the_compiler_is_only_tried_where_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    stand = Stand(monkeypatch, Crashed("signal 11"))
    x = np.zeros(4, np.complex64)
    verdict = judged(unary("c64[4] cosh(x)", "c64"), "xla:cpu", x)
    assert verdict == Skip(
        SkipReason.REFUSED, "xla:cpu: complex cosh is known to end the compiler; known_crashes=true tries it"
    )
    assert not stand.programs
    assert isinstance(judged(unary("c64[4] cosh(x)", "c64"), "xla:cpu{known_crashes=true}", x), Disagree)
    assert stand.programs
