"""The one table of moves that tests share: named calls of every instruction.

Small, each with a plan or an edge of its own. `Case.src_size` leaves elements that
nothing reads and `dst_size` elements that nothing writes, odd ones where they can be.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np

import ascjax as asc


@dataclasses.dataclass(frozen=True)
class Case:
    """Calls on one destination, the type they move, and the sizes of the buffers."""

    calls: tuple[asc.Call, ...]
    dtype: str
    src_size: int
    dst_size: int | None = None
    overlap: Any = "error"
    product: Any = None
    path: str | None = None

    def moved(self, dtype: Any = None) -> asc.Move:
        """The calls as a `Move`, for the case's type or another one of its width."""
        return asc.Move.sequence(
            self.calls,
            src_size=self.src_size,
            dst_size=self.dst_size,
            dtype=dtype or self.dtype,
            overlap=self.overlap,
            product=self.product,
            path=self.path,
        )

    @functools.cached_property
    def move(self) -> asc.Move:
        return self.moved()

    def run(self, src: Any, dst: Any = None, dtype: Any = None) -> Any:
        """The public op that takes the params; `asc.sequence` for several calls."""
        size = self.dst_size if dst is None else None
        options = {"dtype": dtype, "overlap": self.overlap}
        options |= {"product": self.product, "path": self.path}
        if len(self.calls) > 1:
            return asc.sequence(self.calls, **options)(src, dst, dst_size=size)
        call = self.calls[0]
        return getattr(asc, call.params.op)(
            src,
            call.params,
            dst=dst,
            dst_size=size,
            src_offset=call.src_offset,
            dst_offset=call.dst_offset,
            **options,
        )


def one(params, dtype, src_size, dst_size=None, at=(0, 0), overlap="error") -> Case:
    """A single call, its operands starting `at` (source, destination) elements."""
    return Case((asc.Call(params, *at),), dtype, src_size, dst_size, overlap)


def several(calls, dtype, src_size, dst_size=None) -> Case:
    """Calls in order: (params, src_offset, dst_offset) rows."""
    return Case(tuple(asc.Call(*row) for row in calls), dtype, src_size, dst_size)


def nddma(src, dst, size, left=None, right=None, fill: Any = 0, **config):
    """`NdDmaParams` from lists, the innermost dimension first."""
    info = asc.NdDmaLoopInfo(src, dst, size, left, right)
    return asc.NdDmaParams(info, fill, asc.NdDmaConfig(**config))


def im2col(dtype, src_size, dst_size=None, at=(0, 0), path="L1->L0A", **fields) -> Case:
    """A Load3DV2 call on a 3 x 4 map of two blocks of channels, padded all round."""
    c0 = asc.ascend_type(dtype).c0
    known = {"l1_h": 3, "l1_w": 4, "channel_size": 2 * c0, "pad_list": (1, 1, 1, 1)}
    known |= {"filter_w": 2, "filter_h": 2, "m_extension": 16, "k_extension": 2 * c0}
    product = asc.ATLAS_350 if "repeat" in fields else asc.ATLAS_A2
    params = asc.LoadData3DParamsV2(**{**known, **fields})
    return Case(
        (asc.Call(params, *at),), dtype, src_size, dst_size, "error", product, path
    )


_fractal = asc.LoadData2DParams(repeat_times=1)
_row = nddma((1,), (1,), (6,))

CASES: dict[str, Case] = {
    # Load2D: half has fractals of 256 elements, float of 128
    "load2d_box": one(asc.LoadData2DParams(1, 2, 1), "half", 768),
    "load2d_gap": one(
        asc.LoadData2DParams(0, 2, 2, dst_gap=1), "half", 800, 1027, at=(0, 256)
    ),
    "load2d_transpose": one(
        asc.LoadData2DParams(0, 2, 1, if_transpose=True), "half", 512
    ),
    "load2d_decrease": one(
        asc.LoadData2DParams(3, 3, 1, dst_gap=1, addr_mode=1), "float", 516, 645
    ),
    "load2d_repeat": one(asc.LoadData2DParams(1, 3, 0), "half", 512),
    "load2d_odd": one(_fractal, "half", 263, 265, at=(5, 3)),
    "load2d_nop": one(asc.LoadData2DParams(7, 0, 3), "half", 33, 35),
    # Load2DV2
    "load2dv2_window": one(
        asc.LoadData2DParamsV2(1, 0, 2, 2, src_stride=3, dst_stride=3),
        "float",
        771,
        701,
    ),
    "load2dv2_transpose": one(
        asc.LoadData2DParamsV2(
            0, 0, 2, 1, src_stride=2, dst_stride=1, if_transpose=True
        ),
        "half",
        512,
    ),
    "load2dv2_transpose_32": one(
        asc.LoadData2DParamsV2(
            0, 0, 1, 2, src_stride=2, dst_stride=2, if_transpose=True
        ),
        "float",
        400,
    ),
    "load2dv2_negative_stride": one(
        asc.LoadData2DParamsV2(0, 2, 1, 3, src_stride=-1, dst_stride=1), "float", 385
    ),
    "load2dv2_source_windows_overlap": one(
        asc.LoadData2DParamsV2(0, 0, 2, 3, src_stride=1, dst_stride=2), "float", 512
    ),
    "load2dv2_last_write_wins": one(
        asc.LoadData2DParamsV2(0, 0, 2, 3, src_stride=2, dst_stride=1),
        "float",
        768,
        515,
        overlap="last",
    ),
    # Load3DV2
    "load3dv2": im2col("half", 391, 523, pad_value=1.5),
    "load3dv2_transpose": im2col(
        "float", 200, 700, m_start_pt=1, k_start_pt=24, en_transpose=True
    ),
    "load3dv2_to_l0b": im2col(
        "half",
        384,
        path="L1->L0B",
        stride_w=2,
        m_extension=12,
        dilation_filter_h=2,
        l1_h=4,
    ),
    "load3dv2_part_of_a_fractal": im2col(
        "half", 400, 550, m_extension=3, m_start_pt=17, k_extension=22, k_start_pt=96
    ),
    "load3dv2_repeat": im2col(
        "float", 200, 700, repeat=asc.LoadDataRepeatParam(dst_stride=3)
    ),
    "load3dv2_plain": im2col(
        "half",
        400,
        pad_list=(0, 0, 0, 0),
        filter_w=1,
        filter_h=1,
        l1_h=1,
        l1_w=12,
        m_extension=12,
    ),
    "load3dv2_nop": im2col("half", 33, 35, m_extension=0),
    # LoadDataWithTranspose: half has squares of 256 elements, float of 256 in two
    "ldwt_v1_16": one(asc.LoadData2dTransposeParams(1, 2, 1, addr_mode=1), "half", 512),
    "ldwt_v1_32": one(
        asc.LoadData2dTransposeParams(0, 2, 1, dst_gap=2, dst_frac_gap=0), "float", 512
    ),
    "ldwt_v2_32": one(
        asc.LoadData2dTransposeParamsV2(
            1, 2, 1, dst_gap=0, dst_frac_gap=1, src_frac_gap=1
        ),
        "float",
        700,
        517,
    ),
    # NZ2ND: columns of 16 elements
    "nz2nd": one(asc.Nz2NdParamsFull(1, 5, 32, 1, 7, 37, 1), "float", 200, 190),
    "nz2nd_matrices_interleave": one(
        asc.Nz2NdParamsFull(3, 4, 16, 1, 0, 48, 16), "half", 601
    ),
    "nz2nd_destinations_interleave": one(
        asc.Nz2NdParamsFull(4, 2, 16, 1, 0, 100, 40), "half", 900, 240
    ),
    "nz2nd_source_windows_overlap": one(
        asc.Nz2NdParamsFull(2, 3, 32, 1, 15, 32, 96), "half", 545
    ),
    # NDDMA
    "nddma_transpose": one(nddma((1, 8), (4, 1), (7, 3)), "float", 29, 31),
    "nddma_constant": one(
        nddma((1, 9), (1, 16), (7, 3), (3, 1), (2, 2), 1.5), "half", 27, 97
    ),
    "nddma_nearest": one(
        nddma((1, 9), (1, 16), (7, 3), (3, 1), (2, 0), is_nearest_value_mode=True),
        "half",
        27,
        70,
    ),
    "nddma_constant_everywhere": one(
        nddma((2,), (3,), (4,), fill=-2, loop_lp_size=2, loop_rp_size=1), "float", 9, 21
    ),
    "nddma_broadcast": one(
        nddma((1, 0), (1, 8), (5, 3), (0, 1), (1, 1), 3), "float", 6, 41
    ),
    "nddma_five_dims": one(
        nddma((1, 3, 9, 18, 37), (1, 3, 7, 14, 29), (3, 2, 2, 2, 2)), "half", 80, 61
    ),
    "nddma_descending": one(
        nddma((1, 5, 20), (12, 4, 1), (2, 3, 4), (1, 0, 0), (0, 0, 0), 7), "half", 75
    ),
    "nddma_sliding_windows": one(nddma((1, 2), (1, 5), (5, 4)), "float", 12, 23),
    "nddma_nop": one(nddma((1, 9), (1, 16), (7, 0), (3, 1), (2, 2), 1.5), "half", 5, 9),
    # ND2NZ: blocks of 16 elements of half, of 8 of float
    "nd2nz_whole_columns": one(
        asc.Nd2NzParams(1, 5, 32, 0, 37, 16, 1, 0), "half", 200, 345
    ),
    "nd2nz_tail": one(asc.Nd2NzParams(1, 3, 19, 0, 21, 4, 1, 0), "float", 62, 100),
    "nd2nz_matrices_in_columns": one(
        asc.Nd2NzParams(3, 2, 11, 15, 45, 6, 1, 16), "float", 90, 97
    ),
    # DataCopy and DataCopyPad
    "data_copy": one(asc.DataCopyParams(3, 2, 1, 2), "half", 150, 193),
    "data_copy_pad_in": one(
        asc.DataCopyExtParams(
            3, 40, 8, 1, pad_params=asc.DataCopyPadExtParams(True, 2, 1, 7)
        ),
        "float",
        40,
        71,
    ),
    "data_copy_pad_out": one(asc.DataCopyExtParams(3, 40, 1, 8), "float", 75, 37),
    # sequences
    "sequence_one_nest": several(
        [
            (asc.LoadData2DParams(0, 2, 3, dst_gap=0), k * 128, k * 256)
            for k in range(3)
        ],
        "float",
        768,
    ),
    "sequence_irregular": several(
        [(_fractal, 0, 0), (_fractal, 50, 131), (_fractal, 20, 300)], "float", 200, 431
    ),
    "sequence_later_call_wins": several(
        [(_fractal, 0, 0), (_fractal, 64, 96), (_fractal, 128, 32)], "float", 256, 250
    ),
    "sequence_two_paddings": several(
        [
            (nddma((1,), (1,), (3,), (1,), (2,), 5), 0, 1),
            (nddma((1,), (2,), (3,), (2,), (1,), -4), 2, 9),
        ],
        "float",
        7,
        23,
    ),
    "sequence_many_copies": several(
        [(_row, k // 17, 7 * k + k % 2) for k in range(20)], "float", 8, 145
    ),
}

# Where a test cannot afford every case: one for each kind of step that a plan has.
KINDS = (
    "load2d_gap",
    "load2d_transpose",
    "load2d_decrease",
    "load2d_repeat",
    "load2dv2_source_windows_overlap",
    "load3dv2",
    "nz2nd",
    "nddma_constant",
    "nddma_nearest",
    "sequence_irregular",
    "sequence_two_paddings",
)


def integers(seed: int, shape: tuple[int, ...], dtype: Any = "float32") -> np.ndarray:
    """Whole numbers in [-4, 4]: sums of a few dozen are exact in every float type."""
    rng = np.random.default_rng(seed)
    return rng.integers(-4, 5, shape).astype(dtype)
