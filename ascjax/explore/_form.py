"""The form of an instruction: an item for each field, made from what it declares."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from .._errors import AscendError, ParamError
from .._products import PRODUCTS
from ..instr import REGISTRY, Params
from ..instr._c_struct import CField
from ..instr._fields import c_name
from ..verify._samples import sample
from ._starts import STARTS, Start

_SPAN = 16  # that a slider has at least
_TRIES, _ABOUT = 40, 1200  # elements that a first picture is to have


@dataclasses.dataclass(frozen=True)
class Item:
    """One thing to set.

    Attributes:
      name: the field's C name; a member of a struct inside as "repeat.dstStride", a
        value of a list as "loopSize[0]", a struct that may be left out as "padParams".
      kind: "integer", "flag", "word", "number" or "part".
      low, high: the range; None where there is none.
      unit: what it counts.
      words: what a word may be.
    """

    name: str
    kind: str
    low: int | None = None
    high: int | None = None
    unit: str = ""
    words: tuple[str, ...] = ()

    def span(self, value: Any) -> tuple[int, int]:
        """Where a slider of it goes: all of a short range, else what is near."""
        low, high = self.low or 0, self.high if self.high is not None else 255
        if high - low <= 64:
            return low, high
        most = max(_SPAN, 4 * abs(int(value or 0)))
        return max(low, -most), min(high, most)


@dataclasses.dataclass(frozen=True)
class Form:
    """What an instruction asks for.

    Attributes:
      params: its params class.
      items: what to set, in the order of the C struct.
      values: what they are at first, by name.
      start: product, path and type of a first picture.
    """

    params: type[Params]
    items: tuple[Item, ...]
    values: dict[str, Any]
    start: Start


def form_of(instruction: str) -> Form:
    """The form of an instruction, with values that show what it does.

    Raises:
      SupportError: where there is no such instruction.

    >>> form = form_of("load2d")
    >>> [item.name for item in form.items][:3], form.items[1].high
    (['startIndex', 'repeatTimes', 'srcStride'], 255)
    """
    cls = REGISTRY[instruction]
    start = STARTS.get(instruction) or _sampled(cls)
    fields = start.params.to_fields()
    items: list[Item] = []
    values: dict[str, Any] = {}
    shown: set[str] = set()
    for name, field in cls.c_fields().items():
        outer = name.partition(".")[0]
        if "." in name and _optional(cls, outer) and outer not in shown:
            shown.add(outer)
            items.append(Item(outer, "part", unit="given or left out"))
            values[outer] = outer in fields
        for item, value in _items(cls, name, field, _value(fields, name, field)):
            items.append(item)
            values[item.name] = value
    return Form(cls, tuple(items), values, start)


def fields_of(form: Form, values: Mapping[str, Any]) -> dict[str, Any]:
    """What `from_fields` takes, of the values by name."""
    found: dict[str, Any] = {}
    parts = {item.name for item in form.items if item.kind == "part"}
    for item in form.items:
        outer, _, inner = item.name.partition(".")
        if item.kind == "part" or (inner and outer in parts and not values[outer]):
            continue
        held = found.setdefault(outer, {}) if inner else found
        name, value = inner or outer, values[item.name]
        if name.endswith("]"):
            held.setdefault(name[: name.index("[")], []).append(value)
        elif value is not None:
            held[name] = value
    return found


def item_named(form: Form, field: str) -> Item | None:
    """The item that an error's field means; None where it means none of them."""
    for name in (c_name(field), c_name(field).partition("[")[0], field):
        for item in form.items:
            if name and (item.name == name or item.name.startswith(f"{name}[")):
                return item
            if item.name.partition(".")[2] == name:
                return item
    return None


def _items(cls: type[Params], name: str, field: CField, value: Any):
    """The items of one field, with their values."""
    ends = field.low, field.high
    if field.kind == "list":
        each = value if value is not None else field.default or (0,)
        for k, one in enumerate(each):
            yield Item(f"{name}[{k}]", "integer", *ends, field.unit), one
        return
    if field.kind == "word":
        words = _meta(cls, name).get("words", ())
        yield Item(name, "word", words=words), value or field.default
    elif field.kind == "flag":
        yield Item(name, "flag"), bool(value if value is not None else field.default)
    elif field.kind == "number":
        yield Item(name, "number", unit=field.unit), value or 0
    else:
        given = value if value is not None else field.default
        yield Item(name, "integer", *ends, field.unit), given


def _value(fields: Mapping[str, Any], name: str, field: CField) -> Any:
    """What the fields hold; None where that is nothing, or a mark beyond the range
    that says so, as NDDMA's config has."""
    held: Any = fields
    for part in name.split("."):
        held = held.get(part) if isinstance(held, Mapping) else None
    if held is None:  # a struct inside may have it, as NDDMA's config
        inside = (one for one in fields.values() if isinstance(one, Mapping))
        held = next((one[name] for one in inside if name in one), None)
    if field.kind == "integer" and held is not None and field.high is not None:
        return held if (field.low or 0) <= held <= field.high else None
    return held


def _meta(cls: type[Params], name: str) -> Mapping[str, Any]:
    fields = dataclasses.fields(cls)  # pyright: ignore[reportArgumentType]
    return next((f.metadata for f in fields if c_name(f.name) == name), {})


def _optional(cls: type[Params], name: str) -> bool:
    return bool(_meta(cls, name).get("optional"))


def _sampled(cls: type[Params]) -> Start:
    """A start of an instruction that none is written down for: a small legal call."""
    site = next(
        cls.site(product, path, types[0])
        for product in PRODUCTS.values()
        for path, types in cls.paths(product).items()
    )
    rng = np.random.default_rng(0)

    def draw(low: int, high: int) -> int:
        return int(rng.integers(low, high + 1))

    found = []
    for _ in range(_TRIES):
        try:
            found.append(sample(cls.instruction, site, draw, nop=False))
        except AscendError:
            continue
    if not found:
        rule, fix = "have a legal call", "Give it a builder of samples."
        raise ParamError("explore", cls.instruction, rule, "none", fix, cls.source)
    best = min(found, key=lambda made: abs(made.dst_size - _ABOUT))
    return Start(best.params, str(site.product), str(site.path), site.type.name)
