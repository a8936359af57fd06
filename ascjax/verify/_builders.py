"""Builders of legal params: Load2D, Load2DV2, LoadDataWithTranspose and NZ2ND.

Nothing is drawn and rejected: a field is drawn after those that bound it.
"""

from __future__ import annotations

from .._products import ATLAS_TRAINING
from ..instr import Params, Site
from ..instr.load2d import LoadData2DParams
from ..instr.load2dv2 import LoadData2DParamsV2
from ..instr.load_data_with_transpose import (
    LoadData2dTransposeParams,
    LoadData2dTransposeParamsV2,
    fractals_in_square,
)
from ..instr.nz2nd import Nz2NdParamsFull
from ._choices import Draw, budget, chance, count, free, lattice, one_of


def load2d(site: Site, draw: Draw) -> LoadData2DParams:
    """Both address modes, gaps, transposes from L1 to L0, srcStride 0."""
    gapless = site.product is ATLAS_TRAINING
    can_transpose = site.type.bits == 16 and site.path in ("A1->A2", "B1->B2")
    flip, mode = can_transpose and draw(0, 1) == 1, draw(0, 1)
    sid = free(draw, 0, 255)
    if chance(draw, 8):  # a NOP reads and writes nothing, so all else is free
        start, stride = free(draw, 0, 65535), free(draw, 0, 65535)
        gap = 0 if gapless else free(draw, 0, 65535)
        return LoadData2DParams(start, 0, stride, sid, gap, flip, mode)
    repeat = count(draw, min(255, budget(draw) // site.type.fractal))
    once = repeat == 1
    stride = free(draw, 0, 65535) if once else draw(0, 6)
    gap = free(draw, 0, 65535) if once else draw(0, 5) // 3 * draw(0, 3)
    start = draw(0, 5) + (0 if once or not mode else (repeat - 1) * stride)
    gap = 0 if gapless else gap
    return LoadData2DParams(start, repeat, stride, sid, gap, flip, mode)


def load2dv2(site: Site, draw: Draw) -> LoadData2DParamsV2:
    """Windows anywhere, both signs of srcStride, transposes of whole squares."""
    bits, c0 = site.type.bits, site.type.c0
    flip = site.path in ("A1->A2", "B1->B2") and draw(0, 1) == 1
    m_unit = {4: 4, 8: 2}.get(bits, 1) if flip else 1
    k_unit = 2 if flip and bits == 32 else 1
    sid = free(draw, 0, 255)
    if chance(draw, 8):
        m, k = (0, free(draw, 0, 255 // k_unit)) if draw(0, 1) else (draw(0, 255), 0)
        return LoadData2DParamsV2(
            free(draw, 0, 2**32 - 1),
            free(draw, 0, 2**32 - 1),
            m // m_unit * m_unit,
            k * k_unit,
            free(draw, -(2**31), 2**31 - 1),
            free(draw, 0, 65535),
            flip,
            sid,
        )
    units = max(1, budget(draw) // site.type.fractal // (m_unit * k_unit))
    most = 255 // (m_unit * k_unit)
    m = count(draw, min(units, most))
    k = count(draw, min(units // m, most)) * k_unit
    m *= m_unit
    # fractals of the destination: `down` of them stand together, `across` apart
    down, across = (k * c0 // 16, m * 16 // c0) if flip else (m, k)
    dst = free(draw, 0, 65535) if across == 1 else down + draw(0, 5) // 3 * draw(0, 3)
    m_start, k_start = draw(0, 4), draw(0, 3)
    if k == 1:
        src = free(draw, -(2**31), 2**31 - 1)
        k_start = 0 if abs(src) > 64 else k_start
    else:
        src = one_of(draw, (m, m + draw(1, 3), draw(1, 6), -draw(1, 6), 0))
        k_start += k - 1 if src < 0 else 0
    if src == 0:
        k_start = free(draw, 0, 2**32 - 1)  # times abs(src_stride)
    return LoadData2DParamsV2(m_start, k_start, m, k, src, dst, flip, sid)


def _transposes(site: Site, draw: Draw, second: bool) -> Params:
    """V1 counts start and stride in squares, V2 in fractals, with a source gap."""
    n, mode = fractals_in_square(site.type.bits), draw(0, 1)
    if chance(draw, 8):
        start, stride, gap, frac, src_frac = (free(draw, 0, 65535) for _ in range(5))
        repeat = 0
    else:
        most = max(2, budget(draw) // (n * site.type.fractal))
        repeat = count(draw, min(255, most))
        once = repeat == 1
        stride = free(draw, 0, 65535) if once else draw(0, 2 if repeat > 9 else 6)
        start = draw(0, 5) + (0 if once or not mode else (repeat - 1) * stride)
        step, frac_step = lattice(draw, repeat, n, 3 * repeat * n)
        gap = free(draw, 0, 65535) if once else step - 1
        frac = free(draw, 0, 65535) if n == 1 else frac_step - 1
        src_frac = free(draw, 0, 65535) if n == 1 else draw(0, 4)
    if not second:
        return LoadData2dTransposeParams(start, repeat, stride, gap, frac, mode)
    return LoadData2dTransposeParamsV2(start, repeat, stride, gap, frac, src_frac, mode)


def ldwt_v1(site: Site, draw: Draw) -> Params:
    """Squares whose fractals stand together, apart or interleaved."""
    return _transposes(site, draw, False)


def ldwt_v2(site: Site, draw: Draw) -> Params:
    """As `ldwt_v1`, the fractals of a source square apart too."""
    return _transposes(site, draw, True)


def nz2nd(site: Site, draw: Draw) -> Nz2NdParamsFull:
    """Matrices one after another, side by side or interleaved; odd pitches."""
    if chance(draw, 8):
        return Nz2NdParamsFull(
            0,
            free(draw, 1, 8192),
            16 * free(draw, 1, 512),
            free(draw, 0, 512),
            free(draw, 0, 4096),
            free(draw, 1, 65535),
            free(draw, 0, 65535),
        )
    if chance(draw, 60):
        nd, n, d = 4095, 1, 16  # the most matrices there can be
    else:
        left = budget(draw)
        d = 16 * (min(512, left // 16) if chance(draw, 20) else count(draw, 8))
        n = count(draw, max(1, min(40, left // d)))
        nd = count(draw, max(1, min(8, left // (d * n))))
    src_n = free(draw, 0, 4096) if d == 16 else one_of(draw, (n, n + 1, draw(0, 9)))
    src_nd = free(draw, 0, 512) if nd == 1 else 1 if nd > 8 else draw(1, 4)
    rows, matrices = _nz2nd_strides(draw, nd, n, d)
    return Nz2NdParamsFull(
        nd,
        n,
        d,
        src_nd,
        src_n,
        free(draw, 0, 65535) if n == 1 else rows,
        free(draw, 0, 65535) if nd == 1 else matrices,
    )


def _nz2nd_strides(draw: Draw, nd: int, n: int, d: int) -> tuple[int, int]:
    """Distances of rows and of matrices that keep all rows apart."""
    pitch = d + draw(0, 3) // 2 * draw(0, 37)
    if nd > 8:
        return pitch, pitch
    kind = draw(0, 2)
    if kind == 0:  # one matrix after another
        return pitch, (n - 1) * pitch + d + draw(0, 1) * draw(0, 37)
    if kind == 1:  # matrices side by side: each in the gap after the other's row
        return (nd - 1) * pitch + d + draw(0, 1) * draw(0, 37), pitch
    a, b = lattice(draw, n, nd, 3 * n * nd)
    return a * pitch, b * pitch
