"""What explains a dump without another call."""

from __future__ import annotations

import numpy as np

from .._move import Move
from ..sweeps._dump import Dump
from ._explanation import Explanation


def _told(said: str, size: int, wrong: int = 0) -> Explanation:
    return Explanation("damage", said, None, wrong, size)


def untouched(
    expected: np.ndarray, before: np.ndarray, after: np.ndarray
) -> list[Explanation]:
    """What is plainer than any other call: nothing ran, or bytes are in another
    order."""
    if np.array_equal(before, after):
        return [_told("nothing had been written", after.size)]
    if after.dtype.itemsize > 1 and np.array_equal(expected.byteswap(), after):
        said = "the bytes of each element were in reverse order"
        return [_told(said, after.size)]
    return []


def damage(move: Move, expected: np.ndarray, dump: Dump) -> list[Explanation]:
    """What explains a dump that no other call does: the call stopped early, or a few
    elements are damaged."""
    before, after = dump.dst_before, dump.dst_after
    wrong = expected != after
    order = move.nests[0].addresses()[0] if move.nests[0].volume else np.zeros(0, int)
    reached = int(wrong[order].argmax()) if order.size else 0
    rest, outside = order[reached:], np.ones(after.size, bool)
    outside[order] = False
    stopped = before is not None and np.array_equal(after[rest], before[rest])
    if stopped and not wrong[outside].any():
        said = f"it had stopped after {reached} of {order.size} elements written"
        return [_told(said, after.size)]
    count = int(wrong.sum())
    if count <= max(4, after.size // 64):
        flipped = int(np.bitwise_count(expected[wrong] ^ after[wrong]).sum())
        said = f"{count} elements were damaged ({flipped} bits)"
        return [_told(said, after.size, count)]
    return []
