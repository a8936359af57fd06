"""NZ2ND: two figures and the printed result."""

from __future__ import annotations

import numpy as np

from ._figure import Fact, Figure, copied, of_example, read_apart, source_of
from ._figure import apart as lands_apart


def _figure(number: int, dtype: str, block: int, row: int, matrix: int) -> Figure:
    """Figure `number`: data blocks of `block` elements, and two distances in them."""
    step = 16 // block  # blocks in a row of a Z column
    rows, a, c = 4, 0, 256
    b, second = 64, 16  # B1, and the first block of row 1
    one, two = f"A1-A{rows * step}", f"C1-C{rows * step}"
    return of_example(
        f"NZ2ND, Figure {number} ({dtype})",
        f"nz2nd-{number}",
        f"Figure {number}",
        f"two NZ matrices of 4 x 32 {dtype} become rows in global memory",
        Fact("ndNum = 2", f"matrices, {one} with B and {two} with D", 2, "matrices",
             lambda move: np.unique(copied(move) // 256).size),
        Fact("nValue = 4", "rows of each matrix", 4, "rows",
             lambda move: np.unique(copied(move) % 64 // 16).size),
        Fact("dValue = 32", "elements in a row", 32, "elements",
             lambda move: _row_length(move)),
        Fact("srcNdMatrixStride = 1", "from A1 to C1 in the source", 256, "elements",
             read_apart(0, matrix)),
        Fact("srcNStride = 4", "from A1 to B1 in the source", 64, "elements",
             read_apart(0, 16)),
        Fact(f"dstDStride = {row}",
             f"from A1 to A{1 + step} in the destination: {row // block} data blocks",
             row, "elements", lands_apart(a, second)),
        Fact(f"dstNdMatrixStride = {matrix}",
             f"from A1 to C1 in the destination: {matrix // block} data blocks",
             matrix, "elements", lands_apart(a, c)),
        Fact("B1", "follows A in the row, after 16 elements", 16, "elements",
             lands_apart(a, b)),
    )  # fmt: skip


def _row_length(move) -> int:
    """Elements of the first matrix that stand in the destination's first row."""
    first = move.index_map.index[: move.calls[0].params.dst_d_stride]
    return int(((first >= 0) & (first < 256)).sum())


def nz2nd() -> list[Figure]:
    """The figures of NZ2ND's document."""
    printed = [(0, 1), (15, 16), (16, 513), (32, 17), (48, 529), (1008, 1009)]
    result = of_example(
        "NZ2ND, Examples: the printed result",
        "nz2nd-printed",
        "Examples, the printed result",
        "one NZ matrix of 32 x 32 half, holding 1 to 1024, as rows",
        *(
            Fact(f"element {at}", "printed in the output", number, "(the value)",
                 lambda move, at=at: source_of(at)(move) + 1)
            for at, number in printed
        ),
        Fact("dstDStride = 32", "a row follows the row before", 32, "elements",
             lands_apart(0, 16)),
    )  # fmt: skip
    return [
        _figure(1, "half", 16, 160, 48),
        _figure(2, "float", 8, 144, 40),
        result,
    ]
