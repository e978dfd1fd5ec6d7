"""How do the programs of this folder say that the number of sequences and their length are not known?"""

import jax
import jax.numpy as jnp
from jax import export

Shape = jax.ShapeDtypeStruct
Shapes = tuple[Shape, ...]

BATCH, LENGTH = export.symbolic_shape("b, s")


def f32(*dimensions: object) -> Shape:
    """An array of f32; dimensions are numbers, BATCH or LENGTH."""
    return Shape(dimensions, jnp.float32)


def s32(*dimensions: object) -> Shape:
    """An array of s32."""
    return Shape(dimensions, jnp.int32)
