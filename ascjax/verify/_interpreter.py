"""One compiled program that runs any nest: a third way to a map, and a fast one.

A nest becomes a few int32 arrays, so that all nests of about one size share one
compilation, and thousands run in a second.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from .._errors import BoundsError
from .._nest import FILL, KEEP, LoopNest

_LOOPS = 8
_MODES = {"none": 0, "clamp": 1, "fill": 2}
_LEAST, _MOST = 1 << 10, 1 << 22  # elements of one case
_BATCH = 1 << 18  # elements of one batch of cases

Code = dict[str, np.ndarray]


def encode(nest: LoopNest) -> Code:
    """A nest as int32 arrays: loops of one iteration dropped, the rest padded to 8.

    A stride that only ever meets index 0 vanishes here, however large.

    Raises:
      BoundsError: where a number does not fit int32, or the nest has more than 8 loops
        or writes more than 2^22 elements.
    """
    live = [k for k, loop in enumerate(nest.loops) if loop.extent != 1]
    src_start, dst_start, rows = nest.src_start, nest.dst_start, []
    for coord in nest.coords:
        terms = [coord.terms[k] for k in live]
        if coord.extent is None and not any(terms):
            src_start += coord.offset * coord.stride
            continue
        stride = 0 if coord.extent == 1 else coord.stride
        mode = _MODES["none" if coord.extent is None else coord.outside]
        rows.append((terms, stride, coord.offset, coord.extent or 0, mode))
    if nest.volume == 0:
        live, rows, src_start, dst_start = [], [], 0, 0
    if max(len(live), len(rows)) > _LOOPS:
        raise _cannot(f"have at most {_LOOPS} loops and coordinates", nest)
    if nest.volume > _MOST:
        raise _cannot(f"write at most {_MOST} elements", nest.volume)

    def pad(values: Iterable[int], padding: int = 0) -> list[int]:
        values = list(values)
        return values + [padding] * (_LOOPS - len(values))

    exact = {
        "volume": nest.volume,
        "extent": pad((nest.loops[k].extent for k in live), 1),
        "dst_stride": pad(nest.loops[k].dst_stride for k in live),
        "dst_start": dst_start,
        "src_start": src_start,
        "terms": [pad(row[0]) for row in rows] + [pad(())] * (_LOOPS - len(rows)),
        "src_stride": pad(row[1] for row in rows),
        "offset": pad(row[2] for row in rows),
        "limit": pad(row[3] for row in rows),
        "mode": pad(row[4] for row in rows),
    }
    try:
        return {name: np.array(value, np.int32) for name, value in exact.items()}
    except OverflowError:
        raise _cannot("have strides and starts that fit int32", nest) from None


def _cannot(rule: str, got: object) -> BoundsError:
    fix = "Compare this map with the oracle alone."
    return BoundsError("interpreter", "nest", rule, got, fix)


def _run(code: dict[str, jax.Array], size: int) -> jax.Array:
    """The map of one nest, in a destination of `size` elements."""
    step = rest = jnp.arange(size, dtype=jnp.int32)
    dst, value = code["dst_start"], code["offset"][:, None]
    for k in reversed(range(_LOOPS)):
        extent = code["extent"][k]
        # rest // extent: exact below 2^22, and 10 times as fast as integers on CPU
        half_on = rest.astype(jnp.float32) + np.float32(0.5)
        outer = (half_on / extent.astype(jnp.float32)).astype(jnp.int32)
        rest, index = outer, rest - outer * extent
        dst = dst + index * code["dst_stride"][k]
        value = value + code["terms"][:, k, None] * index
    mode, limit = code["mode"][:, None], code["limit"][:, None]
    nearest = jnp.clip(value, 0, limit - 1)
    padding = ((mode == _MODES["fill"]) & (value != nearest)).any(0)
    value = jnp.where(mode == _MODES["none"], value, nearest)
    src = code["src_start"] + (value * code["src_stride"][:, None]).sum(0)
    dst = jnp.where(step < code["volume"], dst, size)
    kept = jnp.full(size, KEEP, jnp.int32)
    return kept.at[dst].set(jnp.where(padding, FILL, src), mode="drop")


@functools.cache
def compiled(size: int):
    """The interpreter of nests of at most `size` elements, for a batch of codes."""
    batch = max(1, _BATCH // size)
    code = encode(LoopNest.nop())
    shapes = {
        name: jax.ShapeDtypeStruct((batch, *array.shape), jnp.int32)
        for name, array in code.items()
    }
    run = jax.vmap(functools.partial(_run, size=size))
    return batch, jax.jit(run).lower(shapes).compile()


def size_of(code: Code, dst_size: int) -> int:
    """The size of the interpreter that a nest needs: a power of 4, so that few are
    compiled.

    Raises:
      BoundsError: for a destination of more than 2^22 elements.
    """
    if dst_size > _MOST:
        raise _cannot(f"write into at most {_MOST} elements", dst_size)
    need = max(int(code["volume"]), dst_size, _LEAST)
    return 1 << 2 * -(-(need - 1).bit_length() // 2)


def maps(
    codes: Sequence[Code], dst_sizes: Sequence[int]
) -> Iterator[tuple[int, np.ndarray]]:
    """The maps of many nests, as pairs of position and `IndexMap.index`.

    They come grouped by size, not in order. A nest must not write an element twice.

    Args:
      codes: from `encode`.
      dst_sizes: elements of each destination.

    >>> nest = LoopNest.strided(0, 1, ("r", 2, 1, 3), ("c", 3, 2, 1))
    >>> [(k, index.tolist()) for k, index in maps([encode(nest)], [8])]
    [(0, [-1, 0, 2, 4, 1, 3, 5, -1])]
    """
    groups: dict[int, list[int]] = {}
    for k, (code, dst_size) in enumerate(zip(codes, dst_sizes, strict=True)):
        groups.setdefault(size_of(code, dst_size), []).append(k)
    for size, members in groups.items():
        batch, run = compiled(size)
        for first in range(0, len(members), batch):
            part = members[first : first + batch]
            filled = part + part[:1] * (batch - len(part))
            stacked = {
                name: np.stack([codes[k][name] for k in filled]) for name in codes[0]
            }
            rows = np.asarray(run(stacked))
            yield from ((k, rows[j, : dst_sizes[k]]) for j, k in enumerate(part))
