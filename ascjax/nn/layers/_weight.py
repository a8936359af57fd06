"""A matrix of weights in NZ, and its product with a vector as the matrix unit does it.

NZ of [out, in] is, bit for bit, L0B's ZN of [in, out]: fractals of 16 outputs by C0
inputs, all outputs of the first C0 inputs first.
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp

from ..._dtypes import AscendType, of_array
from ..._layout import Layout
from ..._products import Product
from ..cube._matmul import CubeMatmul
from ..cube._roads import Road
from ..cube._room import Tile

_WHO = "NZLinear"


def unpacked(weight: jax.Array, layout: Layout) -> jax.Array:
    """The matrix [..., out, in] of a buffer.

    A buffer that was cast keeps the fractals of the type that it was packed in.
    """
    type, _ = of_array(weight.dtype, None, _WHO)
    held = Layout("NZ", layout.shape, type, (16, layout.dtype.c0))
    return held.unpack(weight)


def multiplied(matrix: jax.Array, x: jax.Array) -> jax.Array:
    """The matrix times a vector: one dot in `matrix`'s type, sums as wide as L0C's."""
    sums = jnp.int32 if matrix.dtype == jnp.int8 else jnp.float32
    return jnp.matmul(matrix, x.astype(matrix.dtype), preferred_element_type=sums)


def multiplied_on_road(matrix: jax.Array, x: jax.Array, product: Product) -> jax.Array:
    """The same by every call from GM to L0 and back, in tiles where it must."""
    type, _ = of_array(matrix.dtype, None, _WHO)
    cube = cube_of(product, *matrix.shape[-2:], type)
    return cube(x.astype(matrix.dtype)[None], matrix)[..., 0, :]


@functools.lru_cache(maxsize=256)
def cube_of(product: Product, n: int, k: int, type: AscendType) -> CubeMatmul:
    """x [1, k] times a matrix that GM holds as [n, k], in the largest tiles."""
    sides = (
        Road("A", product, type, 1, k, False, k),
        Road("B", product, type, n, k, False, k),
    )
    return CubeMatmul(
        product, 1, n, k, type, transpose_b=True, tile=Tile(*sides).fitting()
    )
