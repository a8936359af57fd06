"""What became of a case, and the words for where two maps part."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal, get_args

import numpy as np

from .._move import Move
from .._nest import FILL, KEEP
from .._products import POSITIONS
from ._cases import Case, Scenario
from ._entry import Step
from ._why import reader, writer

BadFile = Literal["missing", "truncated", "overlong", "mistyped", "unreadable"]
Status = Literal["ok", "mismatch", "refused", "unsupported", "error", BadFile]

WAYS = {
    "map": ("against the given map", "against a given map"),
    "document": ("against the document", "against a document"),
    "oracle": ("against the oracle", "against the oracle"),
    "dump": ("against the dump", "against a dump"),
    "interpreter": (
        "the interpreter against the engine's map",
        "through the interpreter",
    ),
    "op": ("the jitted op against the engine's map", "through the jitted op"),
}
"""The ways to a map: words for one that differs, and for the count of all."""

_FRACTAL = ("L1", "L0A", "L0B")


@dataclasses.dataclass(frozen=True)
class Mismatch:
    """The first element that is wrong.

    Attributes:
      element: its number in the destination.
      fractal, row, column: where it stands in L1, L0A and L0B; elsewhere None.
      expected, got: bits as hexadecimal ("0x3c00"), or the codes of a map ("17", "-1").

    >>> Mismatch.at(300, "A2", 16, "0x6258", "0x4500").column
    12
    """

    element: int
    fractal: int | None
    row: int | None
    column: int | None
    expected: str
    got: str

    @classmethod
    def at(
        cls, element: int, position: str | None, bits: int, expected: str, got: str
    ) -> Mismatch:
        """The place of an element of `bits` at a position such as "A2"."""
        where = _in_fractals(element, position, bits)
        return cls(element, *(where or (None, None, None)), expected, got)


@dataclasses.dataclass(frozen=True)
class Result:
    """What became of one case.

    Attributes:
      id, instruction: the case's.
      status: "ok"; "refused", as a case that must be refused should be; "mismatch";
        "error", where it came to no comparison; "unsupported", where ascjax does not
        have the instruction; or what is wrong with a file of a dump: "missing",
        "truncated", "overlong", "mistyped" or "unreadable".
      elements: destination elements that were compared.
      mismatches: how many of them are wrong.
      message: the first mismatch in words, or the error's text; of a case that must
        be refused, the reason.
      file: the case's file; "" for the built-in suite.
      compared: what the engine's map was held against: "map" (the file's),
        "document" (a result that a document states), "oracle", "dump" (what a chip or
        simulator left), "interpreter" (one
        compiled program for all nests), "op" (what its own jitted op leaves).
      seconds: what making and comparing the maps took.
      op_seconds: what its own jitted op took, compiling included.
      product, path, dtype, calls: the case's.
      first: the first element that is wrong, where something was compared.

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
    op_seconds: float = 0.0
    product: str | None = None
    path: str | None = None
    dtype: str = ""
    calls: tuple[Step, ...] = ()
    first: Mismatch | None = None

    @classmethod
    def of(cls, case: Case | Scenario, status: Status, **found: Any) -> Result:
        """What became of a case; `found` are the other members."""
        product, path = case.site
        return cls(
            case.id,
            case.instruction,
            status,
            file=case.file,
            product=product,
            path=path,
            dtype=case.dtype,
            calls=case.steps,
            **found,
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, held: dict[str, Any]) -> Result:
        """What `to_dict` gave, read back from JSON.

        >>> import json
        >>> one = Result("a", "load2d", "ok", compared=("oracle",))
        >>> Result.from_dict(json.loads(json.dumps(one.to_dict()))) == one
        True
        """
        calls = tuple(Step(**call) for call in held["calls"])
        first = held["first"] and Mismatch(**held["first"])
        made = {"compared": tuple(held["compared"]), "calls": calls, "first": first}
        return cls(**{**held, **made})

    @property
    def failed(self) -> bool:
        """Whether the case is wrong; one that is not supported is neither."""
        return self.status in ("mismatch", "error", *get_args(BadFile))


def place(
    element: int,
    position: str | None,
    bits: int,
    loops: Mapping[str, int] | None = None,
) -> str:
    """An element by its number, in L1, L0A and L0B by fractal, row and column, and by
    the loops of an iteration.

    >>> place(300, "A2", 16), place(300, "GM", 16, {"r": 2, "c": 4})
    ('300 (fractal 1, row 2, column 12)', '300 (r 2, c 4)')
    """
    words = []
    where = _in_fractals(element, position, bits)
    if where:
        words.append("fractal {}, row {}, column {}".format(*where))
    if loops:
        words.append(", ".join(f"{name} {x}" for name, x in loops.items()))
    return f"{element} ({'; '.join(words)})" if words else str(element)


def _in_fractals(
    element: int, position: str | None, bits: int
) -> tuple[int, int, int] | None:
    if not _has_fractals(position):
        return None
    c0 = 256 // bits
    fractal, inner = divmod(element, 16 * c0)
    return (fractal, *divmod(inner, c0))


def _has_fractals(position: str | None) -> bool:
    return position is not None and POSITIONS[position] in _FRACTAL


def content(
    code: int,
    src_size: int,
    position: str | None,
    bits: int,
    loops: Mapping[str, int] | None = None,
) -> str:
    """What a map's entry says: a source element, padding, or nothing written."""
    if code == KEEP:
        return "nothing (not written)"
    if code == FILL:
        return "padding"
    if not 0 <= code < src_size:
        return f"{code}, which is no element of the source"
    return f"source element {place(code, position, bits, loops)}"


def first_difference(
    expected: np.ndarray, arrived: np.ndarray, move: Move, bits: int
) -> str:
    """The first element where two maps part, in words.

    The loops are those of the engine's iteration that writes the destination element
    and, where the source has no fractals, of one that reads the source element.

    Args:
      expected, arrived: shape (dst_size,), as in `IndexMap.index`; they differ.
      move: the engine's.
      bits: the width of what the maps count.

    >>> import ascjax as asc
    >>> rows = asc.Nz2NdParamsFull(1, 2, 16, 1, 2, 16)
    >>> move = asc.Move.of(rows, src_size=32, dtype="half")
    >>> right = move.index_map.index
    >>> first_difference(right, np.where(right == 17, -1, right), move, 16)
    'destination element 17 (nd 0, r 1, b 0, c 1): expected source element 17 (nd 0, r 1, b 0, c 1), got nothing (not written)'
    """  # noqa: E501
    src, dst = move.path.split("->") if move.path else (None, None)
    at = int(np.flatnonzero(expected != arrived)[0])
    call, written = writer(move.nests, at)

    def told(code: int) -> str:
        loops = None
        if not _has_fractals(src):
            own = code == written.source
            loops = written.loops if own else reader(move.nests[call], code)
        return content(code, move.src_size, src, bits, loops)

    want, got = told(int(expected[at])), told(int(arrived[at]))
    loops = written.loops
    if len(move.nests) > 1 and loops:
        loops = {"call": call, **loops}
    where = place(at, dst, bits, loops)
    return f"destination element {where}: expected {want}, got {got}"
