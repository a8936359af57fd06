"""The colour of each cell: a hue for each tile of the source, lighter to its end."""

from __future__ import annotations

import dataclasses

import numpy as np

from .._nest import FILL, KEEP
from ._extra import needed
from ._grid import BLANK
from ._sheet import OTHER, UNREAD, Sheet

PLAIN = {
    BLANK: "#ffffff00",
    KEEP: "#ffffff",
    FILL: "#e3cfe8",
    OTHER: "#e8833a",
    UNREAD: "#f0f0f0",
}
HATCHES = {KEEP: ("////", "#c2c2c2"), FILL: ("..", "#8d6b97")}
"""Pattern and colour of what is hatched."""

WRONG = "#d43f3f"
INK, FAINT = "#222222", "#9a9a9a"
_MAP, _ENDS = "viridis", (0.12, 0.97)
_LIGHTER = 0.5  # how far towards white a tile's last element is


@dataclasses.dataclass(frozen=True)
class Scale:
    """The colours of source elements, from the first to the last that is shown.

    Attributes:
      unit: elements of a tile of the source.
      first, last: its first and last tile.
    """

    unit: int
    first: int
    last: int

    @classmethod
    def of(cls, sheet: Sheet) -> Scale:
        """The scale over all buffers of a sheet."""
        unit = max(1, sheet.unit)
        codes = np.concatenate([panel.codes for panel in sheet.panels])
        codes = codes[codes >= 0]
        ends = (codes.min(), codes.max()) if codes.size else (0, 0)
        return cls(unit, *(int(end) // unit for end in ends))

    def rgba(self, codes: np.ndarray) -> np.ndarray:
        """(..., 4) of codes."""
        tile, inner = np.divmod(np.maximum(codes, 0), self.unit)
        low, high = _ENDS
        inner = inner / max(1, self.unit - 1)
        if self.last == self.first:
            places, light = inner, np.zeros(codes.shape)
        else:
            places = np.clip((tile - self.first) / (self.last - self.first), 0, 1)
            light = _LIGHTER * inner
        found = needed("matplotlib").colormaps[_MAP](low + places * (high - low))
        found[..., :3] += (1 - found[..., :3]) * light[..., None]
        to_rgba = needed("matplotlib.colors").to_rgba
        for code, colour in PLAIN.items():
            found[codes == code] = to_rgba(colour)
        more = (codes < 0) & ~np.isin(codes, [*PLAIN])  # other padding values
        found[more] = to_rgba(PLAIN[FILL])
        return found


def on(rgba: np.ndarray) -> str:
    """The colour of ink that is legible on another."""
    bright = float(np.dot(rgba[:3], (0.299, 0.587, 0.114)))
    return INK if bright > 0.55 else "#ffffff"
