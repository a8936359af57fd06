"""The call of a move as a block of Python, one field a line where it is long."""

from __future__ import annotations

import dataclasses
from typing import Any

from ascjax import Move
from ascjax._dtypes import TYPES

_WIDTH = 88


def code_of(move: Move) -> str:
    """A block that makes the move, shows its formula and draws it."""
    call = move.calls[0]
    params = f"params = {_made(call.params, 0, len('params = '))}"
    where = {"src_size": move.src_size, "product": str(move.product)}
    where |= {"path": move.path, "dtype": TYPES[move.type.name].name}
    given = ", ".join(f"{name}={_quoted(value)}" for name, value in where.items())
    line = f"move = asc.Move.of(params, {given})"
    if len(line) > _WIDTH:
        line = f"move = asc.Move.of(\n    params, {given}\n)"
    start = ("import ascjax as asc", "", params, line)
    return "\n".join((*start, "print(move.nest or move.nests[0])", "asc.draw(move)"))


def _quoted(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _made(struct: Any, depth: int, used: int) -> str:
    """A struct's call, with the fields that are not what they are by default."""
    name = f"asc.{type(struct).__name__}"
    given = []
    for field in dataclasses.fields(struct):
        value = getattr(struct, field.name)
        if value == field.default:
            continue
        if dataclasses.is_dataclass(value) and hasattr(value, "to_json"):
            value = value.to_json()
        if dataclasses.is_dataclass(value):
            said = _made(value, depth + 1, 4 * depth + len(field.name) + 6)
        else:
            said = _quoted(value)
        given.append(f"{field.name}={said}")
    line = f"{name}({', '.join(given)})"
    if used + len(line) <= _WIDTH and "\n" not in line:
        return line
    pad = "    " * (depth + 1)
    inner = "".join(f"{pad}{item},\n" for item in given)
    return f"{name}(\n{inner}{'    ' * depth})"
