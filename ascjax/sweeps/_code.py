"""A call as a few int32 numbers, which one compiled program runs as it does any other.

Nests have a fixed number of loops and of bounded coordinates, runs a fixed number of
rows, so that all calls of one `Kind` share a program.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from .._errors import BoundsError
from .._nest import Coord, LoopNest
from .._runs import Runs, Stated

MODES = {"clamp": 1, "fill": 2}
MOST = 1 << 22
"""Elements of one call, and of one buffer: the program divides in float32."""

_LEAST_ROWS = 64
_INT32 = 2**31 - 1


class Kind(NamedTuple):
    """What calls must have in common to share a program.

    Attributes:
      loops, bounds: loops and bounded coordinates of a nest; 0 and 0 for runs.
      rows: rows of the table of runs; 0 for a nest.
    """

    loops: int
    bounds: int
    rows: int

    @property
    def length(self) -> int:
        """How many numbers a call is."""
        if self.rows:
            return 5 + 2 * self.rows
        return 3 + 3 * self.loops + self.bounds * (self.loops + 4)


NARROW, WIDE = Kind(4, 0, 0), Kind(8, 8, 0)


class Code(NamedTuple):
    """A call, encoded.

    Attributes:
      kind: which program runs it.
      volume: elements that it writes.
      numbers: `kind.length` integers that fit int32.
    """

    kind: Kind
    volume: int
    numbers: list[int]

    def widened(self, kind: Kind) -> Code:
        """The same call for the program of a kind that has more room."""
        if self.kind == kind:
            return self
        if kind.rows:
            n, head, rest = self.kind.rows, self.numbers[:5], self.numbers[5:]
            tables = _padded(rest[:n], kind.rows) + _padded(rest[n:], kind.rows)
            return Code(kind, self.volume, head + tables)
        n, m = self.kind.loops, kind.loops
        head, rest = self.numbers[:3], self.numbers[3:]
        for k in range(3):  # extents, steps in the destination, steps in the source
            head += _padded(rest[k * n : (k + 1) * n], m, int(k == 0))
        return Code(kind, self.volume, _padded(head, kind.length))


def encode(stated: Stated) -> Code:
    """A nest or runs as a code.

    Loops of one iteration are dropped, so a stride that only ever meets index 0
    vanishes, however large.

    Raises:
      BoundsError: more than 2^22 elements, more than 8 loops or bounded coordinates, or
        a number that does not fit int32.

    >>> encode(LoopNest.strided(0, 1, ("r", 2, 1, 3), ("c", 3, 2, 1)))[:2]
    (Kind(loops=4, bounds=0, rows=0), 6)
    """
    if stated.volume > MOST:
        raise cannot(f"write at most {MOST} elements", stated.volume)
    found = _of_runs(stated) if isinstance(stated, Runs) else _of_nest(stated)
    if max(map(abs, found.numbers)) > _INT32:
        raise cannot("have strides and starts that fit int32", stated)
    return found


def _of_nest(nest: LoopNest) -> Code:
    if nest.volume == 0:
        return NOP
    live = [k for k, loop in enumerate(nest.loops) if loop.extent != 1]
    start, rows = nest.src_start, []
    steps = [0] * len(nest.loops)
    for coord in nest.coords:
        if coord.extent is None:
            start += coord.offset * coord.stride
            for k in live:
                steps[k] += coord.terms[k] * coord.stride
        else:
            rows.append(_bound(coord, coord.extent, live))
    fits = len(live) <= NARROW.loops and not rows
    kind = NARROW if fits else WIDE
    if len(live) > kind.loops or len(rows) > kind.bounds:
        raise cannot(f"have at most {kind.loops} loops and coordinates", nest)
    numbers = [nest.volume, nest.dst_start, start]
    numbers += _padded((nest.loops[k].extent for k in live), kind.loops, 1)
    numbers += _padded((nest.loops[k].dst_stride for k in live), kind.loops)
    numbers += _padded((steps[k] for k in live), kind.loops)
    for terms, *rest in rows:
        numbers += [*_padded(terms, kind.loops), *rest]
    return Code(kind, nest.volume, _padded(numbers, kind.length))


def _bound(coord: Coord, extent: int, live: list[int]) -> tuple:
    stride = 0 if extent == 1 else coord.stride
    terms = [coord.terms[k] for k in live]
    return terms, stride, coord.offset, extent, MODES[coord.outside]


def _of_runs(runs: Runs) -> Code:
    rows = _power_of_4(max(_LEAST_ROWS, runs.dst.size))
    numbers = [runs.volume, runs.dst_start, runs.src_start, runs.length, runs.dst_step]
    numbers += _padded(runs.dst.tolist(), rows)
    numbers += _padded(runs.src.tolist(), rows)
    return Code(Kind(0, 0, rows), runs.volume, numbers)


def _padded(values: Iterable[int], length: int, padding: int = 0) -> list[int]:
    values = list(values)
    return values + [padding] * (length - len(values))


def cannot(rule: str, got: object) -> BoundsError:
    """The error of what no program runs."""
    fix = "Apply this move by itself, or compare its map with the oracle alone."
    return BoundsError("sweep", "move", rule, got, fix, "instructions.md, Units")


NOP = Code(NARROW, 0, _padded([0, 0, 0, 1, 1, 1, 1], NARROW.length))
"""Nothing moves."""


def nop(kind: Kind) -> Code:
    """A call of any kind that moves nothing."""
    if kind.rows:
        return Code(kind, 0, _padded([0, 0, 0, 1, 1], kind.length))
    return NOP.widened(kind)


def kind_of(codes: list[Code]) -> Kind | None:
    """The kind whose program runs all of the calls; None where there is none, for nests
    and runs in turn."""
    kinds = {code.kind for code in codes}
    if all(kind.rows for kind in kinds):
        return max(kinds)
    if any(kind.rows for kind in kinds):
        return None
    return max(kinds)


def size_class(elements: int) -> int:
    """The buffer that a program has for so many elements: a power of 4, so that few
    are compiled.

    >>> size_class(5), size_class(1025)
    (1024, 4096)
    """
    return _power_of_4(max(elements, 1 << 10))


def _power_of_4(least: int) -> int:
    return 1 << 2 * (((least - 1).bit_length() + 1) // 2)
