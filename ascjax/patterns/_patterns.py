"""What failing cases have in common that passing ones lack, in words and counts.

A group of cases is a pattern where chance would put as many failing ones into it less
than once in a hundred runs: by Fisher's exact test, among the cases of its instruction
(of a pair also inside either part), times the number of groups that were tried. Of
several the least likely comes first; the next one is of the cases that it leaves.
"""

from __future__ import annotations

import array
import collections
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from rich.console import Console
from rich.text import Text

from ..verify._result import BadFile, Result
from ._groups import ALL, ANY, Counts, Group, best, count, counted, outside, table
from ._looks import Looks
from ._trait import EVERY
from ._traits import Traits

CHANCE = 0.01
"""Of any pattern in a run that has none."""

KEPT = 10_000
"""Failing cases that are kept, for what other patterns leave."""

_ROUNDS = 4
_LINES = 8


@dataclasses.dataclass(frozen=True)
class Pattern:
    """One thing that failing cases have in common.

    Attributes:
      key: what it is a thing of: "instruction", "product", "path", "dtype", "calls", an
        operand's start ("src_offset", "dst_offset"), a field by its C name, "fractal",
        "row" or "column" of the first mismatch, "got" there, or "status".
      test: "is", "mod 2" to "mod 16", "at least", "below", "off" (no multiple).
      value: what it is tested against.
      instruction, product: the only ones that it is about; "" where it is about all.
      failing, failing_of: failing cases that have it, of how many.
      passing, passing_of: passing ones; None where only a mismatch can have it.
      words: all of it as one sentence.
    """

    key: str
    test: str
    value: Any
    failing: int
    failing_of: int
    words: str
    passing: int | None = None
    passing_of: int | None = None
    instruction: str = ""
    product: str = ""

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return dataclasses.asdict(self)


class Patterns:
    """Looks for patterns in results that come one after another, in bounded memory.

    >>> from ascjax.verify import Result, Step
    >>> patterns = Patterns()
    >>> for k in range(200):
    ...     wrong = k % 10 == 3
    ...     call = Step("load2d", {"repeatTimes": 1 + k % 3, "dstGap": k % 10})
    ...     status = "mismatch" if wrong else "ok"
    ...     patterns.add(Result(str(k), "load2d", status, calls=(call,)))
    >>> [one.words for one in patterns.found()]
    ['all 20 mismatches have dstGap 3; none of the 180 that pass does']
    """

    def __init__(self) -> None:
        self._traits = Traits()
        self._failing: Counts = {}
        self._passing: Counts = {}
        self._kept: list[Any] = []
        self._status: collections.Counter[str] = collections.Counter()
        self._looks = Looks()

    def add(self, result: Result) -> None:
        """Count one result."""
        self._status[result.status] += 1
        wrong = result.status in ("mismatch", "error")
        if not wrong and result.status not in ("ok", "refused"):
            return
        case = self._traits.of(result)
        if not wrong:
            count(case, self._passing)
            return
        count(case, self._failing)
        self._looks.add(result)
        if len(self._kept) < KEPT:
            product, numbers = case
            self._kept.append((product, array.array("I", numbers)))

    def found(self) -> list[Pattern]:
        """The patterns so far: what sets failing cases apart from passing ones, the
        best first; how mismatches begin; files at fault."""
        return [*self._causes(), *self._begins(), *self._files()]

    def _causes(self) -> list[Pattern]:
        traits = self._traits.all
        passing, every = table(self._passing, traits), table(self._failing, traits)
        all_kept = every[ALL] == len(self._kept)
        names = {t.value for t in traits if t.key == "instruction"}
        left, failing, found = self._kept, every, []
        while len(found) < _ROUNDS:
            group = best(failing, passing, CHANCE)
            if group is None:
                break
            counts = failing if all_kept else every
            rest = "other " if found and all_kept else ""
            verb, said = group.said(len(names) > 1)
            who = _share(counts[group], counts[ALL], rest + self._noun)
            words = f"{who} {verb} {said}; {_passing(group, passing, verb)}"
            found.append(_pattern(group, every, passing, words))
            left = outside(group, traits, left)
            failing = table(counted(left), traits)
        return found

    def _begins(self) -> list[Pattern]:
        return [
            Pattern(
                key=look.key,
                test=look.test,
                value=look.value,
                failing=count,
                failing_of=of,
                words=f"{_share(count, of, 'mismatches')} begin {look.words}",
            )
            for look, count, of in self._looks.found(CHANCE)
        ]

    def _files(self) -> list[Pattern]:
        every = sum(self._status.values())
        return [
            Pattern(
                key="status",
                test="is",
                value=status,
                failing=count,
                failing_of=every,
                words=f"{count:,} of {every:,} cases have a file that is {status}",
            )
            for status in get_args(BadFile)
            if (count := self._status[status])
        ]

    @property
    def _noun(self) -> str:
        if self._status["mismatch"] and self._status["error"]:
            return "failures"
        return "errors" if self._status["error"] else "mismatches"


def _pattern(
    group: Group, failing: Mapping[Group, int], passing: Mapping[Group, int], words: str
) -> Pattern:
    trait, product = group
    of_product = trait == EVERY
    return Pattern(
        key="product" if of_product else trait.key,
        test=trait.test,
        value=product if of_product else trait.value,
        instruction=trait.instruction,
        product="" if product == ANY else product,
        failing=failing[group],
        failing_of=failing[ALL],
        passing=passing[group],
        passing_of=passing[ALL],
        words=words,
    )


def _share(count: int, of: int, noun: str) -> str:
    """
    >>> _share(12, 12, "mismatches"), _share(9, 12, "errors")
    ('all 12 mismatches', '9 of the 12 errors')
    """
    return f"all {of:,} {noun}" if count == of else f"{count:,} of the {of:,} {noun}"


def _passing(group: Group, passing: Mapping[Group, int], verb: str) -> str:
    count, that = passing[group], f"of the {passing[ALL]:,} that pass"
    if not count:
        return f"none {that} {'does' if verb == 'have' else 'is'}"
    return f"so {'do' if verb == 'have' else 'are'} {count:,} {that}"


def print_patterns(out: Console, patterns: Sequence[Pattern]) -> None:
    """The patterns, a line each, at most eight; nothing where there are none."""
    room = _LINES - 1
    shown = patterns[: room if len(patterns) <= room else room - 1]
    if patterns:
        out.print(Text("patterns", style="bold"))
    for one in shown:
        out.print(Text(f"  {one.words}"), soft_wrap=True)
    if len(patterns) > len(shown):
        out.print(Text(f"  ... and {len(patterns) - len(shown)} more"))
