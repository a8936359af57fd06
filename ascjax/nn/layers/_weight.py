"""A matrix of weights in NZ, and its product with a vector as the matrix unit does it.

NZ of [out, in] is, bit for bit, L0B's ZN of [in, out]: fractals of 16 outputs by C0
inputs, all outputs of the first C0 inputs first.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from ..._dtypes import of_array
from ..._layout import Layout
from ..._products import Product
from ._matmul import cube_of

_WHO = "NZLinear"


def unpacked(weight: jax.Array, layout: Layout) -> jax.Array:
    """The matrix [..., out, in] of a buffer.

    A buffer that was cast keeps the fractals of the type that it was packed in.
    """
    type, _ = of_array(weight.dtype, None, _WHO)
    held = Layout("NZ", layout.shape, type, (16, layout.dtype.c0))
    return held.unpack(weight)


def multiplied(matrix: jax.Array, x: jax.Array) -> jax.Array:
    """The matrix times a vector: one dot, float32 sums of `matrix`'s type."""
    sums = jnp.float32
    return jnp.matmul(matrix, x.astype(matrix.dtype), preferred_element_type=sums)


def multiplied_on_road(matrix: jax.Array, x: jax.Array, product: Product) -> jax.Array:
    """The same by every call from GM to L0 and back, in tiles where it must."""
    type, _ = of_array(matrix.dtype, None, _WHO)
    cube = cube_of(product, 1, *matrix.shape[-2:], type, transpose_b=True)
    return cube(x.astype(matrix.dtype)[None], matrix)[..., 0, :]
