"""One destination element of a move: which iteration writes it, and from where."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from .._nest import FILL, KEEP, LoopNest
from .._runs import Runs, Stated


@dataclasses.dataclass(frozen=True)
class Origin:
    """Where a destination element's value comes from.

    Attributes:
      source: source element, FILL for padding, KEEP where nothing is written.
      loops: the value of every loop at the last write, by name; empty for KEEP.
      outside: for padding, what left its range, in words.
    """

    source: int
    loops: dict[str, int]
    outside: str = ""


def origin(nest: Stated, element: int) -> Origin:
    """Where a destination element comes from, without building the map.

    Of several writes the last in the nest's order counts.

    >>> nest = LoopNest.strided(0, 0, ("r", 2, 1, 4), ("c", 3, 2, 1))
    >>> origin(nest, 5)
    Origin(source=3, loops={'r': 1, 'c': 1}, outside='')
    >>> origin(nest, 3).source == KEEP
    True
    """
    if isinstance(nest, Runs):
        return _origin_of_run(nest, element)
    index = max(_writes(nest, element), default=None)
    if index is None:
        return Origin(KEEP, {})
    loops = {loop.name: x for loop, x in zip(nest.loops, index, strict=True)}
    source, outside = nest.src_start, []
    for coord in nest.coords:
        value = coord.offset + sum(coord.terms[k] * index[k] for k in coord.loops())
        if coord.extent is not None:
            nearest = min(max(value, 0), coord.extent - 1)
            if value != nearest and coord.outside == "fill":
                names = ", ".join(nest.loops[k].name for k in coord.loops())
                outside.append(f"{names}: {value} is not in [0, {coord.extent})")
            value = nearest
        source += value * coord.stride
    return Origin(FILL if outside else source, loops, "; ".join(outside))


def _origin_of_run(runs: Runs, element: int) -> Origin:
    found = runs.writers(element)
    if not found:
        return Origin(KEEP, {})
    run, place = found[-1]
    loops, first = runs.named(run, place), int(runs.src[run])
    if first == FILL:
        return Origin(FILL, loops, "the run is outside the source")
    return Origin(runs.src_start + first + place, loops)


def writer(nests: Sequence[Stated], element: int) -> tuple[int, Origin]:
    """The call that is the last to write a destination element, and what it writes;
    call 0 where none does."""
    for call in reversed(range(len(nests))):
        found = origin(nests[call], element)
        if found.source != KEEP:
            return call, found
    return 0, Origin(KEEP, {})


def reader(nest: Stated, element: int) -> dict[str, int]:
    """The loops of an iteration that reads a source element; empty where none does, or
    where coordinates have ends.

    >>> reader(LoopNest.strided(0, 0, ("r", 2, 1, 4), ("c", 3, 2, 1)), 3)
    {'r': 1, 'c': 1}
    """
    if isinstance(nest, Runs):
        found = nest.reader(element)
        return {} if found is None else nest.named(*found)
    if any(coord.extent is not None for coord in nest.coords):
        return {}
    start = nest.src_start + sum(c.offset * c.stride for c in nest.coords)
    steps = [
        sum(coord.stride * coord.terms[k] for coord in nest.coords)
        for k in range(len(nest.loops))
    ]
    loops = zip(nest.loops, steps, strict=True)
    turned = ((loop.name, loop.extent, 0, step) for loop, step in loops)
    return origin(LoopNest.strided(0, start, *turned), element).loops


def _writes(nest: LoopNest, element: int) -> Iterator[tuple[int, ...]]:
    """The iterations that write an element: the largest stride is chosen first, within
    what the smaller ones can still make up."""
    if nest.volume == 0:
        return
    loops = nest.loops
    order = sorted(range(len(loops)), key=lambda k: -abs(loops[k].dst_stride))
    ends = [loops[k].dst_stride * (loops[k].extent - 1) for k in order]
    below = [
        (sum(min(e, 0) for e in ends[d:]), sum(max(e, 0) for e in ends[d:]))
        for d in range(1, len(order) + 1)
    ]
    index = [0] * len(loops)

    def walk(depth: int, rest: int) -> Iterator[tuple[int, ...]]:
        if depth == len(order):
            if rest == 0:
                yield tuple(index)
            return
        k, (low, high) = order[depth], below[depth]
        stride, last = loops[k].dst_stride, loops[k].extent - 1
        if stride == 0:
            choices = range(last, last + 1)  # all write the same, the last one counts
        elif stride > 0:
            first = max(0, -((high - rest) // stride))
            choices = range(first, min(last, (rest - low) // stride) + 1)
        else:
            first = max(0, -((rest - low) // -stride))
            choices = range(first, min(last, (high - rest) // -stride) + 1)
        for index[k] in choices:
            yield from walk(depth + 1, rest - index[k] * stride)

    yield from walk(0, element - nest.dst_start)
