"""Moves applied to arrays: checked, lowered and compiled once a form of operands."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any

import jax

from ._errors import BoundsError, ParamError
from ._move import Call, Move, Overlap
from ._operands import (
    SOURCE,
    Form,
    check_length,
    flat_hint,
    form_of,
    operands,
    sizes_of,
    type_of,
    values_of,
)
from ._packed import on_bytes
from ._plan import Plan
from ._primitive import jitted, run


def run_move(move: Move, src: Any, dst: Any = None) -> jax.Array:
    """Apply a `Move` to arrays, under a cached `jax.jit`.

    Shapes: `src` (..., move.src_size), `dst` and the result (..., move.dst_size), in
    elements; packed 4-bit buffers are uint8, half as long, rounded up.

    Args:
      move: what to apply.
      src: what the source holds.
      dst: what the destination held before; None is zero bits.
    Returns: what the destination holds after.
    Raises:
      ParamError: arrays of another type than the move's.
      BoundsError: arrays of other sizes than the move's.
    Gradient: as `load_data`.
    Source: instructions.md, sections 1 to 6 and 9.

    >>> import ascjax as asc, jax.numpy as jnp
    >>> p = asc.LoadData2DParams(start_index=1, repeat_times=1)
    >>> move = asc.Move.of(p, dtype="float", src_size=256)
    >>> asc.run_move(move, jnp.arange(256.0))[:2]
    Array([128., 129.], dtype=float32)
    """
    src, dst = operands(move.calls[0].params.instruction, src, dst)
    held = {"src": src, "dst": dst}
    return look_up(_fitted, held, move, form_of(src), form_of(dst))(src, dst)


@functools.lru_cache(maxsize=4096)
def _fitted(move: Move, src: Form, dst: Form | None) -> Callable[..., jax.Array]:
    """The move, compiled for operands of its own sizes and type."""
    params = move.calls[0].params
    _, packed = type_of(params, src, dst, move.type, settled=True)
    who = params.instruction
    check_length(who, "src", src, move.src_size, packed)
    check_length(who, "dst", dst, move.dst_size, packed)
    return _applied(move, packed)


def look_up(
    cached: Any, held: Mapping[str, jax.Array | None], *key: Any, **named: Any
) -> Callable[..., jax.Array]:
    """`cached(*key)` for operands by name; where something in the key does not hash,
    the checks say what."""
    try:
        try:
            return cached(*key, **named)
        except TypeError:
            return cached.__wrapped__(*key, **named)
    except BoundsError as error:
        raise flat_hint(error, held) from None


def compiled(
    calls: tuple[Call, ...],
    src: Form,
    dst: Form | None,
    dst_size: Any,
    product: Any,
    path: str | None,
    dtype: Any,
    overlap: Overlap,
    behaviour: str,
) -> Callable[..., jax.Array]:
    """Calls, checked and compiled: a function of (src, dst)."""
    params = calls[0].params
    t, packed = type_of(params, src, dst, dtype)
    src_size, dst_size = sizes_of(params.instruction, src, dst, dst_size, packed)
    move = Move.sequence(
        calls,
        src_size=src_size,
        dst_size=dst_size,
        product=product,
        path=path,
        dtype=t,
        overlap=overlap,
        behaviour=behaviour,
    )
    return _applied(move, packed)


@functools.lru_cache(maxsize=4096)
def _applied(move: Move, packed: bool) -> Callable[..., jax.Array]:
    """The move as a compiled function of (src, dst)."""
    if move.conversion is not None:
        return jax.jit(functools.partial(_converted, move))
    if not packed:
        return jitted(move.plan)

    def plan_of(src_size: int, dst_size: int) -> Plan:
        return dataclasses.replace(move, src_size=src_size, dst_size=dst_size).plan

    return on_bytes(move.nest, move.src_size, move.dst_size, plan_of)


def _converted(move: Move, src: jax.Array, dst: jax.Array | None = None) -> jax.Array:
    """The move of converted values: an element converts alike wherever it stands."""
    values = values_of(src, move.type)
    return run(move.plan, move.conversion(values), dst)  # pyright: ignore


def into(move: Callable, src: Any, dst: Any, out: Any, who: str) -> jax.Array:
    """The move's result in the memory of `out`, which is given up."""
    made = jax.eval_shape(move, src, dst)
    given = (getattr(out, "shape", None), getattr(out, "dtype", None))
    if not isinstance(out, jax.Array) or given != (made.shape, made.dtype):
        rule = f"be an array of {made.dtype} of shape {made.shape}, as the result is"
        got = f"{type(out).__name__} of {given[1]} of shape {given[0]}"
        fix = "Leave out= away for a result in new memory."
        raise ParamError(who, "out", rule, got, fix, SOURCE)
    if out is src or out is dst:
        rule, got = "be an array that is no operand", "src" if out is src else "dst"
        fix = "Give up an array that nothing else needs."
        raise ParamError(who, "out", rule, got, fix, SOURCE)
    return _donating(move)(src, dst, out)


@functools.lru_cache(maxsize=1024)
def _donating(move: Callable) -> Callable[..., jax.Array]:
    def into(src, dst, out):
        return move(src, dst)

    return jax.jit(into, donate_argnums=2, keep_unused=True)
