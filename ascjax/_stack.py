"""Nests of calls one after another, as one nest: a loop of calls is a loop."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from ._nest import Coord, Loop, LoopNest

_NAMES = ("call", *(f"call{k}" for k in range(2, 100)))


def stack(nests: Sequence[Any]) -> LoopNest | None:
    """One nest that runs `nests` in order, where they differ in their starts only and
    these step as loops do: evenly, or evenly in groups that step evenly. None where
    they do not, or where one is no nest."""
    if not all(isinstance(nest, LoopNest) for nest in nests):
        return None
    first = nests[0]
    starts = [
        (nest.src_start - first.src_start, nest.dst_start - first.dst_start)
        for nest in nests
    ]
    same = (
        nest == first.shift(*start) for nest, start in zip(nests, starts, strict=True)
    )
    rows = _progressions(starts) if all(same) else None
    if rows is None:
        return None
    for count, (src, dst) in rows:  # the innermost loop first
        taken = {loop.name for loop in first.loops}
        name = next(n for n in _NAMES if n not in taken)
        coords = (dataclasses.replace(c, terms=(0, *c.terms)) for c in first.coords)
        step = Coord((1,) + (0,) * len(first.loops), src)
        loops = (Loop(name, count, dst), *first.loops)
        first = dataclasses.replace(first, loops=loops, coords=(step, *coords))
    return first


def _progressions(
    starts: list[tuple[int, int]],
) -> list[tuple[int, tuple[int, int]]] | None:
    """(count, step) of nested loops that visit `starts` in order, innermost first."""
    rows = []
    while len(starts) > 1:
        step = (starts[1][0] - starts[0][0], starts[1][1] - starts[0][1])
        even = next(
            (k for k, at in enumerate(starts) if at != _at(starts[0], k, step)),
            len(starts),
        )
        count = next(k for k in range(even, 0, -1) if len(starts) % k == 0)
        groups = [starts[k : k + count] for k in range(0, len(starts), count)]
        if count == 1 or any(
            at != _at(group[0], k, step)
            for group in groups
            for k, at in enumerate(group)
        ):
            return None
        rows.append((count, step))
        starts = [group[0] for group in groups]
    return rows


def _at(start: tuple[int, int], k: int, step: tuple[int, int]) -> tuple[int, int]:
    return start[0] + k * step[0], start[1] + k * step[1]
