"""The meaning of bounded-dynamic programs: the static program on arrays cut to their sizes."""

from oracle.true_size.leaf import Sized, Tree, UndefinedSizes, arrays
from oracle.true_size.specialise import Specialised, fits, is_dynamic, specialise

__all__ = [
    "Sized",
    "Specialised",
    "Tree",
    "UndefinedSizes",
    "arrays",
    "fits",
    "is_dynamic",
    "specialise",
]
