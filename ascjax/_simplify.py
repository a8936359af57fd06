"""A nest as the same move with fewer loops, for plans and for comparing."""

from __future__ import annotations

import dataclasses
import itertools

from ._nest import Coord, LoopNest


def simplify(nest: LoopNest) -> LoopNest:
    """The same move with fewer loops: single trips dropped, neighbours merged."""
    bounds = [coord for coord in nest.coords if coord.extent is not None]
    bounded = {k for coord in bounds for k in coord.loops()}
    start = nest.src_start + sum(
        c.stride * c.offset for c in nest.coords if c.extent is None
    )
    plain = [
        (loop, step)
        for k, (loop, step) in enumerate(zip(nest.loops, nest.src_steps(), strict=True))
        if loop.extent > 1 and k not in bounded
    ]
    merged = True
    while merged:
        merged = False
        for (a, a_src), (b, b_src) in itertools.permutations(plain, 2):
            n = b.extent
            if (a.dst_stride, a_src) == (n * b.dst_stride, n * b_src):
                plain[plain.index((b, b_src))] = (
                    dataclasses.replace(b, extent=n * a.extent),
                    b_src,
                )
                plain.remove((a, a_src))
                merged = True
                break
    kept = sorted(bounded)
    loops = [loop for loop, _ in plain] + [nest.loops[k] for k in kept]
    steps = tuple(step for _, step in plain) + tuple(nest.src_steps()[k] for k in kept)
    coords = [Coord(steps, 1)]
    for coord in bounds:
        terms = (0,) * len(plain) + tuple(coord.terms[k] for k in kept)
        coords.append(dataclasses.replace(coord, terms=terms))
    return LoopNest(tuple(loops), tuple(coords), start, nest.dst_start)
