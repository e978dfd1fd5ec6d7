"""On which operands is a compiler free?"""

from typing import Any

import numpy as np
import pytest

from hlo.interchange import read_text
from oracle.implementation_defined import implementation_defined

DIVIDE = "x = s8[2] parameter(0)\n y = s8[2] parameter(1)\n ROOT r = s8[2] divide(x, y)"
UNSIGNED = "x = u8[2] parameter(0)\n y = u8[2] parameter(1)\n ROOT r = u8[2] remainder(x, y)"
CONVERT = "x = f32[1] parameter(0)\n ROOT r = s8[1] convert(x)"
BATCH_NORM = (
    "x = f32[1,3] parameter(0)\n s = f32[1] parameter(1)\n"
    "ROOT r = (f32[1,3], f32[1], f32[1]) batch-norm-training(x, s, s), epsilon=0.1, feature_index=0"
)


def int8(*values: int) -> np.ndarray:
    return np.array(values, np.int8)


def floats(*values: Any) -> np.ndarray:
    return np.array(values, np.float32)


@pytest.mark.parametrize(
    ("body", "operands", "reason"),
    [
        (DIVIDE, (int8(4, 5), int8(2, 0)), "integer divide by zero"),
        (DIVIDE, (int8(4, -128), int8(2, -1)), "integer divide of the least number by -1"),
        (DIVIDE, (int8(-1, -128), int8(-128, 1)), None),
        (UNSIGNED, (np.array([0, 128], np.uint8), np.array([1, 255], np.uint8)), None),
        (UNSIGNED, (np.array([0, 1], np.uint8), np.array([1, 0], np.uint8)), "integer remainder by zero"),
        (CONVERT, (floats(127.9),), None),
        (CONVERT, (floats(128.0),), "convert of a float that s8 does not have"),
        (CONVERT, (floats(np.nan),), "convert of a float that s8 does not have"),
        (BATCH_NORM, (floats([1, 2, 3]), floats(1), floats(1)), None),
        (
            BATCH_NORM,
            (floats([1, 1, 1]), floats(1), floats(1)),
            "batch-norm-training of numbers whose variance cancels",
        ),
        (
            BATCH_NORM,
            (floats([9, 10, 11]), floats(1), floats(1)),
            "batch-norm-training of numbers whose variance cancels",
        ),
    ],
)
def test_a_compiler_is_free_where_the_definition_says_so(
    body: str, operands: tuple[np.ndarray, ...], reason: str | None
) -> None:
    root = read_text(f"HloModule m\nENTRY e {{\n {body}\n}}\n").entry_computation.root
    assert implementation_defined(root, operands) == reason
