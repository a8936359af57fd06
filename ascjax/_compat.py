"""What moves between JAX versions, in one place."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.dtypes
from jax.experimental.xla_metadata import set_xla_metadata
from jax.interpreters import batching

not_mapped = getattr(batching, "not_mapped", None)


def x64_enabled() -> bool:
    """Whether 64-bit types stay 64 bits wide."""
    return jax.dtypes.canonicalize_dtype("int64").itemsize == 8


@functools.lru_cache(maxsize=4096)
def _reshape(shape: tuple[int, ...]):
    return jax.jit(lambda x: x.reshape(shape))


def fenced(f: Callable[[jax.Array], jax.Array], x: jax.Array) -> jax.Array:
    """`f(x)` as a call that XLA:CPU neither inlines nor fuses with its neighbours."""
    out: Any = set_xla_metadata(jax.jit(f)(x), inlineable="false")
    return out


@jax.jit
def _same(*arrays: jax.Array) -> tuple[jax.Array, ...]:
    return arrays


def fenced_together(*arrays: jax.Array) -> Any:
    """The arrays, of which XLA:CPU has none before it has all."""
    return set_xla_metadata(_same(*arrays), inlineable="false")


def fenced_reshape(x: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    """A reshape that XLA:CPU cannot fuse with its neighbours.

    Fused with a transpose, a reshape that merges axes becomes a scalar loop full of
    divisions; as a call around a bitcast it is free.
    """
    flat: Any = set_xla_metadata(_reshape(tuple(shape))(x), inlineable="false")
    return flat


def manual_axes(aval: Any) -> frozenset:
    """The mesh axes over which a value varies inside `shard_map`."""
    kind = getattr(aval, "manual_axis_type", None)
    if kind is None:
        return frozenset(getattr(aval, "vma", None) or ())
    return frozenset(kind.varying)


def vary_over(x: Any, axes: frozenset) -> Any:
    """`x`, made to vary over `axes` as well."""
    missing = tuple(sorted(axes - manual_axes(jax.typeof(x)), key=str))
    return jax.lax.pcast(x, missing, to="varying") if missing else x
