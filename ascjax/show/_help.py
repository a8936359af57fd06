"""What `ascjax show` can be told: its options, and an instruction's fields."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from rich.table import Table

from ..instr import Params
from ..instr._c_struct import CField
from ..instr._fields import c_name
from ._words import OPTIONS, dashed, plain_table


def usage(cls: type[Params] | None) -> Iterator[str | Table]:
    """The help of `ascjax show`, or of one instruction."""
    name = cls.instruction if cls else "INSTRUCTION"
    yield f"Usage: ascjax show {name} [--field value ...] [option ...]"
    yield ""
    yield "Show one call with its numbers put in: formula, loops, plan and map."
    if cls is None:
        yield "INSTRUCTION: its name, as `ascjax list` has it, or the C struct's. Its"
        yield "fields: ascjax show INSTRUCTION --help."
    yield ""
    if cls is not None:
        yield from fields(cls)
        yield ""
    known = plain_table("option", "meaning")
    for option in OPTIONS:
        known.add_row(f"{option.dashed} {option.metavar}", option.help)
    known.add_row("--help, -h", "this text, with an INSTRUCTION its fields too")
    yield known


def fields(cls: type[Params]) -> Iterator[str | Table]:
    """The fields of an instruction: option, range, unit and default."""
    yield f"{cls.instruction}: {cls.__name__} [{cls.source}]"
    own: dict[str, Any] = {
        c_name(field.name): field.metadata
        for field in dataclasses.fields(cls)  # pyright: ignore[reportArgumentType]
    }
    rows = plain_table("field", "value", "unit", "default")
    for name, field in cls.c_fields().items():
        meta = own.get(name, {})
        default = "-" if field.default is None else _said(field)
        rows.add_row(dashed(name), _value(field, meta), field.unit, default)
    yield rows


def _value(field: CField, meta: Any) -> str:
    """What a field may hold."""
    if field.kind == "flag":
        return "true or false"
    if field.kind == "word":
        return " or ".join(meta["words"])
    if field.low is None:
        return {"list": "integers, as 1,8", "number": "a number"}.get(
            field.kind, "an integer"
        )
    ends = f"[{field.low}, {field.high}]"
    if field.kind == "list":
        return f"{ends} each, as 1,8"
    if meta.get("zero_if"):
        ends += f"; also 0 where {dashed(c_name(meta['zero_if']))} is 0 or 1"
    return ends


def _said(field: CField) -> str:
    if field.kind == "flag":
        return str(bool(field.default)).lower()
    if field.kind == "list":
        return ",".join(map(str, field.default))
    return str(field.default)
