"""`asc.draw` and `asc.draw_difference`: pictures made from maps."""

from __future__ import annotations

import contextlib
import dataclasses
import html
from typing import Any

from .._chain import Chain
from .._errors import ParamError, SupportError
from .._index_map import IndexMap
from .._layout import Layout
from .._move import Move
from .._plan import Plan
from ..nn._moves import MoveModule
from ..nn._pipeline import Pipeline
from ..verify._cases import Case
from . import _difference as difference
from . import _subjects as subjects
from ._layouts import of_layout
from ._picture import Picture
from ._sheet import MOST, Sheet

_MAPS = (Move, Chain, IndexMap)


def draw(
    what: Any, *, c0: int | None = None, width: int | None = None, title: str = ""
) -> Picture:
    """A picture of a move, a map, a layout, a chain, a pipeline or a plan.

    Source and destination stand side by side, of a pipeline all buffers. Each element
    has the colour of where it comes from: a hue for each fractal of the source, lighter
    towards its end. In a fractal, Z and N say in which order the source's elements
    stand in it, "3←5" that destination's fractal 3 comes from the source's fractal 5;
    in rows numbers are source elements. What is not written is hatched, padding dotted.
    Dimension lines show the C struct's fields, each in the field's own unit. A buffer
    of more than 32,768 elements has one cell for each fractal.

    Args:
      what: a `Move`, a module of one (`asc.nn.LoadData`), an `IndexMap`, a `Layout`, a
        `Chain`, an `asc.nn.Pipeline`, a `Plan`.
      c0: for a map or a plan, elements of a fractal's row: draws fractals, of 16 rows.
      width: for a map or a plan, elements of a row where there are no fractals.
      title: instead of what it is called by itself.
    Returns: a `Picture`: `.save("x.svg")`, `.svg()`, `.png()`, `.figure`; `print` shows
      it as text, a notebook as it is.
    Raises:
      ParamError: for something else.
      SupportError: where matplotlib is not installed, as soon as it is drawn.
    Gradient: none.
    Source: the figures of the instructions' documents; instructions.md.

    >>> import ascjax as asc
    >>> p = asc.LoadData2DParams(repeat_times=2, src_stride=2, dst_gap=1)
    >>> print(asc.draw(asc.Move.of(p, dtype="half", src_size=1024)))
    load2d · half
      repeatTimes = 2, srcStride = 2, dstGap = 1
    source
         0 Z   1 -   2 Z   3 -
    destination
         0←0 Z   1 .     2←2 Z
      - not read, . not written
    """
    sheet = _sheet(what, c0, width)
    return Picture(dataclasses.replace(sheet, title=title) if title else sheet)


def _sheet(what: Any, c0: int | None, width: int | None) -> Sheet:
    if isinstance(what, Move):
        return subjects.of_move(what)
    if isinstance(what, MoveModule):
        return subjects.of_move(what.move)
    if isinstance(what, Layout):
        return of_layout(what)
    if isinstance(what, Chain):
        return subjects.of_chain(what)
    if isinstance(what, Pipeline):
        words = "pipeline", str(what.dtype), str(what.product)
        return subjects.of_moves(what.moves, " · ".join(words))
    for size, field in ((c0, "c0"), (width, "width")):
        if size is not None and size < 1:
            rule, fix = "be at least 1 (elements of a row)", "Leave it out, or more."
            raise ParamError("draw", field, rule, size, fix)
    if isinstance(what, IndexMap):
        return subjects.of_map(what, c0, width)
    if isinstance(what, Plan):
        return subjects.of_plan(what, c0, width)
    rule = "be a Move, an IndexMap, a Layout, a Chain, an asc.nn.Pipeline or a Plan"
    fix = "Make a move of params first: asc.Move.of(params, dtype=..., src_size=...)."
    raise ParamError("draw", "what", rule, type(what).__name__, fix)


def draw_difference(
    expected: Any,
    got: Any = None,
    *,
    src: Any = None,
    dst_before: Any = None,
    title: str = "",
) -> Picture:
    """A picture of what a destination should hold and what it holds.

    `draw_difference(move, array, src=array)` is of a buffer: what differs has a red
    frame, and where its bits occur once in the source the colour of that element.
    `draw_difference(move, other)` is of two moves or maps, `draw_difference(case)` of a
    case from `ascjax.verify.read_cases`: its dump or its map. A large buffer is shown
    around the first difference.

    Shapes: `got` and `dst_before` (move.dst_size,), `src` (move.src_size,), in
      elements.

    Args:
      expected: a `Move`, an `IndexMap`, a `Chain`, or a case.
      got: the destination after the move; or another move or map; None for a case.
      src: what the source held, where `got` is an array.
      dst_before: what the destination held before; None where nobody kept it.
      title: instead of what it is called by itself.
    Returns: a `Picture`.
    Raises:
      ParamError: for something else; an array of another type.
      BoundsError: of another size.
      DumpError: a case's file at fault.
      SupportError: where matplotlib is not installed, as soon as it is drawn.
    Gradient: none.
    Source: instructions.md.

    >>> import ascjax as asc, numpy as np
    >>> p, wrong = (asc.LoadData2DParams(0, 2, n) for n in (2, 1))
    >>> make = lambda p: asc.Move.of(p, dtype="half", src_size=1024)
    >>> asc.draw_difference(make(p), make(wrong)).sheet.title
    'load2d · half: 256 of 512 elements differ, the first: 256'
    >>> src = np.arange(1024, dtype="float16")
    >>> asc.draw_difference(make(p), src[:512], src=src).sheet.title
    'load2d · half: 256 of 512 elements differ, the first: 256'
    """
    if isinstance(expected, Case) and got is None:
        sheet = difference.of_case(expected)
    elif isinstance(expected, _MAPS) and isinstance(got, _MAPS):
        sheet = difference.of_maps(expected, got)
    elif isinstance(expected, Move) and got is not None:
        sheet = difference.of_arrays(expected, src, got, dst_before)
    else:
        rule = "be a move and an array, two moves or maps, or a case"
        fix = "Such as draw_difference(move, dst, src=src)."
        given = f"{type(expected).__name__} and {type(got).__name__}"
        raise ParamError("draw_difference", "expected and got", rule, given, fix)
    return Picture(dataclasses.replace(sheet, title=title) if title else sheet)


def shown(what: Any) -> str:
    """HTML of anything that can be drawn; what is too large, or without matplotlib, as
    text."""
    if sizes_of(what) <= MOST:
        with contextlib.suppress(SupportError):
            return draw(what)._repr_html_()
    return f"<pre>{html.escape(repr(what))}</pre>"


def sizes_of(what: Any) -> int:
    """Elements of all buffers of anything that can be drawn."""
    if isinstance(what, Layout):
        return 2 * what.size
    moves = getattr(what, "moves", None) or (getattr(what, "move", what),)
    return sum(move.src_size + move.dst_size for move in moves)
