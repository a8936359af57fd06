"""Which fields of a call lead to what it is refused for, found by changing each."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

from .._errors import AscendError
from .._nest import LoopNest
from .._overlap import clashing
from .._runs import Runs, Stated

_FEW = 1 << 16  # runs in a table that is made again for each field
_Change = Callable[[int], int]


def reaching(params: Any, site: Any, of: str, low: bool) -> str:
    """The fields that, halved, keep a move of `params` from going so far: beyond the
    end of its "src" or "dst", or with `low` before the start. "" where none does."""

    def reach(nest: Stated) -> int:
        span = nest.src_range() if of == "src" else nest.dst_range()
        first, last = span or (0, 0)
        return -first if low else last

    return _leads(params, site, reach, lambda value: int(value / 2))


def overlapping(params: Any, site: Any, nest: Stated) -> str:
    """The loops of `nest` that write where others do, their steps and the fields that
    set these; "" where that cannot be shown."""
    loops = clashing(nest) if isinstance(nest, LoopNest) else ()
    if not loops:
        return ""
    names = {loop.name for loop in loops}

    def steps(nest: Stated) -> int:
        own = nest.loops if isinstance(nest, LoopNest) else ()
        return -sum(abs(loop.dst_stride) for loop in own if loop.name in names)

    fields = _leads(params, site, steps, lambda value: value + 1)
    each = " and ".join(f"{loop.name} of {abs(loop.dst_stride)}" for loop in loops)
    said = f"Steps meet, in elements of {site.type}: {each}"
    return f"{said}, by {fields}" if fields else said


def _leads(
    params: Any, site: Any, measure: Callable[[Stated], int], change: _Change
) -> str:
    """The fields whose `change` alone brings the `measure` of the move down."""
    nest = params.nest(site)
    if isinstance(nest, Runs) and nest.dst.size > _FEW:
        return ""
    found = []
    for name, value, unit, other in _variants(params, change):
        try:
            changed = other.nest(site)
        except (AscendError, ArithmeticError):  # there is no such move
            continue
        if changed.volume and measure(changed) < measure(nest):
            found.append(f"{name}={value}{f' ({unit})' if unit else ''}")
    return ", ".join(found)


def _variants(struct: Any, change: _Change) -> Iterator[tuple[str, int, str, Any]]:
    """Each integer in a struct's fields: name, value, unit, and the struct with that
    one changed; those that the struct may not have are left out."""
    for field in dataclasses.fields(struct):
        value = getattr(struct, field.name)
        for name, item, unit, new in _changes(field, value, change):
            try:
                other = dataclasses.replace(struct, **{field.name: new})
            except AscendError:
                continue
            yield name, item, unit, other


def _changes(
    field: dataclasses.Field, value: Any, change: _Change
) -> Iterator[tuple[str, int, str, Any]]:
    """The same for one field, and what the field then holds."""
    name, unit = field.name, field.metadata.get("unit", "")
    if type(value) is int:
        yield name, value, unit, change(value)
    elif isinstance(value, tuple):
        for k, item in enumerate(value):
            new = (*value[:k], change(item), *value[k + 1 :])
            yield f"{name}[{k}]", item, unit, new
    elif dataclasses.is_dataclass(value):
        for inner, item, of_inner, new in _variants(value, change):
            yield f"{name}.{inner}", item, of_inner, new
