"""Passes inside the real compile of `jax.jit` functions. Importing this imports JAX."""

from fuzz.inside_jax.comparison import Comparison, compare_inside_jax
from fuzz.inside_jax.context import CompiledProgram, PassFailed, inside_jax

__all__ = ["Comparison", "CompiledProgram", "PassFailed", "compare_inside_jax", "inside_jax"]
