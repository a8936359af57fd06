"""`LoopNest`: what an instruction moves, as loops and affine addresses.

One iteration writes one element:

    dst[dst_start + sum(loop * dst_stride)] = src[src_start + sum(coordinate * stride)]

where a coordinate is an offset plus a sum of coefficient x loop. A coordinate may have
an extent; outside it an iteration writes the padding value ("fill") or reads the
nearest element inside ("clamp"). Loops stand in the order of the instruction's
iterations, the innermost last.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import numpy as np

KEEP = -1
FILL = -2


@dataclasses.dataclass(frozen=True)
class Loop:
    """One loop of a nest, and its step in the destination.

    Attributes:
      name: what it is called in print.
      extent: how often it runs.
      dst_stride: elements from one trip to the next in the destination.

    >>> import ascjax as asc
    >>> asc.Loop("i", 5, 256).extent
    5
    """

    name: str
    extent: int
    dst_stride: int


@dataclasses.dataclass(frozen=True)
class Coord:
    """One source coordinate: `offset + sum(terms[k] * loop k)`.

    Attributes:
      terms: a factor for each loop.
      stride: elements of the source that one step of the coordinate is.
      offset: its value where all loops are at 0.
      extent: how many values are inside, from 0; None where all are.
      outside: "fill" writes padding there, "clamp" reads the nearest value inside.

    >>> import ascjax as asc
    >>> x = asc.Coord((1,), 1, offset=-1, extent=2, outside="fill")
    >>> print(asc.LoopNest((asc.Loop("x", 4, 1),), (x,)))
    for x < 4:
        dst[x] = src[x - 1] if 0 <= x - 1 < 2 else padding
    """

    terms: tuple[int, ...]
    stride: int
    offset: int = 0
    extent: int | None = None
    outside: Literal["none", "fill", "clamp"] = "none"

    def loops(self) -> tuple[int, ...]:
        """Indices of the loops that move this coordinate."""
        return self._loops

    @functools.cached_property
    def _loops(self) -> tuple[int, ...]:
        return tuple([k for k, term in enumerate(self.terms) if term])


@dataclasses.dataclass(frozen=True)
class LoopNest:
    """A move as loops: one iteration writes one element.

        dst[dst_start + sum(loop * dst_stride)] = src[src_start + sum(coord * stride)]

    Attributes:
      loops: in the order of the instruction's iterations, the innermost last.
      coords: the source coordinates.
      src_start: the source element that all-zero coordinates read.
      dst_start: the destination element that the first iteration writes.

    >>> nest = LoopNest.strided(0, 0, ("r", 2, 1, 3), ("c", 3, 2, 1))
    >>> print(nest)
    for r < 2, c < 3:
        dst[3*r + c] = src[r + 2*c]
    >>> nest.volume, nest.src_range(), nest.dst_range()
    (6, (0, 5), (0, 5))
    """

    loops: tuple[Loop, ...]
    coords: tuple[Coord, ...]
    src_start: int = 0
    dst_start: int = 0

    @classmethod
    def strided(
        cls, src_start: int, dst_start: int, *loops: tuple[str, int, int, int]
    ) -> LoopNest:
        """A nest without padding, from (name, extent, src_stride, dst_stride) rows."""
        return cls.build(
            src_start,
            dst_start,
            [Loop(name, extent, dst) for name, extent, _, dst in loops],
            [({name: 1}, src) for name, _, src, _ in loops],
        )

    @classmethod
    def build(
        cls,
        src_start: int,
        dst_start: int,
        loops: Sequence[Loop],
        coords: Sequence[tuple],
    ) -> LoopNest:
        """A nest from loops and rows of `Coord` whose terms are {loop name: factor}."""
        names = [loop.name for loop in loops]
        made = []
        for terms, *rest in coords:
            made.append(Coord(tuple(terms.get(name, 0) for name in names), *rest))
        return cls(tuple(loops), tuple(made), src_start, dst_start)

    @classmethod
    def nop(cls) -> LoopNest:
        """The nest that writes nothing."""
        return cls((Loop("i", 0, 0),), ())

    def __post_init__(self):
        seen: set[int] = set()
        for coord in self.coords:
            if coord.extent is None:
                continue
            if seen & set(coord.loops()):
                raise NotImplementedError(
                    "LoopNest: two bounded coordinates share a loop, so what is read "
                    "is not a box; express the move as an IndexMap instead"
                )
            seen |= set(coord.loops())

    @functools.cached_property
    def volume(self) -> int:
        """How many elements are written; 0 for a NOP."""
        return math.prod([loop.extent for loop in self.loops])

    def shift(self, src: int, dst: int) -> LoopNest:
        """The same move, its operands starting `src` and `dst` elements later."""
        if src == dst == 0:
            return self
        return dataclasses.replace(
            self, src_start=self.src_start + src, dst_start=self.dst_start + dst
        )

    def src_steps(self) -> list[int]:
        """Each loop's step in the source, by the coordinates without an extent."""
        plain = [coord for coord in self.coords if coord.extent is None]
        return [
            sum(coord.stride * coord.terms[k] for coord in plain)
            for k in range(len(self.loops))
        ]

    def dst_range(self) -> tuple[int, int]:
        """First and last destination element that is written, inclusive."""
        return self._dst_range

    @functools.cached_property
    def _dst_range(self) -> tuple[int, int]:
        ends = [loop.dst_stride * (loop.extent - 1) for loop in self.loops]
        low = self.dst_start + sum([end for end in ends if end < 0])
        return low, self.dst_start + sum([end for end in ends if end > 0])

    def _inside(
        self, coord: Coord, extent: int, first: int, last: int
    ) -> tuple[int, int] | None:
        """First and last of a coordinate's values, over its own loops only, that are in
        [0, extent); `first` and `last` are those of all."""
        if len(coord.loops()) == 1:
            step = abs(coord.terms[coord.loops()[0]])
            low = first if first >= 0 else first % step
            high = min(last, extent - 1)
            high -= (high - first) % step
            return (low, high) if low <= high else None
        value = np.array([coord.offset], np.int64)
        for k in coord.loops():
            steps = coord.terms[k] * np.arange(self.loops[k].extent, dtype=np.int64)
            value = np.unique(np.add.outer(value, steps))
        inside = value[(value >= 0) & (value < extent)]
        return (int(inside[0]), int(inside[-1])) if inside.size else None

    def src_range(self) -> tuple[int, int] | None:
        """First and last source element that is read, inclusive; None if none is."""
        return self._src_range

    @functools.cached_property
    def _src_range(self) -> tuple[int, int] | None:
        low = high = self.src_start
        for coord in self.coords:
            ends = [coord.terms[k] * (self.loops[k].extent - 1) for k in coord.loops()]
            first = coord.offset + sum(min(end, 0) for end in ends)
            last = coord.offset + sum(max(end, 0) for end in ends)
            if coord.extent is not None and coord.outside == "clamp":
                first = min(max(first, 0), coord.extent - 1)
                last = min(max(last, 0), coord.extent - 1)
            elif coord.extent is not None and not 0 <= first <= last < coord.extent:
                inside = self._inside(coord, coord.extent, first, last)
                if inside is None:
                    return None
                first, last = inside
            low += min(first * coord.stride, last * coord.stride)
            high += max(first * coord.stride, last * coord.stride)
        return low, high

    def addresses(self) -> tuple[np.ndarray, np.ndarray]:
        """Destination and source element of every iteration, in iteration order.

        Two int64 arrays of `volume` elements; the source is FILL where padding is
        written.
        """
        shape = tuple(loop.extent for loop in self.loops)

        def spread(terms: Mapping[int, int] | Iterator[tuple[int, int]], start: int):
            total = np.full((1,) * len(shape), start, np.int64)
            for k, term in dict(terms).items():
                axis = [1] * len(shape)
                axis[k] = shape[k]
                total = total + term * np.arange(shape[k], dtype=np.int64).reshape(axis)
            return total

        dst = spread(enumerate(loop.dst_stride for loop in self.loops), self.dst_start)
        src = np.full((1,) * len(shape), self.src_start, np.int64)
        inside = np.ones((1,) * len(shape), bool)
        for coord in self.coords:
            value = spread(((k, coord.terms[k]) for k in coord.loops()), coord.offset)
            if coord.extent is not None and coord.outside == "clamp":
                value = value.clip(0, coord.extent - 1)
            elif coord.extent is not None:
                inside = inside & (value >= 0) & (value < coord.extent)
            src = src + value * coord.stride
        src = np.where(inside, src, FILL)
        return (
            np.broadcast_to(dst, shape).reshape(-1),
            np.broadcast_to(src, shape).reshape(-1),
        )

    def __str__(self) -> str:
        if self.volume == 0:
            return "nothing moves: a count is zero (NOP)"
        names = [loop.name for loop in self.loops]
        head = ", ".join(f"{loop.name} < {loop.extent}" for loop in self.loops)
        dst = sum_of(
            [(loop.dst_stride, loop.name) for loop in self.loops], self.dst_start
        )
        plain: list[tuple[int, str]] = []
        start = self.src_start
        inside = []
        for coord in self.coords:
            terms = list(zip(coord.terms, names, strict=True))
            if coord.extent is None:
                plain += [(coord.stride * term, name) for term, name in terms]
                start += coord.stride * coord.offset
                continue
            text = sum_of(terms, coord.offset)
            if coord.outside == "clamp":
                plain.append((coord.stride, f"clip({text}, 0, {coord.extent - 1})"))
            else:
                bare = coord.stride == 1 or " " not in text
                plain.append((coord.stride, text if bare else f"({text})"))
                inside.append(f"0 <= {text} < {coord.extent}")
        line = f"dst[{dst}] = src[{sum_of(plain, start)}]"
        if inside:
            line += f" if {' and '.join(inside)} else padding"
        return f"for {head}:\n    {line}"


def sum_of(terms: Sequence[tuple[int, str]], start: int) -> str:
    """A sum as people write it: no zero terms, no factor 1, signs in place."""
    moves = any(factor for factor, _ in terms)
    parts = [str(start)] if start > 0 or not moves else []
    for factor, name in terms:
        if factor:
            size = name if abs(factor) == 1 else f"{abs(factor)}*{name}"
            sign = "-" if factor < 0 else "+"
            parts.append(f"{sign} {size}" if parts else f"{sign}{size}".lstrip("+"))
    if start < 0 and moves:
        parts.append(f"- {-start}")
    return " ".join(parts)
