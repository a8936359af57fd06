"""What a move must do, by its index map in NumPy, and checks that compare exactly.

Nothing here knows of plans or of JAX's transforms. `test_transforms.py` holds the
control of each check: a wrong answer that must make it fail.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
from cases import CASES, KINDS, integers

import ascjax as asc

KEEP, FILL = -1, -2

every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
every_kind = pytest.mark.parametrize("case", [CASES[name] for name in KINDS], ids=KINDS)


def bits(x: Any) -> np.ndarray:
    """The bit patterns of an array, as unsigned integers of its width."""
    array = np.asarray(x, order="C")
    raw = array.view(f"uint{8 * array.dtype.itemsize}")
    return raw & 15 if is_4_bit(array.dtype) else raw


def of_bits(raw: Any, dtype: Any) -> np.ndarray:
    """The array of `dtype` with these bit patterns."""
    dtype = np.dtype(dtype)
    return np.asarray(raw, f"uint{8 * dtype.itemsize}", order="C").view(dtype)


def on_device(*arrays: Any) -> Any:
    """NumPy arrays as JAX's, where an op would compile a copy for each new shape."""
    return jax.device_put(arrays)


def is_4_bit(dtype: Any) -> bool:
    return np.dtype(dtype).name in ("int4", "uint4", "float4_e2m1fn")


def patterns(seed: int, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Random bit patterns of a type; True and False for bool."""
    width = 4 if is_4_bit(dtype) else 8 * np.dtype(dtype).itemsize
    high = 2 if np.dtype(dtype) == bool else 1 << width
    raw = np.random.default_rng(seed).integers(0, high, shape, np.uint64)
    return of_bits(raw, dtype)


def moved(move: asc.Move, src: Any, dst: Any = None) -> np.ndarray:
    """What the destination must hold after, bit for bit; leading axes broadcast."""
    raw, index = bits(src), move.index_map.index
    old = np.zeros(move.dst_size, raw.dtype) if dst is None else bits(dst)
    lead = np.broadcast_shapes(raw.shape[:-1], old.shape[:-1])
    out = np.broadcast_to(old, (*lead, move.dst_size)).copy()
    out[..., index >= 0] = raw[..., index[index >= 0]]
    for k, fill in enumerate(move.fills):
        out[..., index == FILL - k] = fill
    return of_bits(out, np.asarray(src).dtype)


def pulled_back(move: asc.Move, ct: Any) -> tuple[np.ndarray, np.ndarray]:
    """The cotangents of src and dst: where copied from, summed, and where kept."""
    ct, index = np.asarray(ct), move.index_map.index
    wide = ct.astype(np.complex128 if np.iscomplexobj(ct) else np.float64)
    src = np.zeros((*ct.shape[:-1], move.src_size), wide.dtype)
    np.add.at(src, (..., index[index >= 0]), wide[..., index >= 0])
    return src.astype(ct.dtype), np.where(index == KEEP, ct, np.zeros_like(ct))


def check_same(got: Any, want: Any) -> None:
    """Equal in type, shape and every bit."""
    got, want = np.asarray(got), np.asarray(want)
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    np.testing.assert_array_equal(bits(got), bits(want))


def check_equal(got: Any, want: Any) -> None:
    """Equal in type, shape and value: for sums, where a zero's sign is free."""
    got, want = np.asarray(got), np.asarray(want)
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    np.testing.assert_array_equal(got, want)


def check_move(move: asc.Move, run: Callable, src: Any, dst: Any = None) -> None:
    """`run(src, dst)` is the move, bit for bit."""
    check_same(run(*on_device(src, dst)), moved(move, src, dst))


def check_gradients(move: asc.Move, run: Callable, src: Any, dst: Any) -> None:
    """The cotangents that a jitted `run` pulls back are the move's, exactly."""
    ct = integers(99, (*src.shape[:-1], move.dst_size), src.dtype)
    pull = jax.jit(lambda src, dst, ct: jax.vjp(run, src, dst)[1](ct))
    for got, want in zip(pull(src, dst, ct), pulled_back(move, ct), strict=True):
        check_equal(got, want)


def operands(
    move: asc.Move, lead: tuple[int, ...] = (), dtype: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """Whole numbers for a source and a destination of the move's sizes."""
    dtype = dtype or move.type.carrier
    src = integers(1, (*lead, move.src_size), dtype)
    return src, integers(2, (*lead, move.dst_size), dtype)
