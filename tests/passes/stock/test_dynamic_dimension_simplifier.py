import numpy as np
import pytest

from hlo import HloModule, same_bits
from hlo.canonical import structure
from hlo.evaluator import evaluate
from hlo.interchange import read_text
from hlo.verify import verify
from passes import Trace
from passes.stock import Dce, DynamicDimensionSimplifier


def entry(body: str) -> HloModule:
    return read_text(f"HloModule m\nENTRY e {{ {body} }}\n")


X, Y = "x = s32[2] parameter(0)\n", "y = s32[3] parameter(1)\n"

CASES = {
    "concat-of-concats": (
        X
        + Y
        + "a = s32[5] concatenate(x, y), dimensions={0}\n ROOT r = s32[7] concatenate(a, x), dimensions={0}",
        X + Y + "ROOT r = s32[7] concatenate(x, y, x), dimensions={0}",
    ),
    "slice-of-concat": (
        X + Y + "a = s32[5] concatenate(x, y), dimensions={0}\n"
        "s = s32[3] slice(a), slice={[2:5]}\n ROOT r = s32[3] negate(s)",
        X + Y + "ROOT r = s32[3] negate(y)",
    ),
    "reshape-of-broadcast": (
        "x = s32[] parameter(0)\n b = s32[1] broadcast(x), dimensions={}\n"
        "s = s32[] reshape(b)\n ROOT r = s32[] negate(s)",
        "x = s32[] parameter(0)\n ROOT r = s32[] negate(x)",
    ),
    "reshape-of-reshape": (
        X + "a = s32[1,2] reshape(x)\n b = s32[2] reshape(a)\n ROOT r = s32[2] negate(b)",
        X + "ROOT r = s32[2] negate(x)",
    ),
    "same-convert": (
        X + "a = s32[2] convert(x)\n ROOT r = s32[2] negate(a)",
        X + "ROOT r = s32[2] negate(x)",
    ),
    "same-reshape": (
        X + "a = s32[2] reshape(x)\n ROOT r = s32[2] negate(a)",
        X + "ROOT r = s32[2] negate(x)",
    ),
}


@pytest.mark.parametrize("rule", CASES)
def test_each_rule_makes_sizes_the_same_instruction(rule: str) -> None:
    before, after = map(entry, CASES[rule])
    original, trace = before.clone(), Trace()
    assert DynamicDimensionSimplifier().run(before, trace)
    assert trace.fired == {rule: 1}
    assert not verify(before)
    Dce().run(before, Trace())
    assert structure(before, names=False) == structure(after, names=False)
    shapes = [p.array_shape for p in original.entry_computation.parameters]
    values = [np.arange(shape.element_count, dtype=np.int32).reshape(shape.dimensions) for shape in shapes]
    assert same_bits(evaluate(before, values), evaluate(original, values))


@pytest.mark.parametrize(
    "body",
    [
        X + Y + "a = s32[5] concatenate(x, y), dimensions={0}\n s = s32[3] slice(a), slice={[1:4]}\n"
        "ROOT r = s32[3] negate(s)",
        X + Y + "a = s32[5] concatenate(x, y), dimensions={0}\n s = s32[2] slice(a), slice={[2:5:2]}\n"
        "ROOT r = s32[2] negate(s)",
        X + "a = s32[1,2] reshape(x)\n b = s32[2,1] reshape(a)\n ROOT r = s32[2,1] negate(b)",
        X + "a = s32[2]{0} convert(x)\n ROOT r = s32[2] negate(x)",
    ],
)
def test_what_only_looks_alike_stays(body: str) -> None:
    module = entry(body)
    before = structure(module)
    assert not DynamicDimensionSimplifier().run(module, Trace())
    assert structure(module) == before


def test_flags_keep_a_reshape_in_place() -> None:
    module = entry(
        "x = s32[4] parameter(0)\n n = s32[] parameter(1)\n d = s32[<=4] set-dimension-size(x, n), dimensions={0}\n"
        "a = s32[1,<=4] reshape(d)\n b = s32[4] reshape(a)\n ROOT r = s32[4] negate(b)"
    )
    assert not DynamicDimensionSimplifier().run(module, Trace())
