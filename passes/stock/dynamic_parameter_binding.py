"""Where do the sizes of parameters come from, once nothing but instructions may say so?

Source: `004_a2dddaa7cc47048c.txt`, step 1 of its checklist.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hlo import HloModule
from hlo.bound_parameters import materialise
from passes.base import Pass, Trace


@dataclass(frozen=True)
class DynamicParameterBinding(Pass):
    """Writes the module's binding of parameters to sizes as set-dimension-size at the top of the entry."""

    name: ClassVar[str] = "dynamic-parameter-binding"
    rules: ClassVar[tuple[str, ...]] = ("bound",)

    def run(self, module: HloModule, trace: Trace) -> bool:
        """A binding that is wrong is the verifier's to report."""
        for _ in module.dynamic_parameter_binding:
            trace.fire("bound")
        return materialise(module)
