"""DataCopy: data blocks, with gaps between runs of them (instructions.md, 9)."""

from __future__ import annotations

from .._dtypes import TYPES
from .._nest import LoopNest
from .._products import ATLAS_INFERENCE_VECTOR, PRODUCTS
from ._fields import integer
from ._figure import Dimension, Figure, Tiles
from ._params import Params, Site

PRODUCTS_WITH_COPIES = [key for key in PRODUCTS if key != ATLAS_INFERENCE_VECTOR.key]
_PATHS = "GM->VECIN VECOUT->GM GM->A1 GM->B1 VECOUT->A1 VECOUT->B1"


class DataCopyParams(Params):
    """`DataCopy(dst, src, DataCopyParams)`: runs of data blocks, with gaps between.

    Shapes: `src` and `dst` are flat, in elements; a block is 32 bytes, C0 elements.

    Args:
      block_count: runs, [0, 4095]; 0 makes a NOP.
      block_len: blocks in each run, [0, 65535]; 0 makes a NOP.
      src_gap: source blocks from the end of one run to the start of the next,
        [0, 65535].
      dst_gap: the same in the destination.
    Raises:
      ParamError: a field out of range, while the params are made.
    Gradient: to the element each cell came from.
    Source: instructions.md, section 9.

    >>> import ascjax as asc
    >>> print(asc.DataCopyParams(3, 2, 1, 4).explain("half"))
    for i < 3, e < 32:
        dst[96*i + e] = src[48*i + e]
    """

    instruction = "data_copy"
    op = "data_copy"
    source = "instructions.md, section 9"
    support = {key: {_PATHS: " ".join(TYPES)} for key in PRODUCTS_WITH_COPIES}

    block_count: int = integer(0, 4095, "runs", default=1)
    block_len: int = integer(0, 65535, "blocks of 32 bytes")
    src_gap: int = integer(0, 65535, "blocks of 32 bytes, end to start")
    dst_gap: int = integer(0, 65535, "blocks of 32 bytes, end to start")

    def nest(self, site: Site) -> LoopNest:
        c0 = site.type.c0
        src, dst = self.block_len + self.src_gap, self.block_len + self.dst_gap
        return LoopNest.strided(
            0,
            0,
            ("i", self.block_count, src * c0, dst * c0),
            ("e", self.block_len * c0, 1, 1),
        )

    def figure(self, site: Site) -> Figure:
        c0, many = site.type.c0, self.block_count > 1
        run, src, dst = (
            c0 * n
            for n in (
                self.block_len,
                self.block_len + self.src_gap,
                self.block_len + self.dst_gap,
            )
        )
        return Figure.of(
            Tiles.lines(src),
            Tiles.lines(dst),
            Dimension.count("src", "blockLen", self.block_len, 0, run - 1),
            many and Dimension.count("src", "srcGap", self.src_gap, run, src - 1),
            many and Dimension.count("dst", "dstGap", self.dst_gap, run, dst - 1),
        )
