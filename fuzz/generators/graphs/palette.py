"""Which element types and shapes do graphs use, and how likely?"""

from __future__ import annotations

from fuzz.generators.tape import weighted
from hlo import PrimitiveType
from hlo.attributes import Ints

T = PrimitiveType

PRED = (T.PRED,)
SIGNED = (T.S32, T.S8, T.S16, T.S64)
UNSIGNED = (T.U32, T.U8, T.U16, T.U64)
INTEGERS = (*SIGNED, *UNSIGNED)
SINGLE_OR_DOUBLE = (T.F32, T.F64)
FLOATS = (*SINGLE_OR_DOUBLE, T.BF16, T.F16)
COMPLEX = (T.C64, T.C128)
REAL = (*INTEGERS, *FLOATS)
NUMBERS = (*REAL, *COMPLEX)
ORDINARY = (*NUMBERS, *PRED)
"""What most operations take. The others are storage formats, which values are converted to and from."""
STORED = tuple(kind for kind in PrimitiveType if kind not in ORDINARY)
INDICES = (T.S32, T.S32, T.S32, T.S64, T.U32, T.U8, T.S16, T.U64)

MOST_ELEMENTS = 64
"""In one array: larger ones find nothing more, and each shape costs a compile."""

SHAPES: tuple[Ints, ...] = weighted(
    {
        (3,): 6,
        (): 4,
        (2, 3): 6,
        (4,): 3,
        (3, 3): 3,
        (2, 2): 2,
        (4, 3): 2,
        (2, 1): 1,
        (1, 2, 4): 3,
        (2, 2, 3): 3,
        (2, 3, 3): 1,
        (0,): 1,
        (2, 0): 1,
    }
)
