"""One batch: jobs of one class, each narrowed to what it reads and writes, on its way
through the compiled programs."""

from __future__ import annotations

import functools
from collections.abc import Sequence
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
from ._code import MOST, Kind, cannot, encode, kind_of, nop, size_class
from ._program import apply, mapper

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


class Class(NamedTuple):
    """What jobs of one batch have in common: the programs that run it, and the sizes of
    its buffers (elements)."""

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


class Coded(NamedTuple):
    """A job that waits for its batch.

    Attributes:
      position: its place among all jobs.
      numbers: (calls, kind.length) int32.
      fills: the bits of each call's padding, in words.
      src: a copy of what it reads, from the first element to the last.
      after: a copy of the whole destination, to be filled in.
      written: where in `after`, from the first element to the last.
    """

    position: int
    numbers: np.ndarray
    fills: np.ndarray
    src: np.ndarray
    after: np.ndarray
    written: slice

    @property
    def nbytes(self) -> int:
        return self.numbers.nbytes + self.src.nbytes + self.after.nbytes


class Spread:
    """Batches over devices, the same number of jobs on each."""

    def __init__(self, devices: Any):
        devices = jax.local_devices() if devices is None else list(devices)
        self.count = len(devices)
        mesh = Mesh(np.array(devices), ("jobs",))
        self.sharding = NamedSharding(mesh, PartitionSpec("jobs"))

    def put(self, batch: np.ndarray) -> jax.Array:
        return jax.device_put(batch, self.sharding)


def coded(position: int, job: Job) -> tuple[Class, Coded] | None:
    """A job for its batch; None where no program runs it."""
    move = job.move
    live = [k for k, nest in enumerate(move.nests) if nest.volume]
    if not 0 < len(live) <= _MOST_CALLS:
        return None
    nests = [move.nests[k] for k in live]
    try:
        reads = _span([span for nest in nests if (span := nest.src_range())])
        writes = _span([nest.dst_range() for nest in nests])
        _check_room(reads, writes)
        codes = [encode(nest.shift(-reads.start, -writes.start)) for nest in nests]
        kind = kind_of(codes)
        if kind is None:
            return None
    except BoundsError:
        return None
    numbers = np.array([code.widened(kind).numbers for code in codes], np.int32)
    bits = max(8, move.arrives.bits)
    fills = [move.fills_by_call[k] & ((1 << bits) - 1) for k in live]
    one = Class(
        kind,
        1 << (len(codes) - 1).bit_length(),
        move.overlap == "last",
        size_class(reads.stop - reads.start),
        size_class(max(writes.stop - writes.start, *(code.volume for code in codes))),
        bits,
        None if move.conversion is None else (move.type, move.conversion),
    )
    words = _split(np.array(fills, f"uint{bits}"))
    src, after = job.src[reads].copy(), job.dst.copy()
    return one, Coded(position, numbers, words, src, after, writes)


def _span(spans: Sequence[tuple[int, int]]) -> slice:
    """From the first element of all spans to the last; empty where there are none."""
    if not spans:
        return slice(0, 0)
    lows, highs = zip(*spans, strict=True)
    return slice(min(lows), max(highs) + 1)


def _check_room(*spans: slice) -> None:
    for span in spans:
        if span.stop - span.start > MOST:
            raise cannot(f"reach over at most {MOST} elements", span)


def start(one: Class, part: Sequence[Coded], most: int, spread: Spread) -> jax.Array:
    """A batch of `most` jobs, fewer of them real, on its way: what the destinations
    hold after, (most, one.dst), of 64 bits as two words each."""
    numbers = np.empty((most, one.calls, one.kind.length), np.int32)
    numbers[:] = nop(one.kind).numbers
    words = (2,) if one.bits == 64 else ()
    fills = np.zeros((most, one.calls, *words), f"uint{min(one.bits, 32)}")
    src_bits = one.bits if one.conversion is None else max(8, one.conversion[0].bits)
    src = np.zeros((most, one.src), f"uint{src_bits}")
    dst = np.zeros((most, one.dst), f"uint{one.bits}")
    for k, job in enumerate(part):
        numbers[k, : len(job.numbers)] = job.numbers
        fills[k, : len(job.fills)] = job.fills
        src[k, : job.src.size] = job.src
        before = job.after[job.written]
        dst[k, : before.size] = before
    index = mapper(one.kind, one.dst, one.last)(spread.put(numbers))
    values = spread.put(_split(src))
    if one.conversion is not None:
        values = _converter(*one.conversion)(values)
    return apply(index, values, spread.put(_split(dst)), spread.put(fills))


def finish(part: Sequence[Coded], after: jax.Array) -> None:
    """Fill in what a batch has brought."""
    for row, job in zip(_joined(np.asarray(after)), part, strict=False):
        into = job.after[job.written]
        into[:] = row[: into.size]


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


def on_host(job: Job) -> np.ndarray:
    """The move by its map, in NumPy."""
    move, src = job.move, job.src
    if not any(nest.volume for nest in move.nests):
        return job.dst.copy()
    if move.conversion is not None:
        src = np.asarray(_converter(move.type, move.conversion)(jnp.asarray(src)))
    mask = (1 << 8 * job.dst.itemsize) - 1
    fills = [job.dst.dtype.type(bits & mask) for bits in move.fills]
    return move.index_map.apply(src, job.dst, fill=fills)
