"""Whether a tile of a product fits the buffers, and the largest near it that does."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from ..._errors import BoundsError
from ..._products import Product
from ._roads import Road, up

_SOURCE = "products.json, buffers_kib"
DEEPEST = 4095  # k that one Mmad takes


@dataclasses.dataclass(frozen=True)
class Tile:
    """One tile of a product: what each side brings to L0.

    Attributes:
      a, b: the roads, [m, k] and [n, k].
    """

    a: Road
    b: Road

    @property
    def sizes(self) -> tuple[int, int, int]:
        """(m, n, k) of the tile."""
        return self.a.rows, self.b.rows, self.a.k

    @property
    def accumulator(self) -> int:
        """Bytes of [m, n] in L0C, as Mmad fills it."""
        return 4 * self.a.padded[0] * self.b.padded[0]

    def resized(self, m: int, n: int, k: int) -> Tile:
        """The same roads for a tile of another size."""
        return Tile(
            dataclasses.replace(self.a, rows=m, k=k),
            dataclasses.replace(self.b, rows=n, k=k),
        )

    def overflows(self) -> Iterator[tuple[str, str, int, int]]:
        """Each buffer that is too small: its name, what is in it, bytes, room."""
        m, n, k = self.sizes
        takes = (
            ("L0A", f"{m} x {k} of A", self.a.bytes),
            ("L0B", f"{k} x {n} of B", self.b.bytes),
            ("L1", f"{m} x {k} of A and {k} x {n} of B", self.a.bytes + self.b.bytes),
            ("L0C", f"{m} x {n} of C, 4 bytes each", self.accumulator),
        )
        for buffer, what, size in takes:
            room = room_of(self.a.product, buffer)
            if size > room:
                yield buffer, what, size, room

    def fitting(self) -> tuple[int, int, int]:
        """A tile that fits, the longer side of what is too large halved until it does.

        Halves stay multiples of 64, a whole number of fractals for every type.
        """
        found = self
        while True:
            over = next(found.overflows(), None)
            if over is None and found.a.k <= DEEPEST:
                return found.sizes
            sides = {"L0A": "mk", "L0B": "nk", "L0C": "mn", "L1": "mnk"}
            now = dict(zip("mnk", found.sizes, strict=True))
            axis = max(sides[over[0]] if over else "k", key=lambda name: now[name])
            now[axis] = up(-(-now[axis] // 2), 64)
            found = found.resized(**now)

    def check(self, whole: bool) -> None:
        """Raise BoundsError where the tile, all of the product if `whole`, does not
        fit, or is deeper than Mmad takes."""
        fix = f"Pass tile={{}}{'' if whole else ' or less'}, which fits."
        for buffer, what, size, room in self.overflows():
            rule = f"hold at most {room} bytes, what {self.a.product} has"
            got = f"{size} bytes for {what} (in whole fractals of {self.a.type})"
            fix = fix.format(self.fitting())
            raise BoundsError("CubeMatmul", buffer, rule, got, fix, _SOURCE)
        if self.a.k > DEEPEST:
            rule, fix = f"be at most {DEEPEST} in one Mmad", fix.format(self.fitting())
            source = "instructions.md, section 8"
            raise BoundsError("CubeMatmul", "k", rule, self.a.k, fix, source)


def check_l0c(product: Product, high: int, wide: int) -> None:
    """Raise BoundsError where `high` x `wide` sums do not fit L0C."""
    size, room = 4 * high * wide, room_of(product, "L0C")
    if size > room:
        rule, fix = f"hold at most {room} bytes, what {product} has", "Move less."
        got = f"{size} bytes for {high} x {wide} of C, 4 bytes each"
        raise BoundsError("CubeMatmul", "L0C", rule, got, fix, _SOURCE)


def room_of(product: Product, buffer: str) -> int:
    """Bytes of a product's buffer."""
    return product.buffers_kib[buffer] * 1024
