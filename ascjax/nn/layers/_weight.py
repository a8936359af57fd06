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


def unpacked(weight: jax.Array, layout: Layout, format: str = "NZ") -> jax.Array:
    """The matrix of a buffer: [..., out, in] of "NZ", or [..., in, out] of "ZN".

    A buffer that was cast keeps the fractals of the type that it was packed in.
    """
    type, _ = of_array(weight.dtype, None, _WHO)
    shape, fractal = layout.shape, (16, layout.dtype.c0)
    if format == "ZN":
        shape, fractal = shape[::-1], fractal[::-1]
    return Layout(format, shape, type, fractal).unpack(weight)


def multiplied(weight: jax.Array, layout: Layout, x: jax.Array) -> jax.Array:
    """x times the matrix [in, out]: one dot in its type, sums as wide as L0C's.

    XLA:CPU multiplies by [in, out] faster than by [out, in], which pays for the
    transpose that unpacks it.
    """
    matrix = unpacked(weight, layout, "ZN")
    sums = jnp.int32 if matrix.dtype == jnp.int8 else jnp.float32
    return jnp.matmul(x.astype(matrix.dtype), matrix, preferred_element_type=sums)


def multiplied_on_road(
    weight: jax.Array, layout: Layout, x: jax.Array, product: Product
) -> jax.Array:
    """The same by every call from GM to L0 and back, in tiles where it must."""
    matrix = unpacked(weight, layout)
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
