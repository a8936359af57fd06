"""The formats of whole arrays, each as digits: which part of which axis stands where.

A format stores an array as a row-major array of more axes. Each of these is a digit of
one logical axis: `c1` counts the blocks of the columns, `c0` the columns in a block.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from ._dtypes import AscendType
from ._errors import BoundsError, ParamError
from .instr._fields import static_int

SOURCE = "instructions.md, Units"
ROWS = 16  # of a fractal; its columns are C0


@dataclasses.dataclass(frozen=True)
class Digit:
    """One stored axis: `extent` values, each `step` elements of a logical axis."""

    axis: int
    step: int
    extent: int


Digits = tuple[Digit, ...]  # as stored, the slowest first

# The logical axes, then the stored ones. A capital is a whole axis, a letter with 1
# the blocks of one, with 0 what is inside a block.
_TABLE = {
    "ND": ("", ""),
    "DN": ("R C", "C R"),
    "NZ": ("R C", "c1 r1 r0 c0"),
    "ZN": ("R C", "r1 c1 c0 r0"),
    "ZZ": ("R C", "r1 c1 r0 c0"),
    "NN": ("R C", "c1 r1 c0 r0"),
    "NC1HWC0": ("N C H W", "N c1 H W c0"),
    "FRACTAL_Z": ("N C H W", "c1 H W n1 n0 c0"),
}
FORMATS = tuple(_TABLE)
NUMBERS = {2: "ND", 3: "NC1HWC0", 4: "FRACTAL_Z", 29: "NZ"}
# Both ways of writing a fractal format: the capital is always the order of fractals.
_ALIASES = {"FRACTAL_NZ": "NZ"} | {
    name: f"{outer}{inner}"
    for outer in "NZ"
    for inner in "NZ"
    for name in (outer + inner.lower(), inner.lower() + outer)
}


def format_of(name: Any, who: str) -> str:
    """A format by its name, the vendor's number or a common other spelling."""
    if isinstance(name, str):
        plain = name.removeprefix("ACL_FORMAT_")
        found = plain if plain in FORMATS else _ALIASES.get(plain)
    else:
        whole = isinstance(name, int | np.integer) and not isinstance(name, bool)
        found = NUMBERS.get(int(name)) if whole else None
    if found is None:
        numbers = ", ".join(f"{n} ({f})" for n, f in NUMBERS.items())
        rule = f"be one of {', '.join(FORMATS)}, or a vendor's number: {numbers}"
        fix = "Name the layout that the buffer has."
        raise ParamError(who, "format", rule, repr(name), fix, SOURCE)
    return found


def axes_of(format: str) -> tuple[str, ...]:
    """Names of a format's logical axes; none for ND, which takes any."""
    return tuple(_TABLE[format][0].split())


def is_fractal(format: str) -> bool:
    """Whether a format cuts a matrix into fractals."""
    return format in ("NZ", "ZN", "ZZ", "NN")


def fractal_of(format: str, type: AscendType) -> tuple[int, int]:
    """Rows and columns of a format's own fractal: 512 bytes."""
    rows, columns = ROWS, type.c0
    return (columns, rows) if format[-1] == "N" else (rows, columns)


def digits_of(
    format: str,
    shape: tuple[int, ...],
    type: AscendType,
    fractal: tuple[int, int] | None,
) -> Digits:
    """The stored axes of an array of `shape`."""
    logical, stored = (text.split() for text in _TABLE[format])
    if format == "ND":
        return tuple(Digit(axis, 1, n) for axis, n in enumerate(shape))
    lead = len(shape) - len(logical)  # axes in front of a matrix stay in front
    inner = {"n": ROWS, "c": type.c0}
    if is_fractal(format):
        inner = dict(zip("rc", fractal or fractal_of(format, type), strict=True))
    found = [Digit(axis, 1, shape[axis]) for axis in range(lead)]
    for name in stored:
        axis = lead + logical.index(name[0].upper())
        block = inner[name[0]] if len(name) > 1 else 1
        if name.endswith("0"):
            found.append(Digit(axis, 1, block))
        else:
            found.append(Digit(axis, block, -(-shape[axis] // block)))
    return tuple(found)


def padded(digits: Digits, rank: int) -> tuple[int, ...]:
    """The shape with its padding: what the digits of each axis count out."""
    return tuple(
        math.prod(d.extent for d in digits if d.axis == k) for k in range(rank)
    )


def strides(digits: Digits) -> tuple[int, ...]:
    """Elements from one value of each stored axis to the next."""
    found, step = [], 1
    for digit in reversed(digits):
        found.insert(0, step)
        step *= digit.extent
    return tuple(found)


def shape_of(format: str, shape: Any, who: str) -> tuple[int, ...]:
    """A logical shape that `format` can store, as ints."""
    axes = axes_of(format)
    named = f"({', '.join(axes)})" if axes else "at least one axis"
    more = ", axes before them allowed" if len(axes) == 2 else ""
    rule = f"be {named}{more}, each at least 1 (elements), for {format}"
    fix = "Give the logical shape, without padding and batch axes."

    def refuse():
        raise ParamError(who, "shape", rule, repr(shape), fix, SOURCE)

    if isinstance(shape, str) or not hasattr(shape, "__iter__"):
        refuse()
    found = tuple(static_int(who, "shape", n, rule, SOURCE) for n in shape)
    fits = len(found) >= max(len(axes), 1)
    fits = fits and (len(axes) in (0, 2) or len(found) == len(axes))
    if not fits or min(found) < 1:
        refuse()
    return found


def checked_fractal(
    format: str, type: AscendType, fractal: Any, who: str
) -> tuple[int, int] | None:
    """A fractal as ints; None where it is the format's own."""
    if fractal is None:
        return None
    rule = "be (rows, columns) of a fractal, each at least 1 (elements)"
    fix = "Leave it out for fractals of 512 bytes."
    if not is_fractal(format):
        rule = f"be left out for {format}, whose blocks follow from the type"
    sides = fractal if isinstance(fractal, tuple | list) else ()
    found = tuple(static_int(who, "fractal", n, rule, SOURCE) for n in sides)
    if not is_fractal(format) or len(found) != 2 or min(found) < 1:
        raise ParamError(who, "fractal", rule, repr(fractal), fix, SOURCE)
    return None if found == fractal_of(format, type) else found


def checked_index(value: Any, n: int, axis: int, who: str) -> Any:
    """An index on an axis of `n`: an int, or an int64 array."""
    rule = f"be integers in [0, {n}) (elements) on axis {axis}"
    many = isinstance(value, np.ndarray) and value.dtype.kind in "iu"
    one = value if many else static_int(who, "index", value, rule, SOURCE)
    found = value.astype(np.int64) if many else one
    low, high = (value.min(initial=0), value.max(initial=0)) if many else (one, one)
    if low < 0 or high >= n:
        got = low if low < 0 else high
        fix = "Padding has no index; count from 0."
        raise BoundsError(who, "index", rule, got, fix, SOURCE)
    return found
