"""What explains a dump without another call."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from .._fill import Constant
from .._move import Move
from .._nest import FILL, KEEP
from ..sweeps._batch import Job
from ..sweeps._dump import Dump
from ..sweeps._jobs import run_jobs
from ._explanation import Explanation

_CHANCE = 0.1
"""Of the elements that a move takes from another source, as many may be right by
chance."""


def _told(said: str, size: int, wrong: int = 0) -> Explanation:
    return Explanation("damage", said, None, wrong, size)


def plainer(move: Move, expected: np.ndarray, dump: Dump) -> Iterator[Explanation]:
    """What is plainer than any other call: nothing ran, files were exchanged, the
    order inside elements or bytes is another, padding has another value."""
    before, after = dump.dst_before, dump.dst_after
    if before is not None and np.array_equal(before, after):
        yield _told("nothing had been written", after.size)
    if before is not None and _exchanged(move, dump):
        yield _told("dst_before and dst_after were exchanged", after.size)
    yield from _padded(move, expected, after)
    if before is None:  # what is not written says nothing
        return
    if after.dtype.itemsize > 1 and np.array_equal(expected.byteswap(), after):
        said = "the bytes of each element were in reverse order"
        yield _told(said, after.size)
    if move.arrives.bits <= 8 and np.array_equal(_nibbles(expected, move), after):
        yield _told("the two halves of each byte were exchanged", after.size)


def _exchanged(move: Move, dump: Dump) -> bool:
    """Whether the move makes dst_before of dst_after."""
    if dump.dst_before is None or not dump.dst_after.any():
        return False
    (left,) = run_jobs([Job(move, dump.src, dump.dst_after)])
    return np.array_equal(left, dump.dst_before)


def _nibbles(x: np.ndarray, move: Move) -> np.ndarray:
    """The halves of each byte exchanged; 4-bit elements have an entry each."""
    if move.arrives.bits == 8:
        return x << 4 | x >> 4
    even = x[: x.size // 2 * 2].reshape(-1, 2)[:, ::-1].reshape(-1)
    return np.concatenate([even, x[even.size :]])


def _padded(
    move: Move, expected: np.ndarray, after: np.ndarray
) -> Iterator[Explanation]:
    """Another padding value, where all that is wrong is padding."""
    wrong = np.flatnonzero(expected != after)
    codes = move.index_map.index
    filled = np.flatnonzero(codes <= FILL)
    if not (codes[wrong] <= FILL).all() or np.unique(after[filled]).size != 1:
        return
    found = after[filled][:1]
    call = move.calls[0].params
    named = [f.name for f in dataclasses.fields(call) if f.metadata.get("constant")]
    changed = call
    if len(named) == 1 and len(move.calls) == 1:
        value = Constant.of(found.view(move.type.carrier)[0])
        changed = dataclasses.replace(call, **{named[0]: value})
    said = f"the padding value had the bits {int(found[0]):#x}"
    yield Explanation("padding", said, changed, 0, after.size)


def damage(move: Move, expected: np.ndarray, dump: Dump) -> Iterator[Explanation]:
    """What explains a dump that no other call does: the calls stopped early, a few
    elements are damaged, or the source was another one."""
    before, after = dump.dst_before, dump.dst_after
    wrong = expected != after
    orders = [nest.addresses()[0] for nest in move.nests if nest.volume]
    order = np.concatenate([np.zeros(0, np.int64), *orders])
    reached = int(wrong[order].argmax()) if order.size else 0
    rest, outside = order[reached:], np.ones(after.size, bool)
    outside[order] = False
    stopped = before is not None and np.array_equal(after[rest], before[rest])
    if stopped and not wrong[outside].any():
        said = f"it had stopped after {reached} of {order.size} elements written"
        yield _told(said, after.size)
        return
    count = int(wrong.sum())
    if count <= max(4, after.size // 64):
        flipped = int(np.bitwise_count(expected[wrong] ^ after[wrong]).sum())
        said = f"{count} elements were damaged ({flipped} bits)"
        yield _told(said, after.size, count)
    if _from_another(move, after, wrong):
        read = int((move.index_map.index > KEEP).sum())
        said = (
            f"the source was another one: of {read} elements taken from it {count} "
            "are wrong, and nothing else is"
        )
        yield _told(said, after.size, count)


def _from_another(move: Move, after: np.ndarray, wrong: np.ndarray) -> bool:
    """Whether some other source would explain all: only what is read from it is wrong,
    nearly all of that, and what stems from one element of it is alike."""
    codes = move.index_map.index
    read = codes > KEEP
    if wrong[~read].any() or wrong[read].mean() < 1 - _CHANCE:
        return False
    source = np.zeros(move.src_size, after.dtype)
    source[codes[read]] = after[read]
    return np.array_equal(source[codes[read]], after[read])
