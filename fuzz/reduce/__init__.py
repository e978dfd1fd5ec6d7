"""Makes a failing case small while it keeps failing in the same way: same check, same kind, same pass."""

from fuzz.reduce.cost import WITHOUT_WORK, Cost, cost, working_instructions
from fuzz.reduce.driver import TRANSFORMATIONS, Reduction, reduce_case
from fuzz.reduce.files import reduce_entry, save_reduced
from fuzz.reduce.symbolic import reduce_symbolic, smallest_sizes

__all__ = [
    "TRANSFORMATIONS",
    "WITHOUT_WORK",
    "Cost",
    "Reduction",
    "cost",
    "reduce_case",
    "reduce_entry",
    "reduce_symbolic",
    "save_reduced",
    "smallest_sizes",
    "working_instructions",
]
