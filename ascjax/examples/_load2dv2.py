"""Load2DV2: the structure's figure, the start, four transposes and an example."""

from __future__ import annotations

import numpy as np

from .._dtypes import TYPES
from .._errors import ParamError
from .._move import Call, Move
from ..instr.load2dv2 import LoadData2DParamsV2
from ._figure import Fact, Figure, Shown, copied, of_example, pieces, source_of, value

_DOCUMENT = "LoadData2DV2"
_WINDOW = f"{_DOCUMENT}, Figure 2: start position and strides"
_ROWS, _COLUMNS = 5 * 16, 5 * 16  # the source matrix of the figures, in elements


def _matrix(move: Move) -> np.ndarray:
    """Row and column, in the source matrix, of each element that is read."""
    fractal, inside = np.divmod(copied(move), 256)
    column, row = np.divmod(fractal, 5)  # NZ: fractals down a column
    return np.stack([row * 16 + inside // 16, column * 16 + inside % 16])


def _start(axis: int) -> Shown:
    return lambda move: int(_matrix(move)[axis].min())


def _length(axis: int) -> Shown:
    return lambda move: int(np.ptp(_matrix(move)[axis])) + 1


def _between(axis: str) -> Shown:
    """Elements between the starts of two fractals that follow each other along K."""

    def shown(move: Move) -> int:
        starts = np.flatnonzero(move.index_map.index % 256 == 0)
        reads = move.index_map.index[starts]
        return int(np.subtract(*(reads if axis == "src" else starts)[[2, 0]]))

    return shown


def _fields() -> tuple[Fact, ...]:
    return (
        Fact("mStartPosition = 2", "starts at row 2 x 16", 32, "elements", _start(0)),
        Fact("kStartPosition = 2", "starts at column 2 x 32 bytes", 32, "elements",
             _start(1)),
        Fact("mStep = 2", "length along M, 2 x 16", 32, "elements", _length(0)),
        Fact("kStep = 3", "length along K, 3 x 32 bytes", 48, "elements", _length(1)),
        Fact("srcStride = 5", "from a fractal's start to the next along K, source",
             1280, "elements", _between("src")),
        Fact("dstStride = 3", "from a fractal's start to the next along K, destination",
             768, "elements", _between("dst")),
    )  # fmt: skip


def _transposes(number: int, bits: int, dtype: str, m: int, k: int, rule: str):
    """Figure `number`: the smallest tile of `bits` that may be transposed, twice."""
    c0, fractal = TYPES[dtype].c0, TYPES[dtype].fractal
    rows, columns = 16 * m, c0 * k
    params = LoadData2DParamsV2(
        m_step=m, k_step=k, src_stride=m, dst_stride=columns // 16, if_transpose=True
    )

    def transposed(move: Move) -> int:
        r, c = np.indices((columns, rows))  # of the result
        at = (c // c0) * (columns // 16) * fractal + r * c0 + c % c0
        of = (r // c0) * m * fractal + c * c0 + r % c0
        return int((move.index_map.index[at] == of).sum())

    def refused(field: str, step: int):
        def shown(move: Move) -> int:
            steps = {"m_step": m, "k_step": k, field: step}
            other = LoadData2DParamsV2(src_stride=9, dst_stride=99, **steps,
                                       if_transpose=True)  # fmt: skip
            try:
                Move.of(other, src_size=1 << 20, dtype=dtype)
            except ParamError:
                return 1
            return 0

        return shown

    by = {4: ("m_step", 4), 8: ("m_step", 2), 16: ("m_step", 1), 32: ("k_step", 2)}
    field, multiple = by[bits]
    facts = [
        Fact("fractal", f"16 x {c0} elements", 16 * c0, "elements",
             lambda move: move.type.fractal),
        Fact("fractals", f"mStep x kStep = {m} x {k}", m * k, "fractals",
             pieces(fractal)),
        Fact("ifTranspose", "row r, column c of the result is row c, column r",
             rows * columns, "elements", transposed),
        Fact("the first row", "of the result is the first column", c0, "elements",
             source_of(1)),
    ]  # fmt: skip
    if multiple > 1:
        fact = Fact(rule, f"{multiple - 1} is refused", 1, "refusal",
                    refused(field, multiple - 1))  # fmt: skip
        facts.append(fact)
    return Figure(
        f"load2dv2-{number}",
        _DOCUMENT,
        f"Figure {number}",
        f"transpose of {bits}-bit elements, {rows} x {columns} to {columns} x {rows}",
        (Call(params),),
        "atlas_350",
        "A1->A2",
        dtype,
        rows * columns,
        tuple(facts),
        note="The document prints no numbers for this figure: the steps are ours.",
    )


def load2dv2() -> list[Figure]:
    """The figures of Load2DV2's document."""
    window = of_example(
        _WINDOW,
        "load2dv2-1",
        "Figure 1",
        "the structure's fields, half, without transpose",
        *_fields(),
        note="Load2D's document has the same figure (Figure 1) without numbers.",
    )
    start = of_example(
        _WINDOW,
        "load2dv2-2",
        "Figure 2",
        "where the transfer starts",
        Fact("start", "the thirteenth fractal, counted from 1", 13, "(fractal)",
             lambda move: int(move.index_map.index[0]) // 256 + 1),
        Fact("mStartPosition", "along M, 16 x 2", 32, "elements", _start(0)),
        Fact("kStartPosition", "along K, 32 bytes x 2", 64, "bytes",
             lambda move: _start(1)(move) * move.type.bits // 8),
    )  # fmt: skip
    whole = of_example(
        f"{_DOCUMENT}, Examples: NZ to NZ",
        "load2dv2-nz",
        "Examples",
        "a matrix of m = 40, k = 70 half, NZ to NZ",
        Fact("mStep", "ceil(40 / 16)", 3, "fractals",
             value("m_step")),
        Fact("kStep", "ceil(70 / 16)", 5, "fractals",
             value("k_step")),
        Fact("srcStride, dstStride", "mStep: nothing lies between fractals", 15,
             "fractals", pieces(256)),
        Fact("the map", "elements that stay in their place", 3840, "elements",
             lambda move: int((move.index_map.index == np.arange(3840)).sum())),
    )  # fmt: skip
    return [
        window,
        start,
        _transposes(3, 4, "fp4x2_e2m1_t", 4, 1, "mStep, a multiple of 4"),
        _transposes(4, 8, "int8_t", 2, 2, "mStep, a multiple of 2"),
        _transposes(5, 16, "half", 2, 3, ""),
        _transposes(6, 32, "float", 1, 2, "kStep, a multiple of 2"),
        whole,
    ]
