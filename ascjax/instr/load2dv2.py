"""Load2DV2: a window of fractals of an NZ matrix (instructions.md, 2)."""

from __future__ import annotations

from .._nest import LoopNest
from ._fields import flag, ignored, integer
from ._figure import Dimension, Figure, Tiles
from ._params import Params, Site
from .load2d import check_transpose_path

_TYPES = (
    "int8_t uint8_t fp4x2_e2m1_t fp4x2_e1m2_t hifloat8_t fp8_e5m2_t fp8_e4m3fn_t "
    "half bfloat16_t int32_t uint32_t float"
)


class LoadData2DParamsV2(Params):
    """`LoadData(dst, src, LoadData2DParamsV2)`: `m_step` x `k_step` fractals.

    The source is NZ-like: fractal (i, j), i along M, j along K, stands `j * src_stride
    + i` fractals after the start.

    Shapes: `src` and `dst` are flat, in elements; a fractal is 512 bytes.

    Args:
      m_start_position: first fractal along M (units of 16 elements), [0, 2^32).
      k_start_position: first fractal along K (units of 32 bytes), [0, 2^32).
      m_step: fractals along M, [0, 255]; 0 makes a NOP.
      k_step: fractals along K, [0, 255]; 0 makes a NOP.
      src_stride: fractals between neighbours along K in the source, signed 32 bits.
      dst_stride: fractals between neighbours along K in the destination, [0, 65535].
      if_transpose: transpose the window as one matrix; from L1 to L0 only. `m_step`
        must be a multiple of 4 for 4 bits, of 2 for 8 bits; `k_step` of 2 for 32 bits.
      sid: ignored.
    Raises:
      ParamError: a field out of range, while the params are made.
    Gradient: to the element each cell came from; repeats add up.
    Source: LoadData (2D V2), Table 3; Load2D, Table 4; instructions.md, section 2.

    >>> import ascjax as asc
    >>> p = asc.LoadData2DParamsV2(m_step=2, k_step=2, src_stride=5, dst_stride=3)
    >>> print(p.explain("half"))
    for j < 2, i < 2, e < 256:
        dst[768*j + 256*i + e] = src[1280*j + 256*i + e]
    """

    instruction = "load2dv2"
    op = "load_data"
    source = "Load2D, Table 4"
    support = {"atlas_350": {"GM->A1 GM->B1 A1->A2 B1->B2": _TYPES}}

    m_start_position: int = integer(0, 2**32 - 1, "units of 16 elements")
    k_start_position: int = integer(0, 2**32 - 1, "units of 32 bytes")
    m_step: int = integer(0, 255, "units of 16 elements")
    k_step: int = integer(0, 255, "units of 32 bytes")
    src_stride: int = integer(-(2**31), 2**31 - 1, "fractals of 512 bytes")
    dst_stride: int = integer(0, 65535, "fractals of 512 bytes, start to start")
    if_transpose: bool = flag()
    sid: int = ignored()

    def rules(self, site: Site) -> None:
        if not self.if_transpose:
            return
        check_transpose_path(self, site)
        field, multiple = {4: ("m_step", 4), 8: ("m_step", 2), 32: ("k_step", 2)}.get(
            site.type.bits, ("m_step", 1)
        )
        if getattr(self, field) % multiple:
            unit = "16 elements" if field == "m_step" else "32 bytes"
            self.refuse(
                field,
                f"be a multiple of {multiple} (units of {unit}) to transpose "
                f"{site.type.bits}-bit elements",
                "Round it up, with room in the destination for the padding.",
            )

    def nest(self, site: Site) -> LoopNest:
        c0, fractal = site.type.c0, site.type.fractal
        base = self.k_start_position * abs(self.src_stride) + self.m_start_position
        src_pitch = self.src_stride * fractal
        dst_pitch = self.dst_stride * fractal
        start = base * fractal
        if not self.if_transpose:
            return LoopNest.strided(
                start,
                0,
                ("j", self.k_step, src_pitch, dst_pitch),
                ("i", self.m_step, fractal, fractal),
                ("e", fractal, 1, 1),
            )
        # Both matrices are cut into squares, the least multiple of 16 and C0 wide;
        # inside one, `wide` counts what is a fractal on the one side only.
        side = max(16, c0)
        across = (self.m_step * 16 // side, side // 16)
        down = (self.k_step * c0 // side, side // c0)
        return LoopNest.strided(
            start,
            0,
            # source column: destination row
            ("k", down[0], side // c0 * src_pitch, side // 16 * fractal),
            *_column(c0, src_pitch, fractal),
            # source row: destination column
            ("m", across[0], side // 16 * fractal, side // c0 * dst_pitch),
            *_row(c0, fractal, dst_pitch),
        )

    def figure(self, site: Site) -> Figure:
        size, c0 = site.type.fractal, site.type.c0
        pitch, m, k = abs(self.src_stride), self.m_start_position, self.k_start_position
        first, step = (k * pitch + m) * size, self.src_stride * size
        many, beside = self.k_step > 1, (self.k_step - 1) * step
        last = first + (self.m_step - 1) * size + 15 * c0
        return Figure.of(
            Tiles(c0, 16, pitch, down=True),
            Tiles(c0, 16, self.dst_stride, down=True),
            Dimension.stride("src", "mStartPosition", m, 0, m * size),
            Dimension.stride("src", "kStartPosition", k, 0, k * pitch * size),
            Dimension.count("src", "mStep", self.m_step, first, last),
            Dimension.count(
                "src", "kStep", self.k_step, first, first + beside + c0 - 1
            ),
            many
            and Dimension.stride(
                "src", "srcStride", self.src_stride, first, first + step
            ),
            many
            and Dimension.stride(
                "dst", "dstStride", self.dst_stride, 0, self.dst_stride * size
            ),
        )


def _column(c0: int, src_pitch: int, fractal: int) -> list[tuple[str, int, int, int]]:
    """Loops over the source columns of one square, which are destination rows."""
    if c0 >= 16:  # one source fractal across, c0 / 16 destination fractals down
        return [("kf", c0 // 16, 16, fractal), ("kr", 16, 1, c0)]
    return [("kf", 16 // c0, src_pitch, c0 * c0), ("kr", c0, 1, c0)]


def _row(c0: int, fractal: int, dst_pitch: int) -> list[tuple[str, int, int, int]]:
    """Loops over the source rows of one square, which are destination columns."""
    if c0 >= 16:  # c0 / 16 source fractals down, one destination fractal across
        return [("mf", c0 // 16, fractal, 16), ("mr", 16, c0, 1)]
    return [("mf", 16 // c0, c0 * c0, dst_pitch), ("mr", c0, c0, 1)]
