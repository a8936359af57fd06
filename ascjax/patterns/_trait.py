"""One thing that is true of a case, and the things that one value makes true."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

MODULI = (2, 4, 8, 16)
TESTS = ("is", "at least", "below", *(f"mod {m}" for m in MODULI), "off", "size")


class Trait(NamedTuple):
    """One thing that is true of a case, of any of its calls.

    Attributes:
      instruction: the only one that it is about; "" where it is about all.
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


def of_value(instruction: str, key: str, value: Any) -> Iterator[Trait]:
    """The traits by one value; a pair is a trait's test and value already."""
    if isinstance(value, tuple):
        yield Trait(instruction, key, *value)
        return
    yield Trait(instruction, key, "is", value)
    if counts(value):
        for modulus in MODULI:
            yield Trait(instruction, key, f"mod {modulus}", value % modulus)
        if value < 0:
            yield Trait(instruction, key, "below", 0)


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


def counts(value: Any) -> bool:
    """Whether a value is a number of something."""
    return isinstance(value, int) and not isinstance(value, bool)
