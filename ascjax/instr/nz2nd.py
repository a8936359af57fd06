"""NZ2ND: matrices from NZ in UB to rows in global memory (instructions.md, 4)."""

from __future__ import annotations

from .._nest import LoopNest
from ._fields import integer
from ._figure import Dimension, Figure, Tiles, rows_of
from ._params import Params, Site

_B16 = "int16_t uint16_t int32_t uint32_t half"
_ALL = (
    "bool int8_t uint8_t hifloat8_t fp8_e5m2_t fp8_e4m3fn_t fp8_e8m0_t int16_t "
    "uint16_t half bfloat16_t int32_t uint32_t float complex32 int64_t uint64_t double "
    "complex64"
)


class Nz2NdParamsFull(Params):
    """`DataCopy(dst, src, Nz2NdParamsFull)`: NZ matrices to rows, UB to GM.

    The columns of the source are 16 elements wide whatever the type.

    Shapes: `src` and `dst` are flat, in elements.

    Args:
      nd_num: matrices, [0, 4095]; 0 makes a NOP.
      n_value: rows, [1, 8192].
      d_value: columns, [1, 8192], a multiple of 16.
      src_nd_matrix_stride: 256 elements a unit, start to start of two matrices,
        [1, 512]; also 0 where `nd_num` is at most 1.
      src_n_stride: 16 elements a unit, start to start of two columns of 16, [0, 4096].
      dst_d_stride: elements, start to start of two rows, [1, 65535]; also 0 where
        `n_value` is 1.
      dst_nd_matrix_stride: elements, start to start of two matrices, [1, 65535]; also 0
        where `nd_num` is at most 1.
    Raises:
      ParamError: a field out of range, while the params are made; a `d_value` that is
        not a multiple of 16, while tracing.
    Gradient: to the element each cell came from; repeats add up.
    Source: NZ2ND, Table 3; instructions.md, section 4.

    >>> import ascjax as asc
    >>> print(asc.Nz2NdParamsFull(1, 32, 32, 1, 32, 32, 1).explain("half"))
    for nd < 1, r < 32, b < 2, c < 16:
        dst[nd + 32*r + 16*b + c] = src[256*nd + 16*r + 512*b + c]
    """

    instruction = "nz2nd"
    op = "data_copy"
    source = "NZ2ND, Table 3"
    support = {
        "atlas_350": {"VECOUT->GM": _ALL},
        "atlas_inference_aicore": {"VECOUT->GM CO2->GM": _B16 + " float"},
        "atlas_a2": {"VECOUT->GM": _B16 + " bfloat16_t float"},
        "atlas_a3": {"VECOUT->GM": _B16 + " bfloat16_t float"},
    }

    nd_num: int = integer(0, 4095, "matrices")
    n_value: int = integer(1, 8192, "rows")
    d_value: int = integer(1, 8192, "columns")
    src_nd_matrix_stride: int = integer(
        1, 512, "units of 256 elements, start to start", zero_if="nd_num"
    )
    src_n_stride: int = integer(0, 4096, "units of 16 elements, start to start")
    dst_d_stride: int = integer(1, 65535, "elements, start to start", zero_if="n_value")
    dst_nd_matrix_stride: int = integer(
        1, 65535, "elements, start to start", zero_if="nd_num"
    )

    def rules(self, site: Site) -> None:
        if self.d_value % 16:
            self.refuse(
                "d_value",
                "be a multiple of 16 (columns)",
                "Round it up, with a destination row that has room for it.",
            )

    def nest(self, site: Site) -> LoopNest:
        matrix = self.src_nd_matrix_stride * 256
        return LoopNest.strided(
            0,
            0,
            ("nd", self.nd_num, matrix, self.dst_nd_matrix_stride),
            ("r", self.n_value, 16, self.dst_d_stride),
            ("b", self.d_value // 16, self.src_n_stride * 16, 16),
            ("c", 16, 1, 1),
        )

    def figure(self, site: Site) -> Figure:
        column, matrix = self.src_n_stride * 16, self.src_nd_matrix_stride * 256
        return Figure.of(
            Tiles.columns(16, self.src_n_stride or self.n_value),
            Tiles.lines(self.dst_d_stride or self.d_value),
            self.nd_num > 1
            and Dimension.stride(
                "src", "srcNdMatrixStride", self.src_nd_matrix_stride, 0, matrix
            ),
            self.d_value > 16
            and Dimension.stride("src", "srcNStride", self.src_n_stride, 0, column),
            *rows_of(
                self,
                "dst",
                "n_value",
                "d_value",
                "dst_d_stride",
                "dst_nd_matrix_stride",
            ),
        )
