"""Makes a failing case small while it keeps failing in the same way: same check, same kind, same pass."""

from fuzz.reduce.cost import Cost, cost, working_instructions
from fuzz.reduce.driver import TRANSFORMATIONS, Reduction, reduce_case
from fuzz.reduce.files import reduce_entry, save_reduced

__all__ = [
    "TRANSFORMATIONS",
    "Cost",
    "Reduction",
    "cost",
    "reduce_case",
    "reduce_entry",
    "save_reduced",
    "working_instructions",
]
