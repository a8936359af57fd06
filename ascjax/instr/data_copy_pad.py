"""DataCopyPad: runs of bytes between GM and UB, padded in UB (instructions.md, 9)."""

from __future__ import annotations

from typing import Any

from .._dtypes import TYPES, AscendType
from .._fill import fill_bits
from .._nest import Loop, LoopNest
from ._c_struct import CStruct
from ._fields import constant, flag, ignored, integer, part
from ._figure import Dimension, Figure, Tiles
from ._params import Params, Site
from .data_copy import PRODUCTS_WITH_COPIES

_WHO, _SOURCE = "data_copy_pad", "instructions.md, section 9"
_TYPES = " ".join(name for name, t in TYPES.items() if t.bits >= 8)
_PATHS = "GM->VECIN VECOUT->GM"
_PADS = ("left_padding", "right_padding")


class DataCopyPadExtParams(CStruct):
    """`DataCopyPadExtParams<T>`: what surrounds each run in UB.

    Args:
      is_pad: whether anything does; if not, the rest has no effect.
      left_padding: elements in front, [0, 32], at most 32 bytes.
      right_padding: elements behind, [0, 32], at most 32 bytes.
      padding_value: what they are filled with; 0 for 64-bit types.
    Raises:
      ParamError: a field out of range, or a value that is no number.
    Source: instructions.md, section 9.

    >>> import ascjax as asc
    >>> asc.DataCopyPadExtParams(True, 0, 3, 1.5).right_padding
    3
    """

    instruction = _WHO
    source = _SOURCE
    within = "pad_params"

    is_pad: bool = flag()
    left_padding: int = integer(0, 32, "elements, at most 32 bytes")
    right_padding: int = integer(0, 32, "elements, at most 32 bytes")
    padding_value: Any = constant()


class DataCopyExtParams(Params):
    """`DataCopyPad(dst, src, DataCopyExtParams[, DataCopyPadExtParams])`.

    With `pad_params` runs come from GM to UB, where each takes whole data blocks of 32
    bytes: padding, the data, padding. What is left of the last block is kept. Without,
    they go from UB, each from the start of a block, to GM, and nothing but the data is
    written.

    Shapes: `src` and `dst` are flat, in elements.

    Args:
      block_count: runs, [0, 4095]; 0 makes a NOP.
      block_len: bytes of each run, [0, 2097151], a multiple of the type's size; 0 makes
        a NOP.
      src_stride: from the end of one run to the start of the next, [0, 2^32): bytes in
        GM, a multiple of the type's size, blocks of 32 bytes in UB.
      dst_stride: the same in the destination.
      rsv: ignored.
      pad_params: a `DataCopyPadExtParams`, for GM to UB; None for UB to GM.
    Raises:
      ParamError: a field out of range, while the params are made; bytes that are no
        whole elements, padding of more than 32 bytes or of a value that does not fit
        the type, or `pad_params` on the wrong way, while tracing.
    Gradient: to the element each cell came from; none from padding.
    Source: instructions.md, section 9.

    >>> import ascjax as asc
    >>> pad = asc.DataCopyPadExtParams(True, 2, 1, 0)
    >>> print(asc.DataCopyExtParams(3, 40, 8, 1, pad_params=pad).explain("half"))
    for i < 3, x < 23:
        dst[48*i + x] = src[24*i + x - 2] if 0 <= x - 2 < 20 else padding
    >>> print(asc.DataCopyExtParams(3, 40, 1, 8).explain("half"))
    for i < 3, x < 20:
        dst[24*i + x] = src[48*i + x]
    """

    instruction = _WHO
    op = "data_copy_pad"
    source = _SOURCE
    support = {key: {_PATHS: _TYPES} for key in PRODUCTS_WITH_COPIES}

    block_count: int = integer(0, 4095, "runs", default=1)
    block_len: int = integer(0, 2097151, "bytes")
    src_stride: int = integer(
        0, 2**32 - 1, "bytes in GM, blocks of 32 bytes in UB, end to start"
    )
    dst_stride: int = integer(
        0, 2**32 - 1, "bytes in GM, blocks of 32 bytes in UB, end to start"
    )
    rsv: int = ignored()
    pad_params: DataCopyPadExtParams | None = part(DataCopyPadExtParams, default=None)

    def rules(self, site: Site) -> None:
        size, pad = site.type.bits // 8, self.pad_params
        for name in ("block_len", "src_stride" if pad else "dst_stride"):
            if getattr(self, name) % size:
                rule = f"be a multiple of {size} (bytes), the size of {site.type}"
                fix = f"Move whole elements, or a narrower type. {self.note()}"
                self.refuse(name, rule, fix)
        if site.path and site.path.startswith("GM") != (pad is not None):
            if pad is None:
                rule, fix = "be given from GM to UB", "Make the params with pad_params."
            else:
                rule, fix = "be None from UB to GM", "Leave it out."
            self.refuse("pad_params", rule, fix)
        if pad is None:
            return
        for name in _PADS:
            if getattr(pad, name) > site.type.c0:
                rule = f"be at most {site.type.c0} (elements of {site.type}), 32 bytes"
                pad.refuse(name, rule, "Pad less.")
        self.fill_bits(site.type)

    def note(self) -> str:
        if self.pad_params is None:
            return "Without pad_params the runs go from UB to GM."
        return "With pad_params the runs go from GM to UB."

    def nest(self, site: Site) -> LoopNest:
        size, c0, pad = site.type.bits // 8, site.type.c0, self.pad_params
        count = self.block_len // size
        if count == 0:
            return LoopNest.nop()
        if pad is None:
            held = -(-count // c0)
            return LoopNest.strided(
                0,
                0,
                (
                    "i",
                    self.block_count,
                    (held + self.src_stride) * c0,
                    count + self.dst_stride // size,
                ),
                ("x", count, 1, 1),
            )
        left, right = (getattr(pad, name) if pad.is_pad else 0 for name in _PADS)
        written = left + count + right
        held = -(-written // c0)
        bound = (-left, count, "fill") if left or right else ()
        return LoopNest.build(
            0,
            0,
            [
                Loop("i", self.block_count, (held + self.dst_stride) * c0),
                Loop("x", written, 1),
            ],
            [({"i": 1}, count + self.src_stride // size), ({"x": 1}, 1, *bound)],
        )

    def fill_bits(self, type: AscendType) -> int:
        pad = self.pad_params
        if pad is None or not pad.is_pad:
            return 0
        return fill_bits(
            pad.padding_value, type, _WHO, _SOURCE, pad.named("padding_value")
        )

    def figure(self, site: Site) -> Figure:
        nest = self.nest(site)
        if not nest.volume:
            return super().figure(site)
        count, pad = self.block_len * 8 // site.type.bits, self.pad_params
        left, right = (
            getattr(pad, name) if pad and pad.is_pad else 0 for name in _PADS
        )
        src, dst = nest.src_steps()[0], nest.loops[0].dst_stride
        written, many = left + count + right, self.block_count > 1
        # a gap begins where whole blocks of 32 bytes end in UB, at once in GM
        read_end, put_end = count, written
        if pad is None:
            read_end += -count % site.type.c0
        else:
            put_end += -written % site.type.c0
        return Figure.of(
            Tiles.lines(src),
            Tiles.lines(dst),
            Dimension.count("src", "blockLen", self.block_len, 0, count - 1),
            many
            and Dimension.count("src", "srcStride", self.src_stride, read_end, src - 1),
            Dimension.count("dst", "leftPadding", left, 0, left - 1),
            Dimension.count("dst", "rightPadding", right, left + count, written - 1),
            many
            and Dimension.count("dst", "dstStride", self.dst_stride, put_end, dst - 1),
        )
