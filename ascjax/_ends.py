"""The ends of a `Plan`: steps that read boxes out of the flat source, and the one that
writes a box into the flat destination."""

from __future__ import annotations

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np

from ._steps import Last, Step, Wants, widened
from ._window import Dims, Window, nests, reshape, span, zeros

_FEW = 2**11  # windows whose starts are a constant in the program


def fenced_before(run: int, x: jax.Array) -> bool:
    """Whether a transpose gains by a fence in front of it, on XLA:CPU; 0 is none."""
    return run == 1 or run * x.dtype.itemsize >= 256


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
        return "bits" if self.nests else "values"

    @property
    def nests(self) -> bool:
        """Whether all windows are one box: none overlaps or interleaves."""
        return nests((*self.loose, *self.dims))

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
        if self.nests:  # each element once: no sum
            box = Window(self.size, self.start, (*self.loose, *self.dims))
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
