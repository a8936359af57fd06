"""A buffer's elements as cells of a canvas: where each is, and what is in each cell."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from .._nest import KEEP
from ..instr._figure import Dimension, Tiles
from ._sheet import Panel

BLANK = -9
"""No cell: what is between tiles, or beyond the buffer's end."""

CELLS = 1 << 15
"""Cells that are drawn one by one, at most; of more, tiles are."""

LINE = 16  # tiles beside each other, where nothing says how many
ROWS, COLUMNS = 128, 192  # of a canvas whose tiles are too many


@dataclasses.dataclass(frozen=True)
class Grid:
    """The canvas of a panel.

    Attributes:
      panel: what is drawn.

    Rows and columns count cells from the upper left corner. A summary has one cell for
    each tile, or for each block of cells where there are no tiles or too many.
    """

    panel: Panel

    @functools.cached_property
    def tiles(self) -> Tiles:
        """The panel's tiles, in lines of bearable length."""
        tiles = self.panel.tiles
        return dataclasses.replace(tiles, run=LINE) if self.wrapped else tiles

    @property
    def wrapped(self) -> bool:
        """Whether one line of tiles is too long, and so goes on below."""
        tiles = self.panel.tiles
        return not tiles.run and not tiles.down and self.count > LINE

    @property
    def count(self) -> int:
        """Tiles."""
        return -(-len(self.panel.codes) // self.panel.tiles.size)

    @property
    def summary(self) -> bool:
        """Whether a cell stands for several elements."""
        return len(self.panel.codes) > CELLS

    @property
    def by_tile(self) -> bool:
        """Whether a cell stands for a tile."""
        return self.summary and self.panel.tiles.rows > 1

    @property
    def fractals(self) -> bool:
        """Whether a tile is one fractal or several, which is drawn as a whole."""
        return self.panel.tiles.rows % 16 == 0

    @property
    def gap(self) -> int:
        """Cells between tiles."""
        return int(self.panel.tiles.rows > 1 and not self.by_tile)

    @functools.cached_property
    def tile(self) -> tuple[int, int]:
        """Rows and columns of a tile, in cells."""
        tiles = self.panel.tiles
        if self.by_tile:
            return 1, 1
        return (tiles.row, tiles.rows) if tiles.turned else (tiles.rows, tiles.row)

    @functools.cached_property
    def _whole(self) -> np.ndarray:
        """The canvas before blocks of it are made one cell."""
        codes = self.panel.codes
        if self.by_tile:
            codes = _first_of_each(codes, self.tiles.size)
            elements = np.arange(len(codes)) * self.tiles.size
        else:
            elements = np.arange(len(codes))
        rows, columns = self._cells(elements)
        size = (int(rows.max(initial=0)) + 1, int(columns.max(initial=0)) + 1)
        canvas = np.full(size, BLANK)
        canvas[rows, columns] = codes
        return canvas

    def _cells(self, elements):
        line, along, row, column = self.tiles.place(elements)
        high, wide = self.tile
        if self.by_tile:
            row, column = 0, 0
        gap = self.gap
        return line * (high + gap) + row, along * (wide + gap) + column

    @functools.cached_property
    def block(self) -> tuple[int, int]:
        """Rows and columns that one cell of the canvas stands for."""
        if not self.summary:
            return 1, 1
        rows, columns = self._whole.shape
        return -(-rows // ROWS), -(-columns // COLUMNS)

    @functools.cached_property
    def canvas(self) -> np.ndarray:
        """(rows, columns): a code or BLANK."""
        down, across = self.block
        if (down, across) == (1, 1):
            return self._whole
        rows, columns = (
            -(-n // by) for n, by in zip(self._whole.shape, self.block, strict=True)
        )
        padded = np.full((rows * down, columns * across), BLANK)
        padded[: self._whole.shape[0], : self._whole.shape[1]] = self._whole
        blocks = padded.reshape(rows, down, columns, across).swapaxes(1, 2)
        return _first(blocks.reshape(rows * columns, -1)).reshape(rows, columns)

    @functools.cached_property
    def marked(self) -> np.ndarray | None:
        """(rows, columns) of bool: the cells with a marked element."""
        if self.panel.marks is None:
            return None
        at = np.flatnonzero(self.panel.marks[: len(self.panel.codes)])
        found = np.zeros(self.canvas.shape, bool)
        rows, columns = self._cells(at)
        found[rows // self.block[0], columns // self.block[1]] = True
        return found

    def corner(self, element: int) -> tuple[float, float]:
        """Column and row of an element's upper left corner."""
        row, column = self._cells(element)
        return column / self.block[1], row / self.block[0]

    def ends(self, line: Dimension) -> tuple[tuple[float, float], ...]:
        """(column, row) of both ends of a dimension, each at its edge."""
        found = []
        cell = 1 / self.block[1], 1 / self.block[0]
        for element, edge in zip((line.first, line.last), line.edges, strict=True):
            x, y = self.corner(element)
            found.append((x + cell[0], y + cell[1]) if edge == "end" else (x, y))
        return tuple(found)

    def way(self, line: Dimension) -> str:
        """How a dimension runs: "across", "down", "" where it does neither, "beyond"
        where it cannot be drawn: an end lies outside, or on another part of a line that
        goes on below."""
        ends = line.first, line.last
        if min(ends) < 0 or max(ends) >= len(self.panel.codes):
            return "beyond"
        if line.first == line.last:
            return "down" if line.down else "across"
        first, last = map(self.tiles.place, ends)
        if self.wrapped and first[0] != last[0]:
            return "beyond"
        across, down = (first[0] == last[0], first[1] == last[1])
        if across and down:
            across, down = first[2] == last[2], first[3] == last[3]
        return "across" if across else "down" if down else ""


def _first(rows: np.ndarray) -> np.ndarray:
    """The first code of each row that says something: a source before all others."""
    rank = np.select([rows >= 0, rows == BLANK, rows == KEEP], [3, 0, 1], 2)
    return rows[np.arange(len(rows)), rank.argmax(axis=1)]


def _first_of_each(codes: np.ndarray, size: int) -> np.ndarray:
    padded = np.full(-(-len(codes) // size) * size, BLANK)
    padded[: len(codes)] = codes
    return _first(padded.reshape(-1, size))
