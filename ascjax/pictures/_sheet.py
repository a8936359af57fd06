"""What a picture shows, before anything is drawn: buffers and what lies in them."""

from __future__ import annotations

import dataclasses

import numpy as np

from .._nest import FILL, KEEP
from ..instr._figure import Dimension, Tiles

OTHER = -3
"""Bits that do not tell which source element they are."""

UNREAD = -4
"""A source element that nothing reads; KEEP and FILL are as in maps."""

NAMES = {
    KEEP: "not written",
    FILL: "padding",
    UNREAD: "not read",
    OTHER: "no source element",
}
"""What legends call the codes that are no source element."""

MOST = 1 << 24
"""Elements of a buffer that are looked at, at most."""


@dataclasses.dataclass(frozen=True)
class Panel:
    """One buffer.

    Attributes:
      title: what it is called.
      tiles: how it is drawn.
      codes: (size,), the element of the first source that is in each place, or one of
        `NAMES`; FILL - k is a k-th other padding.
      dimensions: the fields that have a length in it.
      unit: elements of a tile of the source, whose numbers are told; 0 tells none.
      marks: (size,) of bool, cells to frame in red; None for none.
      start: the first element's number.
    """

    title: str
    tiles: Tiles
    codes: np.ndarray
    dimensions: tuple[Dimension, ...] = ()
    unit: int = 0
    marks: np.ndarray | None = None
    start: int = 0

    def __post_init__(self):
        size = len(self.codes)
        if size > MOST:
            said = f"{self.title} (the first {MOST:,} of {size:,} elements)"
            object.__setattr__(self, "title", said)
            object.__setattr__(self, "codes", self.codes[:MOST])

    def sources(self, tile: int) -> tuple[int, ...]:
        """The tiles of the source that one tile's elements are from, in order."""
        if not self.unit:
            return ()
        size = self.tiles.size
        codes = self.codes[tile * size : (tile + 1) * size]
        return tuple(np.unique(codes[codes >= 0] // self.unit).tolist())


@dataclasses.dataclass(frozen=True)
class Sheet:
    """Buffers beside each other, and what is said of them.

    Attributes:
      title: what it is of.
      lines: text below the title.
      panels: the buffers, in order.
      unit: elements of a tile of the source, each of which has its own hue.
      steps: what leads from each buffer to the next; none where nothing does.
    """

    title: str
    lines: tuple[str, ...]
    panels: tuple[Panel, ...]
    unit: int
    steps: tuple[str, ...] = ()
