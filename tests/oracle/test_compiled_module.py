import numpy as np
import pytest

from hlo import same_bits
from hlo.evaluator import ForeignCustomCall, evaluate
from hlo.interchange import read_text
from oracle.engines.compiled import CompiledModule
from oracle.inputs import draw_inputs


def test_a_compiled_module_gives_what_the_evaluator_gives_tuples_and_64_bits_included() -> None:
    module = read_text("""HloModule m
ENTRY main {
  t = (s64[4], (f32[2], u8[])) parameter(0)
  i = s32[] parameter(1)
  x = s64[4] get-tuple-element(t), index=0
  u = (f32[2], u8[]) get-tuple-element(t), index=1
  d = s64[2] dynamic-slice(x, i), dynamic_slice_sizes={2}
  ROOT r = (s64[2], (f32[2], u8[]), s64[4]) tuple(d, u, x)
}
""")
    compiled = CompiledModule(module)
    big = (np.array([2**40, -(2**40), 3, 4]), (np.array([1.5, np.nan], np.float32), np.array(255, np.uint8)))
    for inputs in [*draw_inputs(module, 0, 5), (big, np.array(1, np.int32))]:
        assert same_bits(compiled.run(inputs), evaluate(module, inputs))


def test_a_slice_of_rank_0_is_compiled() -> None:
    module = read_text("""HloModule m
ENTRY main {
  x = s32[] parameter(0)
  ROOT d = s32[] dynamic-slice(x), dynamic_slice_sizes={}
}
""")
    assert CompiledModule(module).run([np.array(3, np.int32)]) == 3


def test_no_custom_call_is_compiled() -> None:
    module = read_text("""HloModule m
ENTRY main {
  x = s32[] parameter(0)
  ROOT c = s32[] custom-call(x), custom_call_target="xla_python_cpu_callback"
}
""")
    with pytest.raises(ForeignCustomCall, match="xla_python_cpu_callback"):
        CompiledModule(module)
