"""Tiles of one shape, side by side: one road for all of them."""

from __future__ import annotations

import dataclasses
import functools

import jax

from ..._chain import Chain
from ..._move import Call, Move
from ..._run import run_move


@dataclasses.dataclass(frozen=True)
class Span:
    """Tiles of one size along one axis: `count` of `size` elements, from `start`."""

    start: int
    count: int
    size: int


def spans(n: int, tile: int) -> tuple[Span, ...]:
    """An axis of `n` elements cut into tiles: the whole ones, and what is left."""
    whole, rest = divmod(n, tile)
    found = Span(0, whole, tile), Span(whole * tile, min(rest, 1), rest)
    return tuple(span for span in found if span.count)


def each(n: int, tile: int) -> list[Span]:
    """The same tiles, one by one."""
    return [
        Span(span.start + t * span.size, 1, span.size)
        for span in spans(n, tile)
        for t in range(span.count)
    ]


@functools.lru_cache(maxsize=1024)
def side_by_side(
    moves: tuple[Move, ...], start: int, count: int, step: int, src_size: int
) -> Chain:
    """The road of one tile as that of `count` tiles, `step` apart in the source.

    Each tile has buffers of its own, one behind the other. `start`, `step` and
    `src_size` count what the first move counts.
    """
    return Chain(
        tuple(
            _repeated(
                move,
                count,
                (start, step) if k == 0 else (0, move.src_size),
                (0, move.dst_size),
                (src_size if k == 0 else count * move.src_size, count * move.dst_size),
            )
            for k, move in enumerate(moves)
        )
    )


def placed(move: Move, count: int, start: int, step: int, dst_size: int) -> Move:
    """A move of one tile as that of `count` tiles, to places `step` apart."""
    src_size = count * move.src_size
    return _repeated(
        move, count, (0, move.src_size), (start, step), (src_size, dst_size)
    )


def _repeated(
    move: Move,
    count: int,
    src: tuple[int, int],
    dst: tuple[int, int],
    sizes: tuple[int, int],
) -> Move:
    """`count` times the calls of a move; (start, step) of the sources, destinations."""
    calls = tuple(
        Call(
            call.params,
            call.src_offset + src[0] + t * src[1],
            call.dst_offset + dst[0] + t * dst[1],
        )
        for t in range(count)
        for call in move.calls
    )
    return Move.sequence(
        calls,
        src_size=sizes[0],
        dst_size=sizes[1],
        product=move.product,
        path=move.path,
        dtype=move.type.name,
        overlap=move.overlap,
    )


def run(road: Chain, src: jax.Array, fused: bool) -> jax.Array:
    """What a road leaves: all its moves as one, or one by one."""
    if fused:
        return road(src)
    for move in road.moves:
        src = run_move(move, src)
    return src
