"""Load2D: whole fractals, one an iteration, from GM or L1 (instructions.md, 1)."""

from __future__ import annotations

from .._errors import SupportError
from .._nest import LoopNest
from .._products import ATLAS_TRAINING
from ._fields import flag, ignored, integer
from ._figure import Dimension, Figure, Tiles
from ._params import Params, Site

_B16 = "uint8_t int8_t uint16_t int16_t half"
_B32 = _B16 + " bfloat16_t uint32_t int32_t float"
_FROM_GM = "GM->A1 GM->B1 GM->A2 GM->B2"
_FROM_L1 = "A1->A2 B1->B2"


class LoadData2DParams(Params):
    """`LoadData(dst, src, LoadData2DParams)`: moves `repeat_times` fractals.

    Shapes: `src` and `dst` are flat, in elements; a fractal is 512 bytes, 16 rows of
    C0 elements (32 bytes).

    Args:
      start_index: first source fractal, [0, 65535].
      repeat_times: fractals to move, [0, 255]; 0 makes a NOP.
      src_stride: source fractals from the start of one to the start of the next,
        [0, 65535]; 0 reads the same one each time.
      sid: ignored.
      dst_gap: destination fractals from the end of one to the start of the next,
        [0, 65535]; must be 0 on the training product.
      if_transpose: transpose each fractal; 16-bit types only, from L1 to L0 only.
      addr_mode: 0 adds `src_stride` each iteration, 1 subtracts it.
    Raises:
      ParamError: a field out of range, while the params are made.
    Gradient: to the element each cell came from; repeats add up.
    Source: Load2D, Table 3; instructions.md, section 1.

    >>> import ascjax as asc
    >>> print(asc.LoadData2DParams(repeat_times=2, src_stride=3).explain("half"))
    for i < 2, r < 16, c < 16:
        dst[256*i + 16*r + c] = src[768*i + 16*r + c]
    """

    instruction = "load2d"
    op = "load_data"
    source = "Load2D, Table 3"
    support = {
        "atlas_training": {f"{_FROM_GM} {_FROM_L1}": _B16},
        "atlas_inference_aicore": {_FROM_GM: _B16, _FROM_L1: "int4b_t " + _B16},
        "atlas_a2": {_FROM_GM: _B32, _FROM_L1: "int4b_t " + _B32},
        "atlas_a3": {_FROM_GM: _B32, _FROM_L1: "int4b_t " + _B32},
        "atlas_200i_500_a2": {f"{_FROM_GM} {_FROM_L1}": _B32},
        "atlas_350": {f"GM->A1 GM->B1 {_FROM_L1}": _B32},
        "kirin_x90": {f"{_FROM_GM} {_FROM_L1}": "int8_t half"},
        "kirin_9030": {f"{_FROM_GM} {_FROM_L1}": "half"},
    }

    start_index: int = integer(0, 65535, "fractals of 512 bytes")
    repeat_times: int = integer(0, 255, "fractals of 512 bytes")
    src_stride: int = integer(0, 65535, "fractals of 512 bytes, start to start")
    sid: int = ignored()
    dst_gap: int = integer(0, 65535, "fractals of 512 bytes, end to start")
    if_transpose: bool = flag()
    addr_mode: int = integer(0, 1, "0 increments, 1 decrements")

    def rules(self, site: Site) -> None:
        if site.product == ATLAS_TRAINING and self.dst_gap:
            self.refuse(
                "dst_gap",
                "be 0 fractals on atlas_training, which has no gap",
                "Set dst_gap=0, or issue one call for each fractal.",
                error=SupportError,
            )
        if self.if_transpose:
            check_transpose_path(self, site)
            if site.type.bits != 16:
                self.refuse(
                    "if_transpose",
                    "be False unless the type is 16 bits wide",
                    "Use LoadDataWithTranspose for other widths.",
                    got=f"True with {site.type} ({site.type.bits} bits)",
                )

    def nest(self, site: Site) -> LoopNest:
        c0, fractal = site.type.c0, site.type.fractal
        step = -self.src_stride if self.addr_mode else self.src_stride
        row, column = (1, 16) if self.if_transpose else (c0, 1)
        return LoopNest.strided(
            self.start_index * fractal,
            0,
            ("i", self.repeat_times, step * fractal, (self.dst_gap + 1) * fractal),
            ("r", 16, row, c0),
            ("c", c0, column, 1),
        )

    def figure(self, site: Site) -> Figure:
        tiles, size = Tiles(site.type.c0), site.type.fractal
        first, many = self.start_index * size, self.repeat_times > 1
        step = -self.src_stride if self.addr_mode else self.src_stride
        after, gap = first + step * size, (self.dst_gap + 1) * size
        return Figure.of(
            tiles,
            tiles,
            Dimension.stride("src", "startIndex", self.start_index, 0, first),
            many and Dimension.stride("src", "srcStride", step, first, after),
            many and Dimension.gap("dst", "dstGap", self.dst_gap, size - 1, gap),
        )


def check_transpose_path(params: Params, site: Site) -> None:
    """Refuse a transpose on the way from GM: only L1 to L0A or L0B has it."""
    if site.path not in (None, "A1->A2", "B1->B2"):
        params.refuse(
            "if_transpose",
            "be False except on A1->A2 and B1->B2",
            "Load to L1 first and transpose on the way to L0A or L0B.",
            got=f"True on {site.path}",
            error=SupportError,
        )
