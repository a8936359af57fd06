"""Builders of legal params: ND2NZ, DataCopy and DataCopyPad."""

from __future__ import annotations

import functools

from ..instr import Site
from ..instr.data_copy import DataCopyParams
from ..instr.data_copy_pad import DataCopyExtParams, DataCopyPadExtParams
from ..instr.nd2nz import Nd2NzParams
from ._builders_nddma import constant
from ._choices import Draw, budget, chance, count, free, lattice, one_of


def nd2nz(site: Site, draw: Draw) -> Nd2NzParams:
    """Whole and part-filled columns; matrices after, between and inside each other."""
    c0 = site.type.c0
    if chance(draw, 8):
        empty = draw(0, 2)
        return Nd2NzParams(
            _count_or_none(draw, 4095, empty == 0),
            _count_or_none(draw, 16384, empty == 1),
            _count_or_none(draw, 65535, empty == 2),
            free(draw, 0, 65535),
            free(draw, 1, 65535),
            free(draw, 1, 16384),
            free(draw, 1, 16384),
            free(draw, 0, 65535),
        )
    if chance(draw, 60):
        nd, n, columns = 4095, 1, 1  # the most matrices there can be
    else:
        left = budget(draw) // c0
        columns = count(draw, 6)
        n = count(draw, max(1, min(70, left // columns)))
        nd = count(draw, max(1, min(6, left // (columns * n))))
    tail = one_of(draw, (c0, draw(1, c0), draw(1, c0)))
    d = (columns - 1) * c0 + tail
    row = one_of(draw, (d, d + draw(0, 9), draw(1, 9)))
    src_nd = one_of(draw, (0, n * row, draw(1, d)))
    rows, column, matrix = _nd2nz_strides(draw, nd, n, columns)
    return Nd2NzParams(
        nd,
        n,
        d,
        free(draw, 0, 65535) if nd == 1 else min(65535, src_nd),
        free(draw, 0, 65535) if n == 1 else row,
        free(draw, 0, 16384) if columns == 1 else column,
        free(draw, 0, 16384) if n == 1 else rows,
        free(draw, 0, 65535) if nd == 1 else min(65535, matrix * c0),
    )


def _nd2nz_strides(draw: Draw, nd: int, n: int, columns: int) -> tuple[int, int, int]:
    """Distances of rows, columns and matrices, in blocks, that keep blocks apart."""
    if nd > 6:
        return 1, 1, 1
    kind = draw(0, 3)
    if kind == 0:  # matrices inside each column: one after another in it
        rows = draw(1, 2)
        return rows, nd * n * rows + draw(0, 1) * draw(0, 9), n * rows
    if kind == 1:  # ZZ: columns inside each matrix, whose rows stand together
        return 1, n, n * columns
    rows, column = lattice(draw, n, columns, 3 * n * columns)
    if kind == 2:  # rows of all matrices interleave
        return rows * nd, column * nd, 1
    return rows, column, (n - 1) * rows + (columns - 1) * column + draw(1, 9)


def data_copy(site: Site, draw: Draw) -> DataCopyParams:
    """Runs of blocks, with gaps on both sides and without."""
    if chance(draw, 8):
        empty = draw(0, 1)
        return DataCopyParams(
            _count_or_none(draw, 4095, empty == 0),
            _count_or_none(draw, 65535, empty == 1),
            free(draw, 0, 65535),
            free(draw, 0, 65535),
        )
    blocks = budget(draw) // site.type.c0
    length = count(draw, min(40, blocks))
    runs = count(draw, max(1, min(40, blocks // length)))
    if site.type.c0 <= 16 and chance(draw, 60):
        runs, length = 4095, 1
    gap = functools.partial(_gap, draw, runs, 65535, 4)
    return DataCopyParams(runs, length, gap(), gap())


def _count_or_none(draw: Draw, most: int, none: bool) -> int:
    return 0 if none else free(draw, 1, most)


def _gap(draw: Draw, runs: int, most: int, some: int) -> int:
    """A gap between runs, none as often as some; of a single run it is free."""
    return free(draw, 0, most) if runs == 1 else draw(0, 1) * draw(0, some)


def data_copy_pad(site: Site, draw: Draw) -> DataCopyExtParams:
    """Both ways; padding on neither side, on one or on both."""
    size, c0 = site.type.bits // 8, site.type.c0
    rsv, wide, pad = free(draw, 0, 9), site.type.bits == 64, None
    if site.path == "GM->VECIN":
        left, right = (one_of(draw, (0, draw(1, 3), draw(0, c0))) for _ in range(2))
        value = 0 if wide else constant(site, draw)
        pad = DataCopyPadExtParams(draw(0, 2) > 0, left, right, value)
    most = (2**32 - 1) // size
    if chance(draw, 8):
        empty = draw(0, 1)
        runs = _count_or_none(draw, 4095, empty == 0)
        length = _count_or_none(draw, 2097151 // size, empty == 1)
        gm, ub = free(draw, 0, most), free(draw, 0, most)
    else:
        room = budget(draw)
        length = count(draw, min(700, room))
        runs = count(draw, max(1, min(40, room // (length + 2 * c0))))
        gm, ub = _gap(draw, runs, most, 9), _gap(draw, runs, most, 3)
    src, dst = (gm * size, ub) if pad else (ub, gm * size)
    return DataCopyExtParams(runs, length * size, src, dst, rsv, pad)
