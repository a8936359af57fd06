"""A product of two matrices as the matrix unit does it: one dot, or every call."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp

from ..._dtypes import AscendType, of_array
from ..._products import Product
from ..cube._matmul import CubeMatmul
from ..cube._roads import Road
from ..cube._room import Tile

_WHO = "asc.nn"


def matmul(
    a: jax.Array,
    b: jax.Array,
    product: Product,
    emulate: str,
    transpose_b: bool = False,
) -> jax.Array:
    """a [m, k] times b, held as [k, n] or [n, k], of one type: sums in float32."""
    if emulate == "path":
        type, _ = of_array(a.dtype, None, _WHO)
        (m, k), n = a.shape, b.shape[0 if transpose_b else 1]
        return cube_of(product, m, n, k, type, transpose_b)(a, b)
    held = "nk" if transpose_b else "kn"
    return jnp.einsum(f"mk,{held}->mn", a, b, preferred_element_type=jnp.float32)


@functools.lru_cache(maxsize=256)
def cube_of(
    product: Product, m: int, n: int, k: int, type: AscendType, transpose_b: bool
) -> CubeMatmul:
    """[m, k] times a matrix that GM holds as [k, n] or [n, k], in the largest tiles."""
    sides = (
        Road("A", product, type, m, k, False, k),
        Road("B", product, type, n, k, not transpose_b, k if transpose_b else n),
    )
    tile = Tile(*sides).fitting()
    return CubeMatmul(product, m, n, k, type, transpose_b=transpose_b, tile=tile)
