"""The steps that a `Plan` is made of: small frozen values, each with its transpose.

A step works on the axes behind `lead` leading ones; `backward` is the transpose of
`forward`. XLA:CPU changes signalling NaNs of narrow floats in some operations: a step
made of these `wants` bits. One that adds up wants values. Others take either.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np

from ._window import Dims, Window, nests, reshape, span, zeros

_FEW = 2**11  # windows whose starts are a constant in the program


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


def fenced_before(run: int, x: jax.Array) -> bool:
    """Whether a transpose gains by a fence in front of it, on XLA:CPU; 0 is none."""
    return run == 1 or run * x.dtype.itemsize >= 256


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
class Read(Step):
    """Cut a box out of the flat source: (size,) -> extents.

    `run` is how many elements stay next to each other in a transpose that follows; 0
    where none does.
    """

    window: Window
    run: int = dataclasses.field(default=1, compare=False)

    @property
    def wants(self) -> Wants:  # pyright: ignore[reportIncompatibleVariableOverride]
        return "bits" if self.window.joins else "any"

    @property
    def wants_back(self) -> Wants:  # pyright: ignore[reportIncompatibleVariableOverride]
        return "bits" if not self.window.dense else "any"

    def forward(self, x, lead, context):
        return self.window.extract(x, context.fence and fenced_before(self.run, x))

    def backward(self, x, lead, context):
        return self.window.place(x, None, lead, context.fence, not self.run)

    def __str__(self) -> str:
        return f"read      {_box(self.window.start, self.window.dims)} of src"


@dataclasses.dataclass(frozen=True)
class ReadRows(Step):
    """Gather windows: (size,) -> loose extents + extents.

    `loose` are the loops from one window to the next, in any order, of any stride;
    `dims` is the box cut from each window, out of `span(dims)` contiguous elements.
    """

    size: int
    start: int
    loose: Dims
    dims: Dims

    @property
    def wants(self) -> Wants:  # pyright: ignore[reportIncompatibleVariableOverride]
        return "bits" if Window(span(self.dims), 0, self.dims).joins else "any"

    @property
    def wants_back(self) -> Wants:  # pyright: ignore[reportIncompatibleVariableOverride]
        return "bits" if nests((*self.loose, *self.dims)) else "values"

    def forward(self, x, lead, context):
        length = span(self.dims)
        shape = tuple(extent for extent, _ in self.loose)
        starts = _starts(self.start, self.loose)
        # XLA:CPU would gather bfloat16 by way of float32.
        values = x.dtype
        if values == jnp.bfloat16:
            x = jax.lax.bitcast_convert_type(x, jnp.uint16)
        batch = tuple(range(lead))
        starts = jnp.broadcast_to(starts, x.shape[:lead] + shape)
        rows = jax.lax.gather(
            x,
            starts[..., None],
            jax.lax.GatherDimensionNumbers(
                offset_dims=(lead + len(shape),),
                collapsed_slice_dims=(),
                start_index_map=(lead,),
                operand_batching_dims=batch,
                start_indices_batching_dims=batch,
            ),
            slice_sizes=(*(1,) * lead, length),
            mode=jax.lax.GatherScatterMode.PROMISE_IN_BOUNDS,
        )
        if values != rows.dtype:
            rows = jax.lax.bitcast_convert_type(rows, values)
        return Window(length, 0, self.dims).extract(rows, False)

    def backward(self, x, lead, context):
        dims = (*self.loose, *self.dims)
        if nests(dims):  # each element once: no sum
            box = Window(self.size, self.start, dims)
            return box.place(x, None, lead, context.fence, False)
        wide = widened(x)
        like = zeros((*x.shape[:lead], self.size), wide)

        def forward(y):
            return self.forward(y, lead, context)

        return jax.linear_transpose(forward, like)(wide)[0].astype(x.dtype)

    def __str__(self) -> str:
        rows = f"windows of {span(self.dims)} from {self.start}, {_axes(self.loose)}"
        each = f", each {_axes(self.dims)}" if len(self.dims) > 1 else ""
        return f"gather    {rows}{each}"


def _starts(start: int, loose: Dims) -> jax.Array:
    """Where windows start. A constant where they are few: XLA:CPU runs a computation
    without arithmetic in the calling thread, and any other in one it has to wake."""
    shape = tuple(extent for extent, _ in loose)
    few = math.prod(shape) <= _FEW
    xp = np if few else jnp
    starts = xp.full(shape, start, np.int32)
    for axis, (extent, stride) in enumerate(loose):
        along = xp.arange(extent, dtype=np.int32) * np.int32(stride)
        starts += along.reshape((-1,) + (1,) * (len(shape) - 1 - axis))
    return jnp.asarray(starts)


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


@dataclasses.dataclass(frozen=True)
class Write(Last):
    """Place a box in the flat destination: extents -> (size,).

    `run` is how many elements stayed next to each other in a transpose or a gather
    before; 0 where there was none.
    """

    window: Window
    run: int = dataclasses.field(default=1, compare=False)

    @property
    def wants(self) -> Wants:  # pyright: ignore[reportIncompatibleVariableOverride]
        return "bits" if not self.window.dense else "any"

    @property
    def wants_back(self) -> Wants:  # pyright: ignore[reportIncompatibleVariableOverride]
        return "bits" if self.window.joins else "any"

    def settled(self, x, lead, context):
        # A transpose is fast as a loop of its own, slow in that of a bitcast or update.
        if not self.run:
            return x
        flat = (*x.shape[:lead], math.prod(self.window.extents))
        return reshape(x, flat, context.fence)

    def write(self, x, dst, lead, context):
        return self.window.place(x, dst, lead, context.fence, not self.run)

    def keep(self, dst, lead, context):
        shape = dst.shape[:lead] + self.window.extents
        return self.window.place(zeros(shape, dst), dst, lead, context.fence, True)

    def backward(self, x, lead, context):
        return self.window.extract(x, context.fence and fenced_before(self.run, x))

    def __str__(self) -> str:
        gaps = "" if self.window.dense else ", the rest kept"
        return f"write     {_box(self.window.start, self.window.dims)} of dst{gaps}"


def _box(start: int, dims: Dims) -> str:
    return f"{_axes(dims) or 1} from {start}"


def _axes(dims: Dims) -> str:
    return " x ".join(f"{n} every {s}" for n, s in dims)


def _times(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))


def _widths(widths: tuple[tuple[int, int], ...]) -> str:
    return ", ".join(f"{before}+{after}" for before, after in widths)
