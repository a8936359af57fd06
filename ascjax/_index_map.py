"""`IndexMap`: for each destination element, where its value comes from.

To look at, compose and compare: plain NumPy. A structured move never needs one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from ._errors import BoundsError, OverlapError, ParamError
from ._html import repr_html
from ._nest import FILL, KEEP
from ._runs import Stated

_INT32 = 2**31 - 1
CORRECT = "correct the counts, strides and offsets."


@dataclasses.dataclass(frozen=True, eq=False)
class IndexMap:
    """A move as one int32 for each destination element.

    Attributes:
      index: shape (dst_size,), read-only: the source element that lands there, KEEP
        (-1) where nothing is written, FILL (-2) where padding is; FILL - k for a k-th
        other padding value.
      src_size: elements of the source.

    Two maps are equal where their indices and source sizes are.

    >>> import ascjax as asc
    >>> move = asc.Move.of(asc.LoadData2DParams(0, 1), dtype="half", src_size=512)
    >>> move.index_map.index[:3], move.index_map
    (array([0, 1, 2], dtype=int32), IndexMap(256 <- 512: 256 copied, 0 filled, 0 kept))
    """

    _repr_html_ = repr_html

    index: np.ndarray
    src_size: int

    def __post_init__(self):
        check_indexable(self.src_size, np.size(self.index), "IndexMap")
        index = np.array(self.index, np.int32)
        index.flags.writeable = False
        object.__setattr__(self, "index", index)

    @classmethod
    def of_nest(cls, nest: Stated, src_size: int, dst_size: int) -> IndexMap:
        """The map of a nest or of runs, the later of two writes winning.

        Raises:
          BoundsError: for a read outside the source or a write outside the destination.
        """
        check_bounds(nest, src_size, dst_size, "IndexMap", "instructions.md, Units")
        check_indexable(src_size, dst_size, "IndexMap")
        index = np.full(dst_size, KEEP, np.int32)
        if nest.volume:
            dst, src = nest.addresses()
            index[dst] = src  # NumPy keeps the last value of a repeated index
        return cls(index, src_size)

    @property
    def dst_size(self) -> int:
        """Elements of the destination."""
        return self.index.size

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, IndexMap)
            and self.src_size == other.src_size
            and np.array_equal(self.index, other.index)
        )

    def __hash__(self) -> int:
        return hash((self.src_size, self.index.tobytes()))

    def sequence(self, *later: IndexMap) -> IndexMap:
        """This map and then `later` ones on the same buffers; a later write wins."""
        index = self.index.copy()
        for other in later:
            if (other.src_size, other.dst_size) != (self.src_size, self.dst_size):
                raise BoundsError(
                    "IndexMap.sequence",
                    "later",
                    f"be a map {self.dst_size} <- {self.src_size} (elements)",
                    f"{other.dst_size} <- {other.src_size}",
                    "Calls in a sequence share one source and one destination.",
                )
            index = np.where(other.index == KEEP, index, other.index)
        return IndexMap(index, self.src_size)

    def chain(self, then: IndexMap) -> IndexMap:
        """This map, then `then` on what it leaves in a destination of zero bits.

        An element that `then` reads but this map does not write is padding (FILL).
        """
        if then.src_size != self.dst_size:
            raise BoundsError(
                "IndexMap.chain",
                "then",
                f"read a source of {self.dst_size} elements",
                then.src_size,
                "The second move's source is the first one's destination.",
            )
        between = np.where(self.index == KEEP, FILL, self.index)
        read = then.index >= 0
        index = np.where(read, between[np.where(read, then.index, 0)], then.index)
        return IndexMap(index, self.src_size)

    def invert(self) -> IndexMap:
        """The map that brings every copied element back; KEEP where none was copied.

        Raises:
          OverlapError: where one source element lands in two places.
        """
        copied = np.flatnonzero(self.index >= 0)
        sources = self.index[copied]
        if np.unique(sources).size != sources.size:
            raise OverlapError(
                "IndexMap.invert",
                "index",
                "take each source element at most once",
                "an element that lands in two places",
                "Only an injective move has an inverse.",
            )
        back = np.full(self.src_size, KEEP, np.int32)
        back[sources] = copied
        return IndexMap(back, self.dst_size)

    def apply(self, src: Any, dst: Any = None, *, fill: Any = 0) -> np.ndarray:
        """The moved NumPy array, without JAX; `dst` None is zeros.

        Args:
          src: shape (..., src_size).
          dst: shape (..., dst_size), what the destination held before.
          fill: what padding is filled with, or a list of one value a FILL code.
        """
        src = np.asarray(src)
        if src.shape[-1:] != (self.src_size,):
            rule = f"hold {self.src_size} elements in its last axis"
            fix = "Pass the buffer that the map was made for."
            raise BoundsError("IndexMap.apply", "src", rule, src.shape, fix)
        codes = FILL - int(self.index.min(initial=0)) + 1
        fills = fill if np.ndim(fill) else [fill] * codes
        if codes > len(fills):
            rule = f"give {codes} values, one for each FILL code"
            fix = "Pass a list of them."
            raise ParamError("IndexMap.apply", "fill", rule, len(fills), fix)
        shape = (*src.shape[:-1], self.dst_size)
        out = np.zeros(shape, src.dtype)
        out[...] = 0 if dst is None else dst
        copied = self.index >= 0
        out[..., copied] = src[..., self.index[copied]]
        for k, value in enumerate(fills):
            out[..., self.index == FILL - k] = value
        return out

    def __repr__(self) -> str:
        copied, kept = int((self.index >= 0).sum()), int((self.index == KEEP).sum())
        filled = self.dst_size - copied - kept
        counts = f"{copied} copied, {filled} filled, {kept} kept"
        return f"IndexMap({self.dst_size} <- {self.src_size}: {counts})"


def check_bounds(
    nest: Stated,
    src_size: int,
    dst_size: int,
    who: str,
    source: str | None,
    unit: str = "elements",
    leads: Callable[[str, bool], str] = lambda field, low: CORRECT,
) -> None:
    """Raise BoundsError where a nest leaves its source or destination.

    `leads` says what to do about a move out of "src" or "dst", at the start or the end.
    """
    if nest.volume == 0:
        return
    for field, size, span in (
        ("src", src_size, nest.src_range()),
        ("dst", dst_size, nest.dst_range()),
    ):
        if span is None or (span[0] >= 0 and span[1] < size):
            continue
        verb = "reads" if field == "src" else "writes"
        low = span[0] < 0
        fix = f"Start later in {field}" if low else f"Give a longer {field}"
        if low and span[1] >= size:
            fix = f"Start later in a longer {field}"
        raise BoundsError(
            who,
            field,
            f"hold elements [{min(span[0], 0)}, {span[1] + 1}), which the move {verb}",
            f"{size} {unit}, [0, {size})",
            f"{fix}, or {leads(field, low)}",
            source,
        )


def check_indexable(src_size: int, dst_size: int, who: str) -> None:
    """Raise BoundsError where an int32 cannot address a buffer."""
    for field, size in (("src", src_size), ("dst", dst_size)):
        if size > _INT32:
            raise BoundsError(
                who,
                field,
                f"hold at most {_INT32} elements where the move needs an index map",
                size,
                "Split the buffer: this move is not a plain strided one.",
                "instructions.md, Units",
            )
