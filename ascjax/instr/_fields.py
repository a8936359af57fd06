"""Fields of params classes: what they may hold, and how a value is checked."""

from __future__ import annotations

import dataclasses
import functools
import operator
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from jax.core import Tracer

from .._errors import ParamError
from .._fill import Constant


def integer(low: int, high: int, unit: str, *, default: int = 0, zero_if: str = ""):
    """A field that holds an integer in [low, high], counted in `unit`.

    `zero_if` names a count: where that is 0 or 1, the field may be 0 as well, since it
    is only ever multiplied by index 0.
    """
    meta = {"range": (low, high), "unit": unit, "zero_if": zero_if}
    return dataclasses.field(default=default, metadata=meta)


def integers(names: str, low: int, high: int, unit: str):
    """A field that holds a list of integers in [low, high], one for each of `names`,
    all 0 by default."""
    length = len(names.split())
    meta = {"range": (low, high), "unit": unit, "length": length, "names": names}
    return dataclasses.field(default=(0,) * length, metadata=meta)


def flag(*, default: bool = False):
    """A field that holds true or false."""
    return dataclasses.field(default=default, metadata={"flag": True})


def word(*words: str):
    """A field that holds one of `words`, the first by default."""
    return dataclasses.field(default=words[0], metadata={"words": words})


def constant():
    """A field that holds what padding is filled with, kept as bits; 0 by default."""
    return dataclasses.field(default=Constant.of(0), metadata={"constant": True})


def part(
    kind: type,
    *,
    default: Any = dataclasses.MISSING,
    kw_only: bool = False,
    member: bool = False,
):
    """A field that holds a struct of its own, which C passes as one more argument, or
    has as a `member`; a `default` of None lets it be left out."""
    meta = {"part": kind, "optional": default is None, "member": member}
    return dataclasses.field(default=default, metadata=meta, kw_only=kw_only)


def ignored():
    """A field that the hardware ignores; any integer."""
    return dataclasses.field(default=0, metadata={"ignored": True})


@functools.lru_cache(maxsize=1024)
def c_name(snake: str) -> str:
    """The C struct's name of a field: `src_nd_matrix_stride` -> `srcNdMatrixStride`."""
    return re.sub(r"_([a-z0-9])", lambda m: m.group(1).upper(), snake)


def static_int(who: str, field: str, value: Any, rule: str, source: str) -> int:
    """`value` as a Python int, or an error that says why it is not one."""
    if isinstance(value, Tracer):
        raise ParamError(
            who,
            field,
            "be a Python integer, known while tracing",
            f"a tracer ({value.aval})",
            "Parameters are static. Run many parameter sets under one compilation with "
            "asc.sweep, or call the op once a set.",
            source,
        )
    try:
        return operator.index(value)
    except TypeError:
        fix = "Pass an integer."
        raise ParamError(who, field, rule, repr(value), fix, source) from None


def in_range(
    who: str, field: str, value: Any, low: int, high: int, unit: str, source: str
) -> int:
    """`value` as an int in [low, high], or a ParamError."""
    rule = f"be in [{low}, {high}] ({unit})"
    number = static_int(who, field, value, rule, source)
    if not low <= number <= high:
        fix = "Correct the value, or split the move into several calls."
        if high == 1:
            fix = "Use one of the two."
        raise ParamError(who, field, rule, number, fix, source)
    return number


def int_list(
    who: str, field: str, value: Any, meta: Mapping[str, Any], source: str
) -> tuple[int, ...]:
    """`value` as a tuple of ints, as many as the field of `meta` has, or an error."""
    (low, high), unit, length = meta["range"], meta["unit"], meta["length"]
    items = None if isinstance(value, str | Tracer) else value
    try:
        items = tuple(items)  # pyright: ignore[reportArgumentType]
    except TypeError:
        items = ()
    if len(items) != length:
        rule = f"be {length} integers in [{low}, {high}] ({unit})"
        fix = f"Give one each for {meta['names'].replace(' ', ', ')}."
        raise ParamError(who, field, rule, repr(value), fix, source)
    return tuple(
        in_range(who, f"{field}[{k}]", item, low, high, unit, source)
        for k, item in enumerate(items)
    )


def as_word(
    who: str, field: str, value: Any, words: tuple[str, ...], source: str
) -> str:
    """`value` where it is one of `words`, or a ParamError."""
    if isinstance(value, str) and value in words:
        return value
    rule = f"be one of {', '.join(words)}"
    raise ParamError(who, field, rule, repr(value), "Use one of these names.", source)


def as_part(
    who: str, field: str, value: Any, meta: Mapping[str, Any], source: str
) -> Any:
    """`value` where it is the struct that the field of `meta` holds, or an error."""
    kind, optional = meta["part"], meta["optional"]
    if isinstance(value, kind) or (optional and value is None):
        return value
    rule = f"be made with {kind.__name__}(...)" + ", or None" * optional
    fix = f"Write {field}={kind.__name__}(...)."
    raise ParamError(who, field, rule, repr(value), fix, source)


def as_flag(who: str, field: str, value: Any, source: str) -> bool:
    """`value` as a bool: true, false, 0 or 1."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    return bool(in_range(who, field, value, 0, 1, "a flag", source))
