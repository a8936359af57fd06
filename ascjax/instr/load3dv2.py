"""Load3DV2: im2col of an NC1HWC0 feature map, L1 to L0 (instructions.md, 7)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._dtypes import AscendType
from .._errors import BoundsError, SupportError
from .._fill import fill_bits
from .._nest import LoopNest
from .._products import ATLAS_350
from .._runs import Runs, Stated
from ._c_struct import CStruct
from ._fields import constant, flag, ignored, integer, integers, part
from ._figure import Dimension, Figure, Tiles
from ._im2col import Matrix, Place, formula, kernel
from ._params import Params, Site

_WHO = "load3dv2"
_SOURCE = "Load3DV2, instructions.md section 7"
_WIDE = "half bfloat16_t int32_t uint32_t float"
_INTS = "int4b_t int8_t uint8_t"
_BOTH = {"A1->A2": f"{_INTS} {_WIDE}", "B1->B2": _WIDE}


class LoadDataRepeatParam(CStruct):
    """`LoadDataRepeatParam`: the repeat register that Load3DV2 runs under.

    Args:
      repeat_stride: what a repeat is away from the one before, [0, 65535]; without
        effect on one repeat.
      repeat_time: repeats, [0, 255]; more or less than 1 is not supported yet.
      repeat_mode: 0 or 1; without effect on one repeat.
      dst_stride: fractals between neighbouring columns of fractals in the destination,
        [0, 65535]; on atlas_350 only, which needs it.
    Raises:
      ParamError: a field out of range.
    Source: instructions.md, section 7.

    >>> import ascjax as asc
    >>> asc.LoadDataRepeatParam(dst_stride=4).repeat_time
    1
    """

    instruction = _WHO
    source = _SOURCE
    within = "repeat"

    repeat_stride: int = integer(0, 65535, "fractals")
    repeat_time: int = integer(0, 255, "repeats", default=1)
    repeat_mode: int = integer(0, 1, "a mode")
    dst_stride: int = integer(0, 65535, "fractals of 512 bytes, start to start")


class LoadData3DParamsV2(Params):
    """`LoadData(dst, src, LoadData3DParamsV2)`: a window of an im2col matrix to L0.

    The source is a feature map in NC1HWC0 (C1, H, W, C0). The matrix has a row for each
    place of the filter, and C0 columns for each block of channels and filter element.
    Product and path must be given: the order of the fractals depends on them.

    Shapes: `src` and `dst` are flat, in elements; C0 is 32 bytes.

    Args:
      pad_list: padding of the map, [left, right, top, bottom], each [0, 255].
      l1_h, l1_w: rows and columns of the map, [0, 32767].
      channel_size: channels, [0, 65535], a multiple of C0.
      k_extension: columns of the window, [0, 65535]; a multiple of C0 unless the window
        reaches the matrix's last fractal.
      m_extension: rows of the window, [0, 65535]; a multiple of 16 unless the window
        reaches the last fractal; for 32 bits any.
      k_start_pt: first column of the window, [0, 65535], a multiple of C0.
      m_start_pt: first row of the window, [0, 32767].
      stride_w, stride_h: steps of the filter, [0, 63]; 0 moves nothing that is legal.
      filter_w, filter_h: elements of the filter, [0, 255].
      dilation_filter_w, dilation_filter_h: elements of the map from one of the filter
        to the next, [0, 255].
      en_transpose: transpose the window on its way to L0A, for 16 and 32 bits, on
        atlas_350 for 8 too; to L0B it is always transposed.
      en_small_k: ignored.
      pad_value: what is written for places outside the map.
      filter_size_w, filter_size_h: add 256 to `filter_w`, `filter_h`.
      f_matrix_ctrl: ignored.
      repeat: the repeat register, a `LoadDataRepeatParam`; atlas_350 needs it.
    A map, window or filter without elements makes a NOP.
    Raises:
      ParamError: a field out of range, while the params are made; a restriction of
        type or window that is broken, or no product or path, while tracing.
      SupportError: more than one repeat; a `dst_stride` on another product.
    Gradient: to the element each cell came from, summed where one feeds several; none
      from padding.
    Source: instructions.md, section 7.

    >>> import ascjax as asc
    >>> p = asc.LoadData3DParamsV2(
    ...     (1, 1, 0, 0), 2, 16, channel_size=16, k_extension=48, m_extension=32,
    ...     filter_w=3)
    >>> print(p.explain("half", product="atlas_a2", path="A1->A2"))
    for r < 32, b < 3, e < 16:
        y, x = divmod(r, 16)
        block, i = divmod(16*b + e, 16)
        c1, f = divmod(block, 3)
        h, w = y + (f//3), x + (f%3) - 1
        R, C = r, 16*b + e
        dst[768*(R//16) + 256*(C//16) + 16*(R%16) + C%16] = src[((2*c1 + h)*16 + w)*16 + i] if 0 <= h < 2 and 0 <= w < 16 else padding
    """  # noqa: E501

    instruction = _WHO
    op = "load_data"
    source = _SOURCE
    support = {
        "atlas_a2": _BOTH,
        "atlas_a3": _BOTH,
        "atlas_200i_500_a2": _BOTH,
        "atlas_350": {
            "A1->A2 B1->B2": "int8_t uint8_t hifloat8_t fp8_e5m2_t fp8_e4m3fn_t "
            + _WIDE,
        },
        "atlas_inference_aicore": {"A1->A2 B1->B2": f"{_INTS} half"},
        "kirin_x90": {"A1->A2 B1->B2": "int8_t half"},
    }

    pad_list: tuple[int, ...] = integers("left right top bottom", 0, 255, "elements")
    l1_h: int = integer(0, 32767, "rows of the map")
    l1_w: int = integer(0, 32767, "columns of the map")
    channel_size: int = integer(0, 65535, "channels")
    k_extension: int = integer(0, 65535, "columns of the window")
    m_extension: int = integer(0, 65535, "rows of the window")
    k_start_pt: int = integer(0, 65535, "columns")
    m_start_pt: int = integer(0, 32767, "rows")
    stride_w: int = integer(0, 63, "columns of the map", default=1)
    stride_h: int = integer(0, 63, "rows of the map", default=1)
    filter_w: int = integer(0, 255, "columns of the filter", default=1)
    filter_h: int = integer(0, 255, "rows of the filter", default=1)
    dilation_filter_w: int = integer(0, 255, "columns of the map", default=1)
    dilation_filter_h: int = integer(0, 255, "rows of the map", default=1)
    en_transpose: bool = flag()
    en_small_k: int = ignored()
    pad_value: Any = constant()
    filter_size_w: bool = flag()
    filter_size_h: bool = flag()
    f_matrix_ctrl: int = ignored()
    repeat: LoadDataRepeatParam | None = part(
        LoadDataRepeatParam, default=None, kw_only=True
    )

    def fill_bits(self, type: AscendType) -> int:
        return fill_bits(self.pad_value, type, _WHO, self.source, "pad_value")

    # --- restrictions

    def rules(self, site: Site) -> None:
        _check_place(self, site)
        self.fill_bits(site.type)
        self._check_repeat(site)
        c0, bits = site.type.c0, site.type.bits
        for field, fix in (
            ("channel_size", "Pad the channels to whole blocks."),
            ("k_start_pt", "Start at a block of 32 bytes."),
        ):
            if getattr(self, field) % c0:
                rule = f"be a multiple of C0, {c0} elements of {site.type}"
                self.refuse(field, rule, fix)
        widths = (8, 16, 32) if site.product is ATLAS_350 else (16, 32)
        if self.en_transpose and site.path == "A1->A2" and bits not in widths:
            rule = f"be False for {bits}-bit types to L0A on {site.product}"
            self.refuse("en_transpose", rule, "Transpose on the way to L1.")
        if not self._moves():
            return
        for field in ("stride_w", "stride_h"):
            if getattr(self, field) == 0:
                self.refuse(field, "be at least 1 (elements of the map)", "Give it.")
        self._check_window(site)

    def _check_repeat(self, site: Site) -> None:
        given = self.repeat
        if site.product is ATLAS_350 and given is None:
            rule = f"give the distance of columns of fractals on {site.product}"
            fix = "Make the params with repeat=asc.LoadDataRepeatParam(dst_stride=...)."
            self.refuse("repeat", rule, fix)
        if given is not None and given.repeat_time != 1:
            rule, fix = "be 1", "Call it once a repeat: repeats are to come."
            got = given.repeat_time
            self.refuse("repeat.repeat_time", rule, fix, got=got, error=SupportError)
        if given is not None and given.dst_stride and site.product is not ATLAS_350:
            rule, fix = (
                f"be 0 on {site.product}",
                "Only atlas_350 has it: leave it away.",
            )
            got = given.dst_stride
            self.refuse("repeat.dst_stride", rule, fix, got=got, error=SupportError)

    def _check_window(self, site: Site) -> None:
        """Raise where the window is none of the matrix."""
        matrix = Matrix.of(self, site.type.c0)
        for field, count, name in (
            ("l1_h", matrix.count[0], "ho"),
            ("l1_w", matrix.count[1], "wo"),
        ):
            if count < 1:
                rule = f"have room for the filter, with the padding: {name} at least 1"
                fix = "Make the map or its padding larger, or the filter smaller."
                got = f"{getattr(self, field)}, {name} {count}"
                self.refuse(field, rule, fix, got=got)
        for field, start, size, unit, free in (
            ("m_extension", self.m_start_pt, matrix.rows, 16, site.type.bits == 32),
            ("k_extension", self.k_start_pt, matrix.columns, site.type.c0, False),
        ):
            count = getattr(self, field)
            what = "rows" if field[0] == "m" else "columns"
            end = start + count
            if end > size:
                rule = f"end inside the im2col matrix, at most {size - start} {what} on"
                fix = "Move less, or start earlier."
                got = f"{count} from {start} of {size}"
                self.refuse(field, rule, fix, got=got, error=BoundsError)
            last = (size - 1) // unit * unit  # where the last fractal begins
            if count % unit and not free and end <= last:
                rule = f"be a multiple of {unit} ({what}), or reach the last fractal"
                fix = f"Round it, or end beyond {what[:-1]} {last}."
                self.refuse(field, rule, fix)
        if self.m_extension * self.k_extension >= 2**31:
            rule, fix = "be less than 2^31 elements in all", "Move it in several calls."
            got = f"{self.m_extension} x {self.k_extension}"
            self.refuse("m_extension", rule, fix, got=got, error=BoundsError)

    # --- the move

    def _moves(self) -> bool:
        """Whether map, window and filter have elements."""
        kh, kw = kernel(self)
        sizes = self.l1_h, self.l1_w, self.channel_size, kh, kw
        return min(*sizes, self.k_extension, self.m_extension) > 0

    def nest(self, site: Site) -> Stated:
        if not self._moves():
            return LoopNest.nop()
        _check_place(self, site)
        c0 = site.type.c0
        # a run lies in one block of C0 columns, and all runs are of one length
        length = math.gcd(c0, self.k_extension)
        count = self.m_extension, self.k_extension // length
        r, b = (index.ravel() for index in np.indices(count, np.int64))
        matrix, place = Matrix.of(self, c0), Place.of(self, site)
        if min(matrix.count) < 1:  # `rules` say it of a call; here one is only tried
            raise ZeroDivisionError("the filter has no place in the map")
        runs = Runs(
            (("r", count[0]), ("b", count[1])),
            place.addresses(r, b * length),
            matrix.sources(r + self.m_start_pt, b * length + self.k_start_pt),
            length,
            c0 if place.turned else 1,
            formula=formula(self, matrix, place, length),
        )
        return runs.as_nest() or runs

    def figure(self, site: Site) -> Figure:
        if not self._moves():
            return super().figure(site)
        c0, place = site.type.c0, Place.of(self, site)
        row = self.l1_w * c0
        taps, step = (self.filter_w - 1) * self.dilation_filter_w, self.stride_w
        down = (self.filter_h - 1) * self.dilation_filter_h
        zigzag = place.across == 1
        return Figure.of(
            Tiles(row, self.l1_h, 1),
            Tiles(c0, 16, place.down if zigzag else place.across, down=not zigzag),
            Dimension.count("src", "filterW", self.filter_w, 0, taps * c0 + c0 - 1),
            Dimension.count("src", "filterH", self.filter_h, 0, down * row),
            step > 1 and Dimension.stride("src", "strideW", step, 0, step * c0),
        )


def _check_place(params: Params, site: Site) -> None:
    """Raise where the result depends on a product or path that is not given."""
    for field, value in (("product", site.product), ("path", site.path)):
        if value is None:
            rule = "be given: the order of the fractals in L0 depends on it"
            fix = "Pass product= and path=, such as '910B' and 'A1->A2'."
            params.refuse(field, rule, fix, got="None")
