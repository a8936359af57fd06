"""The documents' own examples, with the results that the documents state.

Results are printed ones, or follow from what a section says of layouts and distances;
none is computed by the engine or the oracle. Numbers of elements start at 0 here.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from .._move import Call
from .._nest import FILL, KEEP
from ..instr import Params
from ..instr.load2dv2 import LoadData2DParamsV2
from ..instr.load_data_with_transpose import (
    LoadData2dTransposeParams,
    LoadData2dTransposeParamsV2,
)
from ..instr.nddma import NdDmaLoopInfo, NdDmaParams
from ..instr.nz2nd import Nz2NdParamsFull

UNSTATED = -(2**31)
"""Stands in a result where the document leaves the element open."""


@dataclasses.dataclass(frozen=True, eq=False)
class Example:
    """One example of a document.

    Attributes:
      id: document, section and what it is about.
      calls: as the document issues them.
      product, path, dtype: one of those that the document allows.
      src_size: elements of the source.
      expected: shape (dst_size,): source element, KEEP, FILL or UNSTATED.
      refused: why the example breaks a rule of its own document, or "".
    """

    id: str
    calls: tuple[Call, ...]
    product: str
    path: str
    dtype: str
    src_size: int
    expected: np.ndarray
    refused: str = ""


def _runs(dst_size: int, rest: int, runs: list[tuple[int, int, int]]) -> np.ndarray:
    """A result from runs of (destination, source, elements); `rest` elsewhere."""
    expected = np.full(dst_size, rest, np.int32)
    for dst, src, count in runs:
        expected[dst : dst + count] = np.arange(src, src + count)
    return expected


def _load2dv2() -> list[Example]:
    fractal = 256  # elements of half
    window = LoadData2DParamsV2(2, 2, 2, 3, 5, 3)
    first = 13 - 1  # "the thirteenth fractal, the first being number 1"
    moved = [(3 * j + i, first + 5 * j + i) for j in range(3) for i in range(2)]
    start = Example(
        "LoadData2DV2, Figure 2: start position and strides",
        (Call(window),),
        "atlas_350",
        "A1->A2",
        "half",
        5 * 5 * fractal,
        _runs(
            8 * fractal, KEEP, [(d * fractal, s * fractal, fractal) for d, s in moved]
        ),
    )
    # m = 40, k = 70: mStep = ceil(40 / 16), kStep = ceil(70 / 16), NZ to NZ as it is
    nz_to_nz = LoadData2DParamsV2(m_step=3, k_step=5, src_stride=3, dst_stride=3)
    whole = 3 * 5 * fractal
    same = Example(
        "LoadData2DV2, Examples: NZ to NZ",
        (Call(nz_to_nz),),
        "atlas_350",
        "A1->A2",
        "half",
        whole,
        _runs(whole, KEEP, [(0, 0, whole)]),
    )
    return [start, same]


def _squares(slots: list[list[int]], dtype: str, first: int = 0) -> np.ndarray:
    """Squares side by side in the source, transposed, their fractals in `slots`.

    slots[i][h] is the destination fractal of fractal h of the i-th square moved.
    """
    c0 = {"int4b_t": 64, "int8_t": 32, "half": 16, "float": 8}[dtype]
    size = max(16, c0)
    expected = np.full((max(map(max, slots)) + 1, 16, c0), KEEP, np.int32)
    for i, places in enumerate(slots):
        numbers = np.arange(size * size) + (first + i) * size * size
        if c0 >= 16:  # fractals stacked
            result = numbers.reshape(size, size).T.reshape(-1, 16, c0)
        else:  # two fractals side by side
            pair = numbers.reshape(2, 16, c0)
            square = np.concatenate([pair[0], pair[1]], axis=1).T
            result = np.stack(np.split(square, 2, axis=1))
        expected[places] = result
    return expected.ravel()


def _transpose_figures() -> list[Example]:
    def figure(what, dtype, params, slots, fractals, refused="", first=0):
        fractal = {"int4b_t": 1024, "int8_t": 512, "half": 256, "float": 128}[dtype]
        return Example(
            f"LoadDataWithTranspose, {what}",
            (Call(params),),
            "atlas_a2",
            "B1->B2",
            dtype,
            fractals * fractal,
            _squares(slots, dtype, first),
            refused,
        )

    together = LoadData2dTransposeParams(0, 3, 1, dst_gap=1, dst_frac_gap=0)
    apart = LoadData2dTransposeParams(0, 3, 1, dst_gap=0, dst_frac_gap=2)
    single = LoadData2dTransposeParams(0, 3, 1)
    second = LoadData2dTransposeParams(1, 1)
    pairs, columns = [[0, 1], [2, 3], [4, 5]], [[0, 3], [1, 4], [2, 5]]
    fours = [[0, 3, 6, 9], [1, 4, 7, 10], [2, 5, 8, 11]]
    clashing = [[0, 1, 2, 3], [2, 3, 4, 5], [4, 5, 6, 7]]
    clash = (
        "the second square's first fractal is one fractal after the end of the first "
        "square's first, where that square's third stands"
    )
    return [
        figure("Usage: int8_t, dstGap 1", "int8_t", together, pairs, 6),
        figure("Usage: int8_t, dstFracGap 2", "int8_t", apart, columns, 6),
        figure("Usage: half", "half", single, [[0], [1], [2]], 3),
        figure("Usage: float, dstGap 1", "float", together, pairs, 6),
        figure("Usage: float, dstFracGap 2", "float", apart, columns, 6),
        figure("Usage: int4b_t, dstFracGap 2", "int4b_t", apart, fours, 12),
        figure("Usage: int4b_t, dstGap 1", "int4b_t", together, clashing, 12, clash),
        figure(
            "Table 3, startIndex: the third and fourth fractals",
            "float", second, [[0, 1]], 20, first=1,
        ),
    ]  # fmt: skip


def _nz_to_zn(k: int, n: int, c0: int) -> np.ndarray:
    """A matrix [k, n], NZ in B1 and ZN in B2: fractals of 16 x C0 and of C0 x 16."""
    r, c = np.indices((k, n))
    nz = ((c // c0) * (k // 16) + r // 16) * 16 * c0 + (r % 16) * c0 + c % c0
    zn = ((r // c0) * (n // 16) + c // 16) * 16 * c0 + (c % 16) * c0 + r % c0
    expected = np.empty(k * n, np.int32)
    expected[zn.ravel()] = nz.ravel()
    return expected


def _transpose_examples() -> list[Example]:
    v1, v2 = LoadData2dTransposeParams, LoadData2dTransposeParamsV2

    def example(number, k, n, c0, dtype, product, *calls):
        name = f"LoadDataWithTranspose, Example {number}: NZ of [{k}, {n}] to ZN"
        return Example(
            name, calls, product, "B1->B2", dtype, k * n, _nz_to_zn(k, n, c0)
        )

    halves = [Call(v1(0, 2, 1, 1), i * 32 * 16, i * 16 * 16) for i in range(2)]
    eighths = [Call(v2(i * 8, 8 // 2, 2, 8 * 2 - 1), 0, 1024 * i) for i in range(8)]
    return [
        example(1, 32, 64, 32, "int8_t", "atlas_a2", Call(v1(0, 2, 1, 1, 0))),
        example(2, 32, 32, 16, "half", "atlas_a2", *halves),
        example(3, 16, 32, 8, "float", "atlas_a2", Call(v1(0, 2, 1, 0, 1))),
        example(4, 128, 256, 32, "int8_t", "atlas_350", *eighths),
    ]


def _nz2nd() -> list[Example]:
    def example(what, dtype, params: Params, src_size, expected):
        call = (Call(params),)
        where = ("atlas_a2", "VECOUT->GM", dtype)
        return Example(f"NZ2ND, {what}", call, *where, src_size, expected)

    def figure(number, dtype, row, matrix):
        # A and B are the columns of the first matrix, C and D of the second: A1 to B1
        # is 64 elements, A1 to C1 256; in dst a row is `row`, A1 to C1 `matrix`.
        runs = [
            (r * row + m * matrix + b * 16, m * 256 + b * 64 + r * 16, 16)
            for m in range(2)
            for b in range(2)
            for r in range(4)
        ]
        params = Nz2NdParamsFull(2, 4, 32, 1, 4, row, matrix)
        expected = _runs(3 * row + matrix + 32, KEEP, runs)
        return example(f"Figure {number} ({dtype})", dtype, params, 512, expected)

    # [1 2 ... 15 16 513 514 ... 527 528 17 18 ... 31 32 529 530 ... 543 544
    #  ... 497 498 ... 511 512 1009 1010 ... 1023 1024], of the input [1 ... 1024]
    printed = [(0, 0), (16, 512), (32, 16), (48, 528), (992, 496), (1008, 1008)]
    result = _runs(1024, UNSTATED, [(d, s, 16) for d, s in printed])
    params = Nz2NdParamsFull(1, 32, 32, 1, 32, 32, 1)
    return [
        example("Examples: the printed result", "half", params, 1024, result),
        figure(1, "half", 160, 48),
        figure(2, "float", 144, 40),
    ]


def _nddma() -> list[Example]:
    printed = [
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        [0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0, 0],
        [0, 0, 0, 9, 10, 11, 12, 13, 14, 15, 16, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    ]
    values = np.array(printed, np.int32).ravel()  # xGm holds 1 to 16, padding is 0
    info = NdDmaLoopInfo((1, 8), (1, 16), (8, 2), (3, 1), (5, 1))
    return [
        Example(
            "NDDMA, Example: 2D padding, the printed result",
            (Call(NdDmaParams(info, 0)),),
            "atlas_350",
            "GM->VECIN",
            "float",
            16,
            np.where(values == 0, FILL, values - 1),
        )
    ]


def examples() -> list[Example]:
    """All examples of the five documents whose result a document states.

    >>> [e.id for e in examples() if "printed" in e.id]
    ['NZ2ND, Examples: the printed result', 'NDDMA, Example: 2D padding, the printed result']
    """  # noqa: E501
    return [
        *_load2dv2(),
        *_transpose_figures(),
        *_transpose_examples(),
        *_nz2nd(),
        *_nddma(),
    ]
