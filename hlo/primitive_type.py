"""Which element types does HLO have, and what are they in NumPy?

Numbers are those of `PrimitiveType` in upstream's `xla_data.proto`; spellings are those of HLO text.
"""

from __future__ import annotations

from enum import Enum
from functools import cached_property

import ml_dtypes
import numpy as np


class PrimitiveType(Enum):
    """An HLO element type. The value is (number in the proto, spelling in HLO text)."""

    PRED = (1, "pred")
    S8 = (2, "s8")
    S16 = (3, "s16")
    S32 = (4, "s32")
    S64 = (5, "s64")
    U8 = (6, "u8")
    U16 = (7, "u16")
    U32 = (8, "u32")
    U64 = (9, "u64")
    F16 = (10, "f16")
    F32 = (11, "f32")
    F64 = (12, "f64")
    C64 = (15, "c64")
    BF16 = (16, "bf16")
    C128 = (18, "c128")
    F8E5M2 = (19, "f8e5m2")
    F8E4M3FN = (20, "f8e4m3fn")
    S4 = (21, "s4")
    U4 = (22, "u4")
    F8E4M3B11FNUZ = (23, "f8e4m3b11fnuz")
    F8E5M2FNUZ = (24, "f8e5m2fnuz")
    F8E4M3FNUZ = (25, "f8e4m3fnuz")
    S2 = (26, "s2")
    U2 = (27, "u2")
    F8E4M3 = (28, "f8e4m3")
    F8E3M4 = (29, "f8e3m4")
    F4E2M1FN = (32, "f4e2m1fn")
    F8E8M0FNU = (33, "f8e8m0fnu")

    # members are singletons, and Enum's own hash is a slow Python call
    __hash__ = object.__hash__

    @cached_property
    def number(self) -> int:
        """The field value in `ShapeProto.element_type`."""
        return self.value[0]

    @cached_property
    def text(self) -> str:
        """The spelling in HLO text, e.g. `bf16`."""
        return self.value[1]

    @cached_property
    def numpy(self) -> np.dtype:
        """The NumPy dtype that holds one element (sub-byte types take a byte each, as in `ml_dtypes`)."""
        return _NUMPY[self]

    @cached_property
    def is_integral(self) -> bool:
        """Signed or unsigned integer; PRED is not one (as `primitive_util::IsIntegralType` upstream)."""
        return self in SIGNED or self in UNSIGNED

    @cached_property
    def is_signed(self) -> bool:
        """Signed integer."""
        return self in SIGNED

    @cached_property
    def is_unsigned(self) -> bool:
        """Unsigned integer."""
        return self in UNSIGNED

    @cached_property
    def is_float(self) -> bool:
        """Real floating point, the 8-bit and 4-bit formats included."""
        return self not in COMPLEX and not self.is_integral and self is not PrimitiveType.PRED

    @cached_property
    def is_complex(self) -> bool:
        """C64 or C128."""
        return self in COMPLEX

    @cached_property
    def bit_width(self) -> int:
        """Bits of one element as HLO counts them: 8 for PRED, 4 for S4."""
        if self in (PrimitiveType.S2, PrimitiveType.U2):
            return 2
        if self in (PrimitiveType.S4, PrimitiveType.U4, PrimitiveType.F4E2M1FN):
            return 4
        return self.numpy.itemsize * 8

    @classmethod
    def of(cls, dtype: np.dtype) -> PrimitiveType:
        """The element type whose values a NumPy array of `dtype` holds. Raises KeyError for others."""
        return _FROM_NUMPY[dtype]


SIGNED = frozenset(
    {
        PrimitiveType.S2,
        PrimitiveType.S4,
        PrimitiveType.S8,
        PrimitiveType.S16,
        PrimitiveType.S32,
        PrimitiveType.S64,
    }
)
UNSIGNED = frozenset(
    {
        PrimitiveType.U2,
        PrimitiveType.U4,
        PrimitiveType.U8,
        PrimitiveType.U16,
        PrimitiveType.U32,
        PrimitiveType.U64,
    }
)
COMPLEX = frozenset({PrimitiveType.C64, PrimitiveType.C128})

_NUMPY: dict[PrimitiveType, np.dtype] = {
    PrimitiveType.PRED: np.dtype(np.bool_),
    PrimitiveType.S8: np.dtype(np.int8),
    PrimitiveType.S16: np.dtype(np.int16),
    PrimitiveType.S32: np.dtype(np.int32),
    PrimitiveType.S64: np.dtype(np.int64),
    PrimitiveType.U8: np.dtype(np.uint8),
    PrimitiveType.U16: np.dtype(np.uint16),
    PrimitiveType.U32: np.dtype(np.uint32),
    PrimitiveType.U64: np.dtype(np.uint64),
    PrimitiveType.F16: np.dtype(np.float16),
    PrimitiveType.F32: np.dtype(np.float32),
    PrimitiveType.F64: np.dtype(np.float64),
    PrimitiveType.C64: np.dtype(np.complex64),
    PrimitiveType.C128: np.dtype(np.complex128),
    PrimitiveType.BF16: np.dtype(ml_dtypes.bfloat16),
    PrimitiveType.F8E5M2: np.dtype(ml_dtypes.float8_e5m2),
    PrimitiveType.F8E4M3FN: np.dtype(ml_dtypes.float8_e4m3fn),
    PrimitiveType.S4: np.dtype(ml_dtypes.int4),
    PrimitiveType.U4: np.dtype(ml_dtypes.uint4),
    PrimitiveType.S2: np.dtype(ml_dtypes.int2),
    PrimitiveType.U2: np.dtype(ml_dtypes.uint2),
    PrimitiveType.F8E4M3B11FNUZ: np.dtype(ml_dtypes.float8_e4m3b11fnuz),
    PrimitiveType.F8E5M2FNUZ: np.dtype(ml_dtypes.float8_e5m2fnuz),
    PrimitiveType.F8E4M3FNUZ: np.dtype(ml_dtypes.float8_e4m3fnuz),
    PrimitiveType.F8E4M3: np.dtype(ml_dtypes.float8_e4m3),
    PrimitiveType.F8E3M4: np.dtype(ml_dtypes.float8_e3m4),
    PrimitiveType.F4E2M1FN: np.dtype(ml_dtypes.float4_e2m1fn),
    PrimitiveType.F8E8M0FNU: np.dtype(ml_dtypes.float8_e8m0fnu),
}
_FROM_NUMPY = {dtype: primitive for primitive, dtype in _NUMPY.items()}

PRIMITIVE_TYPE_BY_NUMBER = {primitive.number: primitive for primitive in PrimitiveType}
PRIMITIVE_TYPE_BY_TEXT = {primitive.text: primitive for primitive in PrimitiveType}
