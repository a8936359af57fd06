"""A piece of a destination around its first mismatch: what should be there, what is,
and which source elements both are."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from .. import oracle
from .._move import Move
from .._nest import FILL, KEEP
from ..dumps._check import jobs_of, mismatches
from ..dumps._read import read_dump
from ..pictures._codes import got_of
from ..sweeps._dump import Dump
from ..sweeps._jobs import run_jobs
from ..verify._cases import Case, unit_bits
from ..verify._check import oracle_map
from ..verify._engine import make_move
from ..verify._result import Mismatch

FRACTALS, CELLS = 16, 4096
ROWS, WIDTH = 24, 64
"""What a view holds at most: of buffers in fractals so many of them, and elements; of
others rows of so many elements."""


@dataclasses.dataclass(frozen=True)
class View:
    """Consecutive elements of a destination; those of a mismatch are among them.

    Attributes:
      start: the first element's number.
      at: the number of the first that is wrong.
      c0: elements of a row of a fractal; None where the destination has no fractals.
      expected, got: (elements,), source elements, KEEP, FILL or OTHER.
      wrong: (elements,), which differ.
      texts: `expected` and `got` as words of one width: bits, or source elements.
    """

    start: int
    at: int
    c0: int | None
    expected: np.ndarray
    got: np.ndarray
    wrong: np.ndarray
    texts: tuple[np.ndarray, ...]

    @property
    def width(self) -> int:
        """Fractals beside each other, or elements of a row."""
        return _width(self.c0)

    @property
    def unit(self) -> int:
        """Elements of a fractal, or one."""
        return _unit(self.c0)


def _width(c0: int | None) -> int:
    return WIDTH if c0 is None else max(2, WIDTH // c0)


def _unit(c0: int | None) -> int:
    return 1 if c0 is None else 16 * c0


def view_of_map(case: Case) -> View | None:
    """Of the engine's map and the given one, or the oracle's; None where they agree."""
    move = make_move(case)
    got = np.maximum(move.index_map.index, FILL)
    given = case.golden
    if given is None or np.array_equal(given, got):
        if any(step.instruction not in oracle.INSTRUCTIONS for step in case.steps):
            return None
        given = oracle_map(case)
    bits = unit_bits(case.instruction, move.type)
    piece = _piece(move, bits, given != got)
    if piece is None:
        return None
    start, at, c0, part = piece
    codes = given[part], got[part]
    width = max(len(str(int(x.max(initial=0)))) for x in codes)
    texts = (
        np.char.rjust(_named(codes[0]), width),
        np.char.rjust(_named(codes[1]), width),
    )
    return _trimmed(View(start, at, c0, *codes, codes[0] != codes[1], texts))


def _named(codes: np.ndarray) -> np.ndarray:
    named = codes.astype(str)
    return np.select([codes == KEEP, codes == FILL], ["-", "p"], named)


def dump_of(case: Case) -> tuple[Move, Dump]:
    """The move and the buffers of a case that has a dump.

    Raises:
      AscendError: what `read_dump` and `make_move` raise.
    """
    dump = read_dump(case)
    sizes: dict[str, Any] = {"src_size": dump.src.size, "dst_size": dump.dst_after.size}
    return make_move(dataclasses.replace(case, **sizes)), dump


def view_of_dump(move: Move, dump: Dump) -> View | None:
    """Of what a move leaves and what a dump holds; None where they agree."""
    ran = list(run_jobs(jobs_of(move, dump)))
    bits = move.arrives.bits
    piece = _piece(move, bits, mismatches(dump.dst_after, ran))
    if piece is None:
        return None
    start, at, c0, part = piece
    wrong = mismatches(dump.dst_after[part], [left[part] for left in ran])
    expected = np.maximum(move.index_map.index[part], FILL)
    bits_expected, bits_got = ran[0][part], dump.dst_after[part]
    got = got_of(move, dump, expected, wrong, part)
    texts = _hexadecimal(bits_expected, bits), _hexadecimal(bits_got, bits)
    return _trimmed(View(start, at, c0, expected, got, wrong, texts))


def _trimmed(view: View) -> View:
    """Without the last rows, where nothing is written and nothing is wrong."""
    used = (view.expected != KEEP) | (view.got != KEEP) | view.wrong
    row = view.width * view.unit
    part = slice(row * (int(used.nonzero()[0][-1]) // row + 1))
    names = ("expected", "got", "wrong")
    held: dict[str, Any] = {name: getattr(view, name)[part] for name in names}
    return dataclasses.replace(view, **held, texts=tuple(x[part] for x in view.texts))


def _hexadecimal(bits: np.ndarray, width: int) -> np.ndarray:
    digits = max(1, width // 4)
    return np.array([f"{int(x):0{digits}x}" for x in bits], f"U{digits}")


def _piece(
    move: Move, bits: int, wrong: np.ndarray
) -> tuple[int, int, int | None, slice] | None:
    """Where a view begins, the first mismatch, C0, and the view's elements."""
    if not wrong.any():
        return None
    at = int(wrong.argmax())
    position = move.path.split("->")[1] if move.path else None
    in_fractals = Mismatch.at(at, position, bits, "", "").fractal is not None
    c0 = 256 // bits if in_fractals else None
    row = _width(c0) * _unit(c0)
    most = min(FRACTALS * _unit(c0), CELLS) if in_fractals else ROWS * WIDTH
    rows = max(1, most // row)
    last = max(0, -(-wrong.size // row) - rows)
    start = row * min(last, max(0, at // row - rows // 4))
    return start, at, c0, slice(start, start + row * rows)
