"""A sheet as text, for terminals: fractals in a grid, rows as runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from .._nest import FILL, KEEP
from ._grid import Grid
from ._names import name_of, order_of
from ._sheet import NAMES, OTHER, UNREAD, Sheet

ROWS = 24
"""Lines of one buffer, where nothing says how many."""

_WIDE = 100  # letters of a line
_MARKS = {KEEP: ".", FILL: "#", UNREAD: "-", OTHER: "?"}
_HUES = (
    "#3b528b", "#21918c", "#b5651d", "#6b4c9a", "#2e7d32", "#ad1457", "#5d4037",
    "#0277bd",
)  # fmt: skip


WORDS = -(2**63)
"""The code of what stands for no element."""


class Piece(NamedTuple):
    """A piece of a line.

    Attributes:
      text: what it says.
      code: the source element that its colour stands for, another code, or WORDS.
    """

    text: str
    code: int = WORDS


def lines_of(sheet: Sheet, rows: int = ROWS) -> Iterator[list[Piece]]:
    """The lines of a sheet's buffers, `rows` of each at most, in pieces."""
    used: set[int] = set()
    for panel in sheet.panels:
        yield [Piece(panel.title)]
        grid = Grid(panel)
        lines = _of_tiles(grid) if grid.fractals else _of_rows(grid)
        for k, line in enumerate(lines):
            if k == rows:
                yield [Piece("    …")]
                break
            used |= {piece.code for piece in line if WORDS < piece.code < 0}
            yield [Piece("    "), *line]
    told = dict.fromkeys(code if code in NAMES else FILL for code in sorted(used))
    if told:
        said = (f"{_mark(code)} {NAMES[code]}" for code in told)
        yield [Piece(f"  {', '.join(said)}")]


def _mark(code: int) -> str:
    """The letter of a code that is no source element; all paddings have one."""
    return _MARKS.get(code, _MARKS[FILL])


def text_of(sheet: Sheet) -> str:
    """The sheet as plain text."""
    lines = ("".join(piece.text for piece in line) for line in lines_of(sheet))
    said = [sheet.title, *(f"  {line}" for line in sheet.lines), *lines]
    return "\n".join(line.rstrip() for line in said)


def rich_of(sheet: Sheet, rows: int = ROWS) -> Any:
    """The buffers as a `rich.text.Text`, each tile of the source in its colour."""
    from rich.text import Text

    text, unit = Text(), max(1, sheet.unit)
    for line in lines_of(sheet, rows):
        for piece in line:
            hue = _HUES[piece.code // unit % len(_HUES)] if piece.code >= 0 else ""
            text.append(piece.text, f"white on {hue}" if hue else "")
        text.append("\n")
    return text


def _of_tiles(grid: Grid) -> Iterator[list[Piece]]:
    """A line for each line of fractals: their numbers, and Z or N."""
    size, codes = grid.tiles.size, grid.panel.codes
    cells: dict[tuple[int, int], Piece] = {}
    for tile in range(grid.count):
        line, along = (int(x) for x in grid.tiles.place(tile * size)[:2])
        if line > ROWS or along > _WIDE:
            continue
        held = codes[tile * size : (tile + 1) * size]
        code = next(iter(held[held >= 0].tolist()), int(held[0]))
        whole = len(held) == size
        shape = (grid.tiles.rows, grid.tiles.row)
        inner = held.reshape(shape) if whole else held[None]
        inner = inner.T if grid.tiles.turned else inner
        mark = order_of(inner) if code >= 0 else _mark(code)
        cells[line, along] = Piece(f"{name_of(grid, tile)} {mark}".rstrip(), code)
    wide = max((len(piece.text) for piece in cells.values()), default=1)
    most = max(1, _WIDE // (wide + 3))
    for line in range(max((line for line, _ in cells), default=-1) + 1):
        pieces: list[Piece] = []
        for along in range(most):
            if (line, along) in cells:
                text, code = cells[line, along]
                pieces += [Piece(f" {text.ljust(wide)} ", code), Piece(" ")]
        if any(at == line and along >= most for at, along in cells):
            pieces.append(Piece("…"))
        yield pieces


def _of_rows(grid: Grid) -> Iterator[list[Piece]]:
    """A line for each row: runs of source elements that follow each other."""
    row, empty = grid.panel.tiles.row, 0
    for start in range(0, len(grid.panel.codes), row):
        codes = grid.panel.codes[start : start + row]
        if start + row < len(grid.panel.codes) and (codes < 0).all():
            empty += 1
            continue
        if empty:
            rows = "1 row" if empty == 1 else f"{empty} rows"
            yield [Piece(f"… {rows} without a source element")]
            empty = 0
        same = (codes[1:] == codes[:-1]) & (codes[1:] < 0)
        after = (codes[1:] == codes[:-1] + 1) & (codes[:-1] >= 0)
        breaks = np.flatnonzero(~(same | after)) + 1
        pieces: list[Piece] = []
        width = 0
        for run in np.split(codes, breaks):
            first, last = int(run[0]), int(run[-1])
            if first < 0:
                mark = _mark(first)
                text = mark * run.size if run.size <= 4 else f"{mark}x{run.size}"
            else:
                text = f"{first}…{last}" if run.size > 1 else str(first)
            width += len(text) + 1
            if width > _WIDE:
                pieces.append(Piece("…"))
                break
            pieces += [Piece(text, first), Piece(" ")]
        yield pieces
