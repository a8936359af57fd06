"""Filters of a convolution in FRACTAL_Z, and the convolution as one of JAX's.

Each group of channels has a buffer of its own, an axis in front; one group has none.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp

from ...._dtypes import of_array
from ...._layout import Layout
from ...._operands import check_length, form_of
from ...._relayout import Mover, mover
from ._given import WHO, Padding, Pair

_MODES = {"REFLECT": "reflect", "REPLICATE": "edge", "CIRCULAR": "wrap"}


def packed(filters: Any, layout: Layout, groups: int) -> jax.Array:
    """The buffer, (..., size) or (..., groups, size), of filters of a plain layer."""
    each = (groups,) if groups > 1 else ()
    return layout.pack(filters.reshape(*filters.shape[:-4], *each, *layout.shape))


def unpacked(weight: jax.Array, layout: Layout, groups: int) -> jax.Array:
    """The filters [..., out, in, rows, columns] of a buffer.

    A buffer that was cast keeps the blocks of the type that it was packed in.
    """
    type, _ = of_array(weight.dtype, None, WHO)
    check_length(WHO, "weight", form_of(weight), layout.size, False)
    found = _unpacker(layout, type.bits)(weight)
    if groups == 1:
        return found
    *lead, _, outs, ins, rows, columns = found.shape
    return found.reshape(*lead, groups * outs, ins, rows, columns)


@functools.lru_cache(maxsize=1024)
def _unpacker(layout: Layout, bits: int) -> Mover:
    """`layout.unpack` for elements of any width."""
    plain = Layout("ND", layout.shape, layout.dtype)
    return mover(
        layout.digits, plain.digits, layout.shape, bits, packed=False, array_out=True
    )


def pads_of(
    map: Pair, kernel: Pair, stride: Pair, dilation: Pair, padding: Padding
) -> tuple[Pair, Pair]:
    """Elements before and after the rows and the columns of a map."""
    if not isinstance(padding, str):
        return padding
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    rows, columns = jax.lax.padtype_to_pads(map, reach, stride, padding)
    return (int(rows[0]), int(rows[1])), (int(columns[0]), int(columns[1]))


def convolved(
    filters: jax.Array,
    x: jax.Array,
    stride: Pair,
    padding: Padding,
    dilation: Pair,
    groups: int,
    padding_mode: str,
) -> jax.Array:
    """The filters over one image of their type: one convolution, in float32."""
    # Products of 16-bit floats are exact in float32, and the gradient of a convolution
    # of theirs with sums of another type is an error in JAX.
    x, filters = x.astype(jnp.float32), filters.astype(jnp.float32)
    if padding_mode != "ZEROS":
        (high, wide), (kh, kw) = x.shape[1:], filters.shape[2:]
        pads = pads_of((high, wide), (kh, kw), stride, dilation, padding)
        x = jnp.pad(x, ((0, 0), *pads), _MODES[padding_mode])
        padding = "VALID"
    return jax.lax.conv_general_dilated(
        x[None],
        filters,
        stride,
        padding,
        rhs_dilation=dilation,
        feature_group_count=groups,
    )[0]
