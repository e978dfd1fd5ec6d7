"""Do the pipelines for dynamic shapes begin with the sizes that parameters are bound to?"""

import numpy as np
import pytest

from hlo import HloModule
from hlo.evaluator import evaluate
from hlo.interchange import read_text
from hlo.parameter_binding import DynamicDimension, DynamicSizeParameter
from hlo.verify import verify
from passes import Trace, parse_pipeline
from passes.stock import DynamicPadder, DynamicParameterBinding
from passes.stock.dynamic_dimension_inference import DynamismRefused


def total() -> HloModule:
    """The sum of x, of which n elements count."""
    module = read_text(
        """HloModule m
        add { a = s32[] parameter(0)
              b = s32[] parameter(1)
              ROOT r = s32[] add(a, b) }
        ENTRY main { x = s32[4] parameter(0)
                     n = s32[] parameter(1)
                     zero = s32[] constant(0)
                     ROOT r = s32[] reduce(x, zero), dimensions={0}, to_apply=add }"""
    )
    size, dimension = DynamicSizeParameter(1), DynamicDimension(0, (), 0)
    module.dynamic_parameter_binding = module.dynamic_parameter_binding.bind(size, dimension)
    return module


def test_a_binding_is_written_once() -> None:
    module, trace = total(), Trace()
    assert DynamicParameterBinding().run(module, trace)
    assert dict(trace.fired) == {"bound": 1}
    assert verify(module) == []
    assert not DynamicParameterBinding().run(module, trace)


@pytest.mark.parametrize("pipeline", ["dynamic", "dynamic-upstream"])
def test_pipelines_count_what_the_bound_size_says(pipeline: str) -> None:
    module = total()
    for pass_ in parse_pipeline(pipeline).passes:
        pass_.run(module, Trace())
    assert verify(module) == []
    given = np.array([1, 2, 4, 8], np.int32)
    for size in range(5):
        assert evaluate(module, [given, np.array(size, np.int32)]) == (1 << size) - 1


def test_the_padder_alone_counts_what_the_bound_size_says() -> None:
    module, trace = total(), Trace()
    assert DynamicPadder().run(module, trace)
    assert trace.fired["bound"] == 1
    assert not module.dynamic_parameter_binding
    assert verify(module) == []
    given = np.array([1, 2, 4, 8], np.int32)
    for size in range(5):
        assert evaluate(module, [given, np.array(size, np.int32)]) == (1 << size) - 1
    assert not DynamicPadder().run(module, Trace())


def test_a_dimension_without_a_bound_is_refused() -> None:
    module = read_text("HloModule m\nENTRY e {\n x = f32[?] parameter(0)\n ROOT y = f32[?] negate(x)\n}")
    with pytest.raises(DynamismRefused, match="without a bound") as caught:
        DynamicPadder().run(module, Trace())
    assert caught.value.instruction == "x"
