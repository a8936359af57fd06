"""What Load3DV2 moves: a window of an im2col matrix, and its place in L0."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from .._nest import FILL, sum_of
from .._products import ATLAS_350
from ._params import Site


def kernel(params: Any) -> tuple[int, int]:
    """Rows and columns of the filter."""
    kh = params.filter_h + 256 * params.filter_size_h
    return kh, params.filter_w + 256 * params.filter_size_w


@dataclasses.dataclass(frozen=True)
class Matrix:
    """The im2col matrix of a map: a row for each place of the filter, C0 columns for
    each block of channels and each element of the filter.

    Pairs are of (rows, columns) of the map.
    """

    map: tuple[int, int]
    before: tuple[int, int]  # padding
    count: tuple[int, int]  # places of the filter
    stride: tuple[int, int]
    dilation: tuple[int, int]
    filter: tuple[int, int]
    blocks: int  # of C0 channels
    c0: int

    @classmethod
    def of(cls, params: Any, c0: int) -> Matrix:
        left, right, top, bottom = params.pad_list
        size, taps = (params.l1_h, params.l1_w), kernel(params)
        stride = params.stride_h, params.stride_w
        dilation = params.dilation_filter_h, params.dilation_filter_w
        axes = zip(
            size, (top + bottom, left + right), taps, dilation, stride, strict=True
        )
        count = [(n + pad - (k - 1) * d - 1) // s + 1 for n, pad, k, d, s in axes]
        blocks = -(-params.channel_size // c0)
        places = count[0], count[1]
        return cls(size, (top, left), places, stride, dilation, taps, blocks, c0)

    @property
    def rows(self) -> int:
        return self.count[0] * self.count[1]

    @property
    def columns(self) -> int:
        return self.blocks * self.filter[0] * self.filter[1] * self.c0

    def sources(self, row: np.ndarray, column: np.ndarray) -> np.ndarray:
        """The source element of each (row, column), or FILL."""
        block, e = np.divmod(column, self.c0)
        c1, f = np.divmod(block, self.filter[0] * self.filter[1])
        source, inside = c1, np.ones(row.shape, bool)
        places = np.divmod(row, self.count[1]), np.divmod(f, self.filter[1])
        for axis, (y, tap) in enumerate(zip(*places, strict=True)):
            at = y * self.stride[axis] + tap * self.dilation[axis] - self.before[axis]
            inside &= (at >= 0) & (at < self.map[axis])
            source = source * self.map[axis] + at
        return np.where(inside, source * self.c0 + e, FILL)


@dataclasses.dataclass(frozen=True)
class Place:
    """Where the window's elements stand in L0, as W = [R, C] cut into fractals.

    Attributes:
      turned: whether W is the window's transpose.
      down, across: fractals from one to the next below it, and beside it.
    """

    turned: bool
    down: int
    across: int
    c0: int

    @classmethod
    def of(cls, params: Any, site: Site) -> Place:
        c0, to_l0b = site.type.c0, site.path == "B1->B2"
        turned = to_l0b or params.en_transpose
        window = params.m_extension, params.k_extension
        rows, columns = reversed(window) if turned else window
        if site.product is ATLAS_350 and params.repeat is not None:
            return cls(turned, 1, params.repeat.dst_stride, c0)
        if to_l0b or (site.product is not None and site.product.l0a_format == "NZ"):
            return cls(turned, 1, -(-rows // 16), c0)
        pairs = turned and site.type.bits == 32  # squares of two fractals
        return cls(turned, 2 * -(-columns // 16) if pairs else -(-columns // c0), 1, c0)

    def addresses(self, row: np.ndarray, column: np.ndarray) -> np.ndarray:
        """The address of each (row, column) of the window."""
        at = (column, row) if self.turned else (row, column)
        (br, r), (bc, c) = np.divmod(at[0], 16), np.divmod(at[1], self.c0)
        return ((br * self.down + bc * self.across) * 16 + r) * self.c0 + c


def formula(params: Any, matrix: Matrix, place: Place, length: int) -> str:
    """The move by row r, run b of `length` columns and element e, numbers put in."""
    c0, (kh, kw), (high, wide) = matrix.c0, matrix.filter, matrix.map
    run = [(length, "b"), (1, "e")]
    row, column = sum_of([(1, "r")], params.m_start_pt), sum_of(run, params.k_start_pt)
    taps = (f"(f//{kw})", f"(f%{kw})") if kh * kw > 1 else ("0", "0")
    at = zip("yx", taps, matrix.stride, matrix.dilation, matrix.before, strict=True)
    h, w = (
        sum_of([(step, y), (dilation * (tap != "0"), tap)], -before)
        for y, tap, step, dilation, before in at
    )
    fractal = 16 * c0
    steps = (place.down, "(R//16)"), (place.across, f"(C//{c0})")
    to = sum_of([(fractal * n, name) for n, name in steps] + [(c0, "(R%16)")], 0)
    source = f"(({high}*c1 + h)*{wide} + w)*{c0} + i"
    w_place = ("r", sum_of(run, 0))
    lines = (
        f"y, x = divmod({row}, {matrix.count[1]})",
        f"block, i = divmod({column}, {c0})",
        f"c1, f = divmod(block, {kh * kw})",
        f"h, w = {h}, {w}",
        f"R, C = {', '.join(reversed(w_place) if place.turned else w_place)}",
        f"dst[{to} + C%{c0}] = src[{source}] if 0 <= h < {high} and 0 <= w < {wide} "
        "else padding",
    )
    head = f"for r < {params.m_extension}, b < {params.k_extension // length}"
    return "\n    ".join((f"{head}, e < {length}:", *lines))
