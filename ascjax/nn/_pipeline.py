"""A road of moves from buffer to buffer on one product, as one module."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

import equinox as eqx
import jax
import numpy as np

from .._chain import Chain, chain
from .._dtypes import AscendType, ascend_type
from .._errors import AscendError, BoundsError, ParamError
from .._html import repr_html
from .._index_map import KEEP
from .._move import Call, Move, Overlap
from .._operands import SOURCE
from .._products import POSITIONS, Product
from .._products import product as product_of
from .._run import run_move
from .._sequence import calls_of
from ..instr import Params
from ..instr._fields import static_int
from ..instr._struct import Struct

_UNBOUNDED = 2**62  # a source that no read leaves, to ask how far a move reads


@dataclasses.dataclass(frozen=True)
class Held:
    """What a buffer holds after a stage of a `Pipeline`.

    Attributes:
      buffer: its name: GM, L1, L0A, L0B, L0C or UB.
      values: shape (..., size), in elements; zero bits where nothing was written.
      written: bool, shape (size,): where the stage wrote. All of the input is.

    >>> import ascjax as asc, jax.numpy as jnp
    >>> stages = [(asc.LoadData2DParams(0, 2, 1, dst_gap=1), "A1->A2")]
    >>> road = asc.nn.Pipeline(stages, product="910B", dtype="half")
    >>> l1, l0a = road.trace(jnp.ones(512, "float16"))
    >>> l0a.buffer, l0a.values.shape, int(l0a.written.sum())
    ('L0A', (768,), 512)
    """

    buffer: str
    values: jax.Array
    written: np.ndarray


class Pipeline(eqx.Module):
    """Moves along named buffers (GM, L1, L0A, L0B, L0C, UB), joined into one plan.

    Each stage reads what the one before left in its buffer, zero bits where it wrote
    nothing (`trace` shows where); every buffer must have room for what is read and
    written there, on the product.

    Args:
      stages: (calls, path) pairs in order, a path such as "GM->A1" or "GM->L1"; calls
        as `asc.sequence` takes them: params, (params, src_offset, dst_offset), or a
        list of these.
      product: the product; its buffers bound the sizes.
      dtype: the Ascend C type that all stages move.
      sizes: elements of each buffer, in order, the first source and the last
        destination included; None for the least that the stages need.
      overlap: as `asc.load_data`.
    Shapes: `module(src, dst=None)` takes (..., sizes[0]) and (..., sizes[-1]), packed
      4-bit types half of that.
    Raises:
      ParamError: no stage, or a stage that reads another buffer than the one before
        writes.
      BoundsError: a buffer with less room than its stages need, or more than the
        product has.
      Else as `load_data`, when the module is built.
    Gradient: as `load_data`; the module itself has no leaves to train.
    Source: instructions.md, Units; products.json, buffers_kib.

    >>> import ascjax as asc, jax.numpy as jnp
    >>> road = asc.nn.Pipeline(
    ...     [
    ...         (asc.LoadData2DParams(0, 4, 2), "GM->A1"),
    ...         (asc.LoadData2DParams(0, 4, 1, if_transpose=True), "A1->A2"),
    ...     ],
    ...     product="910B", dtype="half")
    >>> road.buffers, road.sizes
    (('GM', 'L1', 'L0A'), (1792, 1024, 1024))
    >>> road(jnp.arange(1792, dtype="float16"))[:3]
    Array([ 0., 16., 32.], dtype=float16)
    """

    _repr_html_ = repr_html

    product: Product = eqx.field(static=True)
    dtype: AscendType = eqx.field(static=True)
    buffers: tuple[str, ...] = eqx.field(static=True)
    sizes: tuple[int, ...] = eqx.field(static=True)
    moves: tuple[Move, ...] = eqx.field(static=True, repr=False)
    joined: Chain = eqx.field(static=True, repr=False)

    def __init__(
        self,
        stages: Iterable[Any],
        *,
        product: Any,
        dtype: Any,
        sizes: Iterable[int | None] | None = None,
        overlap: Overlap = "error",
    ):
        where, type = product_of(product, "Pipeline"), ascend_type(dtype, "Pipeline")
        listed = [_stage(k, stage) for k, stage in enumerate(stages)]
        if not listed:
            fix = "Pass (calls, path) pairs."
            raise ParamError("Pipeline", "stages", "hold a stage", "none", fix, SOURCE)
        options: dict[str, Any] = {"product": where, "dtype": type, "overlap": overlap}
        loose = [
            _move(k, *stage, src_size=_UNBOUNDED, **options)
            for k, stage in enumerate(listed)
        ]
        self.buffers = _buffers(loose)
        needs = _needs(loose, type)
        self.sizes = _sizes(sizes, needs, self.buffers, where, type)
        moves = []
        for k, stage in enumerate(listed):
            each = loose[k].type.bits // type.bits
            src, dst = (-(-size // each) for size in self.sizes[k : k + 2])
            moves.append(_move(k, *stage, src_size=src, dst_size=dst, **options))
        self.moves, self.joined = tuple(moves), _joined(moves)
        self.product, self.dtype = where, type

    def __call__(
        self,
        src: Any,
        dst: Any = None,
        *,
        fused: bool = True,
        key: jax.Array | None = None,
    ) -> jax.Array:
        """What the last buffer holds after all stages.

        Shapes: `src` (..., sizes[0]); `dst`, like the result, (..., sizes[-1]), in
        elements, None for zero bits. `fused` is one plan for all stages; else they run
        one by one, with the same result. `key` is ignored: `eqx.nn.Sequential` passes
        one.
        """
        try:
            if fused:
                return self.joined(src, dst)
            for move in self.moves[:-1]:
                src = run_move(move, src)
            return run_move(self.moves[-1], src, dst)
        except AscendError as error:
            raise self._named(error) from None

    def _named(self, error: AscendError) -> AscendError:
        """The error of an operand, in the name of the stage that takes it."""
        k = len(self.moves) - 1 if error.field == "dst" else 0
        what = self.moves[k].calls[0].params.instruction
        return _of_stage(error, k, what, " -> ".join(self.buffers[k : k + 2]))

    def trace(self, src: Any) -> tuple[Held, ...]:
        """Every buffer along the way, `src` first, each after the stage that wrote it.

        Shapes: `src` (..., sizes[0]).
        """
        try:
            first = run_move(self.moves[0], src)
        except AscendError as error:
            raise self._named(error) from None
        held = [Held(self.buffers[0], src, np.ones(self.sizes[0], bool))]
        for k, move in enumerate(self.moves):
            values = first if k == 0 else run_move(move, held[-1].values)
            each = move.type.bits // self.dtype.bits
            written = np.repeat(move.index_map.index != KEEP, each)
            held.append(Held(self.buffers[k + 1], values, written[: self.sizes[k + 1]]))
        return tuple(held)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready: the product, the type, the sizes and every call."""
        return {
            "product": self.product.key,
            "dtype": self.dtype.name,
            "sizes": list(self.sizes),
            "overlap": self.moves[0].overlap,
            "stages": [
                {"path": move.path, "calls": [_call_dict(call) for call in move.calls]}
                for move in self.moves
            ],
        }

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Pipeline:
        """The pipeline that `to_dict` described."""
        stages = [
            ([_call_from(call) for call in stage["calls"]], stage["path"])
            for stage in data["stages"]
        ]
        options = {k: data[k] for k in ("product", "dtype", "sizes", "overlap")}
        return Pipeline(stages, **options)


def _call_dict(call: Call) -> dict[str, Any]:
    offsets = {"src_offset": call.src_offset, "dst_offset": call.dst_offset}
    return {**call.params.to_dict(), **offsets}


def _call_from(data: Mapping[str, Any]) -> Call:
    return Call(Params.from_dict(data), data["src_offset"], data["dst_offset"])


def _stage(k: int, stage: Any) -> tuple[tuple[Call, ...], str]:
    """One item of `stages`, its calls made."""
    if not (isinstance(stage, tuple) and len(stage) == 2 and isinstance(stage[1], str)):
        rule, fix = "be (calls, path)", 'Such as (params, "GM->A1").'
        raise ParamError("Pipeline", f"stages[{k}]", rule, repr(stage), fix, SOURCE)
    calls, path = stage
    alone = isinstance(calls, Struct | Call | tuple)
    return calls_of([calls] if alone else calls, "Pipeline"), path


def _move(k: int, calls: tuple[Call, ...], path: str, **options: Any) -> Move:
    """The move of stage `k`, whose errors say so."""
    try:
        return Move.sequence(calls, path=path, **options)
    except AscendError as error:
        raise _of_stage(error, k, error.who, path) from None


def _of_stage(error: AscendError, k: int, what: str, where: str) -> AscendError:
    return error.changed(who=f"Pipeline, stages[{k}] ({what}, {where})")


def _joined(moves: list[Move]) -> Chain:
    """The moves as one; `chain` calls stages moves."""
    try:
        return chain(moves)
    except AscendError as error:
        field = error.field.replace("moves", "stages")
        raise error.changed(who="Pipeline", field=field) from None


def _buffers(moves: list[Move]) -> tuple[str, ...]:
    """The buffer that each stage reads, and the one that the last writes."""
    found: list[str] = []
    for k, move in enumerate(moves):
        src, dst = (POSITIONS[end] for end in str(move.path).split("->"))
        if found and src != found[-1]:
            rule = f"read {found[-1]}, where the stage before writes"
            fix = "Put the stages in the order of the road."
            got = f"{move.path}, which reads {src}"
            raise ParamError("Pipeline", f"stages[{k}]", rule, got, fix, SOURCE)
        found += [dst] if found else [src, dst]
    return tuple(found)


def _needs(moves: list[Move], type: AscendType) -> list[int]:
    """The least elements of each buffer that the stages reach."""
    needs = [0] * (len(moves) + 1)
    for k, move in enumerate(moves):
        each = move.type.bits // type.bits
        ends = [span[1] + 1 for n in move.nests if (span := n.src_range()) is not None]
        needs[k] = max(needs[k], each * max(ends, default=0))
        needs[k + 1] = each * move.dst_size
    return needs


def _sizes(
    given: Any,
    needs: list[int],
    buffers: tuple[str, ...],
    product: Product,
    type: AscendType,
) -> tuple[int, ...]:
    """The size of each buffer, with room for its stages and inside the product's."""
    sizes = list(needs) if given is None else list(given)
    if len(sizes) != len(buffers):
        rule = f"have one size for each of {', '.join(buffers)}"
        fix = "None stands for the least that the stages need."
        raise ParamError("Pipeline", "sizes", rule, given, fix, SOURCE)
    for k, (buffer, need) in enumerate(zip(buffers, needs, strict=True)):
        rule = "be integers (elements) or None"
        size = (
            need
            if sizes[k] is None
            else static_int("Pipeline", "sizes", sizes[k], rule, SOURCE)
        )
        room = product.buffers_kib.get(buffer, 0) * 8192 // type.bits
        if buffer != "GM" and max(size, need) > room:
            rule = f"fit {buffer} of {product}, {room * type.bits // 8} bytes: {room} "
            rule += f"elements of {type}"
            got = f"{max(size, need)} elements"
            fix = "Move a smaller tile, or start nearer to the buffer's start."
            source = "products.json, buffers_kib"
            raise BoundsError("Pipeline", buffer, rule, got, fix, source)
        if size < need:
            rule = f"be at least {need} (elements), what the stages reach in {buffer}"
            fix = "Give a larger size, or None."
            raise BoundsError("Pipeline", f"sizes[{k}]", rule, size, fix, SOURCE)
        sizes[k] = size
    return tuple(sizes)
