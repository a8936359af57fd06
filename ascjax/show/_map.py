"""The map of one call in rows, and the names of its cells and rows."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .._move import Move
from .._nest import FILL, KEEP
from ..instr._figure import pitch
from ..verify._why import origin
from ._words import bad

ROWS = 40
"""Rows of a map that are printed where no number is asked for."""

_SCANNED = 4096  # rows that are looked at, most of them kept


def position(move: Move) -> str | None:
    """A position with fractals, where the instruction moves these; else None."""
    return "A1" if move.calls[0].params.op.startswith("load_data") else None


def cell(move: Move, name: str) -> int:
    """A destination element by its number, or as fractal.row.column.

    Raises:
      ParamError: for another text, or an element that the destination does not have.

    >>> import ascjax as asc
    >>> p = asc.LoadData2DParams(repeat_times=2)
    >>> move = asc.Move.of(p, dtype="half", src_size=256)
    >>> cell(move, "1.2.12"), cell(move, "300")
    (300, 300)
    """
    c0, size = move.type.c0, move.dst_size
    fractals = position(move) is not None
    parts = _numbers(name)
    element = -1
    if len(parts) == 1:
        element = parts[0]
    elif len(parts) == 3 and fractals and parts[1] < 16 and parts[2] < c0:
        element = (parts[0] * 16 + parts[1]) * c0 + parts[2]
    if 0 <= element < size:
        return element
    rule = f"be a destination element, in [0, {size})"
    if fractals:
        rule += f", or fractal.row.column, with row < 16 and column < {c0}"
    raise bad(move.calls[0].params.instruction, "--why", rule, name)


def rows(
    move: Move, width: int | None, most: int = ROWS, first: str | None = None
) -> Iterator[str]:
    """Rows of source elements; rows that keep everything are only counted.

    Args:
      width: columns; None is C0 where there are fractals, else the pitch.
      most: rows to print.
      first: the row to begin with, by its label: fractal.row, or an element.
    """
    nest, c0 = move.nests[0], move.type.c0
    fractals = width is None and position(move) is not None
    width = width or (c0 if fractals else pitch(nest))
    total = -(-move.dst_size // width)
    row = 0 if first is None else _row(move, first, width, total, fractals)
    label = "fractal.row" if fractals else "first element of the row"
    yield f"map ({label} | source element of each column; . kept, # padding)"
    digits = len(str(max(move.src_size - 1, 0)))
    wide = len(f"{total // 16}.15") if fractals else len(str(move.dst_size))
    end = min(total, row + max(_SCANNED, most))
    shown = kept = 0

    def name(row: int) -> str:
        return f"{row // 16}.{row % 16}" if fractals else str(row * width)

    def skipped() -> Iterator[str]:
        if kept:
            yield f"    … {kept} row{'s' * (kept > 1)} kept"

    while row < end and shown < most:
        cells = range(row * width, min((row + 1) * width, move.dst_size))
        sources = [origin(nest, cell).source for cell in cells]
        if all(source == KEEP for source in sources):
            kept += 1
        else:
            yield from skipped()
            kept, shown = 0, shown + 1
            marks = {KEEP: ".", FILL: "#"}
            line = " ".join(marks.get(s, str(s)).rjust(digits) for s in sources)
            yield f"    {name(row).rjust(wide)} | {line}"
        row += 1
    yield from skipped()
    if row < total:
        yield f"    … {total - row} more: --from {name(row)}, or --rows N"


def _row(move: Move, label: str, width: int, total: int, fractals: bool) -> int:
    """The row of a label; a fractal alone is its row 0."""
    parts = _numbers(label)
    row = -1
    if len(parts) == 1:
        row = parts[0] * 16 if fractals else parts[0] // width
    elif len(parts) == 2 and fractals and parts[1] < 16:
        row = parts[0] * 16 + parts[1]
    if 0 <= row < total:
        return row
    rule = f"be the first row to print, an element in [0, {move.dst_size})"
    if fractals:
        rule = "be the first row to print, as fractal.row, up to "
        rule += f"{(total - 1) // 16}.{(total - 1) % 16}"
    raise bad(move.calls[0].params.instruction, "--from", rule, label)


def _numbers(text: str) -> list[int]:
    """Counts with dots between them; none where it is another text."""
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)*", text):
        return []
    return [int(part) for part in text.split(".")]
