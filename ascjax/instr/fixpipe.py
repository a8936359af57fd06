"""Fixpipe: the matrix unit's result from L0C to rows in GM (instructions.md, 8)."""

from __future__ import annotations

import math

import numpy as np

from .._dtypes import TYPES, AscendType
from .._errors import BoundsError
from .._nest import LoopNest, sum_of
from .._products import CUBE
from .._runs import Runs, Stated
from ._convert import Conversion
from ._fields import flag, integer, word
from ._figure import Dimension, Figure, Tiles, rows_of
from ._params import Params, Site

_COLUMNS = 16  # of a fractal in L0C
_ARRIVES = {"F322F16": "half", "F322BF16": "bfloat16_t"}


class FixpipeParams(Params):
    """`Fixpipe(dst, src, FixpipeParams)`, its NZ2ND form: NZ in L0C to rows in GM.

    L0C has columns of 16 elements. Each value is cast as `quant_pre` says, then goes
    through relu where `relu_en`.

    Shapes: `src` and `dst` are flat, in elements, each of its own type.

    Args:
      n_size: columns, [0, 4095]; 0 makes a NOP.
      m_size: rows, [0, 8192]; 0 makes a NOP.
      src_stride: 16 elements a unit (rows of L0C, padded), start to start of two
        columns of 16, [0, 65535].
      dst_stride: elements, start to start of two rows, at least 1; the field has 32
        bits.
      nd_num: matrices, 1 by default; 0 makes a NOP. The field has 16 bits.
      src_nd_stride: 256 elements a unit, start to start of two matrices, [0, 512].
      dst_nd_stride: elements, start to start of two matrices; the field has 32 bits.
      quant_pre: "NoQuant" (the type of L0C), "F322F16" (float to half) or "F322BF16"
        (float to bfloat16_t), to nearest, ties to even.
      relu_en: whether negative values become 0.
    Raises:
      ParamError: a field out of range, while the params are made; a `quant_pre` from
        float for int32_t, while tracing.
    Gradient: to the element each cell came from, through the cast and through relu,
      whose derivative at 0 is 0.
    Source: instructions.md, section 8.

    >>> import ascjax as asc
    >>> print(asc.FixpipeParams(20, 3, 16, 20, quant_pre="F322F16").explain("float"))
    for nd < 1, r < 3, c < 20:
        dst[20*r + c] = src[16*r + 256*(c // 16) + c % 16]
    """

    instruction = "fixpipe"
    op = "fixpipe"
    source = "instructions.md, section 8"
    support = {product: {"CO1->GM": "int32_t float"} for product in CUBE}

    n_size: int = integer(0, 4095, "columns")
    m_size: int = integer(0, 8192, "rows")
    src_stride: int = integer(0, 65535, "units of 16 elements, start to start")
    dst_stride: int = integer(1, 2**32 - 1, "elements, start to start")
    nd_num: int = integer(0, 65535, "matrices", default=1)
    src_nd_stride: int = integer(0, 512, "units of 256 elements, start to start")
    dst_nd_stride: int = integer(0, 2**32 - 1, "elements, start to start")
    quant_pre: str = word("NoQuant", *_ARRIVES)
    relu_en: bool = flag()

    def rules(self, site: Site) -> None:
        if self.quant_pre in _ARRIVES and site.type.name != "float":
            rule = f"be NoQuant for {site.type} in L0C (the others cast float)"
            self.refuse("quant_pre", rule, "Leave it out, or move float.")

    def nest(self, site: Site) -> Stated:
        blocks, tail = divmod(self.n_size, _COLUMNS)
        if blocks and tail and self.m_size and self.nd_num:
            return self._ragged()
        return LoopNest.strided(
            0,
            0,
            ("nd", self.nd_num, self.src_nd_stride * 256, self.dst_nd_stride),
            ("r", self.m_size, 16, self.dst_stride),
            ("b", blocks or 1, self.src_stride * 16, _COLUMNS),
            ("c", tail or min(_COLUMNS, self.n_size), 1, 1),
        )

    def _ragged(self) -> Runs:
        """The move of rows whose last block of columns is only partly theirs: in runs
        of one length, each inside a block."""
        length = math.gcd(_COLUMNS, self.n_size)
        count = self.nd_num, self.m_size, self.n_size // length
        if math.prod(count) >= 2**31:
            rule, fix = "be less than 2^31 runs in all", "Move it in several calls."
            got = f"{math.prod(count)} of {length} columns"
            self.refuse("m_size", rule, fix, got=got, error=BoundsError)
        nd, r, run = (index.ravel() for index in np.indices(count, np.int64))
        b, c = np.divmod(run * length, _COLUMNS)
        return Runs(
            tuple(zip(("nd", "r", "run"), count, strict=True)),
            nd * self.dst_nd_stride + r * self.dst_stride + run * length,
            nd * self.src_nd_stride * 256 + b * self.src_stride * 16 + r * 16 + c,
            length,
            formula=self._formula(),
        )

    def _formula(self) -> str:
        """The move by its columns, whatever the length of a run."""
        dst = [(self.dst_nd_stride, "nd"), (self.dst_stride, "r"), (1, "c")]
        src = [(self.src_nd_stride * 256, "nd"), (16, "r")]
        src += [(self.src_stride * 16, "(c // 16)"), (1, "c % 16")]
        return (
            f"for nd < {self.nd_num}, r < {self.m_size}, c < {self.n_size}:\n"
            f"    dst[{sum_of(dst, 0)}] = src[{sum_of(src, 0)}]"
        )

    def conversion(self, type: AscendType) -> Conversion | None:
        arrives = TYPES[_ARRIVES.get(self.quant_pre, type.name)]
        if arrives == type and not self.relu_en:
            return None
        return Conversion(arrives, self.relu_en)

    def figure(self, site: Site) -> Figure:
        column, matrix = self.src_stride * 16, self.src_nd_stride * 256
        return Figure.of(
            Tiles.columns(16, self.src_stride or self.m_size),
            Tiles.lines(self.dst_stride),
            self.n_size > 16
            and Dimension.stride("src", "srcStride", self.src_stride, 0, column),
            self.nd_num > 1
            and Dimension.stride("src", "srcNdStride", self.src_nd_stride, 0, matrix),
            *rows_of(self, "dst", "m_size", "n_size", "dst_stride", "dst_nd_stride"),
        )
