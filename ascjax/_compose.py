"""One nest after another, as one nest: algebra on loops, without a map."""

from __future__ import annotations

import dataclasses

from ._nest import LoopNest
from ._window import nests


@dataclasses.dataclass(frozen=True)
class _Mode:
    """A loop of the first nest, as a digit of the addresses between the two."""

    extent: int
    step: int  # between two values of the digit, in the buffer between
    src: int  # the same in the source
    room: int | None  # how many values the digit has before the next one steps


def compose(first: LoopNest, then: LoopNest) -> LoopNest | None:
    """`then` on what `first` leaves; None where the two do not make one nest.

    Each address that `then` reads is written in the digits that `first` counts in. A
    loop of `then` becomes one loop for each digit that it moves. That works where no
    carry happens between digits, no cell is read that `first` does not write, and no
    order of writes decides.
    """
    if not (plain(first) and plain(then)):
        return None
    modes, loops = _modes(first), _rows(then)
    if modes is None or loops is None:
        return None
    rest = then.src_start + sum(min(m, 0) * (n - 1) for _, n, m, _ in loops)
    rest -= first.dst_start
    src_start, highest = first.src_start, []
    for mode in reversed(modes):
        digit, rest = divmod(rest, mode.step)
        src_start += digit * mode.src
        highest.insert(0, digit)
    if rest or any(digit < 0 for digit in highest):
        return None
    dst_start, rows = then.dst_start, []
    for name, extent, mid, dst in loops:
        if mid < 0:  # counted from its other end
            dst_start += dst * (extent - 1)
            mid, dst = -mid, -dst
        digits = _digits(extent, mid, modes)
        if digits is None:
            return None
        for count, at, step, trips in digits:
            src = 0
            if at is not None:
                src = step * modes[at].src
                highest[at] += step * (count - 1)
            rows.append([name, count, src, dst * trips])
    if any(digit >= mode.extent for digit, mode in zip(highest, modes, strict=True)):
        return None
    for row in rows:
        _, count, src, dst = row
        if dst < 0:
            dst_start += dst * (count - 1)
            src_start += src * (count - 1)
            row[2:] = -src, -dst
    named = [(f"{name}{k}", n, src, dst) for k, (name, n, src, dst) in enumerate(rows)]
    return LoopNest.strided(src_start, dst_start, *named)


def plain(nest: LoopNest) -> bool:
    """Whether something moves, and the strides show that no element is written twice:
    then the order of the loops is free."""
    dims = [(x.extent, abs(x.dst_stride)) for x in nest.loops if x.extent > 1]
    falling = tuple(sorted(dims, key=lambda dim: -dim[1]))
    return nest.volume > 0 and all(stride for _, stride in dims) and nests(falling)


def _rows(nest: LoopNest) -> list[tuple[str, int, int, int]] | None:
    """(name, extent, step in the source, step in the destination) of live loops."""
    if any(coord.extent is not None or coord.offset for coord in nest.coords):
        return None
    return [
        (loop.name.rstrip("0123456789"), loop.extent, step, loop.dst_stride)
        for loop, step in zip(nest.loops, nest.src_steps(), strict=True)
        if loop.extent > 1
    ]


def _modes(nest: LoopNest) -> list[_Mode] | None:
    """The nest's loops as digits, the fastest first; None where they are not that."""
    rows = _rows(nest)
    if rows is None:
        return None
    rows.sort(key=lambda row: row[3])
    dims = tuple((n, dst) for _, n, _, dst in reversed(rows))
    if not nests(dims) or any(dst <= 0 for _, dst in dims):
        return None
    modes = []
    for k, (_, extent, src, step) in enumerate(rows):
        above = rows[k + 1][3] if k + 1 < len(rows) else None
        if above is not None and above % step:
            return None
        room = None if above is None else above // step
        modes.append(_Mode(extent, step, src, room))
    return modes


def _digits(
    extent: int, mid: int, modes: list[_Mode]
) -> list[tuple[int, int | None, int, int]] | None:
    """A loop as loops that each move one digit: (count, digit, step, trips), the
    slowest first; `trips` are the original loop's between two of the new one's."""
    if mid == 0:
        return [(extent, None, 0, 1)]
    found, trips = [], 1
    while extent > 1:
        at = [k for k, mode in enumerate(modes) if mid % mode.step == 0]
        if not at:
            return None
        mode = modes[at[-1]]
        step = mid // mode.step
        count = extent
        if mode.room is not None and extent * step > mode.room:
            count = mode.room // step
            if count * step != mode.room or extent % count:
                return None
        found.insert(0, (count, at[-1], step, trips))
        trips *= count
        extent //= count
        mid *= count
    return found
