import pytest

from hlo import HloModule
from hlo.canonical import structure
from hlo.interchange import read_text
from passes import Trace
from passes.stock import DynamicShapeRemovingVisitor
from passes.stock.dynamic_dimension_inference import DynamismRefused


def program(entry: str) -> HloModule:
    return read_text(f"HloModule m\nENTRY main {{ {entry} }}\n")


def test_bridges_there_and_back_are_taken_away() -> None:
    module = program(
        """x = s32[4] parameter(0)
           n = s32[] parameter(1)
           d = s32[<=4] custom-call(x, n), custom_call_target="SliceToDynamic"
           t = (s32[4], s32[]) custom-call(d), custom_call_target="PadToStatic"
           data = s32[4] get-tuple-element(t), index=0
           size = s32[] get-tuple-element(t), index=1
           ROOT r = (s32[4], s32[]) tuple(data, size)"""
    )
    after = program("x = s32[4] parameter(0)\n n = s32[] parameter(1)\n ROOT r = (s32[4], s32[]) tuple(x, n)")
    trace = Trace()
    assert DynamicShapeRemovingVisitor().run(module, trace)
    assert trace.fired == {"there-and-back": 2}
    assert structure(module, names=False) == structure(after, names=False)


def test_bridges_at_the_edges_stay() -> None:
    module = program(
        """x = s32[<=4] parameter(0)
           t = (s32[4], s32[]) custom-call(x), custom_call_target="PadToStatic"
           data = s32[4] get-tuple-element(t), index=0
           size = s32[] get-tuple-element(t), index=1
           ROOT d = s32[<=4] custom-call(data, size), custom_call_target="SliceToDynamic" """
    )
    before = structure(module)
    assert not DynamicShapeRemovingVisitor().run(module, Trace())
    assert structure(module) == before


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (
            "x = s32[<=4] parameter(0)\n ROOT r = s32[<=4] negate(x)",
            r"r \(negate, operand 0\): its operand is s32\[<=4\]",
        ),
        (
            'ROOT r = s32[<=4] custom-call(), custom_call_target="Unknown"',
            r"r \(custom-call\): it gives s32\[<=4\]",
        ),
    ],
)
def test_work_on_a_dynamic_array_is_refused(entry: str, message: str) -> None:
    with pytest.raises(DynamismRefused, match=message):
        DynamicShapeRemovingVisitor().run(program(entry), Trace())
