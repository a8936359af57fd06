"""What a buffer holds of what it has, and which of L1's banks are touched."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

import numpy as np

from .._errors import BoundsError, ParamError, SupportError
from .._move import Move
from .._products import POSITIONS, Product
from .._products import product as product_of
from ..nn._pipeline import Pipeline
from ..nn.cube._matmul import CubeMatmul
from ._rates import SOURCE, WHO

_ROOMS = "products.json, buffers_kib"
GROUPS, BANKS, ROW = 8, 2, 32
"""Of L1: bank groups, banks of each, bytes of a row of a bank."""


@dataclasses.dataclass(frozen=True)
class Use:
    """What is held of one buffer.

    Attributes:
      buffer: its name.
      bytes: what is held.
      room: what the product has, in bytes.

    >>> Use("L0A", 32768, 65536).share
    0.5
    """

    buffer: str
    bytes: int
    room: int

    @property
    def share(self) -> float:
        """Of the room."""
        return self.bytes / self.room

    @property
    def fits(self) -> bool:
        """Whether there is room for it."""
        return self.bytes <= self.room


def capacity(what: Any) -> tuple[Use, ...]:
    """How much of each buffer a pipeline or a tile of a matrix product takes.

    Args:
      what: an `asc.nn.Pipeline`, or an `asc.nn.CubeMatmul`: its largest tiles of A and
        B in L1 together, each in L0, C in L0C. Both are refused where they do not fit,
        when they are made.
    Returns: a `Use` for each buffer but GM.
    Raises: ParamError for something else.
    Gradient: none.
    Source: products.json, buffers_kib.

    >>> import ascjax as asc
    >>> mm = asc.nn.CubeMatmul("910B", 256, 256, 512, "half", tile=(128, 256, 64))
    >>> [(use.buffer, use.bytes, use.share) for use in asc.cost.capacity(mm)][1:]
    [('L0A', 16384, 0.25), ('L0B', 32768, 0.5), ('L0C', 131072, 1.0)]
    """
    if isinstance(what, Pipeline):
        held = {
            buffer: -(-size * what.dtype.bits // 8)
            for buffer, size in zip(what.buffers, what.sizes, strict=True)
        }
        return _uses(held, what.product)
    if isinstance(what, CubeMatmul):
        a, b = what.job.a[0].road, what.job.b[0].road
        rows, columns = what.job.accumulator
        held = {"L1": a.bytes + b.bytes, "L0A": a.bytes, "L0B": b.bytes}
        return _uses({**held, "L0C": 4 * rows * columns}, what.product)
    rule, fix = "be a Pipeline or a CubeMatmul", "Make one of asc.nn."
    raise ParamError(WHO, "what", rule, type(what).__name__, fix, _ROOMS)


def _uses(held: dict[str, int], product: Product) -> tuple[Use, ...]:
    rooms = product.buffers_kib
    return tuple(
        Use(name, n, rooms[name] * 1024) for name, n in held.items() if name in rooms
    )


@dataclasses.dataclass(frozen=True, eq=False)
class Banks:
    """Which of L1's banks are touched.

    Attributes:
      rows: (8, 2), of each bank of each bank group the rows of 32 bytes touched.

    Two banks of a group do one read and one write at a time, not two of one kind; a
    bank one of either.
    """

    rows: np.ndarray

    @property
    def groups(self) -> int:
        """How many of the 8 bank groups are touched."""
        return int((self.rows.sum(axis=1) > 0).sum())

    @property
    def evenness(self) -> float:
        """The mean of all bank groups to the busiest one: 1 where all share alike."""
        each = self.rows.sum(axis=1)
        return float(each.mean() / each.max()) if each.max() else 1.0

    def __repr__(self) -> str:
        each = self.rows.sum(axis=1).tolist()
        return f"<Banks: rows of each group {each}, evenness {self.evenness:.2f}>"


def bank_groups(
    what: Move | range,
    side: Literal["src", "dst"] | None = None,
    *,
    product: Any = None,
    start: int = 0,
) -> Banks:
    """Which of L1's bank groups a move reads or writes.

    Args:
      what: a `Move` with product and path; or a range of bytes of L1.
      side: which operand of the move; None is the one that is in L1.
      product: of a range.
      start: byte of L1 where the operand's buffer starts.
    Returns: the rows of 32 bytes touched, once each, by bank group and bank.
    Raises:
      ParamError: an operand that is not in L1, a move without product and path.
      SupportError: a product whose L1 is not of 512 KiB: for others no page says it.
      BoundsError: bytes that L1 does not have.
    Gradient: none.
    Source: costs.md, Structure.

    >>> import ascjax as asc
    >>> asc.cost.bank_groups(range(0, 512), product="910B")
    <Banks: rows of each group [2, 2, 2, 2, 2, 2, 2, 2], evenness 1.00>
    >>> asc.cost.bank_groups(range(0, 96), product="910B").groups
    3
    """
    if isinstance(what, range):
        if product is None:
            rule, fix = "be given with a range of bytes", "Such as product='910B'."
            raise ParamError(WHO, "product", rule, "None", fix, SOURCE)
        where, addresses = product_of(product, WHO), np.asarray(what, np.int64)
    else:
        where, addresses = _touched(what, side)
    room = where.buffers_kib.get("L1", 0) * 1024
    if room != GROUPS * BANKS * 32 * 1024:
        rule, got = "have 512 KiB of L1", f"{where}, {room // 1024} KiB"
        fix = "The page states the banks of such a one only."
        raise SupportError(WHO, "product", rule, got, fix, SOURCE)
    addresses = addresses + start
    if addresses.size and not 0 <= addresses.min() <= addresses.max() < room:
        rule, got = f"be bytes of L1, [0, {room})", f"up to {addresses.max()}"
        raise BoundsError(WHO, "start", rule, got, "Start nearer to 0.", SOURCE)
    rows = np.unique(addresses // ROW)
    # 3 bits of bank group, 10 of row, 1 of bank
    counts = np.zeros((GROUPS, BANKS), np.int64)
    np.add.at(counts, (rows % GROUPS, rows >> 13), 1)
    return Banks(counts)


def _touched(what: Move, side: str | None) -> tuple[Product, np.ndarray]:
    """The product of a move, and the bytes of the operand that is in L1."""
    if not isinstance(what, Move) or what.product is None or what.path is None:
        rule, fix = "be a Move with product and path, or a range", "Make one so."
        raise ParamError(WHO, "what", rule, type(what).__name__, fix, SOURCE)
    ends = [POSITIONS[end] for end in what.path.split("->")]
    held = dict(zip(("src", "dst"), ends, strict=True))
    found = [name for name in held if held[name] == "L1" and side in (None, name)]
    if not found:
        rule, fix = "be in L1", "Take the move's other end, or another path."
        raise ParamError(
            WHO, f"side {side or ''}".strip(), rule, what.path, fix, SOURCE
        )
    index = what.index_map.index
    if found[0] == "src":
        elements, bits = np.unique(index[index >= 0]).astype(np.int64), what.type.bits
    else:
        elements, bits = np.flatnonzero(index != -1), what.arrives.bits
    return what.product, elements * bits // 8
