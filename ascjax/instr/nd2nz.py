"""ND2NZ: matrices from rows in global memory to NZ in L1 (instructions.md, 6)."""

from __future__ import annotations

from .._nest import Loop, LoopNest
from ._fields import integer
from ._figure import Dimension, Figure, Tiles, rows_of
from ._params import Params, Site

_PATHS = "GM->A1 GM->B1"
_B16 = "int16_t uint16_t half"
_B8 = "int8_t uint8_t " + _B16
_A2 = "int4b_t bfloat16_t int32_t uint32_t float " + _B8
_350 = (
    "bool fp4x2_e2m1_t fp4x2_e1m2_t hifloat8_t fp8_e5m2_t fp8_e4m3fn_t fp8_e8m0_t "
    "bfloat16_t int32_t uint32_t float complex32 " + _B8
)


class Nd2NzParams(Params):
    """`DataCopy(dst, src, Nd2NzParams)`: rows to NZ matrices, GM to L1.

    The columns of the destination are 32 bytes wide, C0 elements; the last one is
    filled up with zero bits. Rows from `n_value` up to a multiple of 16 are kept.

    Shapes: `src` and `dst` are flat, in elements. 4-bit types move as packed bytes, and
    all that counts elements counts bytes then: fields, offsets and sizes.

    Args:
      nd_num: matrices, [0, 4095]; 0 makes a NOP.
      n_value: rows, [0, 16384]; 0 makes a NOP.
      d_value: columns, [0, 65535]; 0 makes a NOP.
      src_nd_matrix_stride: elements, start to start of two matrices, [0, 65535].
      src_d_value: elements, start to start of two rows, [1, 65535]; also 0 where
        `n_value` is at most 1.
      dst_nz_c0_stride: 32 bytes a unit, start to start of two columns of C0,
        [1, 16384]; also 0 where `d_value` is at most C0.
      dst_nz_n_stride: 32 bytes a unit, start to start of two rows, [1, 16384]; also 0
        where `n_value` is at most 1.
      dst_nz_matrix_stride: elements, start to start of two matrices, [0, 65535].
    Raises:
      ParamError: a field out of range, while the params are made; a `dst_nz_c0_stride`
        of 0 with more than one column of C0, while tracing.
    Gradient: to the element each cell came from, summed where one feeds several; none
      from the filling.
    Source: instructions.md, section 6.

    >>> import ascjax as asc
    >>> print(asc.Nd2NzParams(1, 5, 20, 0, 20, 16, 1, 0).explain("half"))
    for nd < 1, r < 5, b < 2, e < 16:
        dst[16*r + 256*b + e] = src[20*r + 16*b + e] if 0 <= 16*b + e < 20 else padding
    """

    instruction = "nd2nz"
    op = "data_copy"
    source = "instructions.md, section 6"
    pairs = True
    support = {
        "atlas_350": {_PATHS: _350},
        "atlas_a3": {_PATHS: _A2},
        "atlas_a2": {_PATHS: _A2},
        "atlas_inference_aicore": {_PATHS: _B16 + " int32_t uint32_t float"},
        "kirin_x90": {_PATHS: _B8},
        "kirin_9030": {_PATHS: _B8},
    }

    nd_num: int = integer(0, 4095, "matrices")
    n_value: int = integer(0, 16384, "rows")
    d_value: int = integer(0, 65535, "columns")
    src_nd_matrix_stride: int = integer(0, 65535, "elements, start to start")
    src_d_value: int = integer(1, 65535, "elements, start to start", zero_if="n_value")
    dst_nz_c0_stride: int = integer(0, 16384, "blocks of 32 bytes, start to start")
    dst_nz_n_stride: int = integer(
        1, 16384, "blocks of 32 bytes, start to start", zero_if="n_value"
    )
    dst_nz_matrix_stride: int = integer(0, 65535, "elements, start to start")

    def rules(self, site: Site) -> None:
        if self.dst_nz_c0_stride == 0 and self.d_value > site.type.c0:
            self.refuse(
                "dst_nz_c0_stride",
                "be in [1, 16384] (blocks of 32 bytes, start to start) where d_value "
                f"is more than C0, {site.type.c0}",
                "Correct the value.",
            )

    def nest(self, site: Site) -> LoopNest:
        c0 = site.type.c0
        columns = -(-self.d_value // c0)
        tail = (0, self.d_value, "fill") if self.d_value % c0 else ()
        return LoopNest.build(
            0,
            0,
            [
                Loop("nd", self.nd_num, self.dst_nz_matrix_stride),
                Loop("r", self.n_value, self.dst_nz_n_stride * c0),
                Loop("b", columns, self.dst_nz_c0_stride * c0),
                Loop("e", c0, 1),
            ],
            [
                ({"nd": 1}, self.src_nd_matrix_stride),
                ({"r": 1}, self.src_d_value),
                ({"b": c0, "e": 1}, 1, *tail),
            ],
        )

    def figure(self, site: Site) -> Figure:
        c0 = site.type.c0
        column, row = self.dst_nz_c0_stride, self.dst_nz_n_stride
        matrix = self.dst_nz_matrix_stride
        return Figure.of(
            Tiles.lines(self.src_d_value or self.d_value),
            Tiles.columns(c0, column or self.n_value),
            *rows_of(
                self, "src", "n_value", "d_value", "src_d_value", "src_nd_matrix_stride"
            ),
            self.d_value > c0
            and Dimension.stride("dst", "dstNzC0Stride", column, 0, column * c0),
            self.n_value > 1
            and Dimension.stride("dst", "dstNzNStride", row, 0, row * c0),
            self.nd_num > 1
            and Dimension.stride("dst", "dstNzMatrixStride", matrix, 0, matrix),
        )
