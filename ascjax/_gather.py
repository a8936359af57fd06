"""The step for what is no box of strides: rows of an index."""

from __future__ import annotations

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np

from ._nest import FILL, KEEP
from ._steps import Last, Wants, add_up, widened
from ._window import reshape, zeros

# A row's transpose sums this many rows at most by gathers; beyond it scatters.
_GATHER_LIMIT = 16


@dataclasses.dataclass(frozen=True, eq=False)
class Rows:
    """An int32 table that compares and hashes by content."""

    data: np.ndarray

    @functools.cached_property
    def _key(self) -> bytes:
        return self.data.tobytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rows) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


@dataclasses.dataclass(frozen=True)
class Gather(Last):
    """An irregular map, in rows of `row` elements.

    `index` holds, for each destination row, the source row, KEEP or a FILL code; rows
    of the destination beyond it are kept.
    """

    index: Rows
    row: int
    src_size: int
    dst_size: int
    wants = "bits"

    @property
    def wants_back(self) -> Wants:  # pyright: ignore[reportIncompatibleVariableOverride]
        return "values" if self._inverse.shape[1] > 1 else "bits"

    @functools.cached_property
    def _inverse(self) -> np.ndarray:
        """For each source row, the destination rows it lands in; -1 where fewer."""
        index = self.index.data
        taken = np.flatnonzero(index >= 0)
        if taken.size == 0:
            return np.full((0, 1), -1, np.int32)
        order = taken[np.argsort(index[taken], kind="stable")]
        rows = index[order]
        place = np.arange(rows.size) - np.searchsorted(rows, rows)
        back = np.full((int(rows[-1]) + 1, int(place.max()) + 1), -1, np.int32)
        back[rows, place] = order
        return back

    def _rows(self, x: jax.Array, count: int) -> jax.Array:
        cut = jax.lax.slice_in_dim(x, 0, count * self.row, axis=-1)
        return cut.reshape(*x.shape[:-1], count, self.row)

    def write(self, x, dst, lead, context):
        index = self.index.data
        count = int(index.max()) + 1
        if count > 0:
            rows = jnp.take(self._rows(x, count), index.clip(0), axis=-2, mode="clip")
        else:
            rows = zeros((*x.shape[:-1], index.size, self.row), x)
        if dst is None:
            dst = zeros((*x.shape[:-1], self.dst_size), x)
        if (index < 0).any():
            code = jnp.asarray(index)[:, None]
            kept = self._rows(dst, index.size)
            rows = jnp.where(code == KEEP, kept, rows)
            for k, fill in enumerate(context.fills):
                rows = jnp.where(code == FILL - k, jnp.asarray(fill, x.dtype), rows)
        # Fused with a bitcast to bfloat16, XLA:CPU would compute these on values.
        flat = reshape(rows, (*x.shape[:-1], index.size * self.row), context.fence)
        rest = jax.lax.slice_in_dim(dst, flat.shape[-1], None, axis=-1)
        return jnp.concatenate([flat, rest], axis=-1)

    def keep(self, dst, lead, context):
        written = np.repeat(self.index.data != KEEP, self.row)
        written = np.pad(written, (0, self.dst_size - written.size))
        return jnp.where(jnp.asarray(written), zeros(dst.shape, dst), dst)

    def backward(self, x, lead, context):
        back = self._inverse
        rows = self._rows(x, self.index.data.size)
        if back.shape[1] > _GATHER_LIMIT:
            index = self.index.data
            rows = widened(rows)
            total = zeros((*x.shape[:lead], back.shape[0], self.row), rows)
            total = total.at[..., index[index >= 0], :].add(rows[..., index >= 0, :])
            total = total.astype(x.dtype)
        else:
            taken = jnp.take(rows, back.clip(0), axis=-2, mode="clip")
            there = jnp.asarray(back >= 0)[..., None]
            taken = jnp.where(there, taken, zeros(taken.shape, taken))
            total = taken[..., 0, :]
            if back.shape[1] > 1:
                total = add_up(taken, (lead + 1,))
        length = back.shape[0] * self.row
        flat = reshape(total, (*x.shape[:lead], length), context.fence)
        rest = zeros((*x.shape[:lead], self.src_size - flat.shape[-1]), x)
        return jnp.concatenate([flat, rest], axis=-1)

    def __str__(self) -> str:
        return f"gather    {self.index.data.size} rows of {self.row} by an index"
