"""`Runs`: what an instruction moves, as a table of runs, where no loops of even steps
say it."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from ._nest import FILL, LoopNest


@dataclasses.dataclass(frozen=True, eq=False)
class Runs:
    """A move as a table: run k takes `length` neighbours of the source, or padding.

        dst[dst_start + dst[k] + e*dst_step] = src[src_start + src[k] + e]  e < length

    Two are equal where their runs are, whatever they print as.

    Attributes:
      loops: (name, extent) of the loops that count the runs, the innermost last.
      dst: int64, for each run in order the destination element of its first one.
      src: int64, the same in the source; FILL where the run is padding.
      length: elements of a run.
      dst_step: elements from one to the next in the destination, at least 1.
      src_start, dst_start: what is added to all of `src` and `dst`.
      formula: how it prints.

    >>> import numpy as np, ascjax as asc
    >>> runs = asc.Runs((("k", 2),), np.array([8, 0]), np.array([1, asc.FILL]), 3, 2)
    >>> print(runs)
    for k < 2, e < 3:
        dst[to[k] + 2*e] = src[from[k] + e], or padding
    >>> runs.volume, runs.src_range(), runs.dst_range()
    (6, (1, 3), (0, 12))
    """

    loops: tuple[tuple[str, int], ...]
    dst: np.ndarray
    src: np.ndarray
    length: int
    dst_step: int = 1
    src_start: int = 0
    dst_start: int = 0
    formula: str = ""

    def __post_init__(self):
        for name in ("dst", "src"):
            table = np.array(getattr(self, name), np.int64)
            table.flags.writeable = False
            object.__setattr__(self, name, table)

    @functools.cached_property
    def _key(self) -> tuple:
        steps = (self.length, self.dst_step, self.src_start, self.dst_start)
        return self.loops, *steps, self.dst.tobytes(), self.src.tobytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Runs) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def volume(self) -> int:
        """How many elements are written."""
        return self.dst.size * self.length

    def shift(self, src: int, dst: int) -> Runs:
        """The same move, its operands starting `src` and `dst` elements later."""
        return dataclasses.replace(
            self, src_start=self.src_start + src, dst_start=self.dst_start + dst
        )

    def dst_range(self) -> tuple[int, int]:
        """First and last destination element that is written, inclusive."""
        reach = (self.length - 1) * self.dst_step
        low, high = int(self.dst.min()), int(self.dst.max())
        return self.dst_start + low, self.dst_start + high + reach

    def src_range(self) -> tuple[int, int] | None:
        """First and last source element that is read, inclusive; None if none is."""
        read = self.src[self.src != FILL]
        if read.size == 0:
            return None
        low, high = int(read.min()), int(read.max())
        return self.src_start + low, self.src_start + high + self.length - 1

    def addresses(self) -> tuple[np.ndarray, np.ndarray]:
        """Destination and source element of every iteration, in iteration order.

        Two int64 arrays of `volume` elements; the source is FILL where padding is
        written.
        """
        e = np.arange(self.length, dtype=np.int64)
        dst = (self.dst + self.dst_start)[:, None] + e * self.dst_step
        src = (self.src + self.src_start)[:, None] + e
        src[self.src == FILL] = FILL
        return dst.reshape(-1), src.reshape(-1)

    def first_clash(self) -> int | None:
        """A destination element that two runs write, or None where all are distinct."""
        at, lane = np.divmod(self.dst, self.dst_step)
        order = np.lexsort((at, lane))
        at, lane = at[order], lane[order]
        close = (np.diff(lane) == 0) & (np.diff(at) < self.length)
        if not close.any():
            return None
        return self.dst_start + int(self.dst[order[1 + int(close.argmax())]])

    def writers(self, element: int) -> list[tuple[int, int]]:
        """(run, place in it) of every write to a destination element, in order."""
        place, lane = np.divmod(element - self.dst_start - self.dst, self.dst_step)
        found = (lane == 0) & (place >= 0) & (place < self.length)
        return [(int(k), int(place[k])) for k in np.flatnonzero(found)]

    def reader(self, element: int) -> tuple[int, int] | None:
        """(run, place in it) of the first read of a source element; None if none."""
        place = element - self.src_start - self.src
        read = (self.src != FILL) & (place >= 0) & (place < self.length)
        k = int(read.argmax()) if read.any() else -1
        return None if k < 0 else (k, int(place[k]))

    def named(self, run: int, place: int) -> dict[str, int]:
        """The value of every loop at one element of a run, by name."""
        index = np.unravel_index(run, [extent for _, extent in self.loops])
        named = zip((name for name, _ in self.loops), map(int, index), strict=True)
        return {**dict(named), "e": place}

    def as_nest(self) -> LoopNest | None:
        """The same move as loops, in the same order, where its runs step evenly, or
        evenly in groups that do; None where they do not."""
        src, dst = self.src, self.dst
        if src.size == 0 or (src == FILL).any():
            return None
        rows = [(self.length, 1, self.dst_step)]
        while src.size > 1:
            steps = np.diff(src), np.diff(dst)
            even = (steps[0] == steps[0][0]) & (steps[1] == steps[1][0])
            first = src.size if even.all() else 1 + int(even.argmin())
            count = next(k for k in range(first, 0, -1) if src.size % k == 0)
            within = np.arange(1, src.size) % count != 0
            if count == 1 or not even[within].all():
                return None
            rows.append((count, int(steps[0][0]), int(steps[1][0])))
            src, dst = src[::count], dst[::count]
        named = [
            (f"n{k}" if k else "e", *row) for k, row in reversed(list(enumerate(rows)))
        ]
        starts = self.src_start + int(src[0]), self.dst_start + int(dst[0])
        return LoopNest.strided(*starts, *named)

    def __str__(self) -> str:
        if self.formula:
            return self.formula
        names = ", ".join(f"{name} < {extent}" for name, extent in self.loops)
        at = "".join(f"[{name}]" for name, _ in self.loops)
        step = "e" if self.dst_step == 1 else f"{self.dst_step}*e"
        padded = ", or padding" if (self.src == FILL).any() else ""
        to, source = f"to{at}", f"from{at}"
        line = f"dst[{to} + {step}] = src[{source} + e]{padded}"
        return f"for {names}, e < {self.length}:\n    {line}"


Stated = LoopNest | Runs
"""How an instruction states a move: both have volume, ranges, shift and addresses."""
