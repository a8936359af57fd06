"""A checked matrix product on the cube's road, tile by tile, as a function of arrays.

Tiles of one size are done together: the loads of all of them are one road, and their
products a batch. Mmad accumulates over k in the order of the tiles.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from ..._mmad import mmad, result_type
from ..._move import Move
from ..._run import run_move
from ...instr.fixpipe import FixpipeParams
from ...instr.mmad import MmadParams
from .._pipeline import Pipeline
from ._landing import landing
from ._roads import Road, from_byte, up
from ._tiles import Span, placed, run, side_by_side, spans


@dataclasses.dataclass(frozen=True)
class Side:
    """One operand's road for tiles of one size.

    Attributes:
      road: what it brings.
      pipeline: how, in calls.
      padded: rows and k in L0, as Mmad reads them.
    """

    road: Road
    pipeline: Pipeline
    padded: tuple[int, int]

    @property
    def rows(self) -> int:
        """Rows to ask of Mmad, so that it reads L0 as it was laid out.

        NZ has a pitch of rows: what is padded to more than 16 is multiplied with its
        padding. One row would make Mmad read L0A as a vector (errata, Q20).
        """
        road = self.road
        if road.format == "NZ" and self.padded[0] != up(road.rows, 16):
            return self.padded[0]
        return 16 if road.side == "A" and road.rows == 1 else road.rows

    @property
    def l1_bytes(self) -> int:
        """Where L1 is free behind this side, on a fractal's boundary."""
        places = dict(zip(self.pipeline.buffers, self.pipeline.sizes, strict=True))
        return up(-(-places.get("L1", 0) * self.road.type.bits // 8), 512)

    def tiles(self, gm: jax.Array, rows: Span, ks: Span, fused: bool) -> jax.Array:
        """L0 of each tile, (tiles along k, tiles along rows, size), from GM's matrix.

        The tiles of one row of GM's matrix stand side by side in it: one road.
        """
        down, along = (ks, rows) if self.road.turned else (rows, ks)
        end = down.start + down.count * down.size
        bands = jax.lax.slice_in_dim(gm, down.start, end).reshape(down.count, -1)
        each = self.pipeline.moves[0].type.bits // self.road.type.bits
        road = side_by_side(
            self.pipeline.moves,
            along.start // each,
            along.count,
            along.size // each,
            down.size * self.road.pitch // each,
        )
        l0 = run(road, bands, fused).reshape(down.count, along.count, -1)
        return l0 if self.road.turned else l0.swapaxes(0, 1)


@dataclasses.dataclass(frozen=True)
class Job:
    """All of a product. `a` and `b` hold each side by its tiles' (rows, k)."""

    m: int
    n: int
    k: int
    tile: tuple[int, int, int]
    a: tuple[Side, ...]
    b: tuple[Side, ...]

    @property
    def road(self) -> Road:
        """A's road for its first tile."""
        return self.a[0].road

    @property
    def accumulator(self) -> tuple[int, int]:
        """Rows and columns of the first tile in L0C, as Mmad fills it."""
        params = self.params(self.a[0], self.b[0], True)
        return up(params.m, 16), up(params.n, 16)

    def params(self, a: Side, b: Side, first: bool) -> MmadParams:
        """Mmad on a tile of each side; `first` starts at 0."""
        road = a.road
        float_zz = road.format == "ZZ" and road.type.bits == 32
        aligned = float_zz and a.padded[1] != up(road.k, road.type.c0)
        return MmadParams(a.rows, b.rows, road.k, first, aligned)

    def fixpipe(self, a: Side, b: Side) -> Move:
        """Fixpipe of one tile, to the start of C."""
        high, wide = up(a.rows, 16), up(b.rows, 16)
        params = FixpipeParams(b.road.rows, a.road.rows, high, self.n)
        return Move.of(
            params,
            src_size=high * wide,
            product=self.road.product,
            path="CO1->GM",
            dtype=result_type(self.road.type),
        )

    def multiply(self, fused: bool) -> Callable[[jax.Array, jax.Array], jax.Array]:
        """The compiled product of GM's matrices: (rows, columns) each."""
        return self._fused if fused else self._stepwise

    def __getstate__(self):
        return {k: v for k, v in vars(self).items() if k not in ("_fused", "_stepwise")}

    @functools.cached_property
    def _fused(self):
        return jax.jit(functools.partial(self._run, fused=True))

    @functools.cached_property
    def _stepwise(self):
        return jax.jit(functools.partial(self._run, fused=False))

    def _run(self, a: jax.Array, b: jax.Array, fused: bool) -> jax.Array:
        m_spans, n_spans, k_spans = map(spans, (self.m, self.n, self.k), self.tile)
        at_a = {
            (rows, ks): side_for(self.a, rows, ks).tiles(a, rows, ks, fused)
            for rows, ks in itertools.product(m_spans, k_spans)
        }
        at_b = {
            (rows, ks): side_for(self.b, rows, ks).tiles(b, rows, ks, fused)
            for rows, ks in itertools.product(n_spans, k_spans)
        }
        bands = []
        for rows in m_spans:
            band: Any = None
            for columns in n_spans:
                l0c: Any = None
                for ks in k_spans:
                    pair = side_for(self.a, rows, ks), side_for(self.b, columns, ks)
                    l0 = at_a[rows, ks], at_b[columns, ks]
                    l0c = self._accumulated(*pair, *l0, l0c)
                pair = side_for(self.a, rows, ks), side_for(self.b, columns, ks)
                band = self._stored(self.fixpipe(*pair), rows, columns, l0c, band)
            bands.append(band.reshape(rows.count * rows.size, self.n))
        return jnp.concatenate(bands)

    def _stored(self, one: Move, rows: Span, columns: Span, l0c, band) -> jax.Array:
        """Bands of C, a row of tiles each, with the tiles of `columns` in place, each
        by the move `one`."""
        move = placed(
            one,
            columns.count,
            columns.start,
            columns.size,
            rows.size * self.n,
        )
        return run_move(move, l0c.reshape(rows.count, -1), band)

    def _accumulated(self, a: Side, b: Side, at_a, at_b, l0c):
        """L0C of all tiles of one size, after the products of these."""
        options = {"product": self.road.product, "dtype": self.road.type}
        start, add = self.params(a, b, True), self.params(a, b, False)
        if l0c is None:
            l0c = _outer(lambda x, y: mmad(x, y, start, **options))(at_a[0], at_b[0])
            at_a, at_b = at_a[1:], at_b[1:]

        def step(l0c, pair):
            more = _outer(lambda x, y, c: mmad(x, y, add, l0c=c, **options), 3)
            return more(*pair, l0c), None

        return jax.lax.scan(step, l0c, (at_a, at_b))[0] if len(at_a) else l0c


def side_for(sides: tuple[Side, ...], rows: Span, ks: Span) -> Side:
    """The side whose tiles have the sizes of these spans."""
    size = rows.size, ks.size
    return next(side for side in sides if (side.road.rows, side.road.k) == size)


def side_of(
    road: Road, own: Pipeline | None, field: str, base: int = 0, deep: int = 0
) -> Side:
    """A side whose operand stands in L1 from byte `base` on.

    `own` is the user's road, if any, and `deep` the least k that L0 has room for.
    """
    gm = road.window[0] * road.pitch
    if own is None:
        padded, stages = road.padded, road.stages()
        sizes = [gm, (base + road.bytes) * 8 // road.type.bits, 0]
    else:
        padded = landing(own, road, field)
        stages = [(list(move.calls), str(move.path)) for move in own.moves]
        sizes = [gm, *[None] * (len(stages) - 1), own.sizes[-1]]
    sizes[-1] = max(sizes[-1], padded[0] * max(padded[1], deep))
    options = {"product": road.product, "dtype": road.type}
    pipeline = Pipeline(from_byte(stages, base, road), sizes=sizes, **options)
    return Side(road, pipeline, padded)


def _outer(one: Callable, operands: int = 2) -> Callable:
    """`one` for each pair of a tile of A and a tile of B, with the pair's L0C."""
    inner, outer = (None, 0, 0)[:operands], (0, None, 0)[:operands]
    return jax.vmap(jax.vmap(one, inner), outer)
