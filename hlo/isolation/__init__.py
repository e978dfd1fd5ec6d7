"""Child processes for native code that may die: kept warm, given a time limit, replaced when they are gone."""

from hlo.isolation.arrays import pack_arrays, unpack_arrays
from hlo.isolation.process import ChildDied, ChildHung, ChildProcess, WarmChild

__all__ = ["ChildDied", "ChildHung", "ChildProcess", "WarmChild", "pack_arrays", "unpack_arrays"]
