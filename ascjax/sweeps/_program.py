"""The compiled programs: codes to maps, and maps applied to buffers.

A move is data here, so one program runs thousands of moves in a batch.
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp

from .._nest import FILL, KEEP
from ._code import MODES, Kind


@functools.lru_cache(maxsize=256)
def mapper(kind: Kind, size: int, last: bool):
    """The program from codes to maps, compiled once for each size of a batch.

    Shapes: (batch, calls, kind.length) int32 to (batch, size) int32: for each element
    of the destination the source element, KEEP, or FILL - k where call k pads.

    Args:
      kind: of the calls.
      size: elements of the destination, and of one call at most.
      last: whether a call may write an element twice; the later iteration wins.
    """

    def of_calls(calls: jax.Array) -> jax.Array:
        def then(index: jax.Array, call: tuple[jax.Array, jax.Array]):
            number, code = call
            return _after(index, code, number, kind, last), None

        numbers = jnp.arange(len(calls), dtype=jnp.int32)
        kept = jnp.full(size, KEEP, jnp.int32)
        if len(calls) == 1:
            return then(kept, (numbers[0], calls[0]))[0]
        return jax.lax.scan(then, kept, (numbers, calls))[0]

    return jax.jit(jax.vmap(of_calls))


def _after(
    index: jax.Array, code: jax.Array, number: jax.Array, kind: Kind, last: bool
) -> jax.Array:
    """The map after one more call."""
    size = index.size
    step = jnp.arange(size, dtype=jnp.int32)
    dst, src = _addresses(code, step, kind)
    dst = jnp.where(step < code[0], dst, size)
    if last:  # of a repeated index XLA may keep any, so the latest step is found first
        winner = jnp.full(size, -1, jnp.int32).at[dst].max(step, mode="drop")
        _, src = _addresses(code, jnp.maximum(winner, 0), kind)
        return jnp.where(winner < 0, index, _code_of(src, number))
    return index.at[dst].set(_code_of(src, number), mode="drop")


def _code_of(src: jax.Array, number: jax.Array) -> jax.Array:
    return jnp.where(src == FILL, FILL - number, src)


def _addresses(
    code: jax.Array, step: jax.Array, kind: Kind
) -> tuple[jax.Array, jax.Array]:
    """Destination and source element of iterations; the source is FILL for padding."""
    if kind.rows:
        return _of_runs(code, step, kind.rows)
    n = kind.loops
    dst, src, rest = code[1], code[2], step
    bounds = code[3 + 3 * n :].reshape(kind.bounds, n + 4)
    values = [bound[n + 1] for bound in bounds]
    for k in reversed(range(n)):
        rest, index = _divided(rest, code[3 + k])
        dst = dst + index * code[3 + n + k]
        src = src + index * code[3 + 2 * n + k]
        values = [v + index * bounds[j, k] for j, v in enumerate(values)]
    padding = jnp.zeros((), bool)
    for bound, value in zip(bounds, values, strict=True):
        stride, limit, mode = bound[n], bound[n + 2], bound[n + 3]
        nearest = jnp.clip(value, 0, limit - 1)
        padding = padding | ((mode == MODES["fill"]) & (value != nearest))
        src = src + nearest * stride
    return dst, jnp.where(padding, FILL, src)


def _of_runs(
    code: jax.Array, step: jax.Array, rows: int
) -> tuple[jax.Array, jax.Array]:
    run, place = _divided(step, code[3])
    run = jnp.minimum(run, rows - 1)
    dst, src = code[5 : 5 + rows][run], code[5 + rows :][run]
    to = code[1] + dst + place * code[4]
    return to, jnp.where(src == FILL, FILL, code[2] + src + place)


def _divided(step: jax.Array, by: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Quotient and rest, exact below 2^22, several times as fast as by integers."""
    near = step.astype(jnp.float32) / by.astype(jnp.float32)
    return _settled(near.astype(jnp.int32), step, by)


def _settled(
    near: jax.Array, step: jax.Array, by: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Quotient and rest from a quotient that is off by one at most: GPUs divide floats
    to within two units in the last place, which below 2^22 is one."""
    rest = step - near * by
    off = (rest >= by).astype(jnp.int32) - (rest < 0).astype(jnp.int32)
    return near + off, rest - off * by


@jax.jit
def apply(
    index: jax.Array, src: jax.Array, dst: jax.Array, fills: jax.Array
) -> jax.Array:
    """Maps applied to buffers of bits.

    Shapes: index (batch, size), src (batch, any) or with a last axis of words, dst
    (batch, size), fills (batch, calls), the bits of each call's padding, to
    (batch, size).
    """

    def one(index, src, dst, fills):
        wide = index[:, None] if src.ndim == 2 else index
        moved = src[jnp.maximum(index, 0)]
        padded = fills[jnp.maximum(FILL - index, 0)]
        kept = jnp.where(wide == KEEP, dst, padded)
        return jnp.where(wide >= 0, moved, kept)

    return jax.vmap(one)(index, src, dst, fills)
