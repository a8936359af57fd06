"""Builders of the calls that move so many bytes by one instruction.

One call up to what the instruction can move at once, a sequence of calls beyond.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp

import ascjax as asc

FRACTAL = 512  # bytes
Calls = list[tuple[asc.Params, int, int]]  # params, src_offset, dst_offset
Make = Callable[[asc.AscendType, int], Calls]


def _sides(n: int, low: int = 1, high: int = 128) -> tuple[int, int]:
    """Two powers of two, at least `low` and at most `high`, of product `n` at most."""
    first = min(1 << int(math.log2(n)) // 2, high)
    second = max(low, min(n // first, high))
    return min(first, n // second), second


def _calls(params: asc.Params, count: int, src_step: int, dst_step: int) -> Calls:
    return [(params, k * src_step, k * dst_step) for k in range(max(count, 1))]


def load2d(src_pitch: int, dst_pitch: int = 1, back: bool = False, **fields) -> Make:
    """Fractals `src_pitch` apart in the source, `dst_pitch` in the destination."""

    def make(t: asc.AscendType, size: int) -> Calls:
        n = min(size // FRACTAL, 128)
        params = asc.LoadData2DParams(
            start_index=(n - 1) * src_pitch if back else 0,
            repeat_times=n,
            src_stride=src_pitch,
            dst_gap=dst_pitch - 1,
            addr_mode=int(back),
            **fields,
        )
        src_step = max(n * src_pitch, 1) * t.fractal
        count = size // FRACTAL // n
        return _calls(params, count, src_step, n * dst_pitch * t.fractal)

    return make


def load2d_nz_to_zz(t: asc.AscendType, size: int) -> Calls:
    """A matrix of fractals from column to row order: one call a row."""
    rows, columns = size // FRACTAL, 1
    while columns < min(rows, 128):
        rows, columns = rows // 2, columns * 2
    params = asc.LoadData2DParams(repeat_times=columns, src_stride=rows)
    return _calls(params, rows, t.fractal, columns * t.fractal)


def load2dv2(
    src_pitch: Callable[[int], int], dst_gap: int = 0, back: bool = False, **fields
) -> Make:
    """m x k fractals; `src_pitch` of m is the source's step along K, in fractals."""

    def make(t: asc.AscendType, size: int) -> Calls:
        k, m = _sides(size // FRACTAL, low=4)
        turned = fields.get("if_transpose", False)
        pitch = (t.c0 * k // 16 if turned else m) + dst_gap
        columns = 16 * m // t.c0 if turned else k
        params = asc.LoadData2DParamsV2(
            k_start_position=k - 1 if back else 0,
            m_step=m,
            k_step=k,
            src_stride=-src_pitch(m) if back else src_pitch(m),
            dst_stride=pitch,
            **fields,
        )
        src_step = (k * src_pitch(m) or m) * t.fractal
        count = size // FRACTAL // (m * k)
        return _calls(params, count, src_step, columns * pitch * t.fractal)

    return make


def ldwt(version: int, src_pitch: float, dst_pitch: int = 1, **spread: bool) -> Make:
    """Squares; the pitches are in squares, a broken one of V2 in its fractals.

    `src_spread`, `dst_spread`: a square's fractals stand as far apart as there are
    squares, those of neighbouring squares side by side.
    """

    def make(t: asc.AscendType, size: int) -> Calls:
        n = {4: 4, 8: 2, 16: 1, 32: 2}[t.bits]  # fractals in a square
        count = min(max(size // FRACTAL // n, 1), 128)
        fields: dict[str, int] = {"repeat_times": count, "dst_gap": dst_pitch * n - 1}
        fields["src_stride"] = int(src_pitch * n) if version == 2 else int(src_pitch)
        if spread.get("dst_spread"):
            fields |= {"dst_gap": 0, "dst_frac_gap": count - 1}
        if spread.get("src_spread"):
            fields |= {"src_stride": 1, "src_frac_gap": count - 1}
        cls = (asc.LoadData2dTransposeParams, asc.LoadData2dTransposeParamsV2)
        params = cls[version - 1](**fields)
        src_step = int(max(count * src_pitch, 1) * n) * t.fractal
        calls = max(size // FRACTAL // (n * count), 1)
        return _calls(params, calls, src_step, count * dst_pitch * n * t.fractal)

    return make


def nz2nd(rows: Callable[[int], int], dst_gap: Callable[[int], int] = int) -> Make:
    """One NZ matrix of n rows: `rows` of n stand in the source, rows of d columns are
    `dst_gap` of d apart in the destination."""

    def make(t: asc.AscendType, size: int) -> Calls:
        d, n = _sides(size * 8 // t.bits, low=16, high=2048)
        d = max(d, 16)
        params = asc.Nz2NdParamsFull(1, n, d, 1, rows(n), dst_gap(d), 1)
        src_step = max(d * rows(n), 16 * n)
        count = size * 8 // t.bits // (n * d)
        return _calls(params, count, src_step, n * dst_gap(d))

    return make


def nz2nd_many(t: asc.AscendType, size: int) -> Calls:
    """Matrices of 32 x 32 in one call."""
    n = min(size * 8 // t.bits // 1024, 2048)
    params = asc.Nz2NdParamsFull(n, 32, 32, 4, 32, 32, 1024)
    return _calls(params, size * 8 // t.bits // 1024 // n, n * 1024, n * 1024)


def nz2nd_narrow(t: asc.AscendType, size: int) -> Calls:
    """16 columns: NZ is ND."""
    n = min(size * 8 // t.bits // 16, 2048)
    params = asc.Nz2NdParamsFull(1, n, 16, 1, n, 16, 1)
    return _calls(params, size * 8 // t.bits // 16 // n, n * 16, n * 16)


def matrix(t: asc.AscendType, size: int) -> tuple[int, int]:
    """Rows and columns of NDDMA's matrix."""
    columns, rows = _sides(size * 8 // t.bits, high=1 << 15)
    return rows, columns


def nddma(strides: Callable[[int, int], tuple], **config: Any) -> Make:
    """`strides` of (rows, columns): source strides, destination strides and sizes, the
    innermost first; then paddings left and right."""

    def make(t: asc.AscendType, size: int) -> Calls:
        info = asc.NdDmaLoopInfo(*strides(*matrix(t, size)))
        options = asc.NdDmaConfig(**config)
        return [(asc.NdDmaParams(info, 0 if config else 7, options), 0, 0)]

    return make


def padded(mode: str) -> Callable[[asc.AscendType, int], Callable[[Any], Any]]:
    def hand(t: asc.AscendType, size: int) -> Callable[[Any], Any]:
        shape = matrix(t, size)
        value: Any = {"constant_values": 7} if mode == "constant" else {}

        def pad(x: Any) -> Any:
            lead = x.shape[:-1]
            widths = [(0, 0)] * len(lead) + [(1, 2), (3, 5)]
            wide = jnp.pad(x.reshape(*lead, *shape), widths, mode=mode, **value)
            return wide.reshape(*lead, -1)

        return pad

    return hand


def pads(r: int, c: int) -> tuple:
    return (1, c), (1, c + 8), (c, r), (3, 1), (5, 2)
