"""One buffer drawn on axes: cells, tiles, hatching, arrows and numbers."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from .._nest import FILL, KEEP
from ._colours import HATCHES, INK, WRONG, Scale, on
from ._extra import needed
from ._grid import BLANK, Grid
from ._names import name_of, order_of
from ._sheet import OTHER, UNREAD

_RECTANGLES = 6000  # of a hatching, at most
_ARROWS, _NAMES = 144, 288  # tiles with an arrow, with a number, at most
_SMALL, _LETTER = 6.5, 0.62  # points of a number, and of its width a letter


def paint(axes: Any, grid: Grid, scale: Scale, cell: tuple[float, float]) -> None:
    """Draw a buffer.

    Args:
      axes: matplotlib's, whose data are cells, downwards.
      grid: the buffer.
      scale: the colours.
      cell: points of a cell's width and height.
    """
    canvas = grid.canvas
    high, wide = canvas.shape
    colours = scale.rgba(canvas)
    axes.imshow(colours, interpolation="none", aspect="auto", extent=(0, wide, high, 0))
    axes.set(xlim=(0, wide), ylim=(high, 0))
    axes.set_axis_off()
    _hatch(axes, canvas == KEEP, *HATCHES[KEEP])
    padding = (canvas < KEEP) & ~np.isin(canvas, [BLANK, UNREAD, OTHER])
    _hatch(axes, padding, *HATCHES[FILL])
    _outline(axes, grid, cell)
    if grid.fractals and not grid.summary:
        _tiles(axes, grid, colours, cell)
    elif not grid.summary:
        _numbers(axes, canvas, colours, cell)
    if grid.marked is not None:
        _frame(axes, grid.marked)


def _rectangles(mask: np.ndarray) -> list[tuple[int, int, int, int]]:
    """(left, top, right, bottom) of cells that are set: equal runs of rows together."""
    began: dict[tuple[int, int], int] = {}
    found = []
    for row in range(len(mask) + 1):
        runs = _runs(mask[row]) if row < len(mask) else set()
        for run in began.keys() - runs:
            found.append((run[0], began.pop(run), run[1], row))
        for run in runs - began.keys():
            began[run] = row
    return found


def _runs(row: np.ndarray) -> set[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(np.concatenate([[0], row.astype(np.int8), [0]])))
    return {(int(a), int(b)) for a, b in edges.reshape(-1, 2)}


def _hatch(axes: Any, mask: np.ndarray, pattern: str, colour: str) -> None:
    rectangles = _rectangles(mask)
    if not 0 < len(rectangles) <= _RECTANGLES:
        return
    path = needed("matplotlib.path").Path
    whole = path.make_compound_path(
        *(
            path([(a, b), (c, b), (c, d), (a, d), (a, b)], closed=True)
            for a, b, c, d in rectangles
        )
    )
    patch = needed("matplotlib.patches").PathPatch(
        whole, facecolor="none", edgecolor=colour, lw=0, hatch=pattern
    )
    axes.add_patch(patch)


def _frame(axes: Any, marked: np.ndarray) -> None:
    """Red frames around marked cells."""
    rectangles = _rectangles(marked)
    box = needed("matplotlib.patches").Rectangle
    if len(rectangles) <= _RECTANGLES:
        for a, b, c, d in rectangles:
            how = {"fill": False, "ec": WRONG, "lw": 2.2, "clip_on": False}
            axes.add_patch(box((a, b), c - a, d - b, zorder=4, **how))


def _outline(axes: Any, grid: Grid, cell: tuple[float, float]) -> None:
    """Lines around tiles, or around the rows of a buffer that has none."""
    box = needed("matplotlib.patches").Rectangle
    # Half of a line at an edge lies outside the axes.
    line = {"fill": False, "ec": INK, "lw": 0.8, "clip_on": False}
    if grid.gap:
        for tile in range(grid.count):
            x, y = grid.corner(tile * grid.tiles.size)
            high, wide = grid.tile
            axes.add_patch(box((x, y), wide, high, **line))
        return
    high, wide = grid.canvas.shape
    lines = needed("matplotlib.collections").LineCollection
    fine = [[(0, y), (wide, y)] for y in range(high + 1) if cell[1] >= 5]
    fine += [[(x, 0), (x, high)] for x in range(wide + 1) if _each(grid.canvas, cell)]
    axes.add_collection(lines(fine, colors="#ffffff80", lw=0.5), autolim=False)
    axes.add_patch(box((0, 0), wide, high, **line))


def _tiles(
    axes: Any, grid: Grid, colours: np.ndarray, cell: tuple[float, float]
) -> None:
    """The number of each tile, and the order of what is in it."""
    high, wide = grid.tile
    points = min(wide * cell[0], high * cell[1])
    for tile in range(min(grid.count, _NAMES)):
        x, y = grid.corner(tile * grid.tiles.size)
        row, column = int(y), int(x)
        inner = grid.canvas[row : row + high, column : column + wide]
        ink = on(colours[row + inner.shape[0] // 2, column + inner.shape[1] // 2])
        arrow = order_of(inner) if grid.count <= _ARROWS and points >= 16 else ""
        if arrow:
            _arrow(axes, (x, y, wide, high), arrow, ink)
        said = name_of(grid, tile)
        size = 8 if points >= 24 else _SMALL
        if said and len(said) * size * _LETTER < wide * cell[0] and points >= 9:
            centre = x + wide / 2, y + high / 2
            back = {"boxstyle": "round,pad=0.15", "fc": "#ffffffe0", "ec": "none"}
            axes.text(
                *centre, said, size=size, color=INK, ha="center", va="center", bbox=back
            )


def _arrow(
    axes: Any, box: tuple[float, float, float, float], name: str, ink: str
) -> None:
    """A Z or an N in a tile."""
    x, y, wide, high = box
    left, right = x + 0.16 * wide, x + 0.84 * wide
    top, bottom = y + 0.16 * high, y + 0.84 * high
    z = [(left, top), (right, top), (left, bottom), (right, bottom)]
    n = [(left, top), (left, bottom), (right, top), (right, bottom)]
    path = z if name == "Z" else n
    axes.plot(*zip(*path[:-1], strict=True), color=ink, lw=0.8, alpha=0.75)
    axes.annotate(
        "",
        path[-1],
        path[-2],
        arrowprops={
            "arrowstyle": "-|>",
            "color": ink,
            "lw": 0.8,
            "alpha": 0.75,
            "shrinkA": 0,
            "shrinkB": 0,
            "mutation_scale": 6,
        },
    )


def _numbers(
    axes: Any, canvas: np.ndarray, colours: np.ndarray, cell: tuple[float, float]
) -> None:
    """Source elements in the cells, where these have room for all of them; else the
    first and last of runs."""
    if cell[1] < _SMALL + 1:
        return
    each = _each(canvas, cell)
    for row, codes in enumerate(canvas):
        breaks = [0, *(np.flatnonzero(np.diff(codes) != 1) + 1).tolist(), len(codes)]
        for start, stop in itertools.pairwise(breaks):
            first, last = int(codes[start]), int(codes[stop - 1])
            if first < 0 or not (each or stop - start > 1):
                continue
            texts = [(start, stop, f"{first}…{last}")]
            if each:
                texts = [(k, k + 1, str(int(codes[k]))) for k in range(start, stop)]
            for a, b, said in texts:
                if _wide(said) <= (b - a) * cell[0]:
                    ink = on(colours[row, (a + b) // 2])
                    how = {"ha": "center", "va": "center_baseline", "color": ink}
                    axes.text((a + b) / 2, row + 0.5, said, size=_SMALL, **how)


def _each(canvas: np.ndarray, cell: tuple[float, float]) -> bool:
    """Whether each cell has room for its number."""
    return _wide(str(int(canvas.max()))) <= cell[0]


def _wide(said: str) -> float:
    return len(said) * _SMALL * _LETTER
