"""Whatever a program does to an engine, it comes back as an outcome."""

import numpy as np
import pytest

from hlo import HloModule, Value, same_bits
from hlo.interchange import read_text
from hlo.isolation import ChildProcess, WarmChild
from oracle.engines import (
    ENGINES,
    Crashed,
    NumpyEvaluator,
    Ran,
    StableHloInterpreter,
    TimedOut,
    Unsupported,
    XlaCpu,
    XlaCpuUnoptimised,
)
from oracle.engines.children import InChild, child_command
from oracle.inputs import draw_inputs

EVERY_KIND = """HloModule m
doubled {
  x = f32[2] parameter(0)
  ROOT y = f32[2] add(x, x)
}
ENTRY main {
  t = (s64[4], (f32[2], u8[])) parameter(0)
  i = s32[] parameter(1)
  x = s64[4] get-tuple-element(t), index=0
  u = (f32[2], u8[]) get-tuple-element(t), index=1
  d = s64[2] dynamic-slice(x, i), dynamic_slice_sizes={2}
  v = f32[2] get-tuple-element(u), index=0
  marked = f32[2] custom-call(v), custom_call_target="NeuronBoundaryMarker-Start"
  b = bf16[2] convert(marked)
  c = c64[2] complex(v, v)
  f = f8e4m3fn[2] convert(v)
  s = s4[2] convert(v)
  q = pred[2] compare(v, v), direction=EQ
  k = f32[2] copy(v)
  l = f32[2] fusion(k), kind=kLoop, calls=doubled
  ROOT r = (s64[2], (f32[2], u8[]), bf16[2], c64[2], f8e4m3fn[2], s4[2], pred[2], f32[2]) tuple(d, u, b, c, f, s, q, l)
}
"""
# until x * x + 1 is 3: two has no square root modulo 2^32; what depends on nothing, a compiler takes out
FOREVER = """HloModule m
body {
  n = s32[] parameter(0)
  s = s32[] multiply(n, n)
  one = s32[] constant(1)
  ROOT r = s32[] add(s, one)
}
condition {
  n = s32[] parameter(0)
  end = s32[] constant(3)
  ROOT t = pred[] compare(n, end), direction=NE
}
ENTRY main {
  n = s32[] parameter(0)
  ROOT w = s32[] while(n), condition=condition, body=body
}
"""
INTERPRETER, OPTIMISED, UNOPTIMISED = StableHloInterpreter(), XlaCpu(), XlaCpuUnoptimised()
CHILDREN = [INTERPRETER, OPTIMISED, UNOPTIMISED]


def one_op(text: str, operand: str = "s32[3]") -> HloModule:
    return read_text(f"HloModule m\nENTRY main {{\n  x = {operand} parameter(0)\n  ROOT r = {text}\n}}\n")


def reason(engine: InChild, module: HloModule, *inputs: Value) -> str:
    outcome = engine.run(module, inputs)
    assert isinstance(outcome, Unsupported), outcome
    return outcome.reason


@pytest.mark.parametrize("engine", ENGINES, ids=lambda e: e.name)
def test_every_engine_gives_the_same_bits_of_every_kind(engine) -> None:
    module = read_text(EVERY_KIND)
    for inputs in draw_inputs(module, 0, 3):
        expected = NumpyEvaluator().run(module, inputs)
        outcome = engine.run(module, inputs)
        assert isinstance(expected, Ran)
        assert isinstance(outcome, Ran), outcome
        assert same_bits(outcome.value, expected.value)


@pytest.mark.parametrize("engine", ENGINES, ids=lambda e: e.name)
def test_no_engine_gets_a_foreign_custom_call(engine) -> None:
    module = one_op('s32[3] custom-call(x), custom_call_target="xla_python_cpu_callback"')
    outcome = engine.run(module, [np.zeros(3, np.int32)])
    assert outcome == Unsupported("custom-call xla_python_cpu_callback")


@pytest.mark.parametrize("engine", CHILDREN, ids=lambda e: e.name)
def test_no_engine_gets_a_module_that_is_not_valid(engine) -> None:
    module = read_text(
        "HloModule m\nENTRY main {\n  x = f32[8] parameter(0)\n  ROOT r = f32[2] add(x, x)\n}\n"
    )
    assert "not valid HLO" in reason(engine, module, np.zeros(8, np.float32))


@pytest.mark.parametrize("engine", CHILDREN, ids=lambda e: e.name)
def test_a_dynamic_parameter_is_for_no_engine(engine) -> None:
    module = one_op("s32[<=3] negate(x)", "s32[<=3]")
    assert reason(engine, module, np.zeros(3, np.int32)) == "s32[<=3] as parameter or result"


@pytest.mark.parametrize("engine", CHILDREN, ids=lambda e: e.name)
def test_a_program_that_never_ends_times_out_and_the_next_one_runs(engine) -> None:
    hasty = type(engine)(time_limit=2.0)
    assert isinstance(
        engine.run(one_op("s32[3] negate(x)"), [np.ones(3, np.int32)]), Ran
    )  # warm from here on
    assert isinstance(hasty.run(read_text(FOREVER), [np.array(0, np.int32)]), TimedOut)
    assert isinstance(engine.run(one_op("s32[3] negate(x)"), [np.ones(3, np.int32)]), Ran)


def test_the_interpreter_is_not_asked_to_divide_an_integer_by_zero() -> None:
    module = one_op("s32[3] divide(x, x)")
    assert "divides an integer by zero" in reason(INTERPRETER, module, np.array([1, 0, 2], np.int32))
    outcome = INTERPRETER.run(module, [np.array([1, 5, 2], np.int32)])
    assert isinstance(outcome, Ran)
    assert same_bits(outcome.value, np.ones(3, np.int32))


def test_the_interpreter_is_not_asked_for_starts_that_it_reads_as_negative() -> None:
    module = read_text("""HloModule m
ENTRY main {
  x = s32[4] parameter(0)
  i = u8[] parameter(1)
  ROOT r = s32[2] dynamic-slice(x, i), dynamic_slice_sizes={2}
}
""")
    x = np.arange(4, dtype=np.int32)
    assert "reads as negative" in reason(INTERPRETER, module, x, np.array(200, np.uint8))
    outcome = INTERPRETER.run(module, [x, np.array(127, np.uint8)])
    assert isinstance(outcome, Ran)
    assert same_bits(outcome.value, x[2:])


@pytest.mark.parametrize(
    ("op", "operand", "said"),
    [
        ("f32[2,2] cholesky(x)", "f32[2,2]", "stablehlo.cholesky"),
        ("s32[2] bitcast(x)", "f32[2]", "mhlo.bitcast"),
        ("f32[1500000] negate(x)", "f32[1500000]", "3000000 elements are too many for it"),
    ],
)
def test_what_would_end_the_interpreter_is_refused(op: str, operand: str, said: str) -> None:
    module = one_op(op, operand)
    before = INTERPRETER.process_id
    assert reason(INTERPRETER, module, *draw_inputs(module, 0, 1)[0]) == said
    assert INTERPRETER.process_id == before


def test_an_engine_that_dies_says_so_and_the_next_program_runs() -> None:
    module = read_text("""HloModule m
ENTRY main {
  a = s32[] constant(7)
  b = s32[] constant(0)
  ROOT r = s32[] divide(a, b)
}
""")
    # its constant folding divides, and the processor complains; a later jaxlib may do better
    outcome = OPTIMISED.run(module, [])
    assert isinstance(outcome, Crashed | Ran)
    assert isinstance(outcome, Ran) or "signal 8" in outcome.reason
    assert isinstance(OPTIMISED.run(one_op("s32[3] negate(x)"), [np.ones(3, np.int32)]), Ran)


def test_an_engine_that_runs_out_of_memory_says_so() -> None:
    small = WarmChild(lambda: ChildProcess(child_command("compiler", memory_limit=1 << 30)))
    engine = InChild("small", OPTIMISED.lineage, small)
    module = read_text("""HloModule m
ENTRY main {
  x = f32[] parameter(0)
  ROOT r = f32[1000000000] broadcast(x), dimensions={}
}
""")
    outcome = engine.run(module, [np.array(1, np.float32)])
    small.close()
    assert isinstance(outcome, Crashed | Unsupported), outcome
    assert "memory" in outcome.reason.lower()
