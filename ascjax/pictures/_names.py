"""What is said of a fractal: its number, where it is from, and its order."""

from __future__ import annotations

import numpy as np

from ._grid import Grid


def name_of(grid: Grid, tile: int) -> str:
    """A tile's number, with those of the source's tiles that are in it."""
    found = grid.panel.sources(tile)
    own = tile + grid.panel.start // grid.tiles.size
    if found and len(found) > 2 and found[-1] - found[0] + 1 == len(found):
        return f"{own}←{found[0]}…{found[-1]}"
    if not 0 < len(found) <= 2:
        return str(own)
    return f"{own}←{','.join(map(str, found))}"


def order_of(codes: np.ndarray) -> str:
    """ "Z" where the source's elements follow each other along the rows of a tile, "N"
    where down its columns, "" where neither."""
    for name, grid in (("Z", codes), ("N", codes.T)):
        steps = np.diff(grid, axis=1)
        inside = (grid[:, 1:] >= 0) & (grid[:, :-1] >= 0)
        if inside.any() and (steps[inside] == 1).all():
            return name
    return ""
