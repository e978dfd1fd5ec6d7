import pytest

from hlo.interchange import read_text
from passes import Trace
from passes.neuron import TensorizerGuard
from passes.neuron.tensorizer_guard import StillDynamic


def guard(body: str) -> bool:
    return TensorizerGuard().run(read_text(f"HloModule m\nENTRY e {{ {body} }}\n"), Trace())


def test_static_tensors_and_slices_at_runtime_offsets_pass() -> None:
    assert not guard(
        "x = s32[4] parameter(0)\n i = s32[] parameter(1)\n"
        "ROOT r = s32[2] dynamic-slice(x, i), dynamic_slice_sizes={2}"
    )


@pytest.mark.parametrize(
    ("body", "name", "opcode"),
    [
        ("x = s32[<=4] parameter(0)\n ROOT r = s32[<=4] negate(x)", "x", "parameter"),
        (
            "x = s32[4] parameter(0)\n n = s32[] parameter(1)\n"
            "ROOT d = s32[<=4] set-dimension-size(x, n), dimensions={0}",
            "d",
            "set-dimension-size",
        ),
        (
            "x = s32[4] parameter(0)\n ROOT n = s32[] get-dimension-size(x), dimensions={0}",
            "n",
            "get-dimension-size",
        ),
    ],
)
def test_a_tensor_that_is_still_dynamic_is_refused_by_name(body: str, name: str, opcode: str) -> None:
    with pytest.raises(StillDynamic) as caught:
        guard(body)
    assert str(caught.value) == f"tensorizer-guard: Input tensor {name} has dynamic shape"
    assert (caught.value.instruction, caught.value.opcode) == (name, opcode)
