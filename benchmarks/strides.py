"""A move as axes with a stride on both sides, and its answer by NumPy's strides."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.lib.stride_tricks import as_strided

import ascjax as asc


@dataclasses.dataclass(frozen=True)
class Axes:
    """(extent, src stride, dst stride) of each axis, the widest in the source first."""

    rows: tuple[tuple[int, int, int], ...]
    src_start: int
    dst_start: int
    src_size: int
    dst_size: int

    @classmethod
    def of(cls, move: asc.Move) -> Axes | None:
        """The fewest axes of a move; None where it pads or is no nest."""
        nest = move.nest
        if nest is None or any(c.extent is not None for c in nest.coords):
            return None
        rows = []
        for k, loop in enumerate(nest.loops):
            step = sum(c.stride * c.terms[k] for c in nest.coords)
            if loop.extent > 1:
                rows.append((loop.extent, step, loop.dst_stride))
        start = nest.src_start + sum(c.stride * c.offset for c in nest.coords)
        sizes = move.src_size, move.dst_size
        return cls(tuple(_merged(rows)), start, nest.dst_start, *sizes)

    def in_bytes(self) -> Axes | None:
        """The axes of packed 4-bit elements as axes of bytes; None where they split."""
        rows = [row for row in self.rows if row[1:] != (1, 1)]
        pairs = [n for n, *steps in self.rows if steps == [1, 1]]
        odd = [pairs[0]] if pairs else [1]
        odd += [step for _, *steps in rows for step in steps]
        if any(n % 2 for n in (*odd, self.src_start, self.dst_start)):
            return None
        halved = [(n, src // 2, dst // 2) for n, src, dst in rows]
        return Axes(
            (*halved, (pairs[0] // 2, 1, 1)),
            self.src_start // 2,
            self.dst_start // 2,
            self.src_size // 2,
            self.dst_size // 2,
        )

    def by_dst(self) -> tuple[tuple[int, int, int], ...]:
        """The axes, the widest in the destination first."""
        return tuple(sorted(self.rows, key=lambda row: -row[2]))

    @property
    def dense_dst(self) -> bool:
        """Whether all of the destination is written."""
        return int(np.prod([n for n, _, _ in self.rows])) == self.dst_size

    def of_src(self, x: np.ndarray) -> np.ndarray:
        """A view of the source, lead + extents in the destination's order."""
        return self._view(x, self.src_start, [row[1] for row in self.by_dst()])

    def of_dst(self, x: np.ndarray) -> np.ndarray:
        """A view of the destination, lead + extents in the destination's order."""
        return self._view(x, self.dst_start, [row[2] for row in self.by_dst()])

    def _view(self, x: np.ndarray, start: int, steps: list[int]) -> np.ndarray:
        shape = x.shape[:-1] + tuple(row[0] for row in self.by_dst())
        strides = x.strides[:-1] + tuple(step * x.strides[-1] for step in steps)
        return as_strided(x[..., start:], shape, strides)


def _merged(rows: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Axes that follow each other on both sides, as one."""
    rows = sorted(rows, key=lambda row: (-abs(row[1]), -row[2]))
    for a in rows:
        for b in rows:
            if a != b and a[1:] == (b[0] * b[1], b[0] * b[2]):
                rest = [row for row in rows if row not in (a, b)]
                return _merged([*rest, (a[0] * b[0], *b[1:])])
    return rows


def forward(move: asc.Move, src: np.ndarray, dst: np.ndarray | None) -> np.ndarray:
    """What the move leaves in the destination, by NumPy alone."""
    axes = Axes.of(move)
    if axes is None:
        raw = f"uint{8 * src.dtype.itemsize}"
        fills = list(np.array(move.fills, np.uint64).astype(raw).view(src.dtype))
        return move.index_map.apply(src, dst, fill=fills)
    out = np.zeros((*src.shape[:-1], move.dst_size), src.dtype)
    out[...] = 0 if dst is None else dst
    axes.of_dst(out)[...] = axes.of_src(src)
    return out


def backward(move: asc.Move, ct: np.ndarray) -> np.ndarray:
    """The cotangent of the source, added up in float64."""
    axes = Axes.of(move)
    out = np.zeros((*ct.shape[:-1], move.src_size), ct.dtype)
    if axes is None:
        index = move.index_map.index
        taken = index >= 0
        for line, values in zip(_lines(out), _lines(ct), strict=True):
            weights = values[taken].astype(float)
            total = np.bincount(index[taken], weights, minlength=move.src_size)
            line[...] = total.astype(ct.dtype)
        return out
    first = ct.ndim - 1
    still = [first + k for k, row in enumerate(axes.by_dst()) if row[1] == 0]
    values = axes.of_dst(ct)
    if still:
        values = values.astype(np.float64).sum(tuple(still), keepdims=True)
    view = axes.of_src(out)
    view = view[
        tuple(slice(1) if k in still else slice(None) for k in range(view.ndim))
    ]
    view[...] = values.astype(ct.dtype)
    return out


def _lines(x: np.ndarray) -> np.ndarray:
    return x.reshape(-1, x.shape[-1])
