"""What a dump's destination holds, as the source elements that it may be from."""

from __future__ import annotations

import numpy as np

from .._move import Move
from .._nest import FILL, KEEP
from ..dumps._check import jobs_of, mismatches
from ..sweeps._dump import Dump
from ..sweeps._jobs import run_jobs
from ._sheet import OTHER


def codes_of_dump(move: Move, dump: Dump) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What a move leaves, what a dump holds, each by source element, KEEP, FILL or
    OTHER, and which elements differ."""
    ran = list(run_jobs(jobs_of(move, dump)))
    wrong = mismatches(dump.dst_after, ran)
    expected = np.maximum(move.index_map.index, FILL)
    return expected, got_of(move, dump, expected, wrong), wrong


def got_of(
    move: Move,
    dump: Dump,
    expected: np.ndarray,
    wrong: np.ndarray,
    part: slice = slice(None),
) -> np.ndarray:
    """What a part of a dump holds; `expected` and `wrong` are of the same part."""
    bits = dump.dst_after[part]
    got = np.where(wrong, OTHER, expected)
    if move.conversion is None:
        got[wrong] = _sources(dump.src, bits[wrong])
    if dump.dst_before is not None:
        got[wrong & (bits == dump.dst_before[part])] = KEEP
    return got


def _sources(src: np.ndarray, bits: np.ndarray) -> np.ndarray:
    """The source element that holds each of some bits; OTHER where there is
    no such, or several."""
    held, first, counts = np.unique(src, return_index=True, return_counts=True)
    if not held.size:
        return np.full(bits.shape, OTHER)
    place = np.minimum(np.searchsorted(held, bits), held.size - 1)
    found = (held[place] == bits) & (counts[place] == 1)
    return np.where(found, first[place], OTHER)
