"""The table of an instruction's fields, from its structs and their docstrings."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterator
from typing import Any

from meanings import meaning
from words import WORDS, unit

from ascjax._fill import Constant
from ascjax.instr._c_struct import CField
from ascjax.instr._fields import c_name
from ascjax.instr._nddma_structs import UNSET_PAD

_RANGE = re.compile(r", (?:each )?\[-?[\d^]+, [\d^]+[\])]")
HEADS = ("field", "python", "range", "default", "meaning")


def rows_of(cls: Any, language: str) -> Iterator[tuple[str, ...]]:
    """A row for each field that `c_fields` has, under `HEADS`."""
    words = WORDS[language]
    for c, field in cls.c_fields().items():
        struct, python, own = located(cls, c)
        counted = unit("" if field.unit == "ignored" else field.unit, language)
        default = _default(own.default, field.kind, words)
        said = _said(cls.instruction, c, struct, own, language)
        values = _values(field, own.metadata, words)
        values += f"<br>{counted}" if counted else ""
        yield f"`{c}`", f"`{python}`", values, default, said


def located(cls: Any, c: str) -> tuple[Any, str, dataclasses.Field]:
    """The struct that holds a C field, how Python reaches it, and the field there."""
    outer, _, inner = c.rpartition(".")
    holders = [("", cls), *getattr(cls, "parts", dict)().items()]
    for name, struct in holders:
        if outer and c_name(name) != outer:
            continue
        for field in dataclasses.fields(struct):
            if c_name(field.name) == inner and "part" not in field.metadata:
                return struct, f"{name}.{field.name}".lstrip("."), field
    raise LookupError(f"{cls.__name__} has no field {c}")


def described(struct: Any) -> dict[str, str]:
    """What a struct's docstring says of each field, without its range."""
    text = inspect.cleandoc(struct.__doc__ or "")
    found = re.search(r"^Args:\n((?: .*\n?)+)", text, re.M)
    said: dict[str, str] = {}
    for item in re.split(r"\n(?=  \S)", found.group(1)) if found else ():
        names, _, rest = " ".join(item.split()).partition(": ")
        for name in names.split(", "):
            said[name] = _RANGE.sub("", rest)
    return said


def _said(instruction: str, c: str, struct: Any, own: Any, language: str) -> str:
    """What a field means; in English where nobody has said it in Chinese."""
    english = described(struct).get(own.name, "")
    if language == "en":
        return english
    chinese = meaning(instruction, c)
    if chinese and (count := own.metadata.get("zero_if")):
        chinese += f"；{c_name(count)}不大于1时也可为0"
    return chinese or english


def _values(field: CField, meta: Any, words: dict[str, str]) -> str:
    if field.kind == "flag":
        return words["flag"]
    if field.kind == "number":
        return words["number"]
    if field.kind == "word":
        return ", ".join(f"`{word}`" for word in meta["words"])
    if field.low is None:
        return words["any"]
    each = f" {words['each']}" if field.kind == "list" else ""
    return f"[{field.low}, {field.high}]{each}"


def _default(value: Any, kind: str, words: dict[str, str]) -> str:
    if value is dataclasses.MISSING:
        return words["required"]
    if isinstance(value, Constant):
        value = value.to_json()
    if kind == "list" and (value is None or not any(value)):
        return f"0 {words['each']}"
    if value == UNSET_PAD:
        return f"`0x{value:X}`"
    return f"`{str(value).lower() if kind == 'flag' else value}`"
