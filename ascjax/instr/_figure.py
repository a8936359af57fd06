"""How an instruction's buffers are drawn: in tiles, with its fields as dimensions."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np

from .._nest import LoopNest
from .._runs import Stated
from ._fields import c_name

_MOST = 6  # dimensions of an instruction that names none

Side = Literal["src", "dst"]
Edge = Literal["start", "end"]


@dataclasses.dataclass(frozen=True)
class Tiles:
    """A buffer as tiles of rows; a tile is a fractal where `rows` is 16, say.

    Attributes:
      row: elements of a row.
      rows: rows of a tile.
      run: tiles of one line, before the next line begins; 0 is as many as there are.
      down: whether the lines go down, as the fractals of NZ do, and not across.
      turned: whether a tile's rows are drawn as columns, as those of ZN are.

    >>> [int(x) for x in Tiles(16, 16, 5, down=True).place(256 * 6 + 17)]
    [1, 1, 1, 1]
    """

    row: int
    rows: int = 16
    run: int = 0
    down: bool = False
    turned: bool = False

    @classmethod
    def lines(cls, row: int) -> Tiles:
        """Rows one below the other, as of a matrix in ND."""
        return cls(max(1, row), 1, 1)

    @classmethod
    def columns(cls, row: int, rows: int) -> Tiles:
        """Columns beside each other, as of a matrix in NZ, of so many rows; those of
        whole fractals as fractals."""
        if rows and rows % 16 == 0:
            return cls(row, 16, rows // 16, down=True)
        return cls(row, max(1, rows))

    @property
    def size(self) -> int:
        """Elements of a tile."""
        return self.row * self.rows

    def place(self, element):
        """Tile line, tile column, row and column in the tile; of arrays too."""
        tile, inner = np.divmod(element, self.size)
        line, along = np.divmod(tile, self.run) if self.run else (0 * tile, tile)
        at = (along, line) if self.down else (line, along)
        row, column = np.divmod(inner, self.row)
        return (*at, *((column, row) if self.turned else (row, column)))


@dataclasses.dataclass(frozen=True)
class Dimension:
    """A field as a dimension line between two elements of one buffer.

    Attributes:
      field: its C name.
      value: what it is set to.
      side: the buffer.
      first, last: the elements.
      edges: which edge of each of them: a stride goes from start to start, a gap from
        end to start, a count from start to end.
      down: whether it runs down where it is of one element.

    >>> Dimension.gap("dst", "dstGap", 1, 255, 512).edges
    ('end', 'start')
    """

    field: str
    value: int
    side: Side
    first: int
    last: int
    edges: tuple[Edge, Edge] = ("start", "start")
    down: bool = False

    @classmethod
    def stride(
        cls, side: Side, field: str, value: int, first: int, next: int
    ) -> Dimension:
        """From the start of one to the start of the next."""
        return cls(field, value, side, first, next)

    @classmethod
    def gap(cls, side: Side, field: str, value: int, last: int, next: int) -> Dimension:
        """From the end of one, whose last element is given, to the next one's start."""
        return cls(field, value, side, last, next, ("end", "start"))

    @classmethod
    def count(
        cls, side: Side, field: str, value: int, first: int, last: int, down=False
    ) -> Dimension:
        """From the first to the last that are counted, both included."""
        return cls(field, value, side, first, last, ("start", "end"), down)


@dataclasses.dataclass(frozen=True)
class Figure:
    """How one call is drawn, its operands starting at element 0.

    Attributes:
      src, dst: the buffers' tiles.
      dimensions: the fields that have a length there, those that are 0 left out.
    """

    src: Tiles
    dst: Tiles
    dimensions: tuple[Dimension, ...] = ()

    @classmethod
    def of(cls, src: Tiles, dst: Tiles, *lines: Dimension | bool | int) -> Figure:
        """A figure of dimensions, each perhaps after a condition: `n > 1 and ...`."""
        shown = (line for line in lines if isinstance(line, Dimension) and line.value)
        return cls(src, dst, tuple(shown))


def figure_of_loops(nest: Stated, c0: int, fractals: bool) -> Figure:
    """The figure of an instruction that states none: by its loops, the coarse ones as
    dimensions, named after the loops."""
    if fractals:
        tiles = Tiles(c0), Tiles(c0)
    else:
        tiles = Tiles.lines(pitch(nest, "src")), Tiles.lines(pitch(nest, "dst"))
    if not isinstance(nest, LoopNest) or not nest.volume:
        return Figure(*tiles)
    least = 16 * c0 if fractals else 1
    lines: list[Dimension] = []
    for loop, step in zip(nest.loops, nest.src_steps(), strict=True):
        ways: tuple[tuple[Side, int, int], ...] = (
            ("src", nest.src_start, step),
            ("dst", nest.dst_start, loop.dst_stride),
        )
        for side, start, by in ways:
            if loop.extent > 1 and by >= least:
                name = f"{loop.name} + 1"
                lines.append(Dimension.stride(side, name, by, start, start + by))
    return Figure(*tiles, tuple(lines[:_MOST]))


def pitch(nest: Stated, side: Side = "dst") -> int:
    """Elements from row to row: the first step that leaves a gap, or else the span; 16
    where that is too wide to look at."""
    if not isinstance(nest, LoopNest):
        return 16
    strides = [loop.dst_stride for loop in nest.loops]
    if side == "src":
        strides = [
            sum(coord.stride * coord.terms[k] for coord in nest.coords)
            for k in range(len(nest.loops))
        ]
    run = 1
    steps = zip(strides, (loop.extent for loop in nest.loops), strict=True)
    for stride, extent in sorted((abs(s), n) for s, n in steps if n > 1 and s):
        if stride != run or run >= 16:
            run = max(stride, run)
            break
        run *= extent
    return run if run <= 64 else 16


def rows_of(
    params: Any, side: Side, rows: str, columns: str, step: str, matrix: str
) -> Iterator[Dimension | bool]:
    """The dimensions of matrices in ND: their rows and columns, and the steps from row
    to row and from matrix to matrix, each by the name of its field."""
    high, wide, row, next = (
        getattr(params, name) for name in (rows, columns, step, matrix)
    )
    yield Dimension.count(side, c_name(columns), wide, 0, wide - 1)
    yield Dimension.count(side, c_name(rows), high, 0, (high - 1) * row)
    yield high > 1 and Dimension.stride(side, c_name(step), row, 0, row)
    yield params.nd_num > 1 and Dimension.stride(side, c_name(matrix), next, 0, next)
