"""What every buffer holds along the cube's road, tile by tile."""

from __future__ import annotations

import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..._index_map import KEEP
from ..._mmad import mmad
from ..._run import run_move
from .._pipeline import Held
from ._given import joined
from ._job import Job, Side, side_for
from ._roads import up
from ._tiles import Span, each, placed


def traced(job: Job, a: jax.Array, b: jax.Array) -> dict[Any, Any]:
    """{name: `Held`} of a product of one tile; of several {(i, j, p): {name: `Held`}},
    tile (i, j) of C at its step p along k, in the order of the calls."""
    m_tiles, n_tiles, k_tiles = map(each, (job.m, job.n, job.k), job.tile)
    found: dict[Any, Any] = {}
    for (i, rows), (j, columns) in itertools.product(
        enumerate(m_tiles), enumerate(n_tiles)
    ):
        l0c = None
        for p, ks in enumerate(k_tiles):
            held = _of_tile(job, (a, b), (rows, columns, ks), l0c)
            l0c, found[i, j, p] = held["L0C"].values, held
        pair = side_for(job.a, rows, ks), side_for(job.b, columns, ks)
        start = rows.start * job.n + columns.start
        move = placed(job.fixpipe(*pair), 1, start, 0, job.m * job.n)
        written = move.index_map.index != KEEP
        held["C"] = Held("GM", run_move(move, l0c), written)
    return found if len(found) > 1 else held


def _of_tile(
    job: Job,
    matrices: tuple[jax.Array, jax.Array],
    spans: tuple[Span, Span, Span],
    before: jax.Array | None,
) -> dict[str, Held]:
    """The buffers of one tile up to L0C, which held `before`."""
    rows, columns, ks = spans
    one, two = side_for(job.a, rows, ks), side_for(job.b, columns, ks)
    held: dict[str, Held] = {}
    for side, x, across in zip((one, two), matrices, (rows, columns), strict=True):
        for buffer in side.pipeline.trace(_from_tile(side, x, across, ks)):
            name = side.road.side if buffer.buffer == "GM" else buffer.buffer
            held[name] = joined(held[name], buffer) if name in held else buffer
    params = job.params(one, two, before is None)
    l0c = mmad(
        held["L0A"].values,
        held["L0B"].values,
        params,
        l0c=before,
        product=job.road.product,
        dtype=job.road.type,
    )
    written = np.zeros(l0c.shape[-1], bool)
    r, c = np.indices((params.m, params.n))
    written[(c // 16 * up(params.m, 16) + r) * 16 + c % 16] = True
    return {**held, "L0C": Held("L0C", l0c, written)}


def _from_tile(side: Side, x: jax.Array, across: Span, ks: Span) -> jax.Array:
    """GM from the tile's first element on, as long as its road's source; zeros beyond
    the matrix."""
    down, along = (ks, across) if side.road.turned else (across, ks)
    packed = 2 if side.road.type.bits == 4 else 1
    start = (down.start * side.road.pitch + along.start) // packed
    size = side.pipeline.sizes[0] // packed
    flat = x.reshape(*x.shape[:-2], -1)[..., start : start + size]
    return jnp.pad(flat, [(0, 0)] * (flat.ndim - 1) + [(0, size - flat.shape[-1])])
