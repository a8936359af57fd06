"""A convolution, every size known, and the calls that bring parts of it to L0.

FRACTAL_Z of the filters is NZ of [out, k], the order of L0B. k counts the columns of
the im2col matrix, which Load3DV2 makes of the map on its way to L0A.
"""

from __future__ import annotations

import dataclasses
import functools

from ...._dtypes import AscendType
from ...._errors import ParamError
from ...._layout import Layout
from ...._move import Call
from ...._products import ATLAS_350, Product
from ....instr.data_copy import DataCopyParams
from ....instr.load3dv2 import LoadData3DParamsV2, LoadDataRepeatParam
from ...cube._roads import Road, Stages, to_l0, up
from ._given import WHO, Pair


@dataclasses.dataclass(frozen=True)
class Convolution:
    """Filters over one map. Pairs are of (rows, columns).

    Attributes:
      channels, map: the map's size.
      outputs, kernel: the filters' number and size.
      pads: (before, after) for rows and for columns.
    """

    product: Product
    type: AscendType
    channels: int
    map: Pair
    outputs: int
    kernel: Pair
    stride: Pair
    dilation: Pair
    pads: tuple[Pair, Pair]

    @functools.cached_property
    def image(self) -> Layout:
        """The map as GM holds it."""
        return Layout("NC1HWC0", (1, self.channels, *self.map), self.type)

    @functools.cached_property
    def filters(self) -> Layout:
        """The filters as GM holds them."""
        shape = self.outputs, self.channels, *self.kernel
        return Layout("FRACTAL_Z", shape, self.type)

    @property
    def reach(self) -> Pair:
        """Rows and columns of the map under a filter."""
        (kh, kw), (dh, dw) = self.kernel, self.dilation
        return (kh - 1) * dh + 1, (kw - 1) * dw + 1

    @property
    def places(self) -> Pair:
        """Rows and columns of the result, not below 0."""
        axes = zip(self.map, self.pads, self.reach, self.stride, strict=True)
        high, wide = ((n + sum(pad) - reach) // s + 1 for n, pad, reach, s in axes)
        return max(high, 0), max(wide, 0)

    @property
    def taps(self) -> int:
        """Elements of a filter in one channel."""
        return self.kernel[0] * self.kernel[1]

    @property
    def blocks(self) -> int:
        """Blocks of C0 columns of the im2col matrix."""
        return -(-self.channels // self.type.c0) * self.taps

    @property
    def sizes(self) -> tuple[int, int, int]:
        """(m, n, k) of the matrix product: places, filters, columns."""
        high, wide = self.places
        return high * wide, self.outputs, self.blocks * self.type.c0

    def under(self, first: int, count: int) -> tuple[int, int, int, int]:
        """Rows of the map under `count` rows of places: from, to, and the rows of
        padding above and below them.

        Raises:
          ParamError: there are none.
        """
        start = first * self.stride[0] - self.pads[0][0]
        end = start + (count - 1) * self.stride[0] + self.reach[0]
        low, high = max(start, 0), min(end, self.map[0])
        if low >= high:
            rule = "leave rows of the image under every tile for emulate='path'"
            got = f"{self.pads[0]} above and below {self.map[0]} rows, where a tile at "
            got += f"row {first} of the result sees padding only"
            fix = "Pad less than the filter reaches, or take emulate='layout'."
            source = LoadData3DParamsV2.source
            raise ParamError(WHO, "padding", rule, got, fix, source)
        return low, high, low - start, end - high

    def channels_in(self, first: int, count: int) -> Pair:
        """Blocks of channels, from and to, that `count` blocks of columns are of."""
        return first // self.taps, -(-(first + count) // self.taps)

    def stages(self, road: Road, start: Pair, base: int) -> Stages:
        """The calls of a tile that starts at (row, k), to the side of `road`; L1 holds
        the filters from its start, and the map from element `base` on."""
        if road.side == "A":
            return self._map_stages(road, *start, base)
        return self._filter_stages(road, *start)

    def _map_stages(self, road: Road, row: int, k: int, base: int) -> Stages:
        """A band of the map, the channels of these columns, and all places in it."""
        (high, wide), c0 = self.map, self.type.c0
        lines = road.rows // self.places[1]
        low, end, above, below = self.under(row // self.places[1], lines)
        first, last = self.channels_in(k // c0, road.k // c0)
        band = DataCopyParams(1, (end - low) * wide)
        copies = [
            Call(
                band,
                (channel * high + low) * wide * c0,
                base + (channel - first) * band.block_len * c0,
            )
            for channel in range(first, last)
        ]
        distance = LoadDataRepeatParam(dst_stride=road.padded[0] // 16)
        (kh, kw), (dh, dw), (sh, sw) = self.kernel, self.dilation, self.stride
        load = LoadData3DParamsV2(
            (*self.pads[1], above, below),
            end - low,
            wide,
            (last - first) * c0,
            k_extension=road.k,
            m_extension=road.rows,
            k_start_pt=k - first * self.taps * c0,
            stride_w=sw,
            stride_h=sh,
            filter_w=kw % 256,
            filter_h=kh % 256,
            dilation_filter_w=dw,
            dilation_filter_h=dh,
            filter_size_w=kw >= 256,
            filter_size_h=kh >= 256,
            repeat=distance if self.product is ATLAS_350 else None,
        )
        return [(copies, road.paths[0]), ([Call(load, base)], road.paths[1])]

    def _filter_stages(self, road: Road, row: int, k: int) -> Stages:
        """Fractals of FRACTAL_Z: a column of them for each block of columns."""
        high, tall = up(self.outputs, 16) // 16, road.padded[0] // 16
        columns, first = road.k // self.type.c0, k // self.type.c0
        copy = DataCopyParams(columns, tall * 16, (high - tall) * 16)
        start = (first * high + row // 16) * self.type.fractal
        return [([Call(copy, start)], road.paths[0]), (to_l0(road), road.paths[1])]
