"""Cases as a stream: from files, through their checks, in order, a few at a time."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..dumps._check import Checks
from ..sweeps._jobs import MEMORY
from ..verify._cases import Case, Scenario
from ..verify._check import check_case
from ..verify._read import chosen_cases
from ..verify._result import Result

_BLOCK = 256
"""Cases that stand together in one process's share."""

_AHEAD = 4096
"""Cases that are taken before the result of an earlier one is waited for."""


class Share(NamedTuple):
    """The cases of one process: every so many blocks of them."""

    process: int = 0
    processes: int = 1

    def has(self, position: int) -> bool:
        return position // _BLOCK % self.processes == self.process


ALONE = Share()


def cases_of(
    files: Sequence[Path], chosen: Callable[[int], bool]
) -> Iterator[tuple[int, Case | Scenario | None]]:
    """The positions of all cases of some files, with the chosen cases.

    Raises:
      CaseFileError: when the stream comes to what is at fault.
    """
    position = 0
    for file in files:
        before = position
        for k, case in chosen_cases(file, lambda k, before=before: chosen(before + k)):
            position = before + k + 1
            yield position - 1, case


def count(files: Sequence[Path], share: Share) -> int:
    """How many cases some files have; those of the share are checked for their form.

    Raises:
      CaseFileError: for the first that is at fault.
    """
    return sum(1 for _ in cases_of(files, share.has))


def results(
    cases: Iterable[tuple[int, Case | Scenario]],
    *,
    jit_every: int = 0,
    memory: int = MEMORY,
    devices: Any = None,
) -> Iterator[tuple[int, Result]]:
    """What becomes of each case, in order; memory stays bounded.

    Args:
      cases: with their positions, taken as they are needed.
      jit_every: each so many cases of an instruction also run through their own op; 0
        for none.
      memory: bytes that dumps take at one time, about.
      devices: over which dumps are spread; None is all local ones.
    """
    dumps = Checks(memory, devices)
    waiting: collections.deque[tuple[int, Result | None]] = collections.deque()
    of_dumps: collections.deque[Result] = collections.deque()
    met: collections.Counter[str] = collections.Counter()

    def ready() -> Iterator[tuple[int, Result]]:
        of_dumps.extend(dumps.ready())
        while waiting and (waiting[0][1] or of_dumps):
            position, result = waiting.popleft()
            yield position, result or of_dumps.popleft()

    for position, case in cases:
        if isinstance(case, Case) and case.dump:
            dumps.add(case)
            waiting.append((position, None))
        else:
            through_op = jit_every > 0 and met[case.instruction] % jit_every == 0
            result = check_case(case, through_op=through_op)
            met[case.instruction] += result.status in ("ok", "mismatch")
            waiting.append((position, result))
        if len(waiting) > _AHEAD:
            dumps.finish()
        yield from ready()
    dumps.finish()
    yield from ready()
