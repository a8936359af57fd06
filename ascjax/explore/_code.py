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
from ..instr._fields import c_name

_WIDTH = 80  # columns, which fit the page beside the form


def jax_code(move: Move) -> str:
    """The call in Python, with a source to try it on.

    A class of params that ascjax does not have is named as it is, without a module.
    """
    call = move.calls[0]
    params, type = call.params, move.type
    ours = params.__class__.__module__.startswith("ascjax.")
    said = re.sub(r"\b([A-Z]\w*)\(", r"asc.\1(", repr(params)) if ours else repr(params)
    where = [f"product={str(move.product)!r}"] if move.product else []
    where += [f"path={move.path!r}"] if move.path else []
    where.append(f"dtype={TYPES[type.name].name!r}")
    places, size = ", ".join(where), move.src_size
    said = re.sub(r"(?<==)-?(?:inf|nan)\b", r"float('\g<0>')", said)
    lines = [
        "import ascjax as asc",
        *_imports(type),
        "",
        _in_lines(f"params = {said}"),
        f"src = jnp.zeros({_held(type, size)})  # {size} elements",
        _in_lines(f"dst = asc.{params.op}(src, params, {places})"),
        "",
        _in_lines(f"move = asc.Move.of(params, src_size={size}, {places})"),
        "asc.draw(move).save('move.svg')",
    ]
    return "\n".join(lines)


def _imports(type: AscendType) -> tuple[str, ...]:
    """JAX, with arrays of 64 bits where the source is one."""
    if type.bits < 64:
        return ("import jax.numpy as jnp",)
    wide = "jax.config.update('jax_enable_x64', True)"
    return "import jax", "import jax.numpy as jnp", "", wide


def _held(type: AscendType, size: int) -> str:
    """Size and type of an array that holds `size` elements."""
    if TYPES[type.name].bits == 4:  # packed, two a byte
        return f"{-(-size // 2) if type.bits == 4 else size}, 'uint8'"
    return f"{size}, {type.jax or f'uint{type.bits}'!r}"


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
    yield _in_lines(f"{fixed}AscendC::{_class(struct, type)} {name}{{{text}}};")


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
    return str(value)


def _in_lines(text: str, indent: int = 0) -> str:
    """A statement on one line, or, where that is too long, its arguments on one of
    their own, or each."""
    found = re.search(r"[({]", text)
    last = max(text.rfind(")"), text.rfind("}"))
    if indent + len(text) <= _WIDTH or found is None or last < found.end():
        return text
    inside, pad = text[found.end() : last], " " * (indent + 4)
    lines = [pad + inside]
    if len(lines[0]) > _WIDTH:
        each = (_in_lines(argument, indent + 4) for argument in _arguments(inside))
        lines = [f"{pad}{argument}," for argument in each]
    return "\n".join([text[: found.end()], *lines, " " * indent + text[last:]])


def _arguments(text: str) -> Iterator[str]:
    """What the commas outside of brackets divide."""
    depth = start = 0
    for k, letter in enumerate(text):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            yield text[start:k].strip()
            start = k + 1
    yield text[start:].strip()
