"""What a case has that others may share: its site, its fields, where operands start."""

from __future__ import annotations

import collections
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from .._errors import AscendError
from ..instr import REGISTRY
from ..instr._c_struct import CField
from ..verify._cases import unit_bits
from ..verify._entry import Step
from ..verify._names import COMPUTES
from ..verify._result import Result
from ._trait import EVERY, Trait, alike, counts, of_value, rounded

VALUES = 512
"""Values of one field of one instruction that are told apart; of others only sign,
size and residues are counted."""

FIELDS = 1000
"""Fields of all instructions that are looked at, and"""

ENTRIES = 16
"""entries of one list."""

SITES = 4096
"""Sites whose traits are kept at one time."""

SITE = ("path", "dtype", "calls", "src_offset", "dst_offset")
"""What is told of each instruction that is no field of it."""

_Values = Mapping[tuple[str, str], list[Any]]  # {(instruction, key): values}


class _Site(NamedTuple):
    """What of a case is no field; few cases differ in it."""

    instructions: tuple[str, ...]
    path: str | None
    dtype: str
    several: bool
    starts: tuple[tuple[str, str, Any], ...]

    @classmethod
    def of(cls, result: Result) -> _Site:
        calls = result.calls
        names = dict.fromkeys([result.instruction, *(c.instruction for c in calls)])
        starts = dict.fromkeys(
            (call.instruction, key, told)
            for call in calls
            for key in ("src_offset", "dst_offset")
            for told in _start(call, key, result.dtype)
        )
        several = len(calls) > 1
        return cls((*names,), result.path, result.dtype, several, (*starts,))

    def values(self) -> _Values:
        """Of any instruction, and of each that there is."""
        found: dict[tuple[str, str], list[Any]] = {
            ("", "instruction"): [*self.instructions]
        }
        for name in ("", *self.instructions):
            found[name, "path"] = [self.path] if self.path else []
            found[name, "dtype"] = [self.dtype]
            found[name, "calls"] = ["several calls"] if self.several else []
        for instruction, key, told in self.starts:
            for name in ("", instruction):
                found.setdefault((name, key), []).append(told)
        return found


def _start(call: Step, key: str, dtype: str) -> Iterator[tuple[str, int]]:
    """What counts of where an operand starts: tests and their values."""
    start = getattr(call, key)
    yield ("at least", 1) if start else ("is", 0)
    try:
        fractal = 4096 // unit_bits(call.instruction, dtype)
    except AscendError:  # an unknown type, which the case's message tells
        return
    if start % fractal:
        yield "off", fractal


class Traits:
    """The traits of cases, each by a number; as many as there are fields and few values
    of them, however many cases come."""

    def __init__(self) -> None:
        self.all: list[Trait] = []
        self._number: dict[Trait, int] = {}
        self._of_value: dict[tuple[Any, ...], tuple[int, ...]] = {}
        self._values: collections.Counter[tuple[str, str]] = collections.Counter()
        self._struct: dict[str, Mapping[str, CField]] = {}
        self._sites: dict[_Site, set[int]] = {}
        self._products: set[str] = set()

    def of(self, result: Result) -> tuple[str, frozenset[int]]:
        """A case's product, "" where there is none, and the numbers of its traits."""
        product = result.product or ""
        self._products.add(product if len(self._products) < FIELDS else "")
        values: dict[tuple[str, str], list[Any]] = {}
        for step in result.calls:
            struct = self._of_struct(step.instruction)
            for key, value in _leaves(struct, step.fields):
                values.setdefault((step.instruction, key), []).append(value)
        numbers = self._by_values(values) | self._of_site(_Site.of(result))
        return product if product in self._products else "", frozenset(numbers)

    def _of_site(self, site: _Site) -> set[int]:
        if site not in self._sites:
            if len(self._sites) >= SITES:
                self._sites.clear()
            every = self._numbered(EVERY)
            self._sites[site] = self._by_values(site.values()) | {every}
        return self._sites[site]

    def _by_values(self, values: _Values) -> set[int]:
        found: set[int] = set()
        for field, held in values.items():
            if field not in self._values and len(self._values) >= FIELDS:
                continue
            for value in held:
                found.update(self._by_value(field, value))
            sizes = [value for value in held if counts(value) and value > 0]
            if sizes:
                found.add(self._numbered(Trait(*field, "size", rounded(max(sizes)))))
        return found

    def _numbered(self, trait: Trait) -> int:
        number = self._number.setdefault(trait, len(self.all))
        if number == len(self.all):
            self.all.append(trait)
        return number

    def _by_value(self, field: tuple[str, str], value: Any) -> tuple[int, ...]:
        """The traits that one value of one field has."""
        place = (*field, value)
        known = place in self._of_value or self._values[field] < VALUES
        if not known:
            value = alike(value) if counts(value) else ""
            place = (*field, value, "alike")
        if place not in self._of_value:
            self._values[field] += known
            told = of_value(*field, value)
            self._of_value[place] = tuple(
                self._numbered(one) for one in told if known or one.test != "is"
            )
        return self._of_value[place]

    def _of_struct(self, instruction: str) -> Mapping[str, CField]:
        """The fields that ascjax knows of an instruction."""
        if instruction not in self._struct:
            struct = REGISTRY.get(instruction) or COMPUTES.get(instruction)
            if struct is None:
                return {}
            self._struct[instruction] = struct.c_fields()
        return self._struct[instruction]


def _leaves(
    struct: Mapping[str, CField], fields: Mapping[str, Any]
) -> Iterator[tuple[str, Any]]:
    """Every field with one value, lists and structs inside opened; what is absent has
    its default."""
    for name, field in struct.items():
        if name not in fields and field.default is not None and field.kind != "list":
            yield name, field.default
    for name, value in fields.items():
        if isinstance(value, Mapping):
            for inner, held in value.items():
                own = f"{name}.{inner}"
                beside = own not in struct and inner in struct
                yield from _entries(inner if beside else own, held)
        else:
            yield from _entries(name, value)


def _entries(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, list | tuple):
        for k, item in enumerate(value[:ENTRIES]):
            yield from _entries(f"{name}[{k}]", item)
    elif isinstance(value, str | int | bool):
        yield name, value
    else:
        yield name, repr(value)
