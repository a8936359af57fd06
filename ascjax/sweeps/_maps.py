"""The maps of many calls by the compiled program: a third way to a map."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from ._code import MOST, Code, Kind, cannot, nop, size_class
from ._program import mapper

_BATCH = 1 << 18  # elements of one batch of calls


@functools.cache
def compiled(kind: Kind, size: int):
    """(calls of a batch, the program of their maps) for destinations of `size`."""
    batch = max(1, _BATCH // size)
    shape = jax.ShapeDtypeStruct((batch, 1, kind.length), jnp.int32)
    return batch, mapper(kind, size, False).lower(shape).compile()


def class_of(code: Code, dst_size: int) -> tuple[Kind, int]:
    """The program that a call needs.

    Raises:
      BoundsError: for a destination of more than 2^22 elements.
    """
    if dst_size > MOST:
        raise cannot(f"write into at most {MOST} elements", dst_size)
    return code.kind, size_class(max(code.volume, dst_size))


def maps(
    codes: Sequence[Code], dst_sizes: Sequence[int]
) -> Iterator[tuple[int, np.ndarray]]:
    """The maps of many calls, as pairs of position and `IndexMap.index`.

    They come grouped by size, not in order. A call must not write an element twice.

    Args:
      codes: from `encode`.
      dst_sizes: elements of each destination.

    >>> from ascjax import LoopNest
    >>> from ascjax.sweeps._code import encode
    >>> nest = LoopNest.strided(0, 1, ("r", 2, 1, 3), ("c", 3, 2, 1))
    >>> [(k, index.tolist()) for k, index in maps([encode(nest)], [8])]
    [(0, [-1, 0, 2, 4, 1, 3, 5, -1])]
    """
    groups: dict[tuple[Kind, int], list[int]] = {}
    for k, (code, dst_size) in enumerate(zip(codes, dst_sizes, strict=True)):
        groups.setdefault(class_of(code, dst_size), []).append(k)
    for (kind, size), members in groups.items():
        batch, run = compiled(kind, size)
        for first in range(0, len(members), batch):
            part = members[first : first + batch]
            numbers = np.empty((batch, 1, kind.length), np.int32)
            numbers[:] = nop(kind).numbers
            for row, k in zip(numbers, part, strict=False):
                row[0] = codes[k].numbers
            rows = np.asarray(run(numbers))
            yield from ((k, rows[j, : dst_sizes[k]]) for j, k in enumerate(part))
