"""`Plan`: how JAX applies a move, as a value."""

from __future__ import annotations

import dataclasses
import functools

from ._html import repr_html
from ._steps import Last, Step


@dataclasses.dataclass(frozen=True)
class Plan:
    """How a move is applied: steps from the source to the destination.

    Attributes:
      steps: in order; the last one writes. None at all where nothing moves.
      src_size, dst_size: elements of the buffers.
      fills: bit patterns of the padding values.
      why: one sentence on the choice; no part of the value.
      back: the plan that brings cotangents from the destination to the source, where it
        is not these steps transposed one by one; it follows from the rest.

    >>> import ascjax as asc
    >>> p = asc.LoadData2DParams(0, 2, 1, if_transpose=True)
    >>> print(asc.Move.of(p, dtype="half", src_size=512).plan)
    read      2 every 256 x 16 every 16 x 16 every 1 from 0 of src
    transpose (0, 2, 1)
    write     2 every 256 x 16 every 16 x 16 every 1 from 0 of dst
    """

    _repr_html_ = repr_html

    steps: tuple[Step, ...]
    src_size: int
    dst_size: int
    fills: tuple[int, ...] = (0,)
    why: str = dataclasses.field(default="", compare=False)
    back: Plan | None = dataclasses.field(default=None, compare=False)

    @functools.cached_property
    def _hash(self) -> int:
        return hash((self.steps, self.src_size, self.dst_size, self.fills))

    def __hash__(self) -> int:
        return self._hash

    def __getstate__(self):
        return {k: v for k, v in vars(self).items() if k != "_hash"}

    @property
    def last(self) -> Last | None:
        """The step that writes; None where nothing moves."""
        return self.steps[-1] if self.steps else None  # pyright: ignore[reportReturnType]

    def __str__(self) -> str:
        return "\n".join(map(str, self.steps)) or "nothing moves: dst as it is"
