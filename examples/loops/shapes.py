"""How do the programs of this folder say which arrays to trace them with? By type and dimensions."""

import jax
import jax.numpy as jnp

Shape = jax.ShapeDtypeStruct
Shapes = tuple[Shape, ...]


def f32(*dimensions: int) -> Shape:
    """An array of f32."""
    return Shape(dimensions, jnp.float32)


def s32(*dimensions: int) -> Shape:
    """An array of s32."""
    return Shape(dimensions, jnp.int32)
