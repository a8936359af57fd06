"""What each kind of thing looks like: the sheet of a move, a map, a road, a plan."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from .._chain import Chain
from .._index_map import IndexMap
from .._move import Move
from .._nest import FILL, KEEP
from .._packed import element_index
from .._plan import Plan
from .._primitive import jitted
from .._products import POSITIONS
from ..instr import Site
from ..instr._figure import Dimension, Figure, Tiles
from ..instr._nddma_structs import UNSET_PAD
from ._sheet import UNREAD, Panel, Sheet

_ROW, _WIDE = 16, 64  # elements of a row where nothing says how many
_SMALL = 1024  # elements that are drawn in short rows
_FIELDS = 14  # of a caption
_FRACTAL = 512 * 8  # bits


def of_move(move: Move) -> Sheet:
    """Source and destination of a move."""
    nothing = () if any(n.volume for n in move.nests) else (str(move.nests[0]),)
    return _road([move], (title_of(move), (caption(move), *nothing)))


def of_moves(moves: Sequence[Move], title: str, lines: tuple[str, ...] = ()) -> Sheet:
    """All buffers along a road of moves, coloured by the first source."""
    return _road(
        moves, (title, (*lines, *(f"{_name(m)}: {caption(m)}" for m in moves)))
    )


def of_chain(chain: Chain) -> Sheet:
    """The buffers of a chain."""
    names = " + ".join(map(_name, chain.moves))
    return of_moves(chain.moves, f"chain of {names} · {chain.type}")


def of_map(index_map: IndexMap, c0: int | None, width: int | None) -> Sheet:
    """Source and destination of a map, in fractals or in rows."""
    wide = _ROW if max(index_map.src_size, index_map.dst_size) <= _SMALL else _WIDE
    tiles = Tiles(c0) if c0 else Tiles.lines(width or wide)
    src = Panel("source", tiles, read_of(index_map.index, index_map.src_size))
    dst = Panel("destination", tiles, index_map.index, (), tiles.size if c0 else 0)
    return Sheet("map", (repr(index_map),), (src, dst), tiles.size)


def of_plan(plan: Plan, c0: int | None, width: int | None) -> Sheet:
    """What a plan does to the numbers of elements, and its steps."""
    bits = 2**32
    fills = tuple((FILL - k) % bits for k in range(len(plan.fills)))
    back = None if plan.back is None else dataclasses.replace(plan.back, fills=(0,))
    moved = dataclasses.replace(plan, fills=fills, back=back)
    before = jnp.full(plan.dst_size, KEEP, jnp.int32)
    index = jitted(moved)(jnp.arange(plan.src_size, dtype=jnp.int32), before)
    sheet = of_map(IndexMap(np.asarray(index), plan.src_size), c0, width)
    lines = tuple(f"{plan}".split("\n"))
    return dataclasses.replace(sheet, title="plan", lines=(plan.why, *lines))


# --- the buffers of a road


class _Held(NamedTuple):
    """What one buffer holds, and how it is drawn."""

    codes: np.ndarray
    name: str
    tiles: Tiles
    dimensions: tuple[Dimension, ...]


def _road(moves: Sequence[Move], said: tuple[str, tuple[str, ...]]) -> Sheet:
    held = list(_buffers(moves))
    first, *later = held
    unit = numbered(first.tiles, min(move.type.bits for move in moves))
    panels = [Panel(first.name, first.tiles, first.codes, first.dimensions)]
    panels += [Panel(b.name, b.tiles, b.codes, b.dimensions, unit) for b in later]
    steps = tuple(map(_name, moves))
    return Sheet(*said, tuple(panels), first.tiles.size, steps)


def _buffers(moves: Sequence[Move]) -> Iterator[_Held]:
    """Each buffer along the way, its elements by where they are from."""
    bits = min(move.type.bits for move in moves)
    codes = np.empty(0)
    for k, move in enumerate(moves):
        each = move.type.bits // bits
        index = move.index_map.index
        index = index if each == 1 else element_index(index)
        figure, names = figure_of(move), buffers_of(move.path)
        drawn = {side: _wider(getattr(figure, side), each) for side in ("src", "dst")}
        lines = {
            side: tuple(d for d in figure.dimensions if d.side == side)
            if each == 1
            else ()
            for side in ("src", "dst")
        }
        if k == 0:
            codes = read_of(index, move.src_size * each)
            said = f"source {names[0]}".strip()
            yield _Held(codes, said, drawn["src"], lines["src"])
            codes = np.arange(move.src_size * each)
        room = np.full(max(len(codes), move.src_size * each, 1), FILL)
        room[: len(codes)] = np.where(codes == KEEP, FILL, codes)
        codes = np.where(index >= 0, room[np.maximum(index, 0)], index)
        last = k == len(moves) - 1
        said = names[1] if names[1] and not last else f"destination {names[1]}".strip()
        yield _Held(codes, said, drawn["dst"], lines["dst"])


def numbered(source: Tiles, bits: int) -> int:
    """Elements of a source's tile, where that is a fractal, whose number is told."""
    return source.size if source.size * bits == _FRACTAL else 0


def _wider(tiles: Tiles, each: int) -> Tiles:
    return dataclasses.replace(tiles, row=tiles.row * each)


def figure_of(move: Move) -> Figure:
    """How the first call draws itself, its dimensions where its operands start."""
    call = move.calls[0]
    figure = call.params.figure(Site(move.product, move.path, move.type))
    starts = {"src": call.src_offset, "dst": call.dst_offset}
    lines = (
        dataclasses.replace(line, first=line.first + by, last=line.last + by)
        for line in figure.dimensions
        for by in (starts[line.side],)
    )
    return dataclasses.replace(figure, dimensions=tuple(lines))


def read_of(index: np.ndarray, size: int) -> np.ndarray:
    """Each source element that is read; the others UNREAD."""
    codes = np.full(size, UNREAD, np.int64)
    read = index[index >= 0]
    codes[read] = read
    return codes


# --- words


def title_of(move: Move) -> str:
    """Instruction, type, path and product."""
    words = [_name(move), str(move.type)]
    words += [str(word) for word in (move.path, move.product) if word is not None]
    calls = f", {len(move.calls)} calls" if len(move.calls) > 1 else ""
    return " · ".join(words) + calls


def _name(move: Move) -> str:
    names = dict.fromkeys(call.params.instruction for call in move.calls)
    return "/".join(names)


def caption(move: Move) -> str:
    """The first call's fields that are set, by their C names."""
    call = move.calls[0]
    starts = {"src_offset": call.src_offset, "dst_offset": call.dst_offset}
    fields = {
        **_flat(call.params.to_fields()),
        **{k: n for k, n in starts.items() if n},
    }
    said = [f"{name} = {value}" for name, value in fields.items()][:_FIELDS]
    more = len(move.calls) - 1
    more = f", and {more} more call{'s' * (more > 1)}" if more else ""
    return ", ".join(said) + more


def _flat(fields: dict[str, Any]) -> dict[str, Any]:
    found = {}
    for name, value in fields.items():
        if isinstance(value, dict):
            found |= {f"{name}.{inner}": v for inner, v in _flat(value).items()}
        elif (
            value and value != UNSET_PAD and (not isinstance(value, list) or any(value))
        ):
            found[name] = value
    return found


def buffers_of(path: str | None) -> tuple[str, str]:
    """The buffers at both ends of a path; "" where there is none."""
    if path is None:
        return "", ""
    src, dst = (POSITIONS[end] for end in path.split("->"))
    return src, dst
