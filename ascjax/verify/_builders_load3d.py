"""The builder of legal Load3DV2 params."""

from __future__ import annotations

from typing import Any

from .._products import ATLAS_350
from ..instr import Site
from ..instr.load3dv2 import LoadData3DParamsV2, LoadDataRepeatParam
from ._choices import Draw, budget, chance, free, one_of


def load3dv2(site: Site, draw: Draw) -> LoadData3DParamsV2:
    """Windows anywhere in small maps, padded, strided and dilated; plain NZ matrices;
    windows that end inside the last fractal."""
    c0, bits = site.type.c0, site.type.bits
    widths = (8, 16, 32) if site.product is ATLAS_350 else (16, 32)
    turned = draw(0, 1) == 1 and (site.path == "B1->B2" or bits in widths)
    known: dict[str, Any] = {
        "en_transpose": turned,
        "en_small_k": draw(0, 1),
        "pad_value": 0 if site.type.jax is None else draw(0, 5),
        "f_matrix_ctrl": draw(0, 1),
    }
    if site.product is ATLAS_350:
        known["repeat"] = _once(draw, free(draw, 0, 65535))
    if chance(draw, 8):
        return LoadData3DParamsV2(**known, **_nothing(draw, c0))
    plain = chance(draw, 4)
    sizes, matrix = (_plain if plain else _filtered)(draw)
    blocks = one_of(draw, (1, draw(1, 3)))
    rows, columns = matrix[0], matrix[1] * blocks
    m_start, m = _part(draw, rows, 16, 1, bits == 32, budget(draw) // c0)
    k_start, k = _part(draw, columns * c0, c0, c0, False, budget(draw) // max(m, 16))
    if site.product is ATLAS_350:
        transposed = turned or site.path == "B1->B2"
        down, across = (k, m) if transposed else (m, k)
        least = -(-down // 16) if across > c0 else 0
        known["repeat"] = _once(draw, least + draw(0, 3) // 2)
    return LoadData3DParamsV2(
        channel_size=blocks * c0,
        k_extension=k,
        m_extension=m,
        k_start_pt=k_start,
        m_start_pt=m_start,
        **sizes,
        **known,
    )


def _once(draw: Draw, dst_stride: int) -> LoadDataRepeatParam:
    """The register of one repeat, whose stride and mode do nothing."""
    return LoadDataRepeatParam(free(draw, 0, 65535), 1, draw(0, 1), dst_stride)


def _nothing(draw: Draw, c0: int) -> dict[str, Any]:
    """Sizes of a NOP: one count is 0, all else is free."""
    fields = {
        "l1_h": (32767, 1),
        "l1_w": (32767, 1),
        "channel_size": (65535, c0),
        "k_extension": (65535, 1),
        "m_extension": (65535, 1),
        "filter_w": (255, 1),
        "filter_h": (255, 1),
    }
    made = {k: free(draw, 0, high // n) * n for k, (high, n) in fields.items()}
    starts = {"k_start_pt": free(draw, 0, 65535 // c0) * c0}
    starts["m_start_pt"] = free(draw, 0, 32767)
    strides = {name: free(draw, 0, 63) for name in ("stride_w", "stride_h")}
    return {**made, one_of(draw, list(fields)): 0, **starts, **strides}


def _plain(draw: Draw) -> tuple[dict[str, Any], tuple[int, int]]:
    """A 1x1 filter that moves an NZ matrix, and (rows, blocks of columns)."""
    wide = draw(1, 80)
    high = one_of(draw, (1, draw(1, 4)))
    return {"l1_h": high, "l1_w": wide}, (high * wide, 1)


def _filtered(draw: Draw) -> tuple[dict[str, Any], tuple[int, int]]:
    """A filter on a padded map, and (rows, blocks of columns) of its matrix."""
    sizes: dict[str, Any] = {}
    counts, taps, pads = [], [], []
    for axis in "wh":
        far = chance(draw, 12)  # a filter of 256 and more, which needs dilation 0
        taps.append(draw(1, 3))
        dilation = 0 if far else one_of(draw, (1, 1, draw(0, 3)))
        reach = (taps[-1] + 256 * far - 1) * dilation + 1
        pads += [draw(0, 2), draw(0, 2)]
        size = max(1, reach - sum(pads[-2:])) + draw(0, 9)
        stride = one_of(draw, (1, draw(1, 3)))
        counts.append((size + sum(pads[-2:]) - reach) // stride + 1)
        sizes |= {f"l1_{axis}": size, f"stride_{axis}": stride}
        sizes |= {f"filter_{axis}": taps[-1], f"dilation_filter_{axis}": dilation}
        sizes[f"filter_size_{axis}"] = far
        taps[-1] += 256 * far
    sizes["pad_list"] = tuple(pads)
    return sizes, (counts[0] * counts[1], taps[0] * taps[1])


def _part(
    draw: Draw, size: int, unit: int, grid: int, ragged: bool, most: int
) -> tuple[int, int]:
    """Start and length of a part: from a multiple of `grid` on, of whole units or up to
    any place in the last fractal; of any length where it may be ragged."""
    first = one_of(draw, (0, draw(0, min(size - 1, 32767) // grid) * grid))
    left = min(size - first, max(unit, most))
    whole = left // unit
    least = max(1, (size - 1) // unit * unit - first + 1)  # it ends in the last fractal
    if ragged:
        return first, draw(1, left)
    if left >= least and (whole == 0 or draw(0, 1)):
        return first, draw(least, left)
    return first, one_of(draw, (1, whole, draw(1, whole))) * unit
