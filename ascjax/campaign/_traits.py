"""What a case has that others may share: its site, its fields, where operands start."""

from __future__ import annotations

import collections
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from .._errors import AscendError
from ..instr import REGISTRY
from ..instr._c_struct import CField
from ..verify._cases import unit_bits
from ..verify._names import COMPUTES
from ..verify._result import Result

VALUES = 512
"""Values of one field of one instruction that are told apart; of others only sign,
size and residues are counted."""

FIELDS = 1000
"""Fields of all instructions that are looked at, and"""

ENTRIES = 16
"""entries of one list."""

MODULI = (2, 4, 8, 16)
TESTS = ("is", "at least", "below", *(f"mod {m}" for m in MODULI), "off", "size")


class Trait(NamedTuple):
    """One thing that is true of a case, of any of its calls.

    Attributes:
      instruction: whose field it is; "" where it is no field.
      key: "case", "instruction", "path", "dtype", "calls", "src_offset", "dst_offset",
        or a field by its C name ("loopSize[0]", "repeat.dstStride").
      test: "is"; "mod 2" to "mod 16", with the residue as value; "at least"; "below";
        "off", no multiple of the value; "size", of the largest value, rounded down.
      value: what it is held against.

    >>> Trait("load2d", "dstGap", "mod 2", 1).said
    'dstGap odd'
    """

    instruction: str
    key: str
    test: str
    value: Any

    @property
    def said(self) -> str:
        """In words, after "with" or "have"."""
        if self.test == "is":
            names = {"dtype": "type", "calls": ""}
            value = str(self.value).lower() if self.value in (0, 1) else self.value
            return f"{names.get(self.key, self.key)} {value}".strip()
        if self.test == "off":
            return f"{self.key} off a whole fractal"
        if self.test == "mod 2":
            return f"{self.key} {'odd' if self.value else 'even'}"
        if self.test.startswith("mod"):
            return f"{self.key} {self.value} {self.test}"
        if (self.test, self.value) == ("at least", 1):
            return f"{self.key} above 0"
        return f"{self.key} {self.test} {self.value}"


EVERY = Trait("", "case", "is", "any")
"""What every case has."""


class Traits:
    """The traits of cases, each by a number; as many as there are fields and few values
    of them, however many cases come."""

    def __init__(self) -> None:
        self.all: list[Trait] = []
        self._number: dict[Trait, int] = {}
        self._of_value: dict[tuple[Any, ...], tuple[int, ...]] = {}
        self._values: collections.Counter[tuple[str, str]] = collections.Counter()
        self._products: set[str] = set()
        self._struct: dict[str, Mapping[str, CField]] = {}

    def of(self, result: Result) -> tuple[str, frozenset[int]]:
        """A case's product, "" where there is none, and the numbers of its traits."""
        found = {self._numbered(trait) for trait in _of_calls(result)}
        values: dict[tuple[str, str], list[Any]] = {}
        for key in ("path", "dtype"):
            if held := getattr(result, key):
                values["", key] = [held]
        instructions = values["", "instruction"] = [result.instruction]
        for step in result.calls:
            if step.instruction not in instructions:
                instructions.append(step.instruction)
            struct = self._of_struct(step.instruction)
            for key, value in _leaves(struct, step.fields):
                values.setdefault((step.instruction, key), []).append(value)
        for field, held in values.items():
            if field not in self._values and len(self._values) >= FIELDS:
                continue
            for value in held:
                found.update(self._by_value(field, value))
            most = max((v for v in held if _counts(v)), default=0)
            if most > 0:
                found.add(self._numbered(Trait(*field, "size", rounded(most))))
        product = result.product or ""
        self._products.add(product if len(self._products) < FIELDS else "")
        return product if product in self._products else "", frozenset(found)

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
            value = alike(value) if _counts(value) else ""
            place = (*field, value, "alike")
        if place not in self._of_value:
            self._values[field] += known
            told = _of_value(*field, value)
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


def rounded(value: int) -> int:
    """A positive value rounded down to what its first three bits say.

    >>> [rounded(v) for v in (1, 7, 9, 255)]
    [1, 7, 8, 224]
    """
    value = min(value, 2**64)
    shift = max(0, value.bit_length() - 3)
    return value >> shift << shift


def alike(value: int) -> int:
    """One of few values that has the same sign, size and residues.

    >>> alike(1003), rounded(1003) == rounded(alike(1003)), 1003 % 16 == alike(1003) % 16
    (907, True, True)
    """  # noqa: E501
    return rounded(value) | value & 15 if value >= 0 else (value & 15) - 16


def _counts(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _of_value(instruction: str, key: str, value: Any) -> Iterator[Trait]:
    yield Trait(instruction, key, "is", value)
    if _counts(value):
        for modulus in MODULI:
            yield Trait(instruction, key, f"mod {modulus}", value % modulus)
        if value < 0:
            yield Trait(instruction, key, "below", 0)


def _of_calls(result: Result) -> Iterator[Trait]:
    yield EVERY
    if len(result.calls) > 1:
        yield Trait("", "calls", "is", "several calls")
    try:
        fractal = 4096 // unit_bits(result.instruction, result.dtype)
    except AscendError:  # an unknown type, which the case's message tells
        fractal = 1
    for key in ("src_offset", "dst_offset"):
        for step in result.calls:
            start = getattr(step, key)
            yield Trait("", key, *(("at least", 1) if start else ("is", 0)))
            if start % fractal:
                yield Trait("", key, "off", fractal)


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
