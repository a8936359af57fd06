"""Numbers as int8 and a scale: x is close to scale * q, q in [-127, 127].

Symmetric, so that 0 stays 0 and -128 is never taken: a product of two is at most 127^2.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from ..._dtypes import TYPES
from ..._errors import BoundsError, ParamError
from ..._products import Product
from ...instr.mmad import MmadParams
from ._given import SOURCE

INT8 = TYPES["int8_t"]
TOP = 127
DEEPEST = (2**31 - 1) // TOP**2  # products whose sum int32 surely holds
_SCALE = "be finite and above 0 (what one step of int8 is worth)"


def scale_of(most: jax.Array) -> jax.Array:
    """The scale at which the largest magnitude is 127; 1 where all is 0."""
    scale = most.astype(jnp.float32) / TOP
    return jnp.where(scale == 0, 1, scale)  # NaN stays NaN


def as_int8(x: jax.Array, scale: jax.Array) -> jax.Array:
    """The nearest steps, ties to even, cut off at 127 either way; NaN is 0."""
    steps = jnp.clip(jnp.round(x.astype(jnp.float32) / scale), -TOP, TOP)
    return jnp.where(jnp.isnan(steps), 0, steps).astype(jnp.int8)


@jax.jit
def channels_as_int8(matrix: jax.Array) -> tuple[jax.Array, jax.Array]:
    """(..., out, in) as int8 with a scale for each output, (..., out)."""
    scale = scale_of(abs(matrix).max(-1))
    return as_int8(matrix, scale[..., None]), scale


def check_unit(who: str, product: Product, deep: int) -> None:
    """Raise where the product does not multiply int8, or sums of `deep` may wrap."""
    params = MmadParams(16, 16, 16)
    params.check_support(params.site(product, "A2->CO1", INT8))
    if deep > DEEPEST:
        rule = f"be at most {DEEPEST} (elements): int32 holds sums of so many products"
        fix = "Split the layer, and add its parts in float32."
        raise BoundsError(who, "in_features", rule, deep, fix, SOURCE)


def check_finite(who: str, weight: Any) -> None:
    """Raise ParamError for a weight that no scale is found for, where it is known."""
    if isinstance(weight, Tracer | jax.ShapeDtypeStruct):
        return
    wrong = int((~np.isfinite(np.asarray(weight, np.float32))).sum())
    if wrong:
        rule = "be finite: a channel's largest magnitude makes its scale"
        got, fix = f"{wrong} elements that are not", "Train or load it anew."
        raise ParamError(who, "weight", rule, got, fix, SOURCE)


def checked_scale(who: str, scale: Any, lead: tuple[int, ...]) -> jax.Array:
    """The scale of x, one for each matrix of a stack, checked where it is known."""
    fix = "Calibrate on real data with asc.nn.quantise, or leave it out."
    try:
        found = jnp.asarray(scale, jnp.float32)
    except (TypeError, ValueError):
        raise ParamError(who, "x_scale", _SCALE, repr(scale), fix, SOURCE) from None
    if found.shape not in ((), lead):
        rule = f"have shape () or {lead}: one scale for all of x"
        fix = "Only weights have a scale for each channel."
        raise BoundsError(who, "x_scale", rule, found.shape, fix, SOURCE)
    known = not isinstance(found, Tracer)
    if known and not (np.isfinite(found) & (np.asarray(found) > 0)).all():
        raise ParamError(who, "x_scale", _SCALE, scale, fix, SOURCE)
    return jnp.broadcast_to(found, lead)
