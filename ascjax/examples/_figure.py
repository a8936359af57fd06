"""`Figure` and `Fact`: what a document draws and says, and where a map shows it."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable

import numpy as np

from .._errors import OverlapError, ParamError
from .._move import Call, Move
from ..verify._documents import UNSTATED, Example, examples

Shown = Callable[[Move], int]


@dataclasses.dataclass(frozen=True)
class Fact:
    """One number that a document states, or that follows from its words.

    Attributes:
      field: the field and its value, as the document writes them; or what it is about.
      says: what the document says of it, in our words.
      number: the number that it states.
      unit: what the number counts.
      shown: the same number, read off the move.
    """

    field: str
    says: str
    number: int
    unit: str
    shown: Shown = dataclasses.field(repr=False)


@dataclasses.dataclass(frozen=True, eq=False)
class Figure:
    """A figure or worked example of a document, rebuilt.

    Attributes:
      id: a short name, for links and tests.
      document: the document's title.
      name: what the document calls it, or where it stands where it has no number.
      title: what it shows.
      calls: as the document issues them.
      product, path, dtype: one of those that the document allows.
      src_size: elements of the source.
      facts: its numbers.
      expected: shape (dst_size,), the whole map where the document states it: source
        element, KEEP, FILL, or UNSTATED where it leaves one open; None where it only
        states the facts.
      refused: why the example breaks a rule of its own document, or "".
      note: what else a reader must know, such as whose the numbers are.
    """

    id: str
    document: str
    name: str
    title: str
    calls: tuple[Call, ...]
    product: str
    path: str
    dtype: str
    src_size: int
    facts: tuple[Fact, ...]
    expected: np.ndarray | None = None
    refused: str = ""
    note: str = ""

    @functools.cached_property
    def move(self) -> Move:
        """The calls as one move; where they are `refused`, the later write wins."""
        return self._move("last" if self.refused else "error")

    def _move(self, overlap) -> Move:
        return Move.sequence(
            self.calls,
            src_size=self.src_size,
            dst_size=None if self.expected is None else self.expected.size,
            product=self.product,
            path=self.path,
            dtype=self.dtype,
            overlap=overlap,
        )

    def checked(self) -> tuple[tuple[Fact, int], ...]:
        """Each fact, and the number that the map shows.

        Raises:
          ParamError: where a number or a part of the map is not the document's.
        """
        rows = tuple((fact, fact.shown(self.move)) for fact in self.facts)
        for fact, shown in rows:
            if shown != fact.number:
                self._differs(fact.field, f"show {fact.number} {fact.unit}", shown)
        if self.expected is not None:
            got = self.move.index_map.index
            wrong = (self.expected != UNSTATED) & (self.expected != got)
            if wrong.any():
                first = int(np.flatnonzero(wrong)[0])
                rule = f"hold {self.expected[first]} at element {first}"
                self._differs("the map", rule, got[first])
        if self.refused:
            try:
                self._move("error")
            except OverlapError:
                return rows
            self._differs("the calls", f"be refused ({self.refused})", "a move")
        return rows

    def _differs(self, field: str, rule: str, got: object) -> None:
        fix = "One of the two is wrong: read the document again."
        who = f"{self.document}, {self.name}"
        raise ParamError(who, field, rule, got, fix, self.document)


def of_example(example: str, id: str, name: str, title: str, *facts: Fact, note=""):
    """A figure whose whole map `verify` holds under the id `example`."""
    found: Example = next(e for e in examples() if e.id == example)
    return Figure(
        id,
        found.id.split(",")[0],
        name,
        title,
        found.calls,
        found.product,
        found.path,
        found.dtype,
        found.src_size,
        facts,
        found.expected,
        found.refused,
        note,
    )


# --- numbers read off a map


def source_of(element: int) -> Shown:
    """The source element that lands in destination element `element`."""
    return lambda move: int(move.index_map.index[element])


def landing(move: Move, source: int) -> int:
    """The first destination element that source element `source` lands in."""
    return int(np.flatnonzero(move.index_map.index == source)[0])


def apart(a: int, b: int, unit: int = 1, less: int = 0) -> Shown:
    """How far apart the source elements `a` and `b` land, in units, less `less`."""
    return lambda move: (landing(move, b) - landing(move, a)) // unit - less


def read_apart(a: int, b: int, unit: int = 1) -> Shown:
    """How far apart what lands in destination elements `a` and `b` is read."""
    return lambda move: int(np.subtract(*move.index_map.index[[b, a]])) // unit


def copied(move: Move) -> np.ndarray:
    """The source elements that are read, in order of the destination."""
    index = move.index_map.index
    return index[index >= 0]


def bytes_moved(move: Move) -> int:
    """Bytes that land in the destination."""
    return copied(move).size * move.type.bits // 8


def pieces(size: int) -> Shown:
    """How many pieces of the source of `size` elements are read."""
    return lambda move: np.unique(copied(move) // size).size


def value(field: str) -> Shown:
    """What a field of the (first) call holds."""
    return lambda move: int(getattr(move.calls[0].params, field))
