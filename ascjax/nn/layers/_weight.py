"""A matrix of weights in NZ, and its product with a vector as the matrix unit does it.

NZ of [out, in] is, bit for bit, L0B's ZN of [in, out]: fractals of 16 outputs by C0
inputs, all outputs of the first C0 inputs first.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from ..._dtypes import of_array
from ..._in_turn import in_turn
from ..._layout import Layout
from ..._products import Product
from ._matmul import cube_of

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
    weight, x = in_turn(weight, x)
    matrix = unpacked(weight, layout, "ZN")
    sums = jnp.int32 if matrix.dtype == jnp.int8 else jnp.float32
    return jnp.matmul(x.astype(matrix.dtype), matrix, preferred_element_type=sums)


def multiplied_on_road(
    weight: jax.Array, layout: Layout, x: jax.Array, product: Product
) -> jax.Array:
    """The same by every call from GM to L0 and back, in tiles where it must."""
    weight, x = in_turn(weight, x)
    matrix = unpacked(weight, layout)
    type, _ = of_array(matrix.dtype, None, _WHO)
    cube = cube_of(product, 1, *matrix.shape[-2:], type, transpose_b=True)
    return cube(x.astype(matrix.dtype)[None], matrix)[..., 0, :]
