"""Elements as unsigned integers, in NumPy: no bit changes on the way, 64 ones included.

A block is the bytes of one tensor: a flat array of uint8. Elements of 4 bits stand two
to a byte there, the even one in the low nibble, each row in whole bytes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._formats import Digits
from .._layout import Layout

Shape = tuple[int, ...]


def row_bytes(shape: Shape, bits: int) -> int:
    """Bytes of an array of `shape`, each row of its last axis in whole bytes."""
    *rows, last = shape or (1,)
    return math.prod(rows) * -(-last * bits // 8)


def elements(block: np.ndarray, shape: Shape, bits: int) -> np.ndarray:
    """The elements of a block, as unsigned integers; of 4 bits one in each uint8."""
    if bits != 4:
        return block.view(f"uint{bits}").reshape(shape)
    *rows, last = shape or (1,)
    nbytes = -(-last // 2)
    packed = block.reshape(*rows, nbytes)
    pairs = np.stack([packed & 15, packed >> 4], axis=-1)
    return pairs.reshape(*rows, 2 * nbytes)[..., :last].reshape(shape)


def block_of(x: np.ndarray, bits: int) -> np.ndarray:
    """The block of an array of `bits` wide elements, one in each entry."""
    if x.dtype.byteorder == ">":
        x = x.byteswap().view(x.dtype.newbyteorder())
    x = np.asarray(x, order="C").reshape(-1 if bits != 4 else x.shape or (1,))
    if bits != 4:
        return x.view(np.uint8)
    raw = x.view(np.uint8) & 15
    spare = [(0, 0)] * (raw.ndim - 1) + [(0, raw.shape[-1] % 2)]
    raw = np.pad(raw, spare)
    return (raw[..., ::2] | raw[..., 1::2] << 4).reshape(-1)


def array(block: np.ndarray, shape: Shape, dtype: Any, bits: int) -> np.ndarray:
    """A block as an array of `dtype` with one element of `bits` in each entry."""
    native = np.dtype(dtype).newbyteorder("=")
    if bits == 4:
        return elements(block, shape, bits).view(native)
    return block.view(native).reshape(shape)


def pack(x: np.ndarray, layout: Layout) -> np.ndarray:
    """Arrays (..., *shape) to buffers (..., size) of the layout, padding zero bits."""
    lead = x.shape[: x.ndim - len(layout.shape)]
    whole = x
    if layout.padded != layout.shape:
        whole = np.zeros((*lead, *layout.padded), x.dtype)
        whole[(..., *map(slice, layout.shape))] = x
    order, parts = _by_axis(layout.digits)
    back = np.argsort(order)
    axes = (*range(len(lead)), *(len(lead) + back))
    return whole.reshape(*lead, *parts).transpose(axes).reshape(*lead, layout.size)


def unpack(buffer: np.ndarray, layout: Layout) -> np.ndarray:
    """Buffers (..., size) of the layout to arrays (..., *shape)."""
    lead = buffer.shape[:-1]
    order, _ = _by_axis(layout.digits)
    axes = (*range(len(lead)), *(len(lead) + k for k in order))
    whole = buffer.reshape(*lead, *layout.dims).transpose(axes)
    return whole.reshape(*lead, *layout.padded)[(..., *map(slice, layout.shape))]


def _by_axis(digits: Digits) -> tuple[list[int], Shape]:
    """The order that counts each logical axis out, and the extents in it."""
    order = sorted(range(len(digits)), key=lambda k: (digits[k].axis, -digits[k].step))
    return order, tuple(digits[k].extent for k in order)
