"""Programs of one custom-call whose padding depends on a size; their meaning and their padding are tested apart."""

import numpy as np

from hlo import HloModule
from hlo.interchange import read_text
from hlo.verify import verify

CALLEES = """
add { a = f32[] parameter(0)
      b = f32[] parameter(1)
      ROOT r = f32[] add(a, b) }
ge { a = f32[] parameter(0)
     b = f32[] parameter(1)
     ROOT r = pred[] compare(a, b), direction=GE }
"""

WINDOWS = [(2, 1), (3, 1), (3, 2), (2, 3), (4, 2)]
"""Size and stride."""

CONVOLUTIONS = [
    (size, stride, dilation, padding)
    for size in (0, 1, 4, 7)
    for stride, dilation in ((1, 1), (2, 1), (3, 1), (1, 2), (2, 2))
    for padding in ("SAME", "VALID")
]


def program(entry: str) -> HloModule:
    module = read_text(f"HloModule m\n{CALLEES}\nENTRY main {{ {entry} }}\n")
    assert verify(module) == []
    return module


def small(*dims: int) -> np.ndarray:
    count = int(np.prod(dims))
    return (np.arange(count) * 7 % 11 - 5).reshape(dims).astype(np.float32)


def places(size: int, stride: int, dilation: int, padding: str) -> int:
    """How many places a kernel of three taps has."""
    reach = 2 * dilation + 1
    return -(-size // stride) if padding == "SAME" else max(0, (size + stride - reach) // stride)


def forward(stride: int, dilation: int, padding: str, features: str = "2") -> HloModule:
    return program(
        f"""x = f32[<=3,<=7,{features}] parameter(0)
            k = f32[3,2,4] parameter(1)
            ROOT r = f32[<=3,<={places(7, stride, dilation, padding)},4] custom-call(x, k),
              window={{size=3 stride={stride} rhs_dilate={dilation}}}, dim_labels=b0f_0io->b0f,
              padding_type=PADDING_{padding}, custom_call_target="DynamicConvolutionForward" """
    )


def input_gradient(stride: int, dilation: int, padding: str) -> HloModule:
    return program(
        f"""n = s32[3] parameter(0)
            g = f32[<=3,<={places(7, stride, dilation, padding)},4] parameter(1)
            k = f32[3,2,4] parameter(2)
            ROOT r = f32[<=3,<=7,2] custom-call(n, g, k),
              window={{size=3 lhs_dilate={stride} rhs_dilate={dilation} rhs_reversal=1}},
              dim_labels=b0f_0oi->b0f, padding_type=PADDING_{padding},
              custom_call_target="DynamicConvolutionInputGrad" """
    )


def kernel_gradient(stride: int, dilation: int, padding: str) -> HloModule:
    out = places(7, stride, dilation, padding)
    return program(
        f"""x = f32[<=3,<=7,2] parameter(0)
            g = f32[<=3,<={out},4] parameter(1)
            ROOT r = f32[3,2,4] custom-call(x, g), window={{size={out} stride={dilation} rhs_dilate={stride}}},
              dim_labels=f0b_i0o->0bf, padding_type=PADDING_{padding},
              custom_call_target="DynamicConvolutionKernelGrad" """
    )
