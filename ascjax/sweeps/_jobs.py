"""`run_jobs`: many moves on many buffers, in batches, in order, in bounded memory."""

from __future__ import annotations

import collections
import functools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from .._dtypes import AscendType
from .._errors import BoundsError
from .._move import Move
from .._operands import values_of
from ..instr._convert import Conversion
from ._code import Code, Kind, cannot, encode, kind_of, nop, size_class
from ._program import apply, mapper

MEMORY = 256 * 2**20
"""Bytes that a sweep holds at one time, about."""

_BATCH = 1 << 18  # elements of one batch on one device
_IN_FLIGHT = 2  # batches that run while the host makes the next ones
_MOST_CALLS = 256


class Job(NamedTuple):
    """A move, and the bits of its operands.

    Attributes:
      move: what to apply.
      src, dst: what the buffers hold, one unsigned integer of the type's width for each
        element (of uint8 where it has 4 bits): (move.src_size,), (move.dst_size,).
    """

    move: Move
    src: np.ndarray
    dst: np.ndarray


class _Class(NamedTuple):
    """What jobs of one batch have in common."""

    kind: Kind
    calls: int
    last: bool
    src: int
    dst: int
    bits: int
    conversion: tuple[AscendType, Conversion] | None

    @property
    def elements(self) -> int:
        return max(self.src, self.dst)


class _Coded(NamedTuple):
    """A job that waits for its batch."""

    position: int
    job: Job
    codes: list[Code]


def run_jobs(
    jobs: Iterable[Job], *, memory: int = MEMORY, devices: Any = None
) -> Iterator[np.ndarray]:
    """What each job's destination holds after its move, as bits, in the jobs' order.

    A few compiled programs serve all jobs; one that none of them can run, such as a
    buffer of more than 2^22 elements, is applied by NumPy.

    Args:
      jobs: taken as they are needed.
      memory: bytes to hold at one time, about; at least one batch is held.
      devices: over which batches are spread; None is all local ones.

    >>> import ascjax as asc
    >>> p = asc.LoadData2DParams(start_index=1, repeat_times=1)
    >>> move = asc.Move.of(p, dtype="half", src_size=512)
    >>> job = Job(move, np.arange(512, dtype="uint16"), np.zeros(256, "uint16"))
    >>> [after[:2].tolist() for after in run_jobs([job, job])]
    [[256, 257], [256, 257]]
    """
    run = _Run(memory, devices)
    for position, job in enumerate(jobs):
        run.add(position, job)
        yield from run.ready()
    run.finish()
    yield from run.ready()


class _Run:
    """Jobs that wait, batches that run, results that wait for earlier ones."""

    def __init__(self, memory: int, devices: Any):
        self.memory, self.spread = memory, _Spread(devices)
        self.waiting: dict[_Class, list[_Coded]] = {}
        self.flying: collections.deque = collections.deque()
        self.done: dict[int, np.ndarray] = {}
        self.next = 0
        self.held = 0

    def add(self, position: int, job: Job) -> None:
        coded = _coded(job)
        if coded is None:
            self._keep(position, _on_host(job))
            return
        one, codes = coded
        waiting = self.waiting.setdefault(one, [])
        waiting.append(_Coded(position, job, codes))
        self.held += _bytes(job)
        if len(waiting) >= self._most(one):
            self._launch(one)
        while self.held > self.memory and (self.waiting or self.flying):
            self._let_go()

    def _keep(self, position: int, after: np.ndarray) -> None:
        self.done[position] = after
        self.held += after.nbytes

    def ready(self) -> Iterator[np.ndarray]:
        while self.next in self.done:
            after = self.done.pop(self.next)
            self.held -= after.nbytes
            self.next += 1
            yield after

    def finish(self) -> None:
        while self.waiting or self.flying:
            self._let_go()

    def _most(self, one: _Class) -> int:
        """Jobs of a full batch."""
        each = min(_BATCH, self.memory // 128) // one.elements
        return self.spread.count * max(1, each)

    def _let_go(self) -> None:
        """Start the batch that the next result waits for, or bring in one that runs."""
        if self.waiting:
            oldest = min(self.waiting, key=lambda one: self.waiting[one][0].position)
            if not self.flying or self.waiting[oldest][0].position == self.next:
                self._launch(oldest)
        self._land()

    def _launch(self, one: _Class) -> None:
        jobs = self.waiting.pop(one)
        most = self._most(one)
        for first in range(0, len(jobs), most):
            part = jobs[first : first + most]
            self.flying.append((part, _start(one, part, most, self.spread)))
        while len(self.flying) > _IN_FLIGHT:
            self._land()

    def _land(self) -> None:
        part, after = self.flying.popleft()
        rows = _joined(np.asarray(after))
        for row, (position, job, _) in zip(rows, part, strict=False):
            self._keep(position, row[: job.move.dst_size].copy())
            self.held -= _bytes(job)


class _Spread:
    """Batches over devices, the same number of jobs on each."""

    def __init__(self, devices: Any):
        devices = jax.local_devices() if devices is None else list(devices)
        self.count = len(devices)
        mesh = Mesh(np.array(devices), ("jobs",))
        self.sharding = NamedSharding(mesh, PartitionSpec("jobs"))

    def put(self, batch: np.ndarray) -> jax.Array:
        return jax.device_put(batch, self.sharding)


def _bytes(job: Job) -> int:
    return job.src.nbytes + job.dst.nbytes


def _coded(job: Job) -> tuple[_Class, list[Code]] | None:
    """The class and the codes of a job; None where no program runs it."""
    move = job.move
    try:
        codes = _codes(move)
        kind = kind_of(codes)
        if kind is None or len(codes) > _MOST_CALLS:
            return None
        src, dst = (max(1, size) for size in (move.src_size, move.dst_size))
        if max(src, dst) > size_class(1 << 22):
            raise cannot("have buffers of at most 2^22 elements", max(src, dst))
    except BoundsError:
        return None
    volume = max(code.volume for code in codes)
    one = _Class(
        kind,
        1 << (len(codes) - 1).bit_length(),
        move.overlap == "last",
        size_class(src),
        size_class(max(dst, volume)),
        max(8, move.arrives.bits),
        None if move.conversion is None else (move.type, move.conversion),
    )
    return one, [code.widened(kind) for code in codes]


def _codes(move: Move) -> list[Code]:
    """A code for each call that writes; one where none does."""
    live = [nest for nest in move.nests if nest.volume] or list(move.nests[:1])
    return [encode(nest) for nest in live]


def _start(
    one: _Class, part: Sequence[_Coded], most: int, spread: _Spread
) -> jax.Array:
    """A batch on its way: what the destinations hold after."""
    numbers = np.empty((most, one.calls, one.kind.length), np.int32)
    numbers[:] = nop(one.kind).numbers
    word = f"uint{min(one.bits, 32)}"
    fills = np.zeros((most, one.calls, *_words(one.bits)), word)
    src_bits = one.bits if one.conversion is None else max(8, one.conversion[0].bits)
    src = np.zeros((most, one.src), f"uint{src_bits}")
    dst = np.zeros((most, one.dst), f"uint{one.bits}")
    for k, (_, job, codes) in enumerate(part):
        numbers[k, : len(codes)] = [code.numbers for code in codes]
        fills[k, : len(codes)] = _fills(job.move, one.bits)
        src[k, : job.src.size] = job.src
        dst[k, : job.dst.size] = job.dst
    index = mapper(one.kind, one.dst, one.last)(spread.put(numbers))
    values = spread.put(_split(src))
    if one.conversion is not None:
        values = _converter(*one.conversion)(values)
    return apply(index, values, spread.put(_split(dst)), spread.put(fills))


def _fills(move: Move, bits: int) -> np.ndarray:
    """Each live call's padding, in words."""
    live = [
        fill
        for nest, fill in zip(move.nests, move.fills_by_call, strict=True)
        if nest.volume
    ]
    held = np.array(live or [0], object) & ((1 << bits) - 1)
    return _split(held.astype(f"uint{bits}"))


def _words(bits: int) -> tuple[int, ...]:
    return (2,) if bits == 64 else ()


def _split(x: np.ndarray) -> np.ndarray:
    """Elements of 64 bits as two words, which need no 64-bit types of JAX."""
    return x.view("uint32").reshape(*x.shape, 2) if x.dtype == np.uint64 else x


def _joined(x: np.ndarray) -> np.ndarray:
    if x.ndim == 3:
        return np.ascontiguousarray(x).view("uint64")[..., 0]
    return x


@functools.lru_cache(maxsize=64)
def _converter(type: AscendType, conversion: Conversion):
    """Bits of values of a type to bits of what they become."""

    def convert(bits: jax.Array) -> jax.Array:
        values = conversion(values_of(bits, type))
        width = f"uint{conversion.type.bits}"
        return jax.lax.bitcast_convert_type(values, jnp.dtype(width))

    return jax.jit(convert)


def _on_host(job: Job) -> np.ndarray:
    """The move by its map, in NumPy."""
    move, src = job.move, job.src
    if move.conversion is not None:
        src = np.asarray(_converter(move.type, move.conversion)(jnp.asarray(src)))
    return move.index_map.apply(src, job.dst, fill=_host_fills(move, job.dst.dtype))


def _host_fills(move: Move, dtype: np.dtype) -> list[Any]:
    mask = (1 << 8 * dtype.itemsize) - 1
    return [dtype.type(bits & mask) for bits in move.fills]
