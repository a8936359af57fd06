"""Buffers as bits: one unsigned integer an element, as jobs have them."""

from __future__ import annotations

from typing import Any

import numpy as np
from jax.core import Tracer

from .._dtypes import AscendType
from .._errors import ParamError

SOURCE = "instructions.md, Units"


def word(type: AscendType) -> str:
    """The unsigned integer that holds an element: of 8 bits where it has 4."""
    return f"uint{max(8, type.bits)}"


def array_of(who: str, field: str, value: Any) -> np.ndarray:
    """An operand as a NumPy array; the array of JAX, PyTorch and others, or a list.

    Raises:
      ParamError: a tracer, or what is no array of numbers.
    """
    if isinstance(value, Tracer):
        fix = f"Call {who} outside of jit, or asc.load_data or another op inside."
        got = f"a tracer ({value.aval})"
        raise ParamError(who, field, "be a concrete array", got, fix, SOURCE)
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):
        array = np.zeros((), object)
    if array.dtype == object or array.ndim == 0:
        got = f"{type(value).__name__}, which is no array of numbers"
        fix = "Pass an array whose last axis is the flat buffer."
        raise ParamError(who, field, "be an array", got, fix, SOURCE)
    return array


def bits_of(array: np.ndarray, type: AscendType, packed: bool) -> np.ndarray:
    """The bits of elements along the last axis; packed bytes as two each."""
    raw = np.ascontiguousarray(array).view(word(type))
    if packed:
        return np.stack([raw & 15, raw >> 4], axis=-1).reshape(*raw.shape[:-1], -1)
    return raw & 15 if type.bits == 4 else raw


def array_from(bits: np.ndarray, held: Any, packed: bool) -> np.ndarray:
    """Bits as an array of the type `held`, the other way round."""
    if packed:
        even = bits[..., 0::2] & 15
        odd = np.zeros_like(even)
        odd[..., : bits.shape[-1] // 2] = bits[..., 1::2]
        return even | odd << 4
    if np.dtype(held).name == "int4":  # NumPy's holds the sign in all of its byte
        bits = np.where(bits > 7, bits | 0xF0, bits).astype(np.uint8)
    return bits.view(held)
