"""What tests of the inference and the padder share: programs by their text, and what a padded one gives."""

from typing import Any

import numpy as np

from hlo import HloModule, Value
from hlo.evaluator import evaluate
from hlo.interchange import read_text
from hlo.verify import verify
from oracle.compare import BITWISE, compare
from oracle.running import POISONS
from passes import Trace
from passes.stock import DynamicPadder

ADD = "add { a = s32[] parameter(0)\n b = s32[] parameter(1)\n ROOT r = s32[] add(a, b) }\n"
FLOAT_ADD = ADD.replace("s32", "f32")
REPLACE = "update { a = s32[] parameter(0)\n ROOT b = s32[] parameter(1) }\n"


def program(entry: str, *computations: str) -> HloModule:
    return read_text("HloModule m\n" + "".join(computations) + f"ENTRY main {{ {entry} }}\n")


def array(values: Any, kind: Any = np.int32) -> np.ndarray:
    return np.array(values, kind)


def padded(module: HloModule, *inputs: Value, padder: DynamicPadder | None = None) -> Value:
    """The value of the padded program, the same under every filling of the padding."""
    trace = Trace()
    assert (padder or DynamicPadder()).run(module, trace)
    assert set(trace.fired) <= set(DynamicPadder.rules)
    assert verify(module) == []
    values = [evaluate(module, inputs, fill=fill) for fill in POISONS]
    for value in values[1:]:
        assert compare(values[0], value, tolerance=BITWISE, left="extremes", right="numbers") is None
    return values[0]
