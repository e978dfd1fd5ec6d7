"""The meaning of bounded-dynamic programs: the static program on arrays cut to their sizes."""

from oracle.true_size.custom_calls import has_meaning
from oracle.true_size.leaf import Sized, Tree, UndefinedSizes, arrays
from oracle.true_size.specialise import Specialised, Specialiser, fits, is_dynamic, specialise

__all__ = [
    "Sized",
    "Specialised",
    "Specialiser",
    "Tree",
    "UndefinedSizes",
    "arrays",
    "fits",
    "has_meaning",
    "is_dynamic",
    "specialise",
]
