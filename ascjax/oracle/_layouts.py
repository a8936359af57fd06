"""Whole-array layouts: the address of every element, from instructions.md, Units."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from ._machine import require


def layout(
    format: str,
    shape: tuple[int, ...],
    bits: int,
    fractal: tuple[int, int] | None = None,
) -> tuple[np.ndarray, int]:
    """Where every element of an array stands in a layout, and the buffer's size.

    Shapes: the result is an int64 array of `shape`. Units: elements. Axes in front of a
    matrix have a whole matrix each. ParamError: an unknown format. Source:
    instructions.md, Units.

    >>> at, size = layout("NZ", (17, 33), 16)
    >>> int(at[16, 1]), int(at[0, 16]), size
    (257, 512, 1536)
    """
    C0 = 256 // bits
    at = np.zeros(shape, np.int64)
    for index in itertools.product(*map(range, shape)):
        at[index] = _address(format, shape, C0, index, fractal)
    return at, _size(format, shape, C0, fractal)


def _ceil(n: int, m: int) -> int:
    return (n + m - 1) // m


def _sides(format: str, C0: int, fractal: Any) -> tuple[int, int]:
    own = {"NZ": (16, C0), "ZZ": (16, C0), "ZN": (C0, 16), "NN": (C0, 16)}
    return fractal or own[format]


def _address(format: str, shape: Any, C0: int, index: Any, fractal: Any) -> int:
    if format in ("DN", "NZ", "ZZ", "ZN", "NN"):
        *lead, r, c = index
        matrix = 0
        for i, n in zip(lead, shape[:-2], strict=True):
            matrix = matrix * n + i
        inside = _in_matrix(format, shape[-2:], C0, (r, c), fractal)
        return matrix * _size(format, shape[-2:], C0, fractal) + inside
    if format == "ND":
        at = 0
        for i, n in zip(index, shape, strict=True):
            at = at * n + i
        return at
    n, c, h, w = index
    N, C, H, W = shape
    c1, c0 = c // C0, c % C0
    if format == "NC1HWC0":
        C1 = _ceil(C, C0)
        return (((n * C1 + c1) * H + h) * W + w) * C0 + c0
    N1, n1, n0 = _ceil(N, 16), n // 16, n % 16
    return ((((c1 * H + h) * W + w) * N1 + n1) * 16 + n0) * C0 + c0


def _in_matrix(format: str, shape: Any, C0: int, index: Any, fractal: Any) -> int:
    (R, C), (r, c) = shape, index
    if format == "DN":
        return c * R + r
    fr, fc = _sides(format, C0, fractal)
    br, bc = r // fr, c // fc
    block = br * _ceil(C, fc) + bc if format[0] == "Z" else bc * _ceil(R, fr) + br
    r, c = r % fr, c % fc
    inner = r * fc + c if format[1] == "Z" else c * fr + r
    return block * fr * fc + inner


def _size(format: str, shape: Any, C0: int, fractal: Any) -> int:
    known = ("ND", "DN", "NZ", "ZZ", "ZN", "NN", "NC1HWC0", "FRACTAL_Z")
    require(format in known, "layout", "format", f"be one of {known}", format)
    count = 1
    if format in ("ND", "DN"):
        for n in shape:
            count *= n
        return count
    if format == "NC1HWC0":
        N, C, H, W = shape
        return N * _ceil(C, C0) * H * W * C0
    if format == "FRACTAL_Z":
        N, C, H, W = shape
        return _ceil(C, C0) * H * W * _ceil(N, 16) * 16 * C0
    *lead, R, C = shape
    for n in lead:
        count *= n
    fr, fc = _sides(format, C0, fractal)
    return count * _ceil(R, fr) * _ceil(C, fc) * fr * fc
