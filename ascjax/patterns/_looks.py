"""How mismatches begin: where in a fractal, and with what.

The first mismatch of a case has no counterpart in those that pass. So a way to begin is
held against chance: about half of the mismatches begin in an odd row, say.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any, NamedTuple

from ..verify._result import Mismatch, Result
from ._chance import thrown_at_least

_PART = 0.75  # of the mismatches
_TOLD = 3

_Judge = Callable[[Any], object]


class Look(NamedTuple):
    """One way in which a mismatch may begin.

    Attributes:
      key, test, value: as a pattern has them.
      words: after "begin".
      chance: by which a mismatch that tells has it, at most, without a cause.
      has: of a `Mismatch`, for key "got" of a `Result`: whether it has it.
      tells: whether it tells anything. Where all of a destination is wrong, it begins
        in fractal 0, row 0 and column 0, and that tells nothing.
    """

    key: str
    test: str
    value: int | str
    words: str
    chance: float
    has: _Judge
    tells: _Judge = lambda first: True


def _parities(key: str) -> tuple[Look, Look]:
    def number(first: Mismatch) -> int:
        return getattr(first, key)

    odd = Look(key, "mod 2", 1, f"in an odd {key}", 0.5, lambda f: number(f) % 2)
    even = f"in an even {key}"
    return odd, Look(key, "mod 2", 0, even, 0.5, lambda f: number(f) % 2 == 0, number)


def _got(value: str, words: str, has: _Judge) -> Look:
    return Look("got", "is", value, f"with an element {words}", 0.5, has)


def _is_zero(result: Result) -> bool:
    got = result.first.got if result.first else ""
    return got.startswith("0x") and int(got, 16) == 0


def _is_elsewhere(result: Result) -> bool:
    got = result.first.got if result.first else ""
    return got.isdecimal() or "which source element" in result.message


_PLACES = (
    *_parities("fractal"),
    *_parities("row"),
    *_parities("column"),
    Look(
        *("column", "is", 0, "in column 0", 0.25),
        lambda first: first.column == 0,
        lambda first: first.fractal or first.row,
    ),
    Look("row", "at least", 8, "in rows 8 to 15", 0.5, lambda first: first.row >= 8),
    Look(
        *("row", "below", 8, "in rows 0 to 7", 0.6),
        lambda first: first.row < 8,
        lambda first: first.fractal and first.row,
    ),
)
_CONTENTS = (
    _got(
        *("unchanged", "that is as it was before"),
        lambda r: r.first.got == "-1" or r.message.endswith("as it was before"),
    ),
    _got("padding", "that is padding", lambda r: r.first.got == "-2"),
    _got("zero", "that is 0", _is_zero),
    _got("elsewhere", "from elsewhere in the source", _is_elsewhere),
    _got(
        *("unwanted", "that should not be written"), lambda r: r.first.expected == "-1"
    ),
)


_LOOKS = (*_PLACES, *_CONTENTS)


class Looks:
    """Counts how mismatches begin."""

    def __init__(self) -> None:
        self._counts = [_Counts() for _ in _LOOKS]

    def add(self, result: Result) -> None:
        """Count one result; those without a first mismatch have no look."""
        first = result.first
        if first is None:
            return
        for look, counts in zip(_LOOKS, self._counts, strict=True):
            if look.key != "got" and first.fractal is None:
                continue
            one = result if look.key == "got" else first
            has, tells = bool(look.has(one)), bool(look.tells(one))
            counts.of += 1
            counts.has += has
            counts.tells += tells
            counts.hits += has and tells

    def found(self, chance: float) -> list[tuple[Look, int, int]]:
        """Looks that chance makes less often than by `chance`, all taken together, the
        least likely first: each with how many mismatches have it, and of how many."""
        found = []
        for place, (look, of) in enumerate(zip(_LOOKS, self._counts, strict=True)):
            by_chance = thrown_at_least(of.hits, of.tells, look.chance)
            likely = by_chance + math.log(len(_LOOKS)) >= math.log(chance)
            if of.has >= _PART * of.of and not likely:
                found.append((by_chance, place))
        return [
            (_LOOKS[place], self._counts[place].has, self._counts[place].of)
            for _, place in sorted(found)[:_TOLD]
        ]


@dataclasses.dataclass
class _Counts:
    """Mismatches that may have a look, that have it, that tell, that do both."""

    of: int = 0
    has: int = 0
    tells: int = 0
    hits: int = 0
