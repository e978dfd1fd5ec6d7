"""The reference every graph meets: HLO, operation by operation, in JAX on the CPU."""

from collections.abc import Mapping
from types import MappingProxyType

from hlo import Opcode
from oracle.reference.gaps import GAPS
from oracle.reference.kernels import X64_BEFORE, use_compilation_cache
from oracle.reference.program import CONTROL_RULES, KERNEL_RULES, Reference, run_jax

RULES: Mapping[Opcode, object] = MappingProxyType({**KERNEL_RULES, **CONTROL_RULES})

__all__ = ["GAPS", "RULES", "X64_BEFORE", "Reference", "run_jax", "use_compilation_cache"]
