"""The largest tile of a convolution that fits the buffers."""

from __future__ import annotations

import dataclasses

from ...._errors import BoundsError
from ...cube._roads import Road, up
from ...cube._room import room_of
from ._convolution import Convolution
from ._given import WHO


@dataclasses.dataclass(frozen=True)
class ConvTile:
    """One tile: whole rows of places, so that L1 holds only the map's rows under them.

    Attributes:
      conv: what it is a tile of.
      lines: rows of places.
      outputs: filters.
      blocks: blocks of C0 columns of the im2col matrix.
    """

    conv: Convolution
    lines: int
    outputs: int
    blocks: int

    @classmethod
    def of(cls, conv: Convolution) -> ConvTile:
        """All of a convolution, the longer side of what is too large halved until it
        fits.

        Raises:
          BoundsError: nothing that fits is left.
        """
        found = cls(conv, conv.places[0], conv.outputs, conv.blocks)
        while (over := found._overflow()) is not None:
            found = found._halved(*over)
        return found

    @property
    def sizes(self) -> tuple[int, int, int]:
        """(m, n, k) of the matrix product, in elements."""
        conv = self.conv
        return self.lines * conv.places[1], self.outputs, self.blocks * conv.type.c0

    @property
    def roads(self) -> tuple[Road, Road]:
        """What each side must bring to L0."""
        m, n, k = self.sizes
        common = self.conv.product, self.conv.type
        return Road("A", *common, m, k, False, k), Road("B", *common, n, k, False, k)

    @property
    def map_size(self) -> int:
        """The most elements of the map that a tile has in L1."""
        conv, high, blocks = self.conv, self.conv.places[0], self.conv.blocks
        under = [
            conv.under(first, min(self.lines, high - first))
            for first in range(0, high, self.lines)
        ]
        channels = [
            conv.channels_in(first, min(self.blocks, blocks - first))
            for first in range(0, blocks, self.blocks)
        ]
        rows = max(end - low for low, end, *_ in under)
        deep = max(last - first for first, last in channels)
        return deep * rows * conv.map[1] * conv.type.c0

    def _overflow(self) -> tuple[str, int] | None:
        """The first buffer that is too small, and the bytes it would have to hold."""
        a, b = self.roads
        takes = {
            "L0A": a.bytes,
            "L0B": b.bytes,
            "L0C": 4 * a.padded[0] * b.padded[0],
            "L1": b.bytes + self.map_size * self.conv.type.bits // 8,
        }
        room = {name: room_of(self.conv.product, name) for name in takes}
        over = ((name, size) for name, size in takes.items() if size > room[name])
        return next(over, None)

    def _halved(self, buffer: str, size: int) -> ConvTile:
        """A smaller tile, where `size` bytes are too many for a buffer."""
        m, n, k = self.sizes
        length = {
            "lines": m * (self.lines > 1),
            "outputs": n * (n > 16),
            "blocks": k * (self.blocks > 1),
        }
        sides = {"L0A": ("lines", "blocks"), "L0B": ("outputs", "blocks")}
        sides |= {"L0C": ("lines", "outputs"), "L1": tuple(length)}
        axis = max(sides[buffer], key=length.__getitem__)
        if not length[axis]:
            product = self.conv.product
            rule = f"hold at most {room_of(product, buffer)} bytes, what {product} has"
            got = f"{size} bytes for one row of {m} places of the filter"
            fix = "Cut the image into narrower ones, or take emulate='layout'."
            raise BoundsError(WHO, buffer, rule, got, fix, "products.json, buffers_kib")
        half = -(-getattr(self, axis) // 2)
        half = up(half, 16) if axis == "outputs" else half
        return dataclasses.replace(self, **{axis: half})
