"""What people would use instead: each peer a function of (src, dst), from the axes.

A builder gives None where its peer cannot say the move.
"""

from __future__ import annotations

import importlib
import importlib.util
import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .strides import Axes

Peer = Callable[[Any, Any], Any]


def flat(axes: Axes) -> Peer | None:
    """Reshape, slice, transpose, reshape, as one writes it by hand."""
    rows = axes.by_dst()
    moving = sorted((r for r in rows if r[1]), key=lambda r: -abs(r[1]))
    start = axes.src_start + sum(s * (n - 1) for n, s, _ in moving if s < 0)
    dims = [(n, abs(s)) for n, s, _ in moving]
    place = _placed([(n, d) for n, _, d in rows], axes.dst_start, axes.dst_size)
    if place is None or not _nested(dims):
        return None
    order = [moving.index(r) for r in rows if r[1]]
    flips = [k for k, r in enumerate(r for r in rows if r[1]) if r[1] < 0]
    kept = [k for k, r in enumerate(rows) if r[1]]
    shape = tuple(n for n, _, _ in rows)

    def move(x: Any, dst: Any) -> Any:
        lead = x.ndim - 1
        box = _boxes(x[..., start:], dims)
        box = box.transpose(*range(lead), *(lead + k for k in order))
        box = jnp.flip(box, [lead + k for k in flips]) if flips else box
        if len(kept) < len(rows):
            ones = tuple(n if k in kept else 1 for k, n in enumerate(shape))
            box = box.reshape(*x.shape[:-1], *ones)
            box = jnp.broadcast_to(box, (*x.shape[:-1], *shape))
        return place(box, dst)

    return move


def _nested(dims: list[tuple[int, int]]) -> bool:
    pairs = itertools.pairwise(dims)
    return all(n * s <= outer for (_, outer), (n, s) in pairs) and bool(dims)


def _boxes(x: Any, dims: list[tuple[int, int]]) -> Any:
    """lead + (size,) -> lead + extents: a reshape and a slice for each axis."""
    for n, pitch in dims:
        x = _sized(x, n * pitch).reshape(*x.shape[:-1], n, pitch)
    return x[..., 0]


def _sized(x: Any, length: int) -> Any:
    missing = length - x.shape[-1]
    if missing > 0:
        return jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, missing)])
    return x[..., :length]


def _placed(dims: list[tuple[int, int]], start: int, size: int) -> Peer | None:
    """A function of (box, dst) that writes rows with a gap behind each."""
    run, outer = 1, list(dims)
    while outer and outer[-1][1] == run:
        run *= outer.pop()[0]
    if run == size:
        return lambda box, dst: box.reshape(*box.shape[: -len(dims)], size)
    if len(outer) != 1 or start or outer[0][1] < run:
        return None
    ((n, pitch),) = outer

    def place(box: Any, dst: Any) -> Any:
        lead = box.shape[: -len(dims)]
        if dst is None:
            dst = jnp.zeros((*lead, size), box.dtype)
        rows = _sized(dst, n * pitch).reshape(*lead, n, pitch)
        rows = rows.at[..., :run].set(box.reshape(*lead, n, run))
        return _sized(rows.reshape(*lead, n * pitch), size)

    return place


def einops(axes: Axes) -> Peer | None:
    """One einops call on a jnp array, where there are no gaps and nothing turns."""
    rows = axes.by_dst()
    moving = sorted((r for r in rows if r[1]), key=lambda r: -r[1])
    found = importlib.util.find_spec("einops") is not None
    count = int(np.prod([n for n, _, _ in moving]))
    dense = _nested([(n, s) for n, s, _ in moving]) and count == axes.src_size
    backwards = any(step < 0 for _, step, _ in rows)
    if not found or not dense or backwards or not axes.dense_dst:
        return None
    call = importlib.import_module("einops")
    names = {row: chr(97 + k) for k, row in enumerate(rows)}
    left, right = (" ".join(names[row] for row in side) for side in (moving, rows))
    sizes = {names[row]: row[0] for row in rows}
    op = call.rearrange if len(moving) == len(rows) else call.repeat
    return lambda x, dst: op(x, f"... ({left}) -> ... ({right})", **sizes)


def gather(index: np.ndarray) -> tuple[Peer, np.ndarray]:
    """`x[idx]` by element, and the index, to be passed as a third argument.

    As `take` in clip mode: an argument then costs no more than the constant `idx` that
    people write, which takes long to compile.
    """
    whole = bool((index >= 0).all())

    def move(x: Any, dst: Any, idx: Any) -> Any:
        taken = jnp.take(x, idx, axis=-1, mode="clip")
        if whole:
            return taken
        old = jnp.zeros((), x.dtype) if dst is None else dst
        return jnp.where(idx >= 0, taken, old)

    return move, index  # pyright: ignore[reportReturnType]


def index_of(axes: Axes) -> np.ndarray:
    """The source element of each destination element, -1 where none is written."""
    index = np.full(axes.dst_size, -1, np.int32)
    axes.of_dst(index)[...] = axes.of_src(np.arange(axes.src_size, dtype=np.int32))
    return index


def numpy(axes: Axes, x: np.ndarray) -> Callable[[], Any] | None:
    """`ascontiguousarray` of the strided view, where nothing of dst is kept."""
    if not axes.dense_dst:
        return None
    view = axes.of_src(x)
    return lambda: np.ascontiguousarray(view)


def torch(axes: Axes, x: np.ndarray) -> Callable[[], Any] | None:
    """`permute().contiguous()` of the strided view, where torch is installed."""
    backwards = any(step < 0 for _, step, _ in axes.rows)
    if importlib.util.find_spec("torch") is None or not axes.dense_dst or backwards:
        return None
    library = importlib.import_module("torch")
    held = library.from_numpy(x)
    view = axes.of_src(x)
    strides = [step // x.itemsize for step in view.strides]
    by_src = sorted(range(view.ndim), key=lambda k: -strides[k])
    shape = [view.shape[k] for k in by_src]
    steps = [strides[k] for k in by_src]
    natural = library.as_strided(held, shape, steps, axes.src_start)
    order = [by_src.index(k) for k in range(view.ndim)]
    return lambda: natural.permute(order).contiguous()


def through_nibbles(peer: Callable[..., Any]) -> Callable[..., Any]:
    """A peer of elements on packed bytes: unpack, move, pack."""

    def move(x: Any, dst: Any, *more: Any) -> Any:
        y = peer(_unpack(x), None if dst is None else _unpack(dst), *more)
        pairs = y.reshape(*y.shape[:-1], -1, 2)
        return pairs[..., 0] | pairs[..., 1] << 4

    return move


def _unpack(x: Any) -> Any:
    pairs = jnp.stack([x & 15, x >> 4], axis=-1)
    return pairs.reshape(*x.shape[:-1], -1)


def copy_of(size: int, like: Any) -> tuple[Callable[[Any], Any], Any]:
    """`jnp.copy` under jit, the ceiling, and an array of the size to copy."""
    shape = (*like.shape[:-1], size)
    return jax.jit(jnp.copy), jnp.ones(shape, jnp.int32).astype(like.dtype)
