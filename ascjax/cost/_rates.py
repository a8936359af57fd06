"""Published bandwidths: bytes a cycle of each way between buffers, and who says so."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, NoReturn

import jax
import numpy as np

from .._dtypes import AscendType
from .._errors import ParamError, SupportError
from .._products import Product
from ..instr import Params
from ..instr._im2col import Matrix
from ..instr.load3dv2 import LoadData3DParamsV2

WHO = "cost"
SOURCE = "costs.md"
CLOCK = 1.85e9
"""Cycles a second, of A2 and A3 [P]."""

ARCHITECTURES = (2201, 3510)
"""NPU_ARCH of the products whose figures are published."""

V = "V"
P = "P"
SOURCES = {
    V: "the vendor's table of theoretical performance of cube instructions",
    P: "the vendor's open tile-library cost model for A2 and A3",
}


@dataclasses.dataclass(frozen=True)
class Rate:
    """What is published of one way.

    Attributes:
      bytes_per_cycle: the bandwidth.
      source: "V" or "P", see `ascjax.cost.SOURCES`.
      note: what the figure leaves out.

    >>> Rate(256.0, "V").bytes_per_cycle
    256.0
    """

    bytes_per_cycle: float
    source: str
    note: str = ""


def _gib(per_second: float) -> Rate:
    note = "one core, of GiB/s at 1.85 GHz"
    return Rate(per_second * 2**30 / CLOCK, P, note)


_LOADS = {
    (2201, "load2d"): {"L0A": 256, "L0B": 128},
    (2201, "ldwt_v1"): {"L0A": 256, "L0B": 128},
    (3510, "load2d"): {"L0A": 256, "L0B": 256},
    (3510, "load2dv2"): {"L0A": 256, "L0B": 256},
    (3510, "ldwt_v1"): {"L0B": 128},
    (3510, "ldwt_v2"): {"L0B": 128},
}
_NOTES = {
    (3510, "load2d"): "less a loss, not published, by its translation to Load2DV2"
}
_MEMORY = {
    ("GM", "L1"): 135.0,
    ("GM", "UB"): 100.9,
    ("UB", "GM"): 188.5,
    ("L0C", "GM"): 70.0,
    ("L1", "GM"): 32.0,
}
"""GiB/s of one core, of A2 and A3."""


def rate_of(
    params: Params, product: Product, ends: tuple[str, str], arrives: AscendType
) -> Rate:
    """What is published of one call's way between two buffers.

    Args:
      params: the call's.
      product: where it runs.
      ends: the buffers, such as ("L1", "L0A").
      arrives: the type that the destination holds.
    Raises:
      SupportError: where nothing is published.
    """
    arch, name = product.npu_arch, params.instruction
    if arch not in ARCHITECTURES:
        _unpublished(product, "be one whose figures are published", str(product))
    if isinstance(params, LoadData3DParamsV2):
        return Rate(_load3d(params, arch, ends[1]), V, _ROWS)
    bandwidths = _LOADS.get((arch, name), {})
    if ends[0] == "L1" and ends[1] in bandwidths:
        return Rate(float(bandwidths[ends[1]]), V, _NOTES.get((arch, name), ""))
    if ends == ("L0C", "L1") or (ends == ("L0C", "UB") and arch == 3510):
        return Rate(64.0 if arrives.bits == 8 else 128.0, V)
    if arch == 2201 and ends in _MEMORY:
        return _gib(_MEMORY[ends])
    way = f"{name} from {ends[0]} to {ends[1]} on {product}"
    _unpublished(product, "be published", f"no figure for {way}")


def check_overhead(overhead: Any) -> None:
    """Raise ParamError for what is no number of cycles; a traced one passes."""
    if isinstance(overhead, jax.Array):
        return
    known = isinstance(overhead, int | float | np.number)
    if not known or not 0 <= overhead < math.inf:
        rule, fix = "be a number of cycles, at least 0", "None is published: 0 is none."
        raise ParamError(WHO, "overhead", rule, repr(overhead), fix, SOURCE)


def plain_rate(product: Product, ends: tuple[str, str]) -> float | None:
    """Bytes a cycle of whole fractals without a transpose, of the memory's ways, and of
    values of 32 bits out of L0C; None where nothing is published."""
    arch = product.npu_arch
    if ends[0] == "L1":
        return float(_LOADS[arch, "load2dv2" if arch == 3510 else "load2d"][ends[1]])
    if arch == 2201 and ends in _MEMORY:
        return _gib(_MEMORY[ends]).bytes_per_cycle
    return None


def _unpublished(product: Product, rule: str, got: str) -> NoReturn:
    fix = "There is none to be had: atlas_a2 and atlas_a3 have the most."
    field = "product" if got == str(product) else "the bandwidth"
    raise SupportError(WHO, field, rule, got, fix, SOURCE)


_ROWS = "rows of the map: those that 16 points of a fractal lie on, at most"


def _load3d(params: LoadData3DParamsV2, arch: int, to: str) -> float:
    """By the step along a row, and the rows of the map that a fractal is taken from."""
    step, rows = params.stride_w, rows_of(params)
    like_l0a = to == "L0A" or arch == 3510
    if step == 1:
        if rows == 1:
            return 256.0 if like_l0a else 128.0
        if like_l0a:
            return max(512 / (rows + 2), 32)
        return max(512 / (rows + 4), 512 / 18)
    least = 32 if like_l0a else 512 / 18
    if step not in (2, 4, 8):
        return least
    over = 2 * step + (0 if like_l0a else 2) + (rows if rows > 1 else 0)
    return max(512 / over, least)


def rows_of(params: LoadData3DParamsV2) -> int:
    """Rows of the output that 16 neighbours of it, one fractal's, lie on, at most."""
    try:
        wide = Matrix.of(params, 16).count[1]
    except ZeroDivisionError:  # a NOP, whose steps may be 0: it has no rows
        return 1
    starts = range(params.m_start_pt, params.m_start_pt + params.m_extension, 16)
    return max(((at + 15) // wide - at // wide + 1 for at in starts), default=1)
