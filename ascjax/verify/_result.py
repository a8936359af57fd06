"""What became of a case, and the words for where two maps part."""

from __future__ import annotations

import dataclasses
from typing import Literal

import numpy as np

from .._nest import FILL, KEEP
from .._products import POSITIONS

Status = Literal["ok", "mismatch", "refused", "unsupported", "error"]

_FRACTAL = ("L1", "L0A", "L0B")


@dataclasses.dataclass(frozen=True)
class Result:
    """What became of one case.

    Attributes:
      id, instruction: the case's.
      status: "ok"; "refused", as a case that must be refused should be; "mismatch";
        "error", where it came to no comparison; "unsupported", where ascjax does not
        have the instruction.
      elements: destination elements that were compared.
      mismatches: how many of them are wrong.
      message: the first mismatch in words, or the error's text.
      file: the case's file; "" for the built-in suite.
      compared: what the engine's map was held against: "map" (the file's), "oracle",
        "op" (what the jitted op leaves).
      seconds: what the check took.

    >>> Result("load2d_000", "load2d", "ok", elements=512).failed
    False
    """

    id: str
    instruction: str
    status: Status
    elements: int = 0
    mismatches: int = 0
    message: str = ""
    file: str = ""
    compared: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def failed(self) -> bool:
        """Whether the case is wrong; one that is not supported is neither."""
        return self.status in ("mismatch", "error")


def place(element: int, position: str | None, bits: int) -> str:
    """An element by its number and, in L1, L0A and L0B, by fractal, row and column.

    >>> place(300, "A2", 16), place(300, "GM", 16)
    ('300 (fractal 1, row 2, column 12)', '300')
    """
    if position is None or POSITIONS[position] not in _FRACTAL:
        return str(element)
    c0 = 256 // bits
    fractal, inner = divmod(element, 16 * c0)
    row, column = divmod(inner, c0)
    return f"{element} (fractal {fractal}, row {row}, column {column})"


def content(code: int, src_size: int, position: str | None, bits: int) -> str:
    """What a map's entry says: a source element, padding, or nothing written."""
    if code == KEEP:
        return "nothing (not written)"
    if code == FILL:
        return "padding"
    if not 0 <= code < src_size:
        return f"{code}, which is no element of the source"
    return f"source element {place(code, position, bits)}"


def first_difference(
    expected: np.ndarray,
    arrived: np.ndarray,
    src_size: int,
    path: str | None,
    bits: int,
) -> str:
    """The first element where two maps part, in words.

    Args:
      expected, arrived: shape (dst_size,), as in `IndexMap.index`; they differ.
      path: source position -> destination position.
      bits: the width of what the maps count.

    >>> first_difference(np.array([0, 2]), np.array([0, -1]), 3, "GM->VECIN", 16)
    'destination element 1: expected source element 2, got nothing (not written)'
    """
    src, dst = path.split("->") if path else (None, None)
    at = int(np.flatnonzero(expected != arrived)[0])
    want, got = (
        content(int(index[at]), src_size, src, bits) for index in (expected, arrived)
    )
    where = place(at, dst, bits)
    return f"destination element {where}: expected {want}, got {got}"
