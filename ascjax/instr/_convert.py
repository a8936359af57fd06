"""What an instruction does to each value that it moves."""

from __future__ import annotations

import dataclasses

import jax

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
        return jax.nn.relu(x) if self.relu else x
