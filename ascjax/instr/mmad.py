"""Mmad: the matrix unit's multiply-accumulate (instructions.md, 8)."""

from __future__ import annotations

from .._products import ATLAS_350, CUBE
from ._fields import flag, integer
from ._struct import Site, Struct

_TYPES = "int4b_t int8_t half bfloat16_t float"
_FP8 = " fp8_e4m3fn_t fp8_e5m2_t"


class MmadParams(Struct):
    """`Mmad(dst, fm, filter, MmadParams)`: L0C [m, n] from L0A [m, k] and L0B [k, n].

    `asc.mmad` takes it. It is no move: it has two sources, and its result is no map of
    them.

    Shapes: `asc.mmad` takes flat buffers, in elements.

    Args:
      m, n, k: rows, columns and what is summed over, [0, 4095]; 0 makes a NOP.
      cmatrix_init_val: true starts at 0, or at the bias; false adds to what L0C holds.
      k_direction_align: float only; K in L0A and L0B is padded to 16, not to 8.
    Raises:
      ParamError: a field out of range, while the params are made; `k_direction_align`
        of another type than float, while tracing.
    Gradient: as `asc.mmad`.
    Source: instructions.md, section 8.

    >>> import ascjax as asc
    >>> asc.MmadParams(16, 32, 64).to_fields()["cmatrixInitVal"]
    True
    """

    instruction = "mmad"
    op = "mmad"
    source = "instructions.md, section 8"
    support = {product: {"A2->CO1": _TYPES} for product in CUBE} | {
        ATLAS_350.key: {"A2->CO1": _TYPES + _FP8}
    }

    m: int = integer(0, 4095, "rows")
    n: int = integer(0, 4095, "columns")
    k: int = integer(0, 4095, "columns of L0A, rows of L0B")
    cmatrix_init_val: bool = flag(default=True)
    k_direction_align: bool = flag()

    def rules(self, site: Site) -> None:
        if self.k_direction_align and site.type.name != "float":
            rule = f"be false for {site.type}: only float has K padded to 8 or 16"
            self.refuse("k_direction_align", rule, "Leave it out.")
