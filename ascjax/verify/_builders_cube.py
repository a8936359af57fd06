"""Builders of legal params: Fixpipe; of Mmad those of a whole call."""

from __future__ import annotations

from ..instr import Site
from ..instr.fixpipe import FixpipeParams
from ..instr.mmad import MmadParams
from ._choices import Draw, budget, chance, count, free, one_of


def fixpipe(site: Site, draw: Draw) -> FixpipeParams:
    """Whole and part-filled blocks of columns; matrices after and beside each other."""
    casts = ("NoQuant", "F322F16", "F322BF16")
    cast = one_of(draw, casts if site.type.name == "float" else casts[:1])
    relu, most = draw(0, 1) == 1, 2**32 - 1
    if chance(draw, 4):  # it has few combinations
        empty = draw(0, 2)
        counts = (free(draw, 1, 4095), free(draw, 1, 8192), free(draw, 1, 65535))
        n, m, nd = (0 if k == empty else x for k, x in enumerate(counts))
        strides = free(draw, 0, 65535), free(draw, 1, most)
        ends = free(draw, 0, 512), free(draw, 0, most)
        return FixpipeParams(n, m, *strides, nd, *ends, cast, relu)
    left = budget(draw)
    n = one_of(draw, (16 * draw(1, 6), draw(1, 16), draw(17, 120)))
    m = count(draw, max(1, min(60, left // n)))
    nd = count(draw, max(1, min(6, left // (n * m))))
    column = one_of(draw, (m, -(-m // 16) * 16, draw(0, 20)))
    src_nd = one_of(draw, (0, 1, -(-m * n // 256)))
    row = n + draw(0, 1) * draw(0, 37)
    matrix = (m - 1) * row + n + draw(0, 1) * draw(0, 37)
    if draw(0, 1):  # side by side: each in the gap after the other's row
        matrix, row = row, nd * row
    return FixpipeParams(
        n,
        m,
        free(draw, 0, 65535) if n <= 16 else column,
        free(draw, 1, most) if m == 1 and nd == 1 else row,
        nd,
        free(draw, 0, 512) if nd == 1 else src_nd,
        free(draw, 0, most) if nd == 1 else matrix,
        cast,
        relu,
    )


def mmad(site: Site, draw: Draw) -> MmadParams:
    """Small matrices, whole fractals and parts of them; either start value."""
    c0 = site.type.c0
    m, n = (one_of(draw, (16, 1, draw(1, 40))) for _ in range(2))
    k = one_of(draw, (c0, draw(1, 2 * c0), draw(1, 2 * c0)))
    if chance(draw, 12):
        empty = draw(0, 2)
        m, n, k = (0 if j == empty else x for j, x in enumerate((m, n, k)))
    align = site.type.name == "float" and draw(0, 1) == 1
    return MmadParams(m, n, k, draw(0, 2) > 0, align)
