"""Which engines run in our own process? The evaluator, and JAX operation by operation: neither can die."""

from __future__ import annotations

from collections.abc import Sequence

from hlo import HloModule, UnsupportedOpcode, Value
from hlo.evaluator import EvaluationLimit, Limits, evaluate
from oracle.engine import Crashed, Lineage, Outcome, Ran, Unsupported
from oracle.engines.plain import NotForEngines, without_identities
from oracle.reference import run_jax
from oracle.running import UNABLE, static_program


class NumpyEvaluator:
    """Our own semantics, in NumPy."""

    name = "evaluator"
    lineage = Lineage.OURS

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()

    def run(self, module: HloModule, inputs: Sequence[Value]) -> Outcome:
        """See `Engine`."""
        try:
            static = without_identities(static_program(module, inputs))
            return Ran(evaluate(static, inputs, limits=self._limits))
        except (NotForEngines, *UNABLE) as error:
            return Unsupported(str(error))


class JaxReference:
    """Each operation in JAX: our reading of the module, XLA's arithmetic."""

    name = "jax"
    lineage = Lineage.XLA

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()

    def run(self, module: HloModule, inputs: Sequence[Value]) -> Outcome:
        """See `Engine`."""
        try:
            return Ran(run_jax(without_identities(module), inputs, self._limits))
        except (NotForEngines, UnsupportedOpcode, EvaluationLimit) as error:
            return Unsupported(str(error))
        except TypeError as error:  # JAX gave another type than the instruction's
            return Crashed(str(error))
