"""A case of the table at a type and a size: arrays, the op, its peers, the answer."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import ascjax as asc

from . import peers
from .builders import Calls
from .cases import Case
from .strides import Axes, backward, forward
from .timing import SEED, check

# type: (Ascend C name, the array's dtype)
TYPES = {
    "f32": ("float", "float32"),
    "bf16": ("bfloat16_t", "bfloat16"),
    "int8": ("int8_t", "int8"),
    "int4": ("int4b_t", "uint8"),  # packed bytes
    "jnp.int4": ("int4b_t", "int4"),
}
_UNITS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_LARGEST = 2**63  # a source that no read leaves


def size_of(text: str) -> tuple[int | None, int]:
    """ "1MiB" or "1024x64KiB": batch and bytes."""
    *batch, one = text.split("x")
    number = int(one[:-3]) * _UNITS[one[-3:]]
    return (int(batch[0]) if batch else None), number


def move_of(case: Case, calls: Calls, dtype: str) -> asc.Move:
    """The calls with the least buffers that hold them, or with whole pitches."""
    made = tuple(asc.Call(*call) for call in calls)
    probe = asc.Move.sequence(made, src_size=_LARGEST, dtype=dtype)
    ends = [nest.src_range() for nest in probe.nests]
    src, dst = max(end[1] for end in ends if end) + 1, probe.dst_size
    nest = probe.nest
    padded = nest is None or any(c.extent is not None for c in nest.coords)
    if not case.tight and nest is not None and not padded:
        steps = [
            (loop.extent, abs(sum(c.stride * c.terms[k] for c in nest.coords)), loop)
            for k, loop in enumerate(nest.loops)
        ]
        src = max(src, *(n * step for n, step, _ in steps))
        dst = max(dst, *(n * loop.dst_stride for n, _, loop in steps))
    return asc.Move.sequence(made, src_size=src, dst_size=dst, dtype=dtype)


@dataclasses.dataclass
class Work:
    """What is timed: variants by direction, each a call without arguments."""

    case: Case
    type: str
    size: str
    calls: int
    variants: dict[str, dict[str, Callable[[], Any]]]

    def row(self, direction: str, times: dict[str, float]) -> dict[str, Any]:
        """One row of results, JSON-ready."""
        case = self.case
        name = f"{case.name} ({self.calls} calls)" if self.calls > 1 else case.name
        flags = ("given_dst", "element", "identity", "injective")
        return {
            "case": name,
            "type": self.type,
            "size": self.size,
            "bytes": math.prod(filter(None, size_of(self.size))),
            "direction": direction,
            **{flag: getattr(case, flag) for flag in flags},
            "seconds": times,
        }


def _random(shape: tuple[int, ...], dtype: str, sparse: bool, seed: int) -> np.ndarray:
    """Small integers, which every type holds; sparse ones add up exactly in bf16."""
    rng = np.random.default_rng(SEED + seed)
    if sparse:
        return rng.choice([-1, 1] + [0] * 30, shape).astype(jnp.dtype(dtype))
    low, high = (0, 256) if dtype == "uint8" else (-128, 128)
    low, high = (-8, 8) if dtype == "int4" else (low, high)
    return rng.integers(low, high, shape).astype(jnp.dtype(dtype))


def op_of(calls: Calls, dtype: str, dst_size: int) -> Callable[[Any, Any], Any]:
    """The public operation: the instruction's own, or a sequence of calls."""
    if len(calls) > 1:
        many = asc.sequence(calls, dtype=dtype)
        return lambda src, dst: many(src, dst, dst_size=dst_size)
    params, src_offset, dst_offset = calls[0]
    op = functools.partial(
        getattr(asc, params.op),
        params=params,
        src_offset=src_offset,
        dst_offset=dst_offset,
        dtype=dtype,
    )
    return lambda src, dst: op(src, dst=dst, dst_size=dst_size)


def work_of(
    case: Case, type: str, size: str, *, directions: tuple[str, ...], only: set[str]
) -> Work:
    """Build one piece of work and check every variant's answer.

    `only` names the peers to build; empty is all. Backward is for floats.

    Raises:
      WrongAnswer: a variant that differs from the answer in a bit.
    """
    dtype, carrier = TYPES[type]
    batch, count = size_of(size)
    calls = case.make(asc.ascend_type(dtype), count)
    move = move_of(case, calls, dtype)
    packed = type == "int4"
    each = 2 if packed else 1
    lead = () if batch is None else (batch,)
    src = _random((*lead, move.src_size // each), carrier, False, 1)
    dst = None
    if case.given_dst:
        dst = _random((*lead, move.dst_size // each), carrier, False, 2)
    fns = _functions(case, type, count, move, only)
    ours = op_of(calls, dtype, move.dst_size)
    arrays = [jnp.asarray(src), None if dst is None else jnp.asarray(dst)]
    found: dict[str, dict[str, Callable[[], Any]]] = {}
    for direction in directions:
        if direction == "forward":
            want = _answer(move, src, dst, packed)
            built = {
                name: functools.partial(jax.jit(f), *arrays, *more)
                for name, (f, *more) in {"ours": (ours,), **fns}.items()
            }
            built |= _outside(move, src, packed, only)
            copy_size = move.dst_size // each
        elif jnp.issubdtype(arrays[0].dtype, jnp.floating):
            shape = (*lead, move.dst_size)
            ct = _random(shape, carrier, not case.injective, 3)
            want = backward(move, ct)
            built = {
                name: functools.partial(_vjp(f), jnp.asarray(ct), *arrays, *more)
                for name, (f, *more) in {"ours": (ours,), **fns}.items()
            }
            copy_size = move.src_size
        else:
            continue
        for name, call in built.items():
            label = f"{case.name}, {type}, {size}, {direction}, {name}"
            check(label, call(), want)
        copy, whole = peers.copy_of(copy_size, arrays[0])
        found[direction] = {"copy": functools.partial(copy, whole), **built}
    return Work(case, type, size, len(calls), found)


def _answer(
    move: asc.Move, src: np.ndarray, dst: np.ndarray | None, packed: bool
) -> np.ndarray:
    if not packed:
        return forward(move, src, dst)

    def nibbles(x: np.ndarray) -> np.ndarray:
        return np.stack([x & 15, x >> 4], -1).reshape(*x.shape[:-1], -1)

    out = forward(move, nibbles(src), None if dst is None else nibbles(dst))
    return out[..., ::2] | out[..., 1::2] << 4


def _vjp(f: Callable[..., Any]) -> Callable[..., Any]:
    """The cotangent of src under jit; XLA drops the forward move, which is linear."""

    def back(ct: Any, src: Any, dst: Any, *more: Any) -> Any:
        return jax.vjp(lambda x: f(x, dst, *more), src)[1](ct)[0]

    return jax.jit(back)


def _functions(
    case: Case, type: str, count: int, move: asc.Move, only: set[str]
) -> dict[str, tuple]:
    """Peers on JAX arrays: (function of (src, dst, ...), further arguments)."""
    axes, packed = Axes.of(move), type == "int4"
    whole = axes.in_bytes() if packed and axes is not None else axes
    split = packed and whole is None
    axes = axes if split else whole
    found: dict[str, Any] = {}
    if case.hand is not None:
        hand = case.hand(asc.ascend_type(TYPES[type][0]), count)
        found["flat"] = (lambda src, dst: hand(src),)
    if axes is not None:
        for name, build in (("flat", peers.flat), ("einops", peers.einops)):
            f = build(axes)
            found |= {} if f is None else {name: (f,)}
    if not only or "x[idx]" in only:
        index = move.index_map.index if axes is None else peers.index_of(axes)
        if axes is not None or (index != -2).all() or case.kind == "pad nearest":
            f, where = peers.gather(index)
            found["x[idx]"] = (f, jnp.asarray(where))
    if split:
        found = {k: (peers.through_nibbles(f), *m) for k, (f, *m) in found.items()}
    return {k: v for k, v in found.items() if not only or k in only}


def _outside(
    move: asc.Move, src: np.ndarray, packed: bool, only: set[str]
) -> dict[str, Callable[[], Any]]:
    """Peers that are not JAX: numpy and torch, on the bits."""
    axes = Axes.of(move)
    axes = axes.in_bytes() if packed and axes is not None else axes
    if axes is None:
        return {}
    raw = src.view(f"int{8 * src.dtype.itemsize}")
    made = {
        "numpy": peers.numpy(axes, raw),
        "torch": peers.torch(axes, raw),
    }
    return {
        name: call
        for name, call in made.items()
        if call is not None and (not only or name in only)
    }
