"""The sheet of a layout: the array in its logical order, and the buffer."""

from __future__ import annotations

import numpy as np

from .._formats import is_fractal
from .._layout import Layout
from .._nest import FILL
from ..instr._figure import Tiles
from ._sheet import Panel, Sheet


def of_layout(layout: Layout) -> Sheet:
    """The array, coloured by where its elements are stored, and the buffer."""
    at = layout.address(*np.indices(layout.shape, np.int64)).reshape(-1)
    stored = np.full(layout.size, FILL)
    stored[at] = at
    shape = " x ".join(map(str, layout.shape))
    title = f"{layout.format} of {shape} · {layout.dtype}"
    said = f"{layout.size} elements, stored as {' x '.join(map(str, layout.dims))}"
    if is_fractal(layout.format):
        logical, memory = _tiles(layout)
        one = layout.size // int(np.prod(layout.shape[:-2], dtype=int))
        first = "array" if len(layout.shape) == 2 else "first matrix"
        array = Panel(first, logical, stored[:one])
        unit = memory.size
    else:
        array = Panel("array", Tiles.lines(layout.shape[-1]), at)
        memory, unit = Tiles.lines(layout.dims[-1]), layout.dims[-1]
    lines = (said, "Colours and numbers: where elements are stored.")
    return Sheet(title, lines, (array, Panel("buffer", memory, stored)), unit)


def _tiles(layout: Layout) -> tuple[Tiles, Tiles]:
    """Where the buffer's fractals stand in the matrix, and one after another."""
    _, run, rows, row = layout.dims[-4:]
    down, turned = layout.format[0] == "N", layout.format[1] == "N"
    return Tiles(row, rows, run, down, turned), Tiles(row, rows)
