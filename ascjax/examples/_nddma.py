"""NDDMA: the four scenarios in two dimensions, the printed result, one rule."""

from __future__ import annotations

import numpy as np

from .._errors import OverlapError
from .._move import Call, Move
from .._nest import FILL
from ..instr.nddma import NdDmaConfig, NdDmaLoopInfo, NdDmaParams
from ._figure import Fact, Figure, Shown, of_example, source_of

_OURS = "The document prints no numbers for this figure: these are ours."
_SITE = ("atlas_350", "GM->VECIN", "float")


def _figure(number, title: str, info: NdDmaLoopInfo, src: int, *facts: Fact, **rest):
    config = rest.pop("config", NdDmaConfig())
    call = Call(NdDmaParams(info, 0, config))
    return Figure(
        rest.pop("id", f"nddma-{number}"),
        "NDDMA",
        rest.pop("name", f"Figure {number}"),
        title,
        (call,),
        *_SITE,
        src,
        facts,
        rest.pop("expected", None),
        note=rest.pop("note", _OURS),
    )


def _filled(rows: slice, columns: slice) -> Shown:
    """How much of a part of the 4 x 16 destination is padding."""
    return lambda move: int((_grid(move, 16)[rows, columns] == FILL).sum())


def _grid(move: Move, width: int) -> np.ndarray:
    """The destination as rows of `width` elements."""
    return move.index_map.index.reshape(-1, width)


def _padding() -> list[Figure]:
    every = slice(None)
    facts = (
        Fact("xGmShape", "elements read, 2 rows of 8", 16, "elements",
             lambda move: int((move.index_map.index >= 0).sum())),
        Fact("xLocalShape", "elements written, 4 rows of 16", 64, "elements",
             lambda move: move.dst_size),
        Fact("loopLpSize[0] = 3", "on the left of row 1", 3, "padding elements",
             _filled(slice(1, 2), slice(0, 8))),
        Fact("loopRpSize[0] = 5", "on the right of row 1", 5, "padding elements",
             _filled(slice(1, 2), slice(8, None))),
        Fact("loopLpSize[1] = 1", "the row above", 16, "padding elements",
             _filled(slice(0, 1), every)),
        Fact("loopRpSize[1] = 1", "the row below", 16, "padding elements",
             _filled(slice(3, None), every)),
        Fact("xLocal[1][3]", "printed: 1, the first value", 0, "(source element)",
             source_of(16 + 3)),
        Fact("xLocal[2][10]", "printed: 16, the last value", 15, "(source element)",
             source_of(32 + 10)),
    )  # fmt: skip
    constant = of_example(
        "NDDMA, Example: 2D padding, the printed result",
        "nddma-1",
        "Figure 1 and Example",
        "padding with a constant, 2 x 8 into 4 x 16",
        *facts,
        note="The figure with the numbers of the Example, whose result is printed.",
    )
    nearest = _figure(
        1,
        "padding with the nearest value, 2 x 8 into 4 x 16",
        NdDmaLoopInfo((1, 8), (1, 16), (8, 2), (3, 1), (5, 1)),
        16,
        Fact("left of row 1", "the row's first element", 0, "(source element)",
             source_of(16)),
        Fact("right of row 1", "the row's last element", 7, "(source element)",
             source_of(31)),
        Fact("corner", "clamped in both dimensions", 15, "(source element)",
             source_of(63)),
        Fact("constantValue", "fills nothing", 0, "padding elements",
             _filled(every, every)),
        expected=np.pad(np.arange(16).reshape(2, 8), ((1, 1), (3, 5)), "edge").ravel(),
        config=NdDmaConfig(is_nearest_value_mode=True),
        id="nddma-1-nearest",
        name="Figure 1, isNearestValueMode",
        note="The document prints no numbers for this mode: the Example's are used.",
    )  # fmt: skip
    return [constant, nearest]


def _refused_below(move: Move) -> int:
    """The smallest destination stride of dimension 2 that is not refused."""
    info: NdDmaLoopInfo = getattr(move.calls[0].params, "loop_info")  # noqa: B009
    for stride in range(1, 10):
        of_dst = (info.loop_dst_stride[0], stride)
        sizes = (info.loop_size, info.loop_lp_size, info.loop_rp_size)
        params = NdDmaParams(NdDmaLoopInfo(info.loop_src_stride, of_dst, *sizes))
        try:
            Move.of(params, src_size=move.src_size, dtype=move.type)
        except OverlapError:
            continue
        return stride
    return 0


def nddma() -> list[Figure]:
    """The figures of NDDMA's document."""
    transposed = _figure(
        2,
        "transpose, 3 x 4 becomes 4 x 3",
        NdDmaLoopInfo((1, 4), (3, 1), (4, 3)),
        12,
        Fact("loopDstStride[0] = 3", "source elements 0 and 1 land a row apart", 1,
             "(source element)", source_of(3)),
        Fact("loopDstStride[1] = 1", "source rows become columns", 4,
             "(source element)", source_of(1)),
        expected=np.arange(12).reshape(3, 4).T.ravel(),
    )  # fmt: skip
    broadcast = _figure(
        3,
        "broadcast, one row of 4 becomes 3 rows",
        NdDmaLoopInfo((1, 0), (1, 4), (4, 3)),
        4,
        Fact("loopSrcStride[1] = 0", "each row of the result reads row 0", 3, "rows",
             lambda move: int((_grid(move, 4) == np.arange(4)).all(1).sum())),
        expected=np.tile(np.arange(4), 3),
    )  # fmt: skip
    sliced = _figure(
        4,
        "slice, 2 x 3 out of 4 x 6",
        NdDmaLoopInfo((1, 6), (1, 3), (3, 2)),
        24,
        Fact("loopSrcStride[1] = 6", "rows are a whole source row apart", 6,
             "(source element)", source_of(3)),
        Fact("loopDstStride[1] = 3", "rows are packed", 6, "elements",
             lambda move: move.dst_size),
        expected=np.arange(24).reshape(4, 6)[:2, :3].ravel(),
    )  # fmt: skip
    smallest = _figure(
        0,
        "the smallest stride of the second dimension, where the first has 3 elements",
        NdDmaLoopInfo((1, 3), (1, 3), (3, 2)),
        6,
        Fact("loopDstStride[1]", "at least 3, so that dimensions do not interleave", 3,
             "elements", _refused_below),
        id="nddma-smallest",
        name="Restrictions",
        note="The rule for the destination is an error here; the source may overlap.",
    )  # fmt: skip
    return [*_padding(), transposed, broadcast, sliced, smallest]
