"""Heads of attention: what users give for them, checked, and what one computes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from ..._errors import BoundsError
from ..._products import Product
from ._given import SOURCE
from ._matmul import matmul

WHO = "NZAttention"
Heads = tuple[jax.Array, jax.Array, jax.Array]


def factor_type(type: Any) -> Any:
    """The type in which the unit multiplies heads of `type`."""
    return type if type in (jnp.float16, jnp.bfloat16) else jnp.dtype(jnp.float32)


def attended(
    query: jax.Array,
    key_: jax.Array,
    value: jax.Array,
    mask: jax.Array | None,
    dropped: Callable[[jax.Array], jax.Array],
    type: Any,
    unit: tuple[Product, str],
) -> jax.Array:
    """One head: (rows, elements), sums in float32 of products in `type`.

    `dropped` is what the attention weights go through; `unit` is what multiplies, and
    how it is emulated.
    """
    query = query.astype(jnp.float32) / math.sqrt(query.shape[-1])
    logits = matmul(query.astype(type), key_.astype(type), *unit, transpose_b=True)
    if mask is not None:
        logits = jnp.where(mask, logits, jnp.finfo(logits.dtype).min)
    weights = dropped(jax.nn.softmax(logits))
    return matmul(weights.astype(type), value.astype(type), *unit)


def checked_rows(field: str, x: Any, size: int) -> jax.Array:
    """A sequence of rows of `size` elements."""
    x = jnp.asarray(x)
    if x.ndim != 2 or x.shape[1] != size or not len(x):
        rule = f"have shape (rows, {size}) (elements), one sequence"
        fix = "Use jax.vmap for batches."
        if x.ndim == 2 and not len(x):
            rule, fix = f"{rule} of at least one row", "Leave empty sequences out."
        raise BoundsError(WHO, field, rule, x.shape, fix, SOURCE)
    return x


def check_lengths(key_: jax.Array, value: jax.Array) -> None:
    """Raise BoundsError where there is not one value for each key."""
    if len(key_) != len(value):
        rule = f"have as many rows as key_, {len(key_)}"
        fix = "Pass a value for each key."
        raise BoundsError(WHO, "value", rule, len(value), fix, SOURCE)


def checked_mask(mask: Any, heads: Heads) -> jax.Array | None:
    """Where to look, for all heads or, with three axes, for each."""
    if mask is None:
        return None
    mask, every = jnp.asarray(mask), (len(heads[0]), len(heads[1]))
    each = (heads[0].shape[1], *every)
    if mask.shape not in (every, each):
        rule = f"have shape {every} (rows of query, of key_), or {each} for each head"
        fix = "Use jnp.broadcast_to for one that is smaller."
        raise BoundsError(WHO, "mask", rule, mask.shape, fix, SOURCE)
    return mask


def processed(heads: Heads, process_heads: Callable[..., Any] | None) -> Heads:
    """The heads that a function of the user's gives for these."""
    if process_heads is None:
        return heads
    found = tuple(map(jnp.asarray, process_heads(*heads)))
    shapes, wanted = (tuple(head.shape for head in each) for each in (found, heads))
    if shapes != wanted:
        rule = f"give heads of the shapes that it gets, {wanted} (elements)"
        fix = "Change values only."
        raise BoundsError(WHO, "process_heads", rule, shapes, fix, SOURCE)
    query, key_, value = found
    return query, key_, value
