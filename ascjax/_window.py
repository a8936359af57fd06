"""`Window`: a strided box inside a flat buffer, read or written with reshapes only."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import jax
import jax.numpy as jnp

from ._compat import fenced, fenced_reshape

Dims = tuple[tuple[int, int], ...]  # (extent, stride), the widest stride first


def span(dims: Dims) -> int:
    """Elements from the first to the last of a box, both counted."""
    return 1 + sum((extent - 1) * stride for extent, stride in dims)


def nests(dims: Dims) -> bool:
    """Whether each stride clears the box of all narrower ones."""
    return all(stride >= span(dims[k + 1 :]) for k, (_, stride) in enumerate(dims))


def contiguous(dims: Dims) -> bool:
    """Whether a box that nests is without gaps."""
    return span(dims) == math.prod(extent for extent, _ in dims)


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


def opaque_zeros(shape: Sequence[int], like: jax.Array, fence: bool) -> jax.Array:
    """Zeros that XLA:CPU joins by copying; with a constant it pads, far slower."""
    shape = tuple(shape)
    if not fence:
        return zeros(shape, like)
    return fenced(lambda zero: jnp.broadcast_to(zero, shape), zeros((), like))


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

    @property
    def joins(self) -> bool:
        """Whether `extract` may have to join parts: some last row is short."""
        room = self.size - self.start
        for k, (extent, stride) in enumerate(self.dims):
            if extent * stride > room:
                return True
            below = self.dims[k + 1 : k + 2]
            room = min(stride, *(n * s for n, s in below)) if below else 1
        return False

    @property
    def dense(self) -> bool:
        """Whether the box is the whole buffer, without gaps."""
        return math.prod(self.extents) == self.size

    def extract(self, x: jax.Array, fence: bool) -> jax.Array:
        """lead + (size,) -> lead + extents."""
        lead = x.shape[:-1]
        x = _cut(x, self.start, self.size)
        shape: tuple[int, ...] = (self.size - self.start,)
        wholes = [extent * stride for extent, stride in self.dims[1:]] + [1]
        for (extent, stride), below in zip(self.dims, wholes, strict=False):
            room, inner = shape[-1], min(stride, below)
            if extent * stride <= room:
                if extent * stride < room:
                    x = _cut(reshape(x, lead + shape, fence), 0, extent * stride)
                # No trailing axis of 1: XLA would give it a layout, and copy to it.
                shape = (*shape[:-1], extent, stride)[: None if stride > 1 else -1]
            else:  # the last row is short: cut it apart
                x = reshape(x, lead + shape, fence)
                full = (extent - 1) * stride
                inner = min(inner, room - full)
                rows = (*x.shape[:-1], extent - 1, stride)
                head = _cut(reshape(_cut(x, 0, full), rows, fence), 0, inner)
                tail = _cut(x, full, full + inner)[..., None, :]
                x = jnp.concatenate([head, tail], axis=-2)
                shape = (*shape[:-1], extent, inner)
                continue
            if inner != stride:
                x = _cut(reshape(x, lead + shape, fence), 0, inner)
                shape = (*shape[:-1], inner)
        return reshape(x if self.dims else _cut(x, 0, 1), lead + self.extents, fence)

    def place(
        self, x: jax.Array, dst: jax.Array | None, lead: int, fence: bool, plain: bool
    ) -> jax.Array:
        """The box, in any shape behind `lead` axes, into lead + (size,); elsewhere
        `dst`, or zeros. `plain` data come from no transpose or gather."""
        front = x.shape[:lead]
        flat = reshape(x, (*front, math.prod(self.extents)), fence)
        if self.dense:
            return flat
        buffer = _Buffer(dst, flat, (*front, self.size), fence)
        return _place(flat, buffer, self.start, self.dims, fence, plain)


@dataclasses.dataclass(frozen=True)
class _Buffer:
    """A part of the destination, or of zeros, that is made only where it is used."""

    held: jax.Array | None
    like: jax.Array
    shape: tuple[int, ...]
    fence: bool

    @property
    def array(self) -> jax.Array:
        if self.held is not None:
            return self.held
        return opaque_zeros(self.shape, self.like, self.fence)

    def cut(self, start: int, stop: int) -> _Buffer:
        held = None if self.held is None else _cut(self.held, start, stop)
        return _Buffer(held, self.like, (*self.shape[:-1], stop - start), self.fence)

    def rows(self, count: int, length: int) -> _Buffer:
        """The first count * length elements, or all and as many zeros as lack."""
        lead, size = self.shape[:-1], self.shape[-1]
        shape, lack = (*lead, count, length), max(count * length - size, 0)
        if self.held is None:
            return _Buffer(None, self.like, shape, self.fence)
        whole = _cut(self.held, 0, min(count * length, size))
        if lack:
            whole = _join(whole, opaque_zeros((*lead, lack), self.like, self.fence))
        return _Buffer(reshape(whole, shape, self.fence), self.like, shape, self.fence)


def _place(
    x: jax.Array, block: _Buffer, start: int, dims: Dims, fence: bool, plain: bool
) -> jax.Array:
    """Write the box of lead + (count,) from `start` of a lead + (length,) block.

    What is fastest on XLA:CPU: zeros are padded on, whole rows joined to their gaps,
    and else the rows an update of the block.
    """
    lead, length = block.shape[:-1], block.shape[-1]
    count, inner = x.shape[-1], math.prod(extent for extent, _ in dims[1:])
    if span(dims) == count:  # no gaps inside
        ends = block.cut(0, start).array, block.cut(start + count, length).array
        return _join(ends[0], x, ends[1])
    (extent, stride), dense = dims[0], span(dims[1:]) == inner
    row, column = divmod(start, stride)
    data = x.reshape(*lead, extent, inner)
    if dense and column + inner <= stride:
        count = -(-length // stride)  # rows, the last one made up to the others
        bits = x.dtype.itemsize == 2  # of bfloat16, perhaps: made in the same loop
        whole = row * stride, (row + extent) * stride
        if block.held is None and (plain or bits):
            edges = (row, count - row - extent, 0), (column, stride - column - inner, 0)
            rows = jax.lax.pad(data, zeros((), x), [(0, 0, 0)] * len(lead) + [*edges])
            return _cut(reshape(rows, (*lead, count * stride), fence), 0, length)
        if whole[1] <= length and not bits:  # two threads copy what is joined
            gaps = block.cut(*whole).rows(extent, stride)
            ends = gaps.cut(0, column).array, gaps.cut(column + inner, stride).array
            flat = (*lead, extent * stride)
            rows = reshape(_join(ends[0], data, ends[1]), flat, fence)
            ends = block.cut(0, whole[0]).array, block.cut(whole[1], length).array
            return _join(ends[0], rows, ends[1])
        at = [0] * len(lead) + [row, column]
        rows = block.rows(count, stride).array
        rows = jax.lax.dynamic_update_slice(rows, data, at)
        return _cut(reshape(rows, (*lead, count * stride), fence), 0, length)
    if start:
        rest = _place(x, block.cut(start, length), 0, dims, fence, plain)
        return _join(block.cut(0, start).array, rest)
    # Gaps inside of the rows, each of which is a block of its own.
    rows = block.rows(extent, stride)
    flat = _place(data, rows, 0, dims[1:], fence, plain)
    flat = _cut(
        reshape(flat, (*lead, extent * stride), fence), 0, min(extent * stride, length)
    )
    return _join(flat, block.cut(flat.shape[-1], length).array)
