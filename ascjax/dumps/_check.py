"""Dumps against the moves that they claim to be: thousands of them, a few programs."""

from __future__ import annotations

import dataclasses
import time
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from .._dtypes import ascend_type
from .._errors import AscendError
from .._move import Move
from ..instr import REGISTRY
from ..sweeps._batch import Job
from ..sweeps._jobs import MEMORY, run_jobs
from ..verify._cases import Case
from ..verify._check import one_line
from ..verify._engine import calls_of, make_move
from ..verify._result import Result, Status, place
from ..verify._why import writer
from ._read import Dump, DumpError, read_dump


@dataclasses.dataclass
class _Check:
    """A case on its way: its result, once it has ended, or its move and buffers."""

    case: Case
    status: Status | None = None
    message: str = ""
    move: Move | None = None
    dump: Dump | None = None


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
    waiting: deque[_Check] = deque()

    def jobs() -> Iterator[Job]:
        for case in cases:
            check = _opened(case)
            waiting.append(check)
            if check.move is not None and check.dump is not None:
                yield from jobs_of(check.move, check.dump)

    started = time.perf_counter()
    ran = run_jobs(jobs(), memory=memory, devices=devices)
    last = object()
    while True:
        after = next(ran, last)
        while waiting and waiting[0].move is None:
            yield _ended(waiting.popleft())
        if after is last:
            return
        check = waiting.popleft()
        found: Any = [after]
        if check.dump is not None and check.dump.dst_before is None:
            found.append(next(ran))
        now = time.perf_counter()
        yield dataclasses.replace(_compared(check, found), seconds=now - started)
        started = time.perf_counter()


def _opened(case: Case) -> _Check:
    """The move and the buffers of a case, or why there are none."""
    missing = {step.instruction for step in case.steps} - REGISTRY.keys()
    if missing:
        said = f"ascjax has no {', '.join(sorted(missing))}"
        return _Check(case, "unsupported", said)
    if not case.documented:
        only = "holds for chips as built only, which ascjax does not have"
        return _Check(case, "unsupported", only)
    try:
        params = calls_of(case)[0].params
        type = params.counted(ascend_type(case.dtype))
        conversion = params.conversion(type)
        arrives = conversion.type if conversion else type
        dump = read_dump(case, type, arrives)
        sized = dataclasses.replace(
            case, src_size=dump.src.size, dst_size=dump.dst_after.size
        )
        return _Check(sized, move=make_move(sized), dump=dump)
    except DumpError as error:
        return _Check(case, error.status, str(error))
    except AscendError as error:
        return _Check(case, "error", f"refused: {error}")
    except Exception as error:  # whatever is at fault, the next case is checked
        return _Check(case, "error", one_line(error))


def jobs_of(move: Move, dump: Dump) -> Iterator[Job]:
    """The move on what the destination held; where nobody kept that, on zeros and on
    ones, so that what is not written differs."""
    if dump.dst_before is not None:
        yield Job(move, dump.src, dump.dst_before)
        return
    zeros = np.zeros_like(dump.dst_after)
    yield Job(move, dump.src, zeros)
    yield Job(move, dump.src, ~zeros)


def _ended(check: _Check) -> Result:
    case = check.case
    status = check.status or "error"
    return Result(
        case.id, case.instruction, status, message=check.message, file=case.file
    )


def _compared(check: _Check, found: list[np.ndarray]) -> Result:
    """The result of a dump whose move ran."""
    case, move, dump = check.case, check.move, check.dump
    if move is None or dump is None:
        return _ended(check)
    wrong, message = difference(move, dump, found)
    return Result(
        case.id,
        case.instruction,
        "mismatch" if message else "ok",
        elements=wrong.size,
        mismatches=int(wrong.sum()),
        message=message,
        file=case.file,
        compared=("dump",),
    )


def difference(
    move: Move, dump: Dump, found: list[np.ndarray]
) -> tuple[np.ndarray, str]:
    """Which elements of a dump are wrong, and the first of them in words; "" for none.

    `found` is what `jobs_of` the move came to.
    """
    expected = found[0]
    wrong = expected != dump.dst_after
    if len(found) > 1:
        wrong &= expected == found[1]  # written, whatever was there before
    first = _said(move, dump, expected, int(wrong.argmax())) if wrong.any() else ""
    return wrong, first


def _said(move: Move, dump: Dump, expected: np.ndarray, at: int) -> str:
    """The first element that differs, in words: where, what it should be and is."""
    position = move.path.split("->")[1] if move.path else None
    bits = move.arrives.bits
    call, written = writer(move.nests, at)
    loops = written.loops
    if len(move.nests) > 1 and loops:
        loops = {"call": call, **loops}
    where = place(at, position, bits, loops)
    digits = max(1, bits // 4)
    want, got = (f"{int(x[at]):#0{digits + 2}x}" for x in (expected, dump.dst_after))
    text = f"destination element {where}: expected {want}, got {got}"
    held = np.flatnonzero(dump.src == dump.dst_after[at])
    if dump.dst_before is not None and dump.dst_before[at] == dump.dst_after[at]:
        return f"{text}, as it was before"
    if move.conversion is None and held.size == 1:
        source = move.path.split("->")[0] if move.path else None
        text += f", which source element {place(int(held[0]), source, bits)} holds"
    return text
