"""The steps of a `Plan`: small frozen values, each with its transpose; here those that
work on a box, and what they share. Its ends stand in `_ends.py`.

A step works on the axes behind `lead` leading ones; `backward` is the transpose of
`forward`. XLA:CPU changes signalling NaNs of narrow floats in some operations: a step
made of these `wants` bits. One that adds up wants values. Others take either.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np

from ._window import reshape


@dataclasses.dataclass(frozen=True)
class Context:
    """What a step needs to know beyond its own fields: padding and the target."""

    fills: tuple[np.ndarray, ...]
    fence: bool


def widened(x: jax.Array) -> jax.Array:
    """`x` in the type that sums of it are accumulated in."""
    narrow = jnp.issubdtype(x.dtype, jnp.floating) and x.dtype.itemsize < 4
    return x.astype(jnp.float32) if narrow else x


def add_up(x: jax.Array, axes: tuple[int, ...], keepdims: bool = False) -> jax.Array:
    """A sum that narrow floats accumulate in float32."""
    return widened(x).sum(axes, keepdims=keepdims).astype(x.dtype)


Wants = Literal["any", "bits", "values"]


class Step:
    """One step of a plan."""

    wants: Wants = "any"  # what forward works on
    wants_back: Wants = "any"  # what backward works on

    def forward(self, x: jax.Array, lead: int, context: Context) -> jax.Array:
        """Move `x`."""
        raise NotImplementedError

    def backward(self, x: jax.Array, lead: int, context: Context) -> jax.Array:
        """The transpose of `forward`."""
        raise NotImplementedError


@dataclasses.dataclass(frozen=True)
class Flip(Step):
    """Reverse axes: strides that walk backwards."""

    axes: tuple[int, ...]

    def forward(self, x, lead, context):
        return jax.lax.rev(x, [lead + axis for axis in self.axes])

    backward = forward

    def __str__(self) -> str:
        return f"reverse   axes {self.axes}"


@dataclasses.dataclass(frozen=True)
class Pad(Step):
    """Constant padding: (before, after) on each axis."""

    widths: tuple[tuple[int, int], ...]
    wants = "bits"

    def forward(self, x, lead, context):
        shape = list(x.shape)
        for axis, (before, after) in enumerate(self.widths, lead):
            shape[axis] += before + after
        filled = jax.lax.full_like(x, context.fills[0], shape=tuple(shape))
        starts = [0] * lead + [before for before, _ in self.widths]
        return jax.lax.dynamic_update_slice(filled, x, starts)

    def backward(self, x, lead, context):
        for axis, (before, after) in enumerate(self.widths, lead):
            x = jax.lax.slice_in_dim(x, before, x.shape[axis] - after, axis=axis)
        return x

    def __str__(self) -> str:
        return f"pad       {_widths(self.widths)} with the constant"


@dataclasses.dataclass(frozen=True)
class Edge(Step):
    """Padding with the nearest element: (before, after) on each axis."""

    widths: tuple[tuple[int, int], ...]
    wants = "bits"
    wants_back = "values"

    def forward(self, x, lead, context):
        return jnp.pad(x, [(0, 0)] * lead + list(self.widths), mode="edge")

    def backward(self, x, lead, context):
        for axis, (before, after) in enumerate(self.widths, lead):
            inner = x.shape[axis] - before - after
            if before or after:
                cut = functools.partial(jax.lax.slice_in_dim, x, axis=axis)
                if inner == 1:
                    x = add_up(x, (axis,), keepdims=True)
                    continue
                first = add_up(cut(0, before + 1), (axis,), keepdims=True)
                last = add_up(cut(before + inner - 1, None), (axis,), keepdims=True)
                middle = cut(before + 1, before + inner - 1)
                x = jnp.concatenate([first, middle, last], axis=axis)
        return x

    def __str__(self) -> str:
        return f"pad       {_widths(self.widths)} with the nearest element"


@dataclasses.dataclass(frozen=True)
class Split(Step):
    """Split axes into loops: `before` and `after` are the shapes."""

    before: tuple[int, ...]
    after: tuple[int, ...]

    def forward(self, x, lead, context):
        return x.reshape(x.shape[:lead] + self.after)

    def backward(self, x, lead, context):
        return reshape(x, x.shape[:lead] + self.before, context.fence)

    def __str__(self) -> str:
        return f"split     {_times(self.before)} into {_times(self.after)}"


@dataclasses.dataclass(frozen=True)
class Permute(Step):
    """Transpose: axis k of the result is axis `order[k]`."""

    order: tuple[int, ...]

    def forward(self, x, lead, context):
        return x.transpose((*range(lead), *(lead + axis for axis in self.order)))

    def backward(self, x, lead, context):
        back = np.argsort(self.order)
        return x.transpose((*range(lead), *(lead + int(axis) for axis in back)))

    def __str__(self) -> str:
        return f"transpose {self.order}"


@dataclasses.dataclass(frozen=True)
class Repeat(Step):
    """Broadcast: new axes of the result `shape` at `axes`, each a repeat."""

    axes: tuple[int, ...]
    shape: tuple[int, ...]
    wants_back = "values"

    def forward(self, x, lead, context):
        kept = [k for k in range(len(self.shape)) if k not in self.axes]
        where = (*range(lead), *(lead + k for k in kept))
        return jax.lax.broadcast_in_dim(x, x.shape[:lead] + self.shape, where)

    def backward(self, x, lead, context):
        return add_up(x, tuple(lead + axis for axis in self.axes))

    def __str__(self) -> str:
        return f"repeat    axes {self.axes} of {_times(self.shape)}"


@dataclasses.dataclass(frozen=True)
class Sum(Step):
    """Add up over axes: what repeats bring back."""

    axes: tuple[int, ...]
    wants = "values"

    def forward(self, x, lead, context):
        return add_up(x, tuple(lead + axis for axis in self.axes))

    def __str__(self) -> str:
        return f"sum       axes {self.axes}"


class Last(Step):
    """A plan's last step: it writes into the destination, and can read back from it."""

    def settled(self, x, lead: int, context: Context) -> jax.Array:
        """`x` before it is written, and taken to bits where the step wants them."""
        return x

    def write(self, x, dst, lead: int, context: Context) -> jax.Array:
        """What the destination holds after; `dst` None is zeros."""
        raise NotImplementedError

    def keep(self, dst, lead: int, context: Context) -> jax.Array:
        """`dst` with zeros where the step writes."""
        raise NotImplementedError


def _times(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))


def _widths(widths: tuple[tuple[int, int], ...]) -> str:
    return ", ".join(f"{before}+{after}" for before, after in widths)
