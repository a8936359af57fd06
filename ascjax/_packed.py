"""Elements of 4 bits, two to a byte: the even one in the low nibble."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from ._compose import plain
from ._lowering import lower_nest
from ._nest import Coord, Loop, LoopNest
from ._plan import Plan
from ._primitive import jitted, run
from ._simplify import simplify


def unpack(x: jax.Array) -> jax.Array:
    """Bytes to nibbles: (..., n) -> (..., 2 n), uint8."""
    pairs = jnp.stack([x & 15, x >> 4], axis=-1)
    return pairs.reshape(*x.shape[:-1], 2 * x.shape[-1])


def pack(x: jax.Array) -> jax.Array:
    """Nibbles to bytes: (..., 2 n) -> (..., n), uint8."""
    pairs = x.reshape(*x.shape[:-1], x.shape[-1] // 2, 2)
    return pairs[..., 0] | pairs[..., 1] << 4


def byte_nest(nest: LoopNest) -> LoopNest | None:
    """The nest of elements as one of bytes, where each byte moves whole.

    That is where some loop walks neighbours on both sides, an even number of them, and
    all other steps are even: a move without a transpose.
    """
    if any(coord.extent is not None for coord in nest.coords):
        return None
    start = nest.src_start + sum(coord.stride * coord.offset for coord in nest.coords)
    loops, terms, paired = [], [], False
    for loop, step in zip(nest.loops, nest.src_steps(), strict=True):
        if loop.extent == 1:
            continue
        if not paired and (loop.dst_stride, step, loop.extent % 2) == (1, 1, 0):
            paired = True
            loop = dataclasses.replace(loop, extent=loop.extent // 2)
        elif loop.dst_stride % 2 or step % 2:
            return None
        else:
            loop = Loop(loop.name, loop.extent, loop.dst_stride // 2)
            step //= 2
        loops.append(loop)
        terms.append(step)
    if not paired or start % 2 or nest.dst_start % 2:
        return None
    coords = (Coord(tuple(terms), 1),)
    return LoopNest(tuple(loops), coords, start // 2, nest.dst_start // 2)


def element_nest(nest: LoopNest) -> LoopNest:
    """The nest of bytes as one of elements, two to each."""
    coords = tuple(
        dataclasses.replace(c, terms=(*c.terms, 0), stride=2 * c.stride)
        for c in nest.coords
    )
    each = Coord((0,) * len(nest.loops) + (1,), 1)
    loops = tuple(
        dataclasses.replace(loop, dst_stride=2 * loop.dst_stride) for loop in nest.loops
    )
    half = Loop("half", 2, 1)
    starts = 2 * nest.src_start, 2 * nest.dst_start
    return LoopNest((*loops, half), (*coords, each), *starts)


def element_index(index: np.ndarray) -> np.ndarray:
    """The map of bytes as one of elements, two to each."""
    halves = np.where(index >= 0, 2 * index.astype(np.int64), index)[:, None]
    return (halves + np.where(halves >= 0, np.arange(2), 0)).reshape(-1)


def byte_plan(nest: LoopNest | None, src_bytes: int, dst_bytes: int) -> Plan | None:
    """A plan that moves packed bytes, where the nest allows it."""
    whole = None if nest is None or nest.volume == 0 else byte_nest(nest)
    return None if whole is None else lower_nest(whole, src_bytes, dst_bytes, bits=8)


def turned_plans(
    nest: LoopNest | None, src_bytes: int, dst_bytes: int
) -> tuple[Plan, Plan] | None:
    """Two moves of bytes that make a transpose of nibbles, with `exchange` between.

    That is where one loop walks neighbours in the source and another one in the
    destination, pairs of them, and all else is even: then the bytes of two neighbours
    in the destination's loop hold two of its bytes, crosswise. The first move brings
    these apart, in the destination's order; the second one writes.
    """
    if nest is None or not plain(nest):
        return None
    if any(coord.extent is not None for coord in nest.coords):
        return None
    nest = simplify(nest)
    rows = [
        (loop.extent, step, loop.dst_stride)
        for loop, step in zip(nest.loops, nest.src_steps(), strict=True)
    ]
    along_src = [row for row in rows if row[1] == 1 and row[0] % 2 == 0]
    along_dst = [row for row in rows if row[2] == 1 and row[0] % 2 == 0]
    start = nest.src_start + sum(c.stride * c.offset for c in nest.coords)
    if len(along_src) != 1 or len(along_dst) != 1 or along_src == along_dst:
        return None
    (n_src, _, far), (n_dst, apart, _) = along_src[0], along_dst[0]
    rest = [row for row in rows if row not in (along_src[0], along_dst[0])]
    evens = (start, nest.dst_start, far, apart, *(x for row in rest for x in row[1:]))
    if any(x % 2 for x in evens):
        return None
    # (extent, step in the source, step in the destination), in bytes.
    loops = [(n_src // 2, 1, far), *((n, src // 2, dst // 2) for n, src, dst in rest)]
    loops = [*sorted(loops, key=lambda row: -row[2]), (n_dst // 2, apart, 1)]
    half, brought, written = 1, [], []
    for k, (n, src, dst) in reversed([*enumerate(loops)]):
        brought.insert(0, (f"x{k}", n, src, half))
        written.insert(0, (f"x{k}", n, half, dst))
        half *= n
    first = LoopNest.strided(start // 2, 0, ("of", 2, apart // 2, half), *brought)
    then = LoopNest.strided(0, nest.dst_start // 2, ("of", 2, half, far // 2), *written)
    return (
        lower_nest(first, src_bytes, 2 * half, bits=8),
        lower_nest(then, 2 * half, dst_bytes, bits=8),
    )


def exchange(x: jax.Array) -> jax.Array:
    """The low nibbles of both halves of the last axis as bytes, then the high ones."""
    one, two = jnp.split(x, 2, axis=-1)
    return jnp.concatenate([one & 15 | two << 4, one >> 4 | two & 240], axis=-1)


def on_bytes(
    nest: LoopNest | None,
    src_size: int,
    dst_size: int,
    plan_of: Callable[[int, int], Plan],
) -> Callable[..., jax.Array]:
    """A move of elements as a compiled function of packed bytes.

    Args:
      nest: the move, where it is one nest.
      src_size, dst_size: of the buffers, in elements.
      plan_of: its plan of elements, for buffers of even sizes.
    """
    src_bytes, dst_bytes = -(-src_size // 2), -(-dst_size // 2)
    plan = byte_plan(nest, src_bytes, dst_bytes)
    if plan is not None:
        return jitted(plan)
    turned = turned_plans(nest, src_bytes, dst_bytes)
    if turned is not None:
        return jax.jit(functools.partial(_by_pairs, *turned))
    return jax.jit(
        functools.partial(_by_nibbles, plan_of(2 * src_bytes, 2 * dst_bytes))
    )


def _by_nibbles(plan: Plan, src: jax.Array, dst: jax.Array | None) -> jax.Array:
    """Apply a plan of elements to packed bytes, through one nibble a byte."""
    return pack(run(plan, unpack(src), None if dst is None else unpack(dst)))


def _by_pairs(
    first: Plan, then: Plan, src: jax.Array, dst: jax.Array | None
) -> jax.Array:
    """Apply a transpose of nibbles to packed bytes, by moves of bytes."""
    return run(then, exchange(run(first, src, None)), dst)
