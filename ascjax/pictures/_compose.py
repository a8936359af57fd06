"""Buffers of a sheet put together on one figure."""

from __future__ import annotations

import dataclasses
import textwrap
from typing import Any

import numpy as np

from ._colours import FAINT, HATCHES, INK, PLAIN, WRONG, Scale
from ._dimensions import Placed, above, draw_dimensions, left_of, placed, right_of
from ._extra import needed
from ._grid import Grid
from ._paint import paint
from ._sheet import NAMES, Sheet

_WIDE, _HIGH = 940.0, 620.0  # points of all cells together, about
_CELL = 20.0  # points of a cell, at most
_TILE = 72.0  # of a fractal, at most
_TALL = 13.0  # of a cell's height in rows without tiles, at least where it fits
_MARGIN, _APART = 14.0, 34.0
_TITLE, _LINE, _NAME, _LEGEND = 20.0, 13.0, 16.0, 22.0


@dataclasses.dataclass
class _Box:
    """A panel's place on the figure, in points from its upper left corner."""

    grid: Grid
    cell: tuple[float, float] = (1.0, 1.0)
    lines: tuple[Placed, ...] = ()
    x: float = 0.0
    y: float = 0.0

    @property
    def left(self) -> float:
        return 4 + left_of(self.lines)

    @property
    def above(self) -> float:
        return _NAME + 4 + above(self.lines)

    @property
    def inner(self) -> tuple[float, float]:
        rows, columns = self.grid.canvas.shape
        return columns * self.cell[0], rows * self.cell[1]

    @property
    def width(self) -> float:
        named = 5.6 * len(self.grid.panel.title)
        inner = self.inner[0]
        return self.left + max(inner, named, right_of(self.lines, self.cell))

    @property
    def height(self) -> float:
        return self.above + self.inner[1]


def compose(sheet: Sheet) -> Any:
    """The figure of a sheet."""
    boxes = [_Box(Grid(panel)) for panel in sheet.panels]
    beside = _sized(boxes, len(boxes) > 2)
    text = [line for said in sheet.lines for line in _wrapped(said)]
    top = _MARGIN + _TITLE + _LINE * len(text) + 6
    x, y = _MARGIN, top
    for k, box in enumerate(boxes):
        box.x, box.y = x, y
        if beside:
            name = sheet.steps[k] if k < len(sheet.steps) else ""
            x += box.width + max(_APART, 4.2 * len(name) + 8)
        else:
            y += box.height + _APART / 2
    width = max(max(box.x + box.width for box in boxes) + _MARGIN, 420)
    bottom = max(box.y + box.height for box in boxes)
    legend = _legend(boxes)
    height = bottom + (_LEGEND if legend else 0) + _MARGIN
    with needed("matplotlib.style").context("default"):
        figure = needed("matplotlib.figure").Figure(figsize=(width / 72, height / 72))
        page = _Page(figure, width, height)
        page.text(_MARGIN, _MARGIN + 6, sheet.title, size=11, weight="bold")
        for k, line in enumerate(text):
            page.text(_MARGIN, _MARGIN + _TITLE + 4 + k * _LINE, line, size=8)
        scale = Scale.of(sheet)
        for k, box in enumerate(boxes):
            page.panel(box, scale)
            if k and beside and k <= len(sheet.steps):
                page.arrow(boxes[k - 1], box, sheet.steps[k - 1])
        page.legend(legend, bottom + _LEGEND / 2 + 4)
    return figure


def _sized(boxes: list[_Box], row: bool) -> bool:
    """Give the cells their size; whether the buffers stand beside each other."""
    columns = [box.grid.canvas.shape[1] for box in boxes]
    rows = [box.grid.canvas.shape[0] for box in boxes]
    across = _WIDE / sum(columns)
    beside = across >= 2.6 or row
    if not beside:
        across = _WIDE / max(columns)
    for box, high in zip(boxes, rows, strict=True):
        room = _HIGH if beside else _HIGH / len(boxes)
        most = _TILE / max(box.grid.tile) if box.grid.fractals else _CELL
        most = _CELL if box.grid.by_tile else most
        wide = tall = min(most, across, max(room / high, 0.5))
        if not box.grid.fractals and not box.grid.by_tile:
            tall = max(wide, min(_TALL, room / high))
        box.cell = (wide, tall)
        box.lines = placed(box.grid, box.cell)
    return beside


@dataclasses.dataclass(frozen=True)
class _Page:
    """A figure whose places are points from the upper left corner."""

    figure: Any
    width: float
    height: float

    def text(self, x: float, y: float, said: str, **how: Any) -> None:
        place = x / self.width, 1 - y / self.height
        self.figure.text(*place, said, **{"color": INK, "va": "center", **how})

    def axes(self, x: float, y: float, wide: float, high: float) -> Any:
        left, bottom = x / self.width, 1 - (y + high) / self.height
        sides = wide / self.width, high / self.height
        return self.figure.add_axes((left, bottom, *sides))

    def panel(self, box: _Box, scale: Scale) -> None:
        x, y = box.x + box.left, box.y + box.above
        self.text(x, box.y + 4, box.grid.panel.title, size=9, weight="bold")
        axes = self.axes(x, y, *box.inner)
        paint(axes, box.grid, scale, box.cell)
        draw_dimensions(axes, box.lines, box.cell)

    def arrow(self, before: _Box, after: _Box, said: str) -> None:
        start, stop = before.x + before.width + 3, after.x - 3
        y = after.y + after.above + min(before.inner[1], after.inner[1], 60) / 2
        places = [(x / self.width, 1 - y / self.height) for x in (start, stop)]
        how = {"arrowstyle": "-|>", "color": INK, "lw": 1.2, "mutation_scale": 10}
        arrow = needed("matplotlib.patches").FancyArrowPatch(
            *places, transform=self.figure.transFigure, **how
        )
        self.figure.add_artist(arrow)
        self.text((start + stop) / 2, y - 9, said, size=6.5, ha="center")

    def legend(self, entries: list[tuple[str, dict[str, Any]]], y: float) -> None:
        """What is there besides source elements: names, and how they look."""
        box, x = needed("matplotlib.patches").Rectangle, _MARGIN
        for name, how in entries:
            axes = self.axes(x, y - 5, 16, 10)
            axes.set(xlim=(0, 1), ylim=(0, 1))
            axes.set_axis_off()
            axes.add_patch(box((0, 0), 1, 1, **how))
            self.text(x + 21, y, name, size=8)
            x += 30 + 5.2 * len(name) + 14


def _legend(boxes: list[_Box]) -> list[tuple[str, dict[str, Any]]]:
    """The entries of a legend."""
    shown = {int(c) for b in boxes for c in np.unique(b.grid.canvas)}
    found: list[tuple[str, dict[str, Any]]] = []
    for code, name in NAMES.items():
        if code in shown:
            hatch, edge = HATCHES.get(code, (None, FAINT))
            how = {"facecolor": PLAIN[code], "edgecolor": edge, "hatch": hatch}
            found.append((name, {**how, "lw": 0.8}))
    if any(b.grid.marked is not None and b.grid.marked.any() for b in boxes):
        found.append(("differs", {"fill": False, "ec": WRONG, "lw": 2.2}))
    return found


def _wrapped(said: str) -> list[str]:
    """A caption in lines, none of which ends between a field and its value."""
    lines = textwrap.wrap(said.replace(" = ", "\u00a0=\u00a0"), 130)
    return [line.replace("\u00a0", " ") for line in lines]
