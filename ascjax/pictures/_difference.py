"""The sheet of a difference: what is expected, what is there, and where they differ."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from .. import oracle
from .._chain import Chain
from .._errors import BoundsError, ParamError
from .._index_map import IndexMap
from .._move import Move
from .._nest import FILL
from ..dumps._read import read_dump
from ..instr._figure import Tiles
from ..sweeps._dump import dump_of
from ..verify._cases import Case
from ..verify._check import oracle_map
from ..verify._engine import make_move
from ._codes import codes_of_dump
from ._grid import CELLS
from ._sheet import Panel, Sheet
from ._subjects import caption, figure_of, numbered, title_of

_WHO = "draw_difference"
_NEAR = 48  # tiles that are shown of a large buffer


def of_maps(expected: Move | Chain | IndexMap, got: Move | Chain | IndexMap) -> Sheet:
    """Of two maps of one destination."""
    codes = _codes(expected), _codes(got)
    if len(codes[0]) != len(codes[1]):
        rule = f"have as many destination elements as expected, {len(codes[0])}"
        fix = "Give both the same dst_size."
        raise BoundsError(_WHO, "got", rule, len(codes[1]), fix)
    captions = (f"expected: {_said(expected)}", f"got: {_said(got)}")
    move = expected if isinstance(expected, Move) else got
    return _sheet(move, *codes, codes[0] != codes[1], captions)


def of_arrays(move: Move, src: Any, dst_after: Any, dst_before: Any) -> Sheet:
    """Of a move, and what a destination holds."""
    if src is None:
        rule, fix = "be given with an array", "Pass src=, what the source held."
        raise ParamError(_WHO, "src", rule, "none", fix)
    params = move.calls[0].params
    dump, _ = dump_of(_WHO, params, src, dst_before, dst_after, move.type.name)
    for name, size, own in (
        ("src", dump.src.size, move.src_size),
        ("got", dump.dst_after.size, move.dst_size),
    ):
        if size != own:
            rule = f"hold {own} elements, as the move says"
            raise BoundsError(_WHO, name, rule, size, "Make the move for its size.")
    return _sheet(move, *codes_of_dump(move, dump), (f"expected: {caption(move)}",))


def of_case(case: Case) -> Sheet:
    """Of a case: its dump, or its map and the engine's."""
    if case.dump is not None:
        dump = read_dump(case)
        sizes: dict[str, Any] = {
            "src_size": dump.src.size,
            "dst_size": dump.dst_after.size,
        }
        move = make_move(dataclasses.replace(case, **sizes))
        return _sheet(move, *codes_of_dump(move, dump), (_of(case), caption(move)))
    move = make_move(case)
    known = all(step.instruction in oracle.INSTRUCTIONS for step in case.steps)
    expected = oracle_map(case) if case.golden is None and known else case.golden
    if expected is None:
        rule, fix = "have a dump or a map", "Add one: docs/case-files.md."
        raise ParamError(_WHO, f"case {case.id}", rule, "none", fix)
    got = _codes(move)
    return _sheet(move, expected, got, expected != got, (_of(case), caption(move)))


def _of(case: Case) -> str:
    return f"case {case.id} of {case.file}" if case.file else f"case {case.id}"


def _codes(what: Move | Chain | IndexMap) -> np.ndarray:
    whole = what if isinstance(what, IndexMap) else what.index_map
    return np.maximum(whole.index, FILL)


def _said(what: Any) -> str:
    return caption(what) if isinstance(what, Move) else repr(what)


def _sheet(
    move: Any,
    expected: np.ndarray,
    got: np.ndarray,
    wrong: np.ndarray,
    lines: tuple[str, ...],
) -> Sheet:
    figure = figure_of(move) if isinstance(move, Move) else None
    tiles = figure.dst if figure else Tiles.lines(16)
    src = figure.src if figure else tiles
    count = int(wrong.sum())
    first = f", the first: {int(wrong.argmax())}" if count else ""
    what = title_of(move) if isinstance(move, Move) else "maps"
    title = f"{what}: {count} of {wrong.size} elements differ{first}"
    part, start = slice(None), 0
    if wrong.size > CELLS:
        each = tiles.size
        start = max(0, int(wrong.argmax()) // each - _NEAR // 4) * each
        part = slice(start, start + min(CELLS, _NEAR * each))
        stop = min(part.stop, wrong.size)
        lines = (*lines, f"shown: destination elements {start} to {stop - 1}")
        tiles = Tiles(tiles.row, tiles.rows, 1 if tiles.rows == 1 else 0)
    unit = numbered(src, move.type.bits) if isinstance(move, Move) else 0
    marks = wrong[part]
    panels = (
        Panel("expected", tiles, expected[part], unit=unit, start=start),
        Panel("got", tiles, got[part], unit=unit, marks=marks, start=start),
    )
    return Sheet(title, lines, panels, src.size)
