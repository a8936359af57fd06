"""A convolution on the cube's road: its tiles, each with calls of its own."""

from __future__ import annotations

import dataclasses
import functools
import itertools

import jax

from ...._chain import Chain
from ...._move import Call, Move
from ...._shardings import batched
from ..._pipeline import Pipeline
from ...cube._job import Job, Side
from ...cube._roads import Road, Stages
from ...cube._tiles import Span, run, spans
from ._convolution import Convolution
from ._given import Pair
from ._tile import ConvTile


@dataclasses.dataclass(frozen=True)
class ConvSide(Side):
    """One operand's road for tiles of one size.

    Attributes:
      conv: what the operand is of.
      base: where L1 holds the map, in elements.
    """

    conv: Convolution
    base: int

    @classmethod
    def of(cls, road: Road, conv: Convolution, start: Pair, l1: Pair) -> ConvSide:
        """The road of tiles of which the first starts at (row, k); `l1` is where L1
        holds the map, and how much of it at most, in elements."""
        base, size = l1
        layout, end = conv.filters, None
        if road.side == "A":
            layout, end = conv.image, base + size
        pipeline = Pipeline(
            conv.stages(road, start, base),
            product=conv.product,
            dtype=conv.type,
            sizes=[layout.size, end, road.padded[0] * road.padded[1]],
        )
        return cls(road, pipeline, road.padded, conv, base)

    def tiles(self, gm: jax.Array, rows: Span, ks: Span, fused: bool) -> jax.Array:
        """L0 of each tile: (tiles along k, tiles along rows, size)."""
        each = [
            self.conv.stages(self.road, (row, k), self.base)
            for k, row in itertools.product(_starts(ks), _starts(rows))
        ]
        road = Chain((self._all(each, 0), self._all(each, 1)))
        return run(road, gm, fused).reshape(ks.count, rows.count, -1)

    def _all(self, each: list[Stages], step: int) -> Move:
        """One step of all tiles, which share GM, and else have buffers of their own,
        one behind the other."""
        one = self.pipeline.moves[step]
        apart = one.src_size if step else 0
        calls = tuple(
            Call(
                call.params,
                call.src_offset + t * apart,
                call.dst_offset + t * one.dst_size,
            )
            for t, stages in enumerate(each)
            for call in stages[step][0]
        )
        return Move.sequence(
            calls,
            src_size=one.src_size * (len(each) if step else 1),
            dst_size=one.dst_size * len(each),
            product=one.product,
            path=one.path,
            dtype=one.type.name,
        )


def _starts(span: Span) -> range:
    return range(span.start, span.start + span.count * span.size, span.size)


@functools.lru_cache(maxsize=256)
def job_of(conv: Convolution) -> Job:
    """A convolution as a matrix product, in the largest tiles."""
    tile = ConvTile.of(conv)
    m, n, k = map(spans, conv.sizes, tile.sizes)
    a, b = tile.roads
    l1 = b.padded[0] * b.padded[1], tile.map_size

    def sides(road: Road, along: tuple[Span, ...]) -> tuple[Side, ...]:
        return tuple(
            ConvSide.of(
                dataclasses.replace(road, rows=rows.size, k=ks.size),
                conv,
                (rows.start, ks.start),
                l1,
            )
            for rows, ks in itertools.product(along, k)
        )

    return Job(*conv.sizes, tile.sizes, sides(a, m), sides(b, n))


def convolved_on_road(filters: jax.Array, x: jax.Array, conv: Convolution) -> jax.Array:
    """The filters over one image by every call from GM to L0 and back, in float32."""

    def flat(image: jax.Array, weight: jax.Array) -> jax.Array:
        rows = job_of(conv).multiply(fused=True)(image, weight)
        return rows.T.reshape(-1)

    y = batched(flat, 1)(conv.image.pack(x[None]), conv.filters.pack(filters))
    return y.reshape(conv.outputs, *conv.places)
