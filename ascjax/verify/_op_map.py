"""A move's map as its own jitted op leaves it: element numbers moved, not values."""

from __future__ import annotations

import contextlib
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .. import _ops, _sequence
from .._dtypes import AscendType
from .._move import Move
from .._nest import FILL, KEEP

# Numbers are moved under these patterns, so that wide floats are signalling NaNs.
_UNDER = {32: 0x7FA00000, 64: 0x7FF400007FA00000}

_EXACT = 8  # bits of the integers that every type that a conversion has holds


def op_map(move: Move) -> np.ndarray:
    """What the public op does, as a map: shape (dst_size,), as in `IndexMap.index`.

    Every element of both buffers carries a number of its own: in wide types as its
    bits, in narrow ones over several rows of a batch, so that no width hides a swap. A
    last row tells padding from numbers. An element that arrives from nowhere is
    `src_size` or more.

    Raises:
      AscendError: where the op refuses the move.

    >>> import ascjax as asc
    >>> p = asc.LoadData2DParams(1, 1)
    >>> move = asc.Move.of(p, dtype="int8_t", src_size=1024, dst_size=514)
    >>> op_map(move)[[0, 1, 511, 512, 513]].tolist()
    [512, 513, 1023, -1, -1]
    """
    t, src_size, dst_size = move.type, move.src_size, move.dst_size
    width = 1 if t.jax == "bool" else t.bits
    if move.conversion is not None:
        width = _EXACT  # numbers as values, which the conversion leaves as they are
    rows = max(1, -(-(src_size + dst_size).bit_length() // width))
    # a value that no padding has marks all numbers
    mark = next((v for v in range(1 << min(width, 8)) if v not in move.fills), 0)
    numbers = np.arange(src_size + dst_size, dtype=np.uint64)
    shifts = np.arange(rows, dtype=np.uint64)[:, None] * np.uint64(width)
    under = np.uint64(0 if move.conversion else _UNDER.get(t.bits, 0))
    digits = (numbers >> shifts) & np.uint64(2**width - 1) ^ under
    planes = np.concatenate([digits, np.full_like(digits[:1], mark)])
    src, dst = planes[:, :src_size], planes[:, src_size:]
    if move.conversion is None:
        out = _bits(_run(move, _array(src, t), _array(dst, t)), t)
    else:
        carriers = jnp.dtype(t.carrier), jnp.dtype(move.arrives.carrier)
        out = np.asarray(_run(move, src.astype(carriers[0]), dst.astype(carriers[1])))
        out = out.astype(np.float64).astype(np.uint64)
    moved = out[rows] == mark
    number = np.bitwise_or.reduce((out[:rows] ^ under) << shifts)
    # a number that no element has stays such, and large
    index = np.minimum(number, np.uint64(2**31 - 1)).astype(np.int64)
    kept = index == src_size + np.arange(dst_size)
    index = np.where(moved & kept, KEEP, index)
    for k, fill in enumerate(move.fills):
        padded = ~moved & (out == fill).all(0)
        index = np.where(padded, FILL - k, index)
    lost = ~moved & (index >= 0)
    return np.where(lost, 2**31 - 1, index)


def _run(move: Move, src: np.ndarray, dst: np.ndarray) -> jax.Array:
    """The public op (or the sequence) on both buffers."""
    wide = move.type.bits == 64
    with jax.enable_x64(True) if wide else contextlib.nullcontext():
        # device_put compiles nothing, jnp.asarray would a copy for each new shape
        src, dst = jax.device_put((src, dst))
        options: dict[str, Any] = {
            "product": move.product,
            "path": move.path,
            "dtype": move.type.name,
            "overlap": move.overlap,
        }
        if len(move.calls) != 1:
            return _sequence.sequence(move.calls, **options)(src, dst)
        call = move.calls[0]
        options |= {"src_offset": call.src_offset, "dst_offset": call.dst_offset}
        return getattr(_ops, call.params.op)(src, call.params, dst=dst, **options)


def _array(bits: np.ndarray, t: AscendType) -> np.ndarray:
    """Bit patterns as an array that holds the type."""
    carrier = jnp.dtype(t.carrier)
    return bits.astype(f"uint{8 * carrier.itemsize}").view(carrier)


def _bits(array: jax.Array, t: AscendType) -> np.ndarray:
    """The bit patterns of an array, as uint64."""
    held = np.asarray(array)
    bits = held.view(f"uint{8 * held.dtype.itemsize}").astype(np.uint64)
    return bits & np.uint64(2**t.bits - 1)
