"""The committed table of moves that the benchmarks time.

A row is written for any type and any number of bytes; `builders.py` makes its calls.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import ascjax as asc

from .builders import (
    Make,
    ldwt,
    load2d,
    load2d_nz_to_zz,
    load2dv2,
    nddma,
    nz2nd,
    nz2nd_many,
    nz2nd_narrow,
    padded,
    pads,
)


@dataclasses.dataclass(frozen=True)
class Case:
    """One row of the table.

    Attributes:
      instruction, kind: its name.
      make: the calls that move about so many bytes of a type.
      given_dst: the destination's old values are an operand, and kept in the gaps.
      element: single elements are transposed; the target for these is lower.
      identity: source and destination are the same; does not count in a mean.
      injective: no source element lands in two places.
      tight: the buffers end with the last element moved, not with a whole pitch.
      bits: the widths of the types that it takes.
      hand: the same by hand in jnp, where strides do not say it.
    """

    instruction: str
    kind: str
    make: Make
    given_dst: bool = False
    element: bool = False
    identity: bool = False
    injective: bool = True
    tight: bool = False
    bits: tuple[int, ...] = (4, 8, 16, 32)
    hand: Callable[[asc.AscendType, int], Callable[[Any], Any]] | None = None

    @property
    def name(self) -> str:
        """The row's name."""
        return f"{self.instruction} {self.kind}"


_LOAD2D = [
    Case("load2d", "identity", load2d(1), identity=True),
    Case("load2d", "transpose", load2d(1, if_transpose=True), element=True, bits=(16,)),
    Case("load2d", "NZ to ZZ", load2d_nz_to_zz),
    Case("load2d", "src gap", load2d(2)),
    Case("load2d", "dst gap", load2d(1, 2), given_dst=True),
    Case("load2d", "repeat", load2d(0), injective=False),
    Case("load2d", "odd pitch", load2d(7), tight=True),
    Case("load2d", "reversed", load2d(1, back=True)),
]
_LOAD2DV2 = [
    Case("load2dv2", "transpose", load2dv2(int, if_transpose=True), element=True),
    Case("load2dv2", "src gap", load2dv2(lambda m: 2 * m)),
    Case("load2dv2", "dst gap", load2dv2(int, 4), given_dst=True),
    Case("load2dv2", "repeat", load2dv2(lambda m: 0), injective=False),
    Case("load2dv2", "odd pitch", load2dv2(lambda m: m + 3), tight=True),
    Case("load2dv2", "reversed", load2dv2(int, back=True)),
]
_LDWT = [
    case
    for v in (1, 2)
    for case in (
        Case(f"ldwt_v{v}", "transpose", ldwt(v, 1), element=True),
        Case(f"ldwt_v{v}", "spread", ldwt(v, 1, dst_spread=True), element=True),
        Case(f"ldwt_v{v}", "src gap", ldwt(v, 2), element=True),
        Case(f"ldwt_v{v}", "dst gap", ldwt(v, 1, 2), given_dst=True, element=True),
        Case(f"ldwt_v{v}", "repeat", ldwt(v, 0), element=True, injective=False),
        Case(f"ldwt_v{v}", "odd pitch", ldwt(v, 3), element=True, tight=True),
    )
]
_LDWT.append(
    Case("ldwt_v2", "src spread", ldwt(2, 1, src_spread=True), element=True),
)
_WHOLE = (8, 16, 32)  # NZ2ND and NDDMA move no 4-bit types
_DATA_COPY = [
    Case("nz2nd", "identity", nz2nd_narrow, identity=True),
    Case("nz2nd", "transpose", nz2nd(int)),
    Case("nz2nd", "matrices", nz2nd_many),
    Case("nz2nd", "src gap", nz2nd(lambda n: 2 * n)),
    Case("nz2nd", "dst gap", nz2nd(int, lambda d: 2 * d), given_dst=True),
    Case("nz2nd", "dst gap, no dst", nz2nd(int, lambda d: d + 16)),
    Case("nz2nd", "repeat", nz2nd(lambda n: 0), injective=False),
    Case("nz2nd", "odd src pitch", nz2nd(lambda n: n + 3), tight=True),
    Case("nz2nd", "odd dst pitch", nz2nd(int, lambda d: d + 7), True, tight=True),
    Case(
        "nddma",
        "transpose",
        nddma(lambda r, c: ((1, c), (r, 1), (c, r))),
        element=True,
    ),
    Case(
        "nddma",
        "permute",
        nddma(lambda r, c: ((1, 16, c), (1, 16 * r, 16), (16, c // 16, r))),
    ),
    Case("nddma", "src gap", nddma(lambda r, c: ((1, 2 * c), (1, c), (c, r)))),
    Case("nddma", "dst gap", nddma(lambda r, c: ((1, c), (1, 2 * c), (c, r))), True),
    Case(
        "nddma",
        "dst gap, no dst",
        nddma(lambda r, c: ((1, c), (1, c + 16), (c, r))),
    ),
    Case(
        "nddma",
        "repeat rows",
        nddma(lambda r, c: ((1, 0), (1, c), (c, r))),
        injective=False,
    ),
    Case(
        "nddma",
        "repeat elements",
        nddma(lambda r, c: ((0, 1), (1, c), (c, r))),
        injective=False,
    ),
    Case(
        "nddma",
        "odd src pitch",
        nddma(lambda r, c: ((1, c + 3), (1, c), (c, r))),
        tight=True,
    ),
    Case(
        "nddma",
        "odd dst pitch",
        nddma(lambda r, c: ((1, c), (1, c + 5), (c, r))),
        given_dst=True,
        tight=True,
    ),
    Case("nddma", "stride 2", nddma(lambda r, c: ((2, 2 * c), (1, c), (c, r)))),
    Case("nddma", "pad constant", nddma(pads), hand=padded("constant")),
    Case(
        "nddma",
        "pad nearest",
        nddma(pads, is_nearest_value_mode=True),
        injective=False,
        hand=padded("edge"),
    ),
]
CASES: dict[str, Case] = {
    case.name: (
        dataclasses.replace(case, bits=_WHOLE)
        if case.instruction in ("nz2nd", "nddma")
        else case
    )
    for case in (*_LOAD2D, *_LOAD2DV2, *_LDWT, *_DATA_COPY)
}
