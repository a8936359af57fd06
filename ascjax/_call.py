"""`Call`: one call of an instruction, and where its operands start and end."""

from __future__ import annotations

import dataclasses
from typing import Any

from ._errors import AlignmentError, BoundsError, ParamError
from ._index_map import CORRECT, check_bounds
from ._products import POSITIONS
from ._runs import Stated
from .instr import Params, Site
from .instr._fields import static_int
from .instr._leads import reaching
from .instr._struct import Struct

_SOURCE = "instructions.md, Units"

# Bytes that an operand's start is a multiple of, by buffer (instructions.md, Units).
_SRC_ALIGN = {"GM": 1, "L1": 32, "UB": 32, "L0C": 1024}
_DST_ALIGN = {"GM": 1, "L1": 32, "UB": 32, "L0A": 512, "L0B": 512}


@dataclasses.dataclass(frozen=True)
class Call:
    """One call of an instruction.

    Attributes:
      params: what to move.
      src_offset: where the source operand starts, in elements.
      dst_offset: where the destination operand starts, in elements.
    Raises:
      ParamError: an offset that is no integer.

    >>> import ascjax as asc
    >>> asc.Call(asc.LoadData2DParams(repeat_times=1), dst_offset=256).dst_offset
    256
    """

    params: Params
    src_offset: int = 0
    dst_offset: int = 0

    def __post_init__(self):
        if not isinstance(self.params, Params):
            rule, got = "be an instruction's params", type(self.params).__name__
            fix = "Make one first, such as asc.LoadData2DParams(...)."
            fix = how(self.params) or fix
            raise ParamError("Call", "params", rule, got, fix, _SOURCE)
        for field in ("src_offset", "dst_offset"):
            value = static(self.params, field, getattr(self, field))
            object.__setattr__(self, field, value)


def how(params: Any) -> str:
    """How to use params that are no move, such as Mmad's; "" for anything else."""
    if not isinstance(params, Struct) or isinstance(params, Params):
        return ""
    name = type(params).__name__
    return (
        f"{name} is no move: it has several sources. Call asc.{params.op} on what the "
        "moves leave, or let asc.nn.CubeMatmul join both."
    )


def static(params: Params, field: str, value: Any) -> int:
    """An offset or a size, in elements, as a Python int."""
    rule = "be an integer (elements)"
    number = static_int(params.instruction, field, value, rule, _SOURCE)
    if number < 0 and field.endswith("_size"):
        rule, fix = "be at least 0 (elements)", "Give the buffer's length."
        raise BoundsError(params.instruction, field, rule, number, fix, _SOURCE)
    return number


def check_starts(call: Call, site: Site) -> None:
    """Raise where an operand starts before its buffer or off the alignment."""
    params = call.params
    for field, offset in (
        ("src_offset", call.src_offset),
        ("dst_offset", call.dst_offset),
    ):
        if offset < 0:
            rule, fix = "be at least 0 (elements)", "Start inside the buffer."
            who, source = params.instruction, params.source
            raise BoundsError(who, field, rule, offset, fix, source)
        if site.path is not None:
            _check_alignment(params, site, field, offset)


def _check_alignment(params: Params, site: Site, field: str, offset: int) -> None:
    src, dst = (site.path or "").split("->")
    position, table = (src, _SRC_ALIGN) if field[0] == "s" else (dst, _DST_ALIGN)
    buffer = POSITIONS[position]
    aligned = table.get(buffer, 1)
    bits = offset * site.type.bits
    if bits % (8 * aligned):
        whole = "a whole byte" if aligned == 1 else f"a multiple of {aligned} bytes"
        where = buffer if position == buffer else f"{position} ({buffer})"
        raise AlignmentError(
            params.instruction,
            field,
            f"start on {whole} in {where}: "
            f"{max(1, aligned * 8 // site.type.bits)} elements of {site.type}",
            f"{offset} elements, {bits / 8:g} bytes",
            "Move the operand's start to the boundary.",
            "General Address Alignment Restrictions",
        )


def check_ends(
    call: Call, site: Site, nest: Stated, src_size: int, dst_size: int, who: str
) -> None:
    """Raise BoundsError where a call leaves its buffers; says by which fields."""
    params = call.params

    def leads(field: str, low: bool) -> str:
        offset = getattr(call, f"{field}_offset")
        start = [f"{field}_offset={offset} (elements)"] if offset and not low else []
        fields = reaching(params, site, field, low)
        found = ", ".join([*start, *([fields] if fields else [])])
        said = f"lower what leads there: {found}." if found else CORRECT
        return f"{said} {params.note()}".rstrip()

    unit = f"elements of {site.type}"
    check_bounds(nest, src_size, dst_size, who, params.source, unit, leads)
