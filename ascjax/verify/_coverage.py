"""What a collection of cases covers: values of each field, and kinds of move."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .._dtypes import TYPES
from ..instr import REGISTRY, Site
from ..instr._params import c_name
from ..instr.nddma import LISTS, UNSET_PAD

# For 16 bits a square is one fractal, so that every count is a whole number of them.
_SITE = Site(None, None, TYPES["half"])
_KINDS = ("nop", "gaps", "decreasing", "transpose", "padding")
_TRANSPOSES = ("ldwt_v1", "ldwt_v2")


def coverage(cases: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[str, Any]:
    """How often each field stands at its ends, and each kind of move occurs.

    Args:
      cases: pairs of instruction and fields by their C names, as case files have them;
        an absent field counts as 0.

    Returns {instruction: {"cases", "fields", "kinds"}}, ready for JSON. A field has its
    "range" (None where ascjax does not know it), and how many cases have it at "zero",
    at "min", at "max" and at an "odd" value; a list counts if any entry does. Kinds:
    "nop" (a count is 0), "gaps" (destination elements between the first and the last
    write are kept), "decreasing" (addrMode, or a negative stride), "transpose",
    "padding".

    >>> full, nop = {"repeatTimes": 255, "addrMode": 1}, {"addrMode": 1}
    >>> c = coverage([("load2d", full), ("load2d", nop)])
    >>> c["load2d"]["fields"]["repeatTimes"]
    {'range': [0, 255], 'zero': 1, 'min': 1, 'max': 1, 'odd': 1}
    >>> c["load2d"]["kinds"]["nop"], c["load2d"]["kinds"]["decreasing"]
    (1, 1)
    """
    found: dict[str, Any] = {}
    for instruction, fields in cases:
        entry = found.setdefault(instruction, _empty(instruction))
        entry["cases"] += 1
        values = dict(_flat(fields))
        for name in values.keys() - entry["fields"].keys():
            entry["fields"][name] = _row(None)
        for name, row in entry["fields"].items():
            _count(row, values.get(name, (0,)))
        for kind in _kinds(instruction, fields):
            entry["kinds"][kind] += 1
    return found


def _empty(instruction: str) -> dict[str, Any]:
    rows = {name: _row(known) for name, known in _ranges(instruction)}
    return {"cases": 0, "fields": rows, "kinds": dict.fromkeys(_KINDS, 0)}


def _row(known: tuple[int, int] | None) -> dict[str, Any]:
    ends = list(known) if known else None
    return {"range": ends, "zero": 0, "min": 0, "max": 0, "odd": 0}


def _ranges(instruction: str) -> Iterator[tuple[str, tuple[int, int] | None]]:
    """The fields of an instruction and the ranges of those that have one."""
    if instruction == "nddma":
        for name, (high, _) in LISTS.items():
            yield c_name(name), (0, high)
        yield "isNearestValueMode", (0, 1)
        yield from (
            (f"config.{name}", (0, 255)) for name in ("loopLpSize", "loopRpSize")
        )
    elif instruction in REGISTRY:
        for field in dataclasses.fields(REGISTRY[instruction]):  # pyright: ignore
            known = (0, 1) if field.metadata.get("flag") else None
            yield c_name(field.name), field.metadata.get("range", known)


def _flat(fields: Mapping[str, Any]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Every field as its integer values: a list's entries, and NDDMA's config opened.

    A field without any, such as a padding size left unset, counts nowhere.
    """
    for name, value in fields.items():
        if name == "config" and isinstance(value, Mapping):
            for inner, held in _flat(value):
                own = inner if inner == "isNearestValueMode" else f"config.{inner}"
                yield own, tuple(v for v in held if v != UNSET_PAD)
        else:
            items = value if isinstance(value, list | tuple) else [value]
            yield name, tuple(int(v) for v in items if isinstance(v, int))


def _count(row: dict[str, Any], values: tuple[int, ...]) -> None:
    row["zero"] += 0 in values
    row["odd"] += any(v % 2 for v in values)
    if row["range"]:
        low, high = row["range"]
        row["min"] += low in values
        row["max"] += high in values


def _kinds(instruction: str, fields: Mapping[str, Any]) -> Iterator[str]:
    """The kinds that a case belongs to; one that is not legal belongs to none."""
    if instruction not in REGISTRY:
        return
    try:
        nest = REGISTRY[instruction].from_fields(fields).nest(_SITE)
    except Exception:  # whatever is wrong with it, the check of the case says so
        return
    if nest.volume == 0:
        yield "nop"
        return
    low, high = nest.dst_range()
    if high - low + 1 > nest.volume or any(
        value for name, value in fields.items() if name.endswith("FracGap")
    ):
        yield "gaps"
    if fields.get("addrMode") or any(coord.stride < 0 for coord in nest.coords):
        yield "decreasing"
    if fields.get("ifTranspose") or instruction in _TRANSPOSES:
        yield "transpose"
    if any(coord.extent is not None for coord in nest.coords):
        yield "padding"
