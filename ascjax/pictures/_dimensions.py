"""Dimension lines around a buffer, as on a technical drawing."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from typing import Any

from ..instr._figure import Dimension
from ._grid import Grid

LEVEL = 15.0
"""Points from one dimension line to the next one outside it."""

_NEAR = 7.0  # points from the buffer to the first one
_COLOUR = "#b0302a"
_SIZE, _LETTER = 7.5, 4.7  # points of the text's height, and of a letter's width
_TEXT = 10.0  # from one line of text to the next


@dataclasses.dataclass(frozen=True)
class Placed:
    """A dimension line, and how far outside the buffer it runs.

    Attributes:
      line: the dimension.
      way: "across", "down" or "".
      ends: (column, row) of both ends.
      span: what it takes of its level, its text included, in points.
      fits: whether its text has room on the line.
      level: 0 is next to the buffer.
    """

    line: Dimension
    way: str
    ends: tuple[tuple[float, float], ...]
    span: tuple[float, float]
    fits: bool
    level: int = 0

    @property
    def said(self) -> str:
        return f"{self.line.field} = {self.line.value}"

    @property
    def wide(self) -> float:
        """Points of its text."""
        return _LETTER * len(self.said)


def placed(grid: Grid, cell: tuple[float, float]) -> tuple[Placed, ...]:
    """A panel's dimension lines, none over another; without those that lie beyond it.

    Args:
      grid: the panel.
      cell: points of a cell's width and height.
    """
    found: list[Placed] = []
    lines = [
        _placed(line, grid, cell)
        for line in grid.panel.dimensions
        if grid.way(line) != "beyond"
    ]
    for item in sorted(lines, key=lambda item: item.span[1] - item.span[0]):
        level = 0
        while any(
            (other.way, other.level) == (item.way, level) and _meet(other, item)
            for other in found
        ):
            level += 1
        found.append(dataclasses.replace(item, level=level))
    return tuple(found)


def _placed(line: Dimension, grid: Grid, cell: tuple[float, float]) -> Placed:
    way, ends = grid.way(line), grid.ends(line)
    axis = 1 if way == "down" else 0
    low, high = sorted(end[axis] * cell[axis] for end in ends)
    item = Placed(line, way, ends, (low, high), True)
    if high - low >= item.wide + 8:
        return item
    after = item.wide + 6 if way == "across" else 0  # text beside the line
    return dataclasses.replace(item, span=(low, high + after), fits=False)


def _meet(one: Placed, other: Placed) -> bool:
    return one.span[0] < other.span[1] and other.span[0] < one.span[1]


def above(items: Iterable[Placed]) -> float:
    """Points that dimension lines take above a buffer."""
    return _NEAR * 0.5 + LEVEL * _levels(items, "across")


def left_of(items: Iterable[Placed]) -> float:
    """Points that they take to its left."""
    items = [item for item in items if item.way == "down"]
    text = max((item.wide for item in items if not item.fits), default=0)
    return LEVEL * _levels(items, "down") + text


def right_of(items: Iterable[Placed], cell: tuple[float, float]) -> float:
    """How far to the right, from the buffer's left edge, they reach."""
    ends = [item.span[1] for item in items if item.way == "across"]
    ends += [
        max(end[0] for end in item.ends) * cell[0] + item.wide
        for item in items
        if not item.way
    ]
    return max(ends, default=0)


def _levels(items: Iterable[Placed], way: str) -> int:
    return max((item.level + 1 for item in items if item.way == way), default=0)


def draw_dimensions(
    axes: Any, items: tuple[Placed, ...], cell: tuple[float, float]
) -> None:
    """Draw dimension lines above a buffer, and to its left.

    Args:
      axes: matplotlib's, whose data are cells, downwards.
      items: from `placed`.
      cell: points of a cell's width and height.
    """
    outer = _levels(items, "down")
    lines = _apart(items, cell)
    for item in items:
        (x0, y0), (x1, y1) = item.ends
        away = _NEAR + LEVEL * item.level
        feet: tuple[Any, ...] = ()
        if item.way == "across":
            y = -away / cell[1]
            ends = (x0, y), (x1, y)
            feet = ((x0, y), (x0, y0)), ((x1, y), (x1, min(y0, y1)))
            if item.fits:
                _text(axes, ((x0 + x1) / 2, y), item.said)
            else:
                _text(axes, (max(x0, x1) + 4 / cell[0], y), item.said, ha="left")
        elif item.way == "down":
            x = -away / cell[0]
            ends = (x, y0), (x, y1)
            feet = ((x, y0), (x0, y0)), ((x, y1), (min(x0, x1), y1))
            if item.fits:
                _text(axes, (x, (y0 + y1) / 2), item.said, rotation=90)
            else:
                x = -(_NEAR + LEVEL * (outer - 1) + 7) / cell[0]
                _text(axes, (x, lines[item.said]), item.said, ha="right")
        else:
            ends = item.ends
            _text(axes, ((x0 + x1) / 2, (y0 + y1) / 2), item.said)
        for foot in feet:
            axes.plot(
                *zip(*foot, strict=True),
                color=_COLOUR,
                lw=0.4,
                alpha=0.6,
                clip_on=False,
                zorder=3,
            )
        _line(axes, ends)


def _apart(items: Iterable[Placed], cell: tuple[float, float]) -> dict[str, float]:
    """The rows of texts that stand left of their lines, none on another."""
    found: dict[str, float] = {}
    last = -math.inf
    left = [item for item in items if item.way == "down" and not item.fits]
    for item in sorted(left, key=lambda item: sum(item.span)):
        last = max(sum(item.span) / 2 / cell[1], last + _TEXT / cell[1])
        found[item.said] = last
    return found


def _line(axes: Any, ends: Any) -> None:
    how = {"arrowstyle": "<|-|>", "color": _COLOUR, "lw": 0.8, "mutation_scale": 6}
    arrow = {**how, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", ends[1], ends[0], arrowprops=arrow, annotation_clip=False)


def _text(axes: Any, at: tuple[float, float], said: str, **how: Any) -> None:
    back = {"boxstyle": "square,pad=0.1", "fc": "white", "ec": "none"}
    how = {"ha": "center", "va": "center", "bbox": back, "clip_on": False, **how}
    axes.text(*at, said, size=_SIZE, color=_COLOUR, zorder=5, **how)
