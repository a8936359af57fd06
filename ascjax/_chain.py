"""Moves one after another, from buffer to buffer, as one move."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterable
from typing import Any

import jax
import numpy as np

from ._call import how
from ._compose import compose, plain
from ._dtypes import AscendType
from ._errors import BoundsError, ParamError
from ._html import repr_html
from ._index_map import IndexMap, check_indexable
from ._lowering import lower_map, lower_nest
from ._move import Move
from ._nest import FILL, KEEP, LoopNest
from ._operands import SOURCE, check_length, flat_hint, form_of, operands, type_of
from ._packed import element_index, element_nest, on_bytes
from ._plan import Plan
from ._primitive import jitted
from ._simplify import simplify


@dataclasses.dataclass(frozen=True)
class Chain:
    """Moves in order, each reading what the one before left; made by `asc.chain`.

    Called with (src, dst=None). Shapes, arguments, errors and gradient are as
    `run_move`, from the first move's source to the last one's destination.

    Attributes:
      moves: the moves, in order; sizes in elements.
    Source: instructions.md, Units.

    >>> import ascjax as asc, jax.numpy as jnp
    >>> turn = asc.LoadData2DParams(0, 2, 1, if_transpose=True)
    >>> one = asc.Move.of(turn, dtype="half", src_size=512)
    >>> print(asc.chain([one, one]).plan)
    read      512 every 1 from 0 of src
    write     512 every 1 from 0 of dst
    """

    _repr_html_ = repr_html

    moves: tuple[Move, ...]

    @functools.cached_property
    def type(self) -> AscendType:
        """The type as the chain counts it: in pairs only where all moves do."""
        return min((move.type for move in self.moves), key=lambda type: type.bits)

    @property
    def src_size(self) -> int:
        """Elements of the first source."""
        first = self.moves[0]
        return first.src_size * (first.type.bits // self.type.bits)

    @property
    def dst_size(self) -> int:
        """Elements of the last destination."""
        last = self.moves[-1]
        return last.dst_size * (last.type.bits // self.type.bits)

    def __call__(self, src: Any, dst: Any = None) -> jax.Array:
        """What the last destination holds after all moves."""
        first = self.moves[0]
        params = first.calls[0].params
        src, dst = operands(params.instruction, src, dst)
        form = src.shape[-1], src.dtype
        _, packed = type_of(params, form, form_of(dst), first.type, settled=True)
        packed = packed or first.type.bits > self.type.bits
        try:
            check_length("chain", "src", form, self.src_size, packed)
            check_length("chain", "dst", form_of(dst), self.dst_size, packed)
        except BoundsError as error:
            raise flat_hint(error, {"src": src, "dst": dst}) from None
        return self._packed(src, dst) if packed else jitted(self.plan)(src, dst)

    @functools.cached_property
    def _packed(self) -> Callable[..., jax.Array]:
        """The chain as a compiled function of packed operands."""
        return on_bytes(self.nest, self.src_size, self.dst_size, self._plan)

    @functools.cached_property
    def nest(self) -> LoopNest | None:
        """All moves as one nest, or None where they are not one."""
        whole = None
        for move in self.moves:
            nest = move.nest
            if nest is None or move.fills != (0,) or not plain(nest):
                return None
            if move.type.bits > self.type.bits:
                nest = element_nest(nest)
            nest = simplify(nest)
            whole = nest if whole is None else compose(whole, nest)
            if whole is None:
                return None
            whole = simplify(whole)
        return whole

    @functools.cached_property
    def fills(self) -> tuple[int, ...]:
        """The bits of all paddings; what no move writes is read as zero bits."""
        return tuple(
            dict.fromkeys((0, *(f for move in self.moves for f in move.fills)))
        )

    @functools.cached_property
    def index_map(self) -> IndexMap:
        """The map that all moves leave together."""
        whole = None
        for move in self.moves:
            check_indexable(move.src_size, move.dst_size, "chain")
            index = move.index_map.index
            if move.type.bits > self.type.bits:
                index = element_index(index)
            codes = np.array([FILL - self.fills.index(bits) for bits in move.fills])
            index = np.where(index <= FILL, codes[(FILL - index).clip(0)], index)
            if whole is not None:
                before = np.where(whole == KEEP, FILL, whole)
                index = np.where(index >= 0, before[index.clip(0)], index)
            whole = index
        return IndexMap(np.asarray(whole), self.src_size)

    @functools.cached_property
    def plan(self) -> Plan:
        """One plan for all moves: from their nest where they are one, else a map."""
        return self._plan(self.src_size, self.dst_size)

    def _plan(self, src_size: int, dst_size: int) -> Plan:
        """The plan for buffers that may be longer than the moves know."""
        if self.nest is not None:
            return lower_nest(self.nest, src_size, dst_size, (0,), self.type.bits)
        more = dst_size - self.dst_size
        index = np.pad(self.index_map.index, (0, more), constant_values=KEEP)
        return lower_map(IndexMap(index, src_size), self.fills)


def chain(moves: Iterable[Any]) -> Chain:
    """Moves from buffer to buffer, joined into one.

    Args:
      moves: `Move`s, or modules of `asc.nn` that hold one; each reads what the one
        before leaves in a destination of zero bits.
    Returns: a function of (src, dst=None). Shapes, errors and gradient are as
      `run_move`, from the first move's source to the last one's destination.
    Raises:
      ParamError: no move at all, or moves of different types.
      BoundsError: a move that reads another size than the one before leaves.
    Source: instructions.md, Units.

    >>> import ascjax as asc, jax.numpy as jnp
    >>> to_l1 = asc.LoadData2DParams(repeat_times=4, src_stride=2)
    >>> to_l0 = asc.LoadData2DParams(0, 4, 1, if_transpose=True)
    >>> road = asc.chain([
    ...     asc.Move.of(to_l1, dtype="half", src_size=2048, path="GM->A1"),
    ...     asc.Move.of(to_l0, dtype="half", src_size=1024, path="A1->A2"),
    ... ])
    >>> road(jnp.arange(2048, dtype="float16"))[:3]
    Array([ 0., 16., 32.], dtype=float16)
    """
    found = tuple(getattr(move, "move", move) for move in moves)
    if not found or not all(isinstance(move, Move) for move in found):
        rule, fix = "hold moves", "Make them with asc.Move.of or asc.nn."
        fix = next(filter(None, map(how, found)), fix)
        raise ParamError("chain", "moves", rule, repr(list(found)), fix, SOURCE)
    for k, move in enumerate(found):
        if move.conversion is not None:
            rule = "move values as they are"
            fix = "Run it after the chain: a chain is one map."
            got = move.calls[0].params
            raise ParamError("chain", f"moves[{k}]", rule, got, fix, SOURCE)
    for k, (one, two) in enumerate(itertools.pairwise(found)):
        if two.type.name != one.type.name:
            rule = f"move {one.type}, as the one before"
            fix = "A move does not convert."
            raise ParamError("chain", f"moves[{k + 1}]", rule, two.type, fix, SOURCE)
        if two.src_size * two.type.bits != one.dst_size * one.type.bits:
            unit = "elements" if one.type == two.type else f"elements of {one.type}"
            rule = f"read {one.dst_size} {unit}, what the one before leaves"
            fix = "Make both for one size of the buffer between them."
            raise BoundsError(
                "chain", f"moves[{k + 1}]", rule, two.src_size, fix, SOURCE
            )
    return Chain(found)
