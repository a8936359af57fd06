"""Roads: the calls that bring one operand of a matrix product from GM to L0.

L0A holds [m, k] and L0B the transpose of [k, n]: either is a matrix [rows, k] here, in
fractals of 16 x C0, whose order is the buffer's. L1 holds GM's matrix in NZ.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NoReturn

from ..._dtypes import AscendType
from ..._errors import AscendError, SupportError
from ..._move import Call
from ..._products import POSITIONS, Product
from ...instr import Params
from ...instr.load2d import LoadData2DParams
from ...instr.load2dv2 import LoadData2DParamsV2
from ...instr.load3dv2 import LoadData3DParamsV2
from ...instr.load_data_with_transpose import LoadData2dTransposeParams
from ...instr.mmad import MmadParams
from ...instr.nd2nz import Nd2NzParams

Stages = list[tuple[list[Call], str]]
_PITCH = 65535  # the largest distance of rows that ND2NZ's 16 bits hold


def up(n: Any, multiple: int) -> Any:
    """`n` rounded up; an integer, or traced as it comes."""
    return -(-n // multiple) * multiple


@dataclasses.dataclass(frozen=True)
class Road:
    """What one side of a product must bring to L0: [rows, k], as on the product.

    Attributes:
      side: "A" or "B".
      turned: whether GM holds [k, rows].
      pitch: elements from one row of GM's matrix to the next.
    """

    side: str
    product: Product
    type: AscendType
    rows: int
    k: int
    turned: bool
    pitch: int

    @property
    def paths(self) -> tuple[str, str]:
        """GM to L1, and L1 to L0."""
        return f"GM->{self.side}1", f"{self.side}1->{self.side}2"

    @property
    def format(self) -> str:
        """The order of L0's fractals for [rows, k]."""
        return self.product.l0a_format if self.side == "A" else "NZ"

    @property
    def square(self) -> int:
        """Rows and columns of what a transpose moves at least."""
        return max(16, self.type.c0)

    @property
    def padded(self) -> tuple[int, int]:
        """Rows and k in L0, whole fractals, or squares where they are transposed."""
        if self.turned:
            return up(self.rows, self.square), up(self.k, self.square)
        return up(self.rows, 16), up(self.k, self.type.c0)

    @property
    def window(self) -> tuple[int, int]:
        """Rows and columns in GM."""
        return (self.k, self.rows) if self.turned else (self.rows, self.k)

    @property
    def bytes(self) -> int:
        """What it takes in L1, and in L0."""
        rows, k = self.padded
        return rows * k * self.type.bits // 8

    def stages(self) -> Stages:
        """The calls, as `asc.nn.Pipeline` takes them; L1 is used from its start.

        Raises:
          SupportError: the product has no instruction for a step.
        """
        return [(_to_l1(self), self.paths[0]), (to_l0(self), self.paths[1])]


def from_byte(stages: Stages, base: int, road: Road) -> Stages:
    """The same calls, all that they use of L1 standing `base` bytes later."""

    def shifted(call: Call, ends: list[str]) -> Call:
        step = 8 * base // call.params.counted(road.type).bits
        return Call(
            call.params,
            call.src_offset + step * (POSITIONS[ends[0]] == "L1"),
            call.dst_offset + step * (POSITIONS[ends[1]] == "L1"),
        )

    return [
        ([shifted(call, path.split("->")) for call in calls], path)
        for calls, path in stages
    ]


def _to_l1(road: Road) -> list[Call]:
    """ND2NZ: one call, or one a row where the rows stand too far apart for it."""
    if road.type.name not in Nd2NzParams.paths(road.product).get(road.paths[0], ()):
        _refuse_type(road, "to L1 as NZ", Nd2NzParams.source)
    each = Nd2NzParams.counted(road.type).bits // road.type.bits  # elements in a unit
    rows, columns = road.window
    high = road.padded[road.turned]
    pitch, wide = road.pitch // each, -(-columns // each)
    if pitch <= _PITCH:
        return [Call(Nd2NzParams(1, rows, wide, 0, pitch, high, 1, 0))]
    row = Nd2NzParams(1, 1, wide, 0, 0, high, 1, 0)
    c0 = road.type.c0 // each
    return [Call(row, r * pitch, r * c0) for r in range(rows)]


def types_of(product: Product) -> list[str]:
    """The types that a product multiplies, and brings to L0 on both sides."""
    loads = [params.paths(product) for params, _ in _PLAIN]
    moved = [Nd2NzParams.paths(product).get(f"GM->{side}1", ()) for side in "AB"]
    for path in ("A1->A2", "B1->B2"):
        moved.append(sum((paths.get(path, ()) for paths in loads), ()))
    multiplied = MmadParams.paths(product)["A2->CO1"]
    return [name for name in multiplied if all(name in types for types in moved)]


def _refuse_type(road: Road, where: str, source: str) -> NoReturn:
    """Raise SupportError for a type that has no way to a place."""
    rule = f"be one that {road.product} brings to L0 and multiplies "
    rule += f"({', '.join(types_of(road.product))})"
    got, fix = (
        f"{road.type}, which has no move {where}",
        "Choose another type or product.",
    )
    raise SupportError("CubeMatmul", "dtype", rule, got, fix, source)


def to_l0(road: Road) -> list[Call]:
    """The first of the loads that the product has for this."""
    path = road.paths[1]
    for params, calls in _TURNED if road.turned else _PLAIN:
        if road.type.name in params.paths(road.product).get(path, ()):
            made = calls(road)
            if made and _allowed(made[0].params, road):
                return made
    if not road.turned:
        _refuse_type(road, f"from L1 to L0{road.side}", _SOURCE)
    field, stored = {"A": (True, "[m, k]"), "B": (False, "[n, k]")}[road.side]
    rule = f"be {not field} for {road.type} on {road.product}, which has no load to "
    rule += f"L0{road.side} that transposes it"
    fix = f"Hold {stored} in GM."
    name = f"transpose_{road.side.lower()}"
    raise SupportError("CubeMatmul", name, rule, field, fix, _SOURCE)


_SOURCE = "Load2D, Load3D and LoadDataWithTranspose, support tables"


def _allowed(params: Params, road: Road) -> bool:
    """Whether the instruction's own rules let it pass here."""
    try:
        params.rules(params.site(road.product, road.paths[1], road.type))
    except AscendError:
        return False
    return True


def _fractals(road: Road) -> tuple[int, int]:
    """Rows and columns of fractals in L0."""
    rows, k = road.padded
    return rows // 16, k // road.type.c0


def _load2dv2(road: Road) -> list[Call]:
    rows, k = road.padded
    high, wide = (k, rows) if road.turned else (rows, k)
    steps = high // 16, wide // road.type.c0
    return [Call(LoadData2DParamsV2(0, 0, *steps, high // 16, rows // 16, road.turned))]


def _load2d(road: Road) -> list[Call]:
    down, across = _fractals(road)
    if road.format == "NZ":  # as in L1
        return [Call(LoadData2DParams(0, down * across, 1))]
    row = LoadData2DParams(0, across, down)
    fractal = road.type.fractal
    return [Call(row, r * fractal, r * across * fractal) for r in range(down)]


def _load2d_turned(road: Road) -> list[Call]:
    """Fractals of 16 bits, each transposed: the order of NZ [k, rows] is ZZ's."""
    down, across = _fractals(road)
    if road.format == "ZZ":
        return [Call(LoadData2DParams(0, down * across, 1, if_transpose=True))]
    column = LoadData2DParams(0, down, across, if_transpose=True)
    fractal = road.type.fractal
    return [Call(column, c * fractal, c * down * fractal) for c in range(across)]


def _load3dv2_turned(road: Road) -> list[Call]:
    """A filter of one element: the map is NZ [k, rows] as it stands."""
    high, wide = road.padded[1], up(road.rows, road.type.c0)
    to_l0a = road.side == "A"
    return [
        Call(
            LoadData3DParamsV2(
                l1_h=1,
                l1_w=high,
                channel_size=wide,
                k_extension=wide,
                m_extension=high,
                en_transpose=to_l0a,
            )
        )
    ]


def _ldwt_turned(road: Road) -> list[Call]:
    """Squares of stacked fractals, a row or a column of them in L0 a call."""
    if road.type.bits == 32:  # its squares lie side by side, which NZ has not
        return []
    rows, k = (n // road.square for n in road.padded)
    n = road.square // 16  # fractals in a square
    step = n * road.type.fractal
    if road.format == "ZZ":
        row = LoadData2dTransposeParams(0, k, 1, dst_gap=0, dst_frac_gap=k - 1)
        return [Call(row, r * k * step, r * k * step) for r in range(rows)]
    column = LoadData2dTransposeParams(0, rows, k, dst_gap=n - 1)
    return [Call(column, c * step, c * rows * step) for c in range(k)]


# Each list in the order of choice; products and types come from the support tables.
_Loads = list[tuple[type[Params], Callable[[Road], list[Call]]]]
_PLAIN: _Loads = [(LoadData2DParamsV2, _load2dv2), (LoadData2DParams, _load2d)]
_TURNED: _Loads = [
    (LoadData2DParamsV2, _load2dv2),
    (LoadData2DParams, _load2d_turned),
    (LoadData3DParamsV2, _load3dv2_turned),
    (LoadData2dTransposeParams, _ldwt_turned),
]
