"""The builder of legal NDDMA params."""

from __future__ import annotations

import math
from typing import Any

from ..instr import Site
from ..instr.nddma import UNSET_PAD, NdDmaConfig, NdDmaLoopInfo, NdDmaParams
from ._choices import Draw, budget, chance, count, free, lattice, one_of


def nddma(site: Site, draw: Draw) -> NdDmaParams:
    """One to five dimensions, in any order of strides, padded each way and not."""
    dim = draw(1, 5)
    wide = site.type.bits == 64
    nearest = not wide and draw(0, 1) == 1
    set_left, set_right = (chance(draw, 6) for _ in range(2))
    left = draw(0, 2) if set_left else UNSET_PAD
    right = draw(0, 2) if set_right else UNSET_PAD
    config = NdDmaConfig(nearest, left, right, draw(0, 1) == 1)
    value = 0 if wide else constant(site, draw)
    if chance(draw, 8):
        return NdDmaParams(_nothing(draw, dim), value, config)
    room = budget(draw)
    sizes, lefts, rights, spans = [], [], [], []
    for a in range(dim):
        # every later dimension needs its own padding's room
        most = max(1, room // 5 ** (dim - 1 - a))
        lp = left if set_left else _pad(draw, most)
        rp = right if set_right else _pad(draw, most - lp)
        size = count(draw, max(1, min(most - lp - rp, 96)))
        room = max(1, room // (lp + size + rp))
        sizes.append(size)
        # what the config sets, the dimension's own sizes must not change
        lefts.append(free(draw, 0, 255) if set_left else lp)
        rights.append(free(draw, 0, 255) if set_right else rp)
        spans.append(lp + size + rp)
    src = tuple(
        free(draw, 0, 2**40 - 1) if size == 1 else stride
        for size, stride in zip(sizes, _src_strides(draw, sizes), strict=True)
    )
    dst = tuple(
        free(draw, 0, 2**20 - 1) if span == 1 else stride
        for span, stride in zip(spans, _dst_strides(draw, spans), strict=True)
    )
    info = NdDmaLoopInfo(src, dst, tuple(sizes), tuple(lefts), tuple(rights))
    return NdDmaParams(info, value, config)


def _pad(draw: Draw, most: int) -> int:
    """Padding on one side: none, a little, or up to the most there can be."""
    some = draw(1, 3) if draw(0, 2) else draw(0, 255)
    return min(draw(0, 1) * some, max(0, min(255, most // 3)))


def _nothing(draw: Draw, dim: int) -> NdDmaLoopInfo:
    """A NOP: one size is 0. The spans of the rest must stay below 2^40."""
    zero = draw(0, dim - 1)
    sizes, src, dst = [], [], []
    for a in range(dim):
        size = 0 if a == zero else one_of(draw, (1, 2**20 - 1, draw(0, 99)))
        sizes.append(size)
        src.append(free(draw, 0, 2**40 - 1 if size <= 1 else 2**17))
        dst.append(free(draw, 0, 2**20 - 1 if size <= 1 else 2**17))
    pads = [tuple(free(draw, 0, 255) for _ in range(dim)) for _ in range(2)]
    return NdDmaLoopInfo(tuple(src), tuple(dst), tuple(sizes), *pads)


def _src_strides(draw: Draw, sizes: list[int]) -> list[int]:
    """Packed, or with gaps, repeats (0) and any order; the source stays small."""
    strides, packed = [], 1
    for size in sizes:
        most = max(1, min(40, 8192 // size))
        strides.append(one_of(draw, (packed, draw(0, most), draw(0, 3), 0)))
        packed = min(packed * size, most)
    return strides


def _dst_strides(draw: Draw, spans: list[int]) -> list[int]:
    """Dimensions that nest in each other in some order, or, of two, interleave."""
    if len(spans) == 2 and chance(draw, 4):
        a, b = lattice(draw, spans[0], spans[1], 2 * math.prod(spans))
        if a > b:  # strides that ascend may not interleave
            return [a, b]
    order = list(range(len(spans)))
    if draw(0, 1):
        for k in range(len(order) - 1, 0, -1):
            j = draw(0, k)
            order[k], order[j] = order[j], order[k]
    strides, least, end = [0] * len(spans), 1, 1
    moving = [a for a in order if spans[a] > 1]
    ascending = moving == sorted(moving)
    for a in order:
        strides[a] = least + draw(0, 3) // 3 * draw(0, 3)
        end += (spans[a] - 1) * strides[a]
        # ascending strides leave room for all of the dimension below, last stride too
        least = max(least, spans[a] * strides[a]) if ascending else end
    return strides


def constant(site: Site, draw: Draw) -> Any:
    """A padding value of the type."""
    name = site.type.jax or ""
    if name == "bool":
        return draw(0, 1)
    if name.startswith("uint"):
        return one_of(draw, (0, 1, 2**site.type.bits - 1))
    if name.startswith("int"):
        top = 2 ** (site.type.bits - 1)
        return one_of(draw, (0, -1, 7, top - 1, -top))
    if name in ("", "float8_e8m0fnu"):  # no values in JAX, or positive ones only
        return 0 if not name else one_of(draw, (0, 1.0, 2.0**-127, 2.0**127))
    if name.startswith("float8"):
        return one_of(draw, (0, 1.5, -0.0, -3.0))
    return one_of(draw, (0, 1.5, -0.0, -3.0, float("inf")))
