"""What an instruction does to each value that it moves."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp

from .._dtypes import AscendType


@dataclasses.dataclass(frozen=True)
class Conversion:
    """Each value cast, then cut off below 0 where `relu`.

    Attributes:
      type: of what arrives. A narrower float is rounded to the nearest, ties to even.
      relu: whether negative values become 0.
    """

    type: AscendType
    relu: bool

    def __call__(self, x: jax.Array) -> jax.Array:
        """The values of an array of the source's own JAX type."""
        x = x.astype(self.type.carrier)
        return _relu(x) if self.relu else x


def _relu(x: jax.Array) -> jax.Array:
    """`x`, or 0 where it is negative or 0; NaNs stay.

    By its bits: XLA:CPU takes subnormal numbers for 0 where it compares floats.
    """
    bits = jax.lax.bitcast_convert_type(x, f"int{8 * x.dtype.itemsize}")
    return jnp.where((bits > 0) | (x != x), x, 0)
