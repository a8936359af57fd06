"""LoadDataWithTranspose: squares made of fractals, transposed (instructions.md, 3)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .._nest import LoopNest
from ._fields import integer
from ._figure import Dimension, Figure, Tiles
from ._params import Params, Site

_B8 = "int8_t uint8_t half bfloat16_t float int32_t uint32_t"
_ALL = "int4b_t uint8_t int8_t uint16_t int16_t half bfloat16_t uint32_t int32_t float"
_A2 = {"A1->A2": _B8, "B1->B2": "int4b_t " + _B8}


def fractals_in_square(bits: int) -> int:
    """How many fractals one square is made of: 4 for 4 bits, 2 for 8 and 32, else 1."""
    return {4: 4, 8: 2, 16: 1, 32: 2}[bits]


def _nest(
    site: Site,
    start: int,
    repeat_times: int,
    src_step: int,
    dst_step: int,
    src_frac: int,
    dst_frac: int,
) -> LoopNest:
    """Transposed squares; starts, steps and distances all in fractals.

    Loop `h` counts the fractals of a destination square, `f` those of a source square.
    For 4, 8 and 16 bits a square is fractals stacked, for 32 bits side by side.
    """
    c0, fractal = site.type.c0, site.type.fractal
    n = fractals_in_square(site.type.bits)
    if c0 >= 16:
        inner = [
            ("h", n, 16, dst_frac * fractal),
            ("r", 16, 1, c0),
            ("f", n, src_frac * fractal, 16),
            ("c", 16, c0, 1),
        ]
    else:
        inner = [
            ("h", n, c0 * c0, dst_frac * fractal),
            ("f", n, src_frac * fractal, c0 * c0),
            ("r", c0, 1, c0),
            ("c", c0, c0, 1),
        ]
    repeat = ("i", repeat_times, src_step * fractal, dst_step * fractal)
    return LoopNest.strided(start * fractal, 0, repeat, *inner)


class LoadData2dTransposeParams(Params):
    """`LoadDataWithTranspose(dst, src, LoadData2dTransposeParams)`, the V1 form.

    A square is 64x64 elements of 4 stacked fractals (4 bits), 32x32 of 2 stacked
    (8 bits), 16x16 of 1 (16 bits), 16x16 of 2 side by side (32 bits).

    Shapes: `src` and `dst` are flat, in elements; a fractal is 512 bytes.

    Args:
      start_index: first square, [0, 65535].
      repeat_times: squares to move, [0, 255]; 0 makes a NOP.
      src_stride: squares from the start of one to the start of the next, [0, 65535].
      dst_gap: fractals from the end of a square's first fractal to the start of the
        next square's first, [0, 65535]: packed is 0 for 16 bits, 1 for 8 and 32 bits,
        3 for 4 bits.
      dst_frac_gap: fractals from the end of one fractal of a square to the start of its
        next, [0, 65535]; no effect for 16 bits.
      addr_mode: 0 adds `src_stride` each iteration, 1 subtracts it.
    Raises:
      ParamError: a field out of range, while the params are made.
    Gradient: to the element each cell came from; repeats add up.
    Source: LoadDataWithTranspose, Table 3; instructions.md, section 3.

    >>> import ascjax as asc
    >>> p = asc.LoadData2dTransposeParams(repeat_times=3, src_stride=1)
    >>> print(p.explain("half"))
    for i < 3, h < 1, r < 16, f < 1, c < 16:
        dst[256*i + 256*h + 16*r + 16*f + c] = src[256*i + 16*h + r + 256*f + 16*c]
    """

    instruction = "ldwt_v1"
    op = "load_data_with_transpose"
    source = "LoadDataWithTranspose, Table 3"
    support = {
        "atlas_a2": _A2,
        "atlas_a3": _A2,
        "atlas_200i_500_a2": {"A1->A2 B1->B2": _ALL},
        "atlas_350": {"B1->B2": _B8},
        "kirin_x90": {"A1->A2 B1->B2": "int8_t half"},
    }

    start_index: int = integer(0, 65535, "squares")
    repeat_times: int = integer(0, 255, "squares")
    src_stride: int = integer(0, 65535, "squares, start to start")
    dst_gap: int = integer(0, 65535, "fractals of 512 bytes, end to start")
    dst_frac_gap: int = integer(0, 65535, "fractals of 512 bytes, end to start")
    addr_mode: int = integer(0, 1, "0 increments, 1 decrements")

    def nest(self, site: Site) -> LoopNest:
        n = fractals_in_square(site.type.bits)
        step = -self.src_stride if self.addr_mode else self.src_stride
        return _nest(
            site,
            self.start_index * n,
            self.repeat_times,
            step * n,
            self.dst_gap + 1,
            1,
            self.dst_frac_gap + 1,
        )

    def figure(self, site: Site) -> Figure:
        n = fractals_in_square(site.type.bits)
        step = -self.src_stride if self.addr_mode else self.src_stride
        start = self.start_index
        src = (
            Tiles(site.type.c0, 16, n, down=True)
            if n > 1 and site.type.bits < 32
            else Tiles(site.type.c0)
        )
        return Figure.of(src, Tiles(site.type.c0), *_lines(self, site, start, step, n))


class LoadData2dTransposeParamsV2(Params):
    """`LoadDataWithTranspose(dst, src, LoadData2dTransposeParamsV2)`, atlas_350 only.

    As `LoadData2dTransposeParams`, but `start_index` and `src_stride` count fractals,
    and the fractals of a source square may stand apart.

    Shapes: `src` and `dst` are flat, in elements; a fractal is 512 bytes.

    Args:
      start_index: first fractal, [0, 65535].
      repeat_times: squares to move, [0, 255]; 0 makes a NOP.
      src_stride: fractals from the start of one square to the start of the next,
        [0, 65535].
      dst_gap: fractals from the end of a square's first fractal to the start of the
        next square's first, [0, 65535].
      dst_frac_gap: fractals from the end of one fractal of a destination square to the
        start of its next, [0, 65535]; no effect for 16 bits.
      src_frac_gap: the same in the source, [0, 65535]; no effect for 16 bits.
      addr_mode: 0 adds `src_stride` each iteration, 1 subtracts it.
    Raises:
      ParamError: a field out of range, while the params are made.
    Gradient: to the element each cell came from; repeats add up.
    Source: LoadDataWithTranspose, Table 4; instructions.md, section 3.

    >>> import ascjax as asc
    >>> p = asc.LoadData2dTransposeParamsV2(repeat_times=1, src_frac_gap=1)
    >>> print(p.explain("float"))
    for i < 1, h < 2, f < 2, r < 8, c < 8:
        dst[128*i + 128*h + 64*f + 8*r + c] = src[64*h + 256*f + r + 8*c]
    """

    instruction = "ldwt_v2"
    op = "load_data_with_transpose"
    source = "LoadDataWithTranspose, Table 4"
    support = {"atlas_350": {"B1->B2": _B8}}
    widths = (4, 8, 16, 32)

    start_index: int = integer(0, 65535, "fractals of 512 bytes")
    repeat_times: int = integer(0, 255, "squares")
    src_stride: int = integer(0, 65535, "fractals of 512 bytes, start to start")
    dst_gap: int = integer(0, 65535, "fractals of 512 bytes, end to start")
    dst_frac_gap: int = integer(0, 65535, "fractals of 512 bytes, end to start")
    src_frac_gap: int = integer(0, 65535, "fractals of 512 bytes, end to start")
    addr_mode: int = integer(0, 1, "0 increments, 1 decrements")

    def nest(self, site: Site) -> LoopNest:
        step = -self.src_stride if self.addr_mode else self.src_stride
        return _nest(
            site,
            self.start_index,
            self.repeat_times,
            step,
            self.dst_gap + 1,
            self.src_frac_gap + 1,
            self.dst_frac_gap + 1,
        )

    def figure(self, site: Site) -> Figure:
        step = -self.src_stride if self.addr_mode else self.src_stride
        tiles, n, size = (
            Tiles(site.type.c0),
            fractals_in_square(site.type.bits),
            site.type.fractal,
        )
        first, gap = self.start_index * size, self.src_frac_gap
        apart = n > 1 and Dimension.gap(
            "src", "srcFracGap", gap, first + size - 1, first + (gap + 1) * size
        )
        return Figure.of(
            tiles, tiles, apart, *_lines(self, site, self.start_index, step, 1)
        )


def _lines(
    params: Any, site: Site, start: int, step: int, unit: int
) -> Iterator[Dimension | bool]:
    """What both forms have, `unit` fractals each in the source."""
    size, many = site.type.fractal, params.repeat_times > 1
    first = start * unit * size
    gap, apart = params.dst_gap, params.dst_frac_gap
    yield Dimension.stride("src", "startIndex", start, 0, first)
    yield many and Dimension.stride(
        "src", "srcStride", step, first, first + step * unit * size
    )
    yield many and Dimension.gap("dst", "dstGap", gap, size - 1, (gap + 1) * size)
    if fractals_in_square(site.type.bits) > 1:
        yield Dimension.gap("dst", "dstFracGap", apart, size - 1, (apart + 1) * size)
