"""`Window`: a strided box inside a flat buffer, read or written with reshapes only."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence

import jax
import jax.numpy as jnp

from ._compat import fenced_reshape

Dims = tuple[tuple[int, int], ...]  # (extent, stride), the widest stride first


def span(dims: Dims) -> int:
    """Elements from the first to the last of a box, both counted."""
    return 1 + sum((extent - 1) * stride for extent, stride in dims)


def nests(dims: Dims) -> bool:
    """Whether each stride clears the box of all narrower ones."""
    return all(stride >= span(dims[k + 1 :]) for k, (_, stride) in enumerate(dims))


def reshape(x: jax.Array, shape: Sequence[int], fence: bool) -> jax.Array:
    """A reshape, kept out of XLA:CPU's fusions where `fence` says so."""
    shape = tuple(shape)
    if x.shape == shape:
        return x
    return fenced_reshape(x, shape) if fence else x.reshape(shape)


def _cut(x: jax.Array, start: int, stop: int) -> jax.Array:
    """`x[..., start:stop]`, as a plain slice."""
    if start == 0 and stop == x.shape[-1]:
        return x
    return jax.lax.slice_in_dim(x, start, stop, axis=-1)


def _join(*parts: jax.Array) -> jax.Array:
    full = [part for part in parts if part.shape[-1]]
    return full[0] if len(full) == 1 else jnp.concatenate(full, axis=-1)


def zeros(shape: Sequence[int], like: jax.Array) -> jax.Array:
    """Zeros of the type, and the mesh axes, of `like`."""
    return jax.lax.full_like(like, 0, shape=tuple(shape))


@dataclasses.dataclass(frozen=True)
class Window:
    """Where a box of elements stands in the last axis of a buffer.

    Attributes:
      size: elements of the buffer.
      start: the box's first element.
      dims: (extent, stride) of each axis, strides falling; each stride at least the
        span of the narrower ones.
    """

    size: int
    start: int
    dims: Dims

    @property
    def extents(self) -> tuple[int, ...]:
        """Shape of the box."""
        return tuple(extent for extent, _ in self.dims)

    def _rooms(self) -> list[int]:
        """Length of the axis that each dimension is cut from."""
        rooms = [self.size - self.start]
        for (_, pitch), (extent, stride) in itertools.pairwise(self.dims):
            rooms.append(min(pitch, extent * stride))
        return rooms

    @property
    def pads(self) -> bool:
        """Whether some axis ends before its last stride does."""
        return any(
            extent * stride > room
            for (extent, stride), room in zip(self.dims, self._rooms(), strict=False)
        )

    @property
    def dense(self) -> bool:
        """Whether the box is the whole buffer, without gaps."""
        return math.prod(self.extents) == self.size

    def extract(self, x: jax.Array, fence: bool) -> jax.Array:
        """lead + (size,) -> lead + extents."""
        lead = x.shape[:-1]
        x = _cut(x, self.start, self.size)
        shape: tuple[int, ...] = (self.size - self.start,)
        rooms = [*self._rooms()[1:], 1]
        for (extent, stride), inner in zip(self.dims, rooms, strict=False):
            room, whole = shape[-1], extent * stride
            if whole != room:
                x = reshape(x, lead + shape, fence)
                if whole > room:
                    x = _join(x, zeros((*x.shape[:-1], whole - room), x))
                x = _cut(x, 0, whole)
            shape = (*shape[:-1], extent, stride)
            if inner != stride:
                x = _cut(reshape(x, lead + shape, fence), 0, inner)
                shape = (*shape[:-1], inner)
        x = _cut(reshape(x, lead + shape, fence), 0, 1)
        return reshape(x, lead + self.extents, False)

    def place(self, x: jax.Array, dst: jax.Array | None, fence: bool) -> jax.Array:
        """lead + extents into lead + (size,); elsewhere `dst`, or zeros."""
        lead = x.shape[: x.ndim - len(self.dims)]
        if self.dense:
            return reshape(x, (*lead, self.size), fence)
        if dst is None:
            dst = zeros((*lead, self.size), x)
        placed = _place(x, _cut(dst, self.start, self.size), self.dims, fence)
        return _join(_cut(dst, 0, self.start), placed)


def _place(x: jax.Array, block: jax.Array, dims: Dims, fence: bool) -> jax.Array:
    """Write the box at the start of lead + (length,), the rest from `block`."""
    lead, length = block.shape[:-1], block.shape[-1]
    count = math.prod(extent for extent, _ in dims)
    if span(dims) == count:  # no gaps inside
        return _join(reshape(x, (*lead, count), fence), _cut(block, count, length))
    extent, stride = dims[0]
    whole = extent * stride
    if whole > length:
        head = _join(block, zeros((*lead, whole - length), block))
    else:
        head = _cut(block, 0, whole)
    rows = _place(x, reshape(head, (*lead, extent, stride), False), dims[1:], fence)
    flat = reshape(rows, (*lead, whole), fence)
    if whole > length:
        return _cut(flat, 0, length)
    return _join(flat, _cut(block, whole, length))
