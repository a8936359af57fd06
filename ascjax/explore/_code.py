"""A call as code to copy: JAX, and the C struct's initialiser."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from typing import Any

from .._dtypes import TYPES, AscendType
from .._fill import Constant
from .._move import Move
from ..instr import Params
from ..instr._c_struct import CStruct
from ..instr._fields import c_name

_WIDTH = 88


def jax_code(move: Move) -> str:
    """The call in Python, with a source to try it on."""
    call = move.calls[0]
    params, type = call.params, move.type
    where = {"product": str(move.product)} if move.product else {}
    where |= {"path": move.path} if move.path else {}
    where["dtype"] = TYPES[type.name].name
    given = ", ".join(f'"{name}": "{said}"' for name, said in where.items())
    lines = [
        "import ascjax as asc",
        "import jax.numpy as jnp",
        "",
        _called("params = ", params),
        f"where = {{{given}}}",
        f"src = jnp.zeros({_held(type, move.src_size)})  # {move.src_size} elements",
        f"dst = asc.{params.op}(src, params, **where)",
        "",
        f"move = asc.Move.of(params, src_size={move.src_size}, **where)",
        'asc.draw(move).save("move.svg")',
    ]
    return "\n".join(lines)


def _called(start: str, struct: Any, depth: int = 0) -> str:
    """A struct on one line, or, where that is too long, with a line a field; fields
    that are what they are by default are left out."""
    given = []
    for field in dataclasses.fields(struct):
        value = getattr(struct, field.name)
        if value == field.default:
            continue
        if "part" in field.metadata:
            given.append(_called(f"{field.name}=", value, depth + 1))
        else:
            said = f'"{value}"' if isinstance(value, str) else repr(value)
            given.append(f"{field.name}={said}")
    name, pad = f"{start}asc.{type(struct).__name__}", "    " * depth
    line = f"{name}({', '.join(given)})"
    if len(pad) + len(line) < _WIDTH and "\n" not in line:
        return line
    inner = "".join(f"{pad}    {item},\n" for item in given)
    return f"{name}(\n{inner}{pad})"


def _held(type: AscendType, size: int) -> str:
    """Size and type of an array that holds `size` elements."""
    if TYPES[type.name].bits == 4:  # packed, two a byte
        return f'{-(-size // 2) if type.bits == 4 else size}, "uint8"'
    return f'{size}, "{type.jax or f"uint{type.bits}"}"'


def c_code(params: Params, type: AscendType) -> str:
    """The structs of a call, each with an initialiser in the order of its fields."""
    return "\n".join(_structs(params, "params", TYPES[type.name]))


def _structs(struct: Any, name: str, type: AscendType) -> Iterator[str]:
    """The declaration of a struct, after those of the structs that it needs or that
    are passed besides."""
    members = []
    for field in dataclasses.fields(struct):
        value = getattr(struct, field.name)
        if value is None:
            continue
        if "part" in field.metadata:
            inner = c_name(field.name)
            yield from _structs(value, inner, type)
            if field.metadata["member"]:
                members.append(inner)
            continue
        members.append(f"/*{c_name(field.name)}*/ {_value(value, type)}")
    lists = any(isinstance(getattr(struct, f.name), tuple) for f in _fields(struct))
    bare = ", ".join(re.sub(r"^/\*\w+\*/ ", "", member) for member in members)
    text = bare if lists and not isinstance(struct, Params) else ", ".join(members)
    fixed = "static constexpr " if name == "config" else ""
    yield f"{fixed}AscendC::{_class(struct, type)} {name}{{{text}}};"


def _fields(struct: Any) -> tuple[dataclasses.Field, ...]:
    return dataclasses.fields(struct)


def _class(struct: Any, type: AscendType) -> str:
    """The C++ class, with its template arguments."""
    name = struct.__class__.__name__
    info = getattr(struct, "loop_info", struct)
    dim = getattr(info, "dim", None)
    arguments = []
    if any(f.metadata.get("constant") for f in _fields(struct)):
        arguments.append(type.name)
    if dim is not None:
        arguments.append(str(dim))
    return f"{name}<{', '.join(arguments)}>" if arguments else name


def _value(value: Any, type: AscendType) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return "{" + ", ".join(map(str, value)) + "}"
    if isinstance(value, Constant):
        return f"({type.name}){value.to_json()}"
    if isinstance(value, str):
        return f"QuantMode_t::{value}"
    if isinstance(value, CStruct):
        return "{}"
    return str(value)
