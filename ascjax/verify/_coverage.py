"""What a collection of cases covers: values of each field, and kinds of move."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .._nest import FILL, LoopNest
from .._runs import Runs
from ..instr import REGISTRY
from ..instr._params import CField
from ._names import COMPUTES, site_of

_KINDS = ("nop", "gaps", "decreasing", "transpose", "padding")


def coverage(cases: Iterable[tuple[Any, ...]]) -> dict[str, Any]:
    """How often each field stands at its ends, and each kind of move occurs.

    Args:
      cases: instruction, fields by their C names as case files have them, and type, and
        product and path where the kind depends on them; an absent field counts as its
        default, and nowhere where it has none.

    Returns {instruction: {"cases", "fields", "kinds"}}, ready for JSON. A field has its
    "range" (None where ascjax does not know it), and how many cases have it at "zero",
    at "min", at "max" and at an "odd" value; a list counts if any entry does. Kinds:
    "nop" (a count is 0), "gaps" (destination elements between the first and the last
    write are kept), "decreasing" (the source is read backwards), "transpose" (elements
    that lie together in the destination do not in the source, but others do),
    "padding".

    >>> full, nop = {"repeatTimes": 255, "srcStride": 1, "addrMode": 1}, {"addrMode": 1}
    >>> c = coverage([("load2d", full, "half"), ("load2d", nop, "half")])
    >>> c["load2d"]["fields"]["repeatTimes"]
    {'range': [0, 255], 'zero': 1, 'min': 1, 'max': 1, 'odd': 1}
    >>> c["load2d"]["kinds"]["nop"], c["load2d"]["kinds"]["decreasing"]
    (1, 1)
    """
    found: dict[str, Any] = {}
    structs = {**REGISTRY, **COMPUTES}
    known = {name: struct.c_fields() for name, struct in structs.items()}
    for instruction, fields, dtype, *where in cases:
        c_fields = known.get(instruction, {})
        entry = found.setdefault(instruction, _empty(c_fields))
        entry["cases"] += 1
        values = dict(_flat(fields, c_fields))
        for name in values.keys() - entry["fields"].keys():
            entry["fields"][name] = _row(CField("integer"))
        for name, row in entry["fields"].items():
            default = c_fields[name].default if name in c_fields else None
            _count(row, values.get(name, _integers(default)))
        for kind in _kinds(instruction, fields, dtype, *where):
            entry["kinds"][kind] += 1
    return found


def _empty(c_fields: Mapping[str, CField]) -> dict[str, Any]:
    numbers = {k: field for k, field in c_fields.items() if field.kind != "word"}
    rows = {name: _row(field) for name, field in numbers.items()}
    return {"cases": 0, "fields": rows, "kinds": dict.fromkeys(_KINDS, 0)}


def _row(field: CField) -> dict[str, Any]:
    ends = None if field.low is None else [field.low, field.high]
    return {"range": ends, "zero": 0, "min": 0, "max": 0, "odd": 0}


def _flat(
    fields: Mapping[str, Any], c_fields: Mapping[str, CField]
) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Every field as its integer values: a list's entries, and objects opened."""
    for name, value in fields.items():
        if name in c_fields and c_fields[name].kind == "word":
            continue
        if isinstance(value, Mapping) and name not in c_fields:
            for inner, held in value.items():
                own = f"{name}.{inner}"
                beside = own not in c_fields and inner in c_fields
                yield inner if beside else own, _integers(held)
        else:
            yield name, _integers(value)


def _integers(value: Any) -> tuple[int, ...]:
    items = value if isinstance(value, list | tuple) else [value]
    return tuple(int(v) for v in items if isinstance(v, int))


def _count(row: dict[str, Any], values: tuple[int, ...]) -> None:
    if row["range"]:  # what stands outside, such as 0xFFFF for "unset", is no value
        low, high = row["range"]
        values = tuple(v for v in values if low <= v <= high)
        row["min"] += low in values
        row["max"] += high in values
    row["zero"] += 0 in values
    row["odd"] += any(v % 2 for v in values)


def _kinds(
    instruction: str,
    fields: Mapping[str, Any],
    dtype: str,
    product: Any = None,
    path: str | None = None,
) -> Iterator[str]:
    """The kinds that a case belongs to; one that is not legal belongs to none."""
    if instruction not in REGISTRY:
        return
    try:
        where, path = site_of(product, path, instruction)
        params = REGISTRY[instruction].from_fields(fields)
        nest = params.nest(params.site(where, path, dtype))
    except Exception:  # whatever is wrong with it, the check of the case says so
        return
    if nest.volume == 0:
        yield "nop"
        return
    low, high = nest.dst_range()
    if high - low + 1 > nest.volume:
        yield "gaps"
    if isinstance(nest, Runs):
        if nest.dst_step > 1 and nest.length > 1:
            yield "transpose"
        if (nest.src == FILL).any():
            yield "padding"
        return
    steps = _steps(nest)
    if any(src < 0 for src, _ in steps):
        yield "decreasing"
    together = [abs(src) for src, dst in steps if abs(dst) == 1]
    if together and min(together) > 1 and any(abs(src) == 1 for src, _ in steps):
        yield "transpose"
    if any(coord.extent is not None for coord in nest.coords):
        yield "padding"


def _steps(nest: LoopNest) -> list[tuple[int, int]]:
    """The steps in source and destination of every loop that runs more than once."""
    return [
        (sum(c.stride * c.terms[k] for c in nest.coords), loop.dst_stride)
        for k, loop in enumerate(nest.loops)
        if loop.extent > 1
    ]
