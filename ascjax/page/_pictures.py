"""Pictures of a view: small SVG images, which follow a light or dark page."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .._nest import FILL, KEEP
from ..pictures._sheet import OTHER
from ._extra import needed
from ._view import View

COLOURS = {KEEP: "#8884", FILL: "#b48ead", OTHER: "#e8833a"}
"""Of what is no source element."""

WRONG, RIGHT = "#d43f3f", "#8883"
_MAP, _ENDS = "viridis", (0.08, 0.97)
_GAP = 6  # rows between fractals, for their numbers
_PIXELS = 300  # of a picture's width, about
_NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))
_STYLE = """<style>text { fill: #555 !important }
@media (prefers-color-scheme: dark) { text { fill: #bbb !important } }</style>"""


class Picture(NamedTuple):
    """One picture: its title, what it shows in words, and the SVG text."""

    title: str
    alt: str
    svg: str


class Legend(NamedTuple):
    """The source elements at the ends of the colours, if any, and which of KEEP, FILL
    and OTHER there are."""

    ends: tuple[int, int] | None
    others: tuple[int, ...]


def legend_of(view: View) -> Legend:
    """What the colours of both pictures say."""
    codes = np.concatenate([view.expected, view.got])
    sources = codes[codes >= 0]
    ends = (int(sources.min()), int(sources.max())) if sources.size else None
    return Legend(ends, tuple(k for k in COLOURS if (codes == k).any()))


def gradient(steps: int = 6) -> list[str]:
    """The colours of source elements, from the first to the last."""
    colours = _colours(np.linspace(0, 1, steps))
    return [f"#{r:02x}{g:02x}{b:02x}" for r, g, b in (colours[:, :3] * 255).astype(int)]


def pictures_of(view: View) -> tuple[Picture, ...]:
    """What is expected, what is there, and where they differ."""
    place = f"around destination element {view.at}"
    count = int(view.wrong.sum())
    shown = f"{count} of the {view.wrong.size} elements shown"
    from_to = f"Elements {view.start} to {view.start + view.wrong.size - 1}"
    painted = [_painted(view, codes) for codes in (view.expected, view.got)]
    marks = _rgba(np.where(view.wrong, 1, 0), {0: RIGHT, 1: WRONG})
    return (
        Picture("expected", f"{from_to} {place}, as expected.", _svg(view, painted[0])),
        Picture("got", f"{from_to} {place}, as they are.", _svg(view, painted[1])),
        Picture("wrong", f"{from_to}: {shown} are wrong.", _svg(view, marks)),
    )


def _colours(places: np.ndarray) -> np.ndarray:
    low, high = _ENDS
    return needed("matplotlib").colormaps[_MAP](low + places * (high - low))


def _painted(view: View, codes: np.ndarray) -> np.ndarray:
    """(elements, 4), a colour for each source element."""
    low, high = legend_of(view).ends or (0, 0)
    places = (np.maximum(codes, low) - low) / max(1, high - low)
    found = _colours(places)
    other = codes < 0
    found[other] = _rgba(codes[other], COLOURS)
    return found


def _rgba(codes: np.ndarray, colours: dict[int, str]) -> np.ndarray:
    to_rgba = needed("matplotlib.colors").to_rgba
    table = {code: to_rgba(colour) for code, colour in colours.items()}
    return np.array([table[int(code)] for code in codes]).reshape(-1, 4)


def _svg(view: View, colours: np.ndarray) -> str:
    """Cells on a canvas: rows of elements, or fractals beside each other."""
    at = view.at - view.start
    if view.c0 is None:
        canvas, places = _in_rows(view, colours)
        width = canvas.shape[1]
        lines = [(k, str(view.start + k * width)) for k in range(0, len(canvas), 8)]
        return _drawn(canvas, places[at], lines=lines)
    canvas, places = _in_fractals(view, colours)
    first = view.start // view.unit
    corners = enumerate(places[:: view.unit], first)
    labels = [(int(x), int(y), str(number)) for number, (y, x) in corners]
    return _drawn(canvas, places[at], labels=labels)


def _in_rows(view: View, colours: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The canvas, and (row, column) on it of each element."""
    width = min(view.width, len(colours))
    places = np.stack(np.divmod(np.arange(len(colours)), width), axis=-1)
    return _canvas(places, colours), places


def _in_fractals(view: View, colours: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    c0 = view.c0 or 1
    fractal, inner = np.divmod(np.arange(len(colours)), view.unit)
    row, column = np.divmod(inner, c0)
    down, across = np.divmod(fractal, view.width)
    rows = _GAP + down * (16 + _GAP) + row
    places = np.stack([rows, across * (c0 + max(1, c0 // 16)) + column], axis=-1)
    return _canvas(places, colours), places


def _canvas(places: np.ndarray, colours: np.ndarray) -> np.ndarray:
    canvas = np.zeros((*(places.max(axis=0) + 1), 4))
    canvas[tuple(places.T)] = colours
    return canvas


def _drawn(
    canvas: np.ndarray,
    at: np.ndarray,
    *,
    lines: Sequence[tuple[int, str]] = (),
    labels: Sequence[tuple[int, int, str]] = (),
) -> str:
    """The SVG text of a canvas (rows, columns, 4) with a frame around one cell.

    Args:
      lines: rows with what they are called.
      labels: columns and rows of fractals' corners with what they are called.
    """
    height, width = canvas.shape[:2]
    cell = min(12.0, _PIXELS / width)  # points, as CSS pixels are for an SVG
    left = 36 if lines else 0
    inner = width * cell, height * cell
    size = left + inner[0] + 2, inner[1] + 4
    rectangle = needed("matplotlib.patches").Rectangle
    fixed = {"svg.hashsalt": "ascjax", "svg.fonttype": "none"}
    with needed("matplotlib.style").context(["default", fixed]):
        sides = size[0] / 72, size[1] / 72
        figure = needed("matplotlib.figure").Figure(figsize=sides)
        share = inner[0] / size[0], inner[1] / size[1]
        axes = figure.add_axes((left / size[0], 2 / size[1], *share))
        axes.set_axis_off()
        axes.imshow(canvas, interpolation="none", aspect="auto")
        corner = at[1] - 1, at[0] - 1
        for colour, line in (("white", 2.6), ("black", 1.3)):
            frame = rectangle(corner, 2, 2, fill=False, ec=colour, lw=line)
            frame.set_clip_on(False)
            axes.add_patch(frame)
        for row, said in lines:
            axes.text(-1.2, row, said, size=8, ha="right", va="center")
        for x, y, said in labels:
            axes.text(x - 0.5, y - 1.9, said, size=9)
        out = io.StringIO()
        figure.savefig(out, format="svg", transparent=True, metadata=_NO_METADATA)
    text = out.getvalue()
    start = text.index(">", text.index("<svg")) + 1
    return f"{text[text.index('<svg') : start]}{_STYLE}{text[start:]}"
