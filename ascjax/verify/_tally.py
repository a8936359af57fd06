"""Counts of a run: by instruction, of all, and what is worth a line of its own."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from ._result import WAYS, Result

_SHOWN = 20


@dataclasses.dataclass
class Row:
    """Counts of one instruction, or of all. `cases` = passed + failed + unsupported,
    and `refused` of those that passed were cases that must be refused; `ops` of them
    also ran through their own op. `seconds` are those of the maps, as in `Result`."""

    instruction: str
    cases: int = 0
    passed: int = 0
    refused: int = 0
    failed: int = 0
    unsupported: int = 0
    elements: int = 0
    mismatches: int = 0
    ops: int = 0
    seconds: float = 0.0
    op_seconds: float = 0.0

    def add(self, result: Result) -> None:
        self.cases += 1
        self.failed += result.failed
        self.unsupported += result.status == "unsupported"
        self.refused += result.status == "refused"
        self.passed += result.status in ("ok", "refused")
        self.elements += result.elements
        self.mismatches += result.mismatches
        self.ops += "op" in result.compared
        self.seconds += result.seconds
        self.op_seconds += result.op_seconds

    @property
    def rate(self) -> float | None:
        """Cases a second that were checked, ops not counted; None where no time was
        taken."""
        checked = self.cases - self.unsupported
        return checked / self.seconds if checked and self.seconds else None


class Tally:
    """Counts of results as they come.

    Attributes:
      rows: counts of each instruction, by its name.
      total: counts of all.
      failures: the first results that failed, at most 20.
      refusals: results that were refused, as they must be, where they are wanted.
      lacking: why cases are unsupported, each reason once.
      ways: how many cases went each way of `WAYS`.

    >>> tally = Tally().add_all([Result("a", "load2d", "ok", elements=512)])
    >>> tally.total.passed, tally.rows["load2d"].elements
    (1, 512)
    """

    def __init__(self, *, refusals: bool = False):
        self.rows: dict[str, Row] = {}
        self.total = Row("all")
        self.failures: list[Result] = []
        self.refusals: list[Result] = []
        self.lacking: set[str] = set()
        self.ways = dict.fromkeys(WAYS, 0)
        self._wants_refusals = refusals

    def add(self, result: Result) -> None:
        self.rows.setdefault(result.instruction, Row(result.instruction)).add(result)
        self.total.add(result)
        if result.failed and len(self.failures) < _SHOWN:
            self.failures.append(result)
        if result.status == "refused" and self._wants_refusals:
            self.refusals.append(result)
        if result.status == "unsupported":
            self.lacking.add(result.message)
        for way in result.compared:
            self.ways[way] += 1

    def add_all(self, results: Iterable[Result]) -> Tally:
        for result in results:
            self.add(result)
        return self

    @property
    def sorted_rows(self) -> list[Row]:
        """Counts of each instruction, in the order of their names."""
        return [self.rows[name] for name in sorted(self.rows)]

    def exit_status(self, *, allow_unsupported: bool) -> int:
        """0 where every case passed, else 1; unsupported ones count unless allowed.

        >>> Tally().exit_status(allow_unsupported=True)  # no case at all
        1
        """
        total = self.total
        wrong = total.failed or (total.unsupported and not allow_unsupported)
        return 1 if wrong or not total.cases else 0
