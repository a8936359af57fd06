"""`run_jobs`: many moves on many buffers, in batches, in order, in bounded memory."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from .._errors import BoundsError
from ._batch import Class, Coded, Job, Spread, coded, finish, on_host, start

MEMORY = 256 * 2**20
"""Bytes that a sweep holds at one time, about."""

_BATCH = 1 << 18  # elements of one batch on one device
_EACH = 128  # bytes for an element of a batch: operands, map and result, in flight
_IN_FLIGHT = 2  # batches that run while the host makes the next ones


def run_jobs(
    jobs: Iterable[Job], *, memory: int = MEMORY, devices: Any = None
) -> Iterator[np.ndarray]:
    """What each job's destination holds after its move, as bits, in the jobs' order.

    A few compiled programs serve all jobs; one that none of them can run, such as a
    call of more than 2^22 elements, is applied by NumPy.

    Args:
      jobs: taken as they are needed; operands may be changed once a job is taken.
      memory: bytes to hold at one time, about; at least one batch is held.
      devices: over which batches are spread; None is all local ones.
    Raises:
      BoundsError: operands that are not of the move's sizes (elements) or width.

    >>> import ascjax as asc
    >>> p = asc.LoadData2DParams(start_index=1, repeat_times=1)
    >>> move = asc.Move.of(p, dtype="half", src_size=512)
    >>> job = Job(move, np.arange(512, dtype="uint16"), np.zeros(256, "uint16"))
    >>> [after[:2].tolist() for after in run_jobs([job, job])]
    [[256, 257], [256, 257]]
    """
    run = Run(memory, devices)
    for position, job in enumerate(jobs):
        run.add(position, job)
        yield from run.ready()
    run.finish()
    yield from run.ready()


class Run:
    """Jobs that wait, batches that run, results that wait for earlier ones."""

    def __init__(self, memory: int, devices: Any):
        self.memory, self.spread = memory, Spread(devices)
        self.waiting: dict[Class, list[Coded]] = {}
        self.flying: collections.deque = collections.deque()
        self.done: dict[int, np.ndarray] = {}
        self.next = 0
        self.held = 0

    def add(self, position: int, job: Job) -> None:
        _check(job)
        found = coded(position, job)
        if found is None:
            self.done[position] = after = on_host(job)
            self.held += after.nbytes
        else:
            one, waits = found
            waiting = self.waiting.setdefault(one, [])
            waiting.append(waits)
            self.held += waits.nbytes
            if len(waiting) >= self.most(one):
                self._launch(one)
        while self.held > self.memory and (self.waiting or self.flying):
            self._let_go()

    def ready(self) -> Iterator[np.ndarray]:
        while self.next in self.done:
            after = self.done.pop(self.next)
            self.held -= after.nbytes
            self.next += 1
            yield after

    def finish(self) -> None:
        while self.waiting or self.flying:
            self._let_go()

    def most(self, one: Class) -> int:
        """Jobs of a full batch, a multiple of the devices."""
        room = self.memory // (_EACH * self.spread.count)
        return self.spread.count * max(1, min(_BATCH, room) // one.elements)

    def _let_go(self) -> None:
        """Start the batch that the next result waits for, or bring in one that runs."""
        if self.waiting:
            oldest = min(self.waiting, key=lambda one: self.waiting[one][0].position)
            if not self.flying or self.waiting[oldest][0].position == self.next:
                self._launch(oldest)
        self._land()

    def _launch(self, one: Class) -> None:
        part, most = self.waiting.pop(one), self.most(one)
        self.flying.append((part, start(one, part, most, self.spread)))
        while len(self.flying) > _IN_FLIGHT:
            self._land()

    def _land(self) -> None:
        part, after = self.flying.popleft()
        finish(part, after)
        for job in part:
            self.done[job.position] = job.after
            self.held -= job.nbytes - job.after.nbytes


def _check(job: Job) -> None:
    """Raise BoundsError where operands are not the move's."""
    move = job.move
    for field, size, type in (
        ("src", move.src_size, move.type),
        ("dst", move.dst_size, move.arrives),
    ):
        held, width = getattr(job, field), max(8, type.bits)
        if held.shape != (size,) or held.dtype != f"uint{width}":
            rule = f"be the bits of {size} elements of {type}, as uint{width}"
            got = f"{held.dtype} of shape {held.shape}"
            fix = "Pass the operands that the move was made for."
            source = "instructions.md, Units"
            raise BoundsError("run_jobs", field, rule, got, fix, source)
