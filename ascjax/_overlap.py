"""Whether a nest writes some destination element twice: proved, never guessed."""

from __future__ import annotations

import math

import numpy as np

from ._nest import Loop, LoopNest
from ._runs import Runs, Stated

# Sorting this many offsets takes about a second; beyond it a nest counts as unproved.
EXACT_LIMIT = 1 << 24


class Unproved(Exception):
    """Neither distinct nor clashing could be shown within EXACT_LIMIT offsets."""


def _offsets(dims: list[tuple[int, int]]) -> np.ndarray:
    """All sums of one multiple of each stride, sorted."""
    total = np.zeros(1, np.int64)
    for stride, extent in dims:
        total = np.add.outer(total, stride * np.arange(extent, dtype=np.int64)).ravel()
    return np.sort(total)


def _tower(dims: list[tuple[int, int]], dense: bool) -> tuple[int, int]:
    """How many of the ascending `dims` nest in each other, and the span they cover.

    With `dense` only while they also leave no hole.
    """
    span = 1
    for count, (stride, extent) in enumerate(dims):
        if stride < span or (dense and stride != span):
            return count, span
        span += stride * (extent - 1)
    return len(dims), span


def first_clash(nest: Stated) -> int | None:
    """A destination element that two iterations write, or None where all are distinct.

    First the strides alone: if each is at least the span of all smaller ones, elements
    are distinct. That test fails some legal moves (two loops that interleave), so then
    the offsets of the coarse loops are counted out.

    Raises:
      Unproved: where too many offsets would have to be counted.
    """
    if nest.volume == 0:
        return None
    if isinstance(nest, Runs):
        return nest.first_clash()
    low, _ = nest.dst_range()
    dims = sorted((abs(x.dst_stride), x.extent) for x in nest.loops if x.extent > 1)
    if dims and dims[0][0] == 0:
        return low
    for dense in (False, True):
        count, span = _tower(dims, dense)
        if count == len(dims):
            return None
        coarse = dims[count:]
        if math.prod(extent for _, extent in coarse) > EXACT_LIMIT:
            continue
        offsets = _offsets(coarse)
        close = np.flatnonzero(np.diff(offsets) < span)
        if close.size == 0:
            return None
        same = close[np.diff(offsets)[close] == 0]
        if dense or same.size:
            return low + int(offsets[(same if same.size else close)[0] + 1])
    raise Unproved


def clashing(nest: LoopNest) -> tuple[Loop, ...]:
    """The loops whose steps meet, where a nest writes an element twice: those without
    which it would not; () where that cannot be shown."""
    kept = tuple(loop for loop in nest.loops if loop.extent > 1)
    try:
        for loop in kept:
            fewer = tuple(other for other in kept if other is not loop)
            if first_clash(LoopNest(fewer, ())) is not None:
                kept = fewer
        return kept if first_clash(LoopNest(kept, ())) is not None else ()
    except Unproved:
        return ()
