"""The engines that can run a program, ours and others'. Importing this imports JAX."""

from oracle.engine import Crashed, Engine, Lineage, Outcome, Ran, TimedOut, Unsupported
from oracle.engines.children import StableHloInterpreter, XlaCpu, XlaCpuUnoptimised
from oracle.engines.local import JaxReference, NumpyEvaluator

ENGINES: tuple[Engine, ...] = (
    NumpyEvaluator(),
    JaxReference(),
    StableHloInterpreter(),
    XlaCpu(),
    XlaCpuUnoptimised(),
)
"""All of them, ours first."""

__all__ = [
    "ENGINES",
    "Crashed",
    "Engine",
    "JaxReference",
    "Lineage",
    "NumpyEvaluator",
    "Outcome",
    "Ran",
    "StableHloInterpreter",
    "TimedOut",
    "Unsupported",
    "XlaCpu",
    "XlaCpuUnoptimised",
]
