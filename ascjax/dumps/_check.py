"""Dumps against the moves that they claim to be: thousands of them, a few programs."""

from __future__ import annotations

import dataclasses
import itertools
import time
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from .._errors import AscendError
from .._move import Move
from ..instr import REGISTRY
from ..sweeps._batch import Job
from ..sweeps._dump import Dump
from ..sweeps._jobs import MEMORY, Run
from ..verify._cases import Case
from ..verify._check import one_line
from ..verify._engine import make_move
from ..verify._names import lacking
from ..verify._result import Mismatch, Result, Status, place
from ..verify._why import writer
from ._read import DumpError, read_dump


class _Check(NamedTuple):
    """A case on its way: how it ended, or its move and what its destination held. The
    source is not kept: it may be much larger than what the move reads of it.

    `jobs` is how many results it waits for.
    """

    case: Case
    status: Status = "error"
    message: str = ""
    move: Move | None = None
    dst_before: np.ndarray | None = None
    dst_after: np.ndarray = np.zeros(0)
    jobs: int = 0


def check_dumps(
    cases: Iterable[Case], *, memory: int = MEMORY, devices: Any = None
) -> Iterator[Result]:
    """What each dump comes to, in the order of the cases; memory stays bounded.

    A dump is right where the move, applied to `src` and `dst_before`, leaves
    `dst_after`, bit for bit. What is wrong with one case or its files is its result.

    Args:
      cases: those that have a dump, taken as they are needed.
      memory: bytes to hold at one time, about.
      devices: over which batches are spread; None is all local ones.
    """
    checks = Checks(memory, devices)
    for case in cases:
        checks.add(case)
        yield from checks.ready()
    checks.finish()
    yield from checks.ready()


class Checks:
    """Dumps on their way: cases go in, results come out in the same order."""

    def __init__(self, memory: int = MEMORY, devices: Any = None):
        self._run = Run(memory, devices)
        self._position = itertools.count()
        self._waiting: deque[_Check] = deque()
        self._done: deque[np.ndarray] = deque()
        self._since = time.perf_counter()

    def add(self, case: Case) -> None:
        """Read the buffers of a case, and have its move run before long."""
        check, jobs = _opened(case)
        self._waiting.append(check)
        while jobs:
            self._run.add(next(self._position), jobs.pop(0))

    def finish(self) -> None:
        """Have all moves run that wait for others of their kind."""
        self._run.finish()

    def ready(self) -> Iterator[Result]:
        """The results that have come, up to the first that has not."""
        self._done.extend(self._run.ready())
        while self._waiting and len(self._done) >= self._waiting[0].jobs:
            check = self._waiting.popleft()
            result = _compared(check, [self._done.popleft() for _ in range(check.jobs)])
            now = time.perf_counter()
            yield dataclasses.replace(result, seconds=now - self._since)
            self._since = now


def _opened(case: Case) -> tuple[_Check, list[Job]]:
    """The move of a case and what it is applied to, or why there is none."""
    missing = {step.instruction for step in case.steps} - REGISTRY.keys()
    if missing:
        return _Check(case, "unsupported", lacking(missing)), []
    if not case.documented:
        only = "holds for chips as built only, which ascjax does not have"
        return _Check(case, "unsupported", only), []
    try:
        dump = read_dump(case)
        sizes = {"src_size": dump.src.size, "dst_size": dump.dst_after.size}
        move = make_move(dataclasses.replace(case, **sizes))
    except DumpError as error:
        return _Check(case, error.status, str(error)), []
    except AscendError as error:
        return _Check(case, "error", f"refused: {error}"), []
    except Exception as error:  # whatever is at fault, the next case is checked
        return _Check(case, "error", one_line(error)), []
    jobs = jobs_of(move, dump)
    kept = dump.dst_before, dump.dst_after
    return _Check(case, "ok", "", move, *kept, len(jobs)), jobs


def jobs_of(move: Move, dump: Dump) -> list[Job]:
    """The move on what the destination held; where nobody kept that, on zeros and on
    ones, so that what is not written differs."""
    if dump.dst_before is not None:
        return [Job(move, dump.src, dump.dst_before)]
    zeros = np.zeros_like(dump.dst_after)
    return [Job(move, dump.src, zeros), Job(move, dump.src, ~zeros)]


def _compared(check: _Check, found: list[np.ndarray]) -> Result:
    """The result of a case that has ended, or whose move ran."""
    case = check.case
    if check.move is None:
        return Result.of(case, check.status, message=check.message)
    wrong = mismatches(check.dst_after, found)
    status, message, first = check.status, "", None
    if wrong.any():
        try:
            src = read_dump(case).src
        except AscendError:  # gone since: it says where the value came from, no more
            src = np.zeros(0, check.dst_after.dtype)
        dump = Dump(src, check.dst_before, check.dst_after)
        status = "mismatch"
        first, message = first_mismatch(check.move, dump, found[0], wrong)
    return Result.of(
        case,
        status,
        elements=wrong.size,
        mismatches=int(wrong.sum()),
        message=message,
        compared=("dump",),
        first=first,
    )


def mismatches(dst_after: np.ndarray, found: list[np.ndarray]) -> np.ndarray:
    """Which elements of a dump are wrong; `found` is what its `jobs_of` came to."""
    wrong = found[0] != dst_after
    if len(found) > 1:
        wrong &= found[0] == found[1]  # written, whatever was there before
    return wrong


def first_mismatch(
    move: Move, dump: Dump, expected: np.ndarray, wrong: np.ndarray
) -> tuple[Mismatch, str]:
    """The first element that differs, and in words: where, what it should be and is."""
    at = int(wrong.argmax())
    position = move.path.split("->")[1] if move.path else None
    bits = move.arrives.bits
    call, written = writer(move.nests, at)
    loops = written.loops
    if len(move.nests) > 1 and loops:
        loops = {"call": call, **loops}
    where = place(at, position, bits, loops)
    digits = max(1, bits // 4)
    want, got = (f"{int(x[at]):#0{digits + 2}x}" for x in (expected, dump.dst_after))
    first = Mismatch.at(at, position, bits, want, got)
    text = f"destination element {where}: expected {want}, got {got}"
    held = np.flatnonzero(dump.src == dump.dst_after[at])
    if dump.dst_before is not None and dump.dst_before[at] == dump.dst_after[at]:
        return first, f"{text}, as it was before"
    if move.conversion is None and held.size == 1:
        source = move.path.split("->")[0] if move.path else None
        text += f", which source element {place(int(held[0]), source, bits)} holds"
    return first, text
