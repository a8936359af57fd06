"""`Layout`: how a whole array is stored, and the moves into it and out of it."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Mapping
from typing import Any

import jax

from ._dtypes import AscendType, ascend_type, of_array
from ._errors import BoundsError, ParamError
from ._formats import (
    SOURCE,
    Digits,
    checked_fractal,
    checked_index,
    digits_of,
    format_of,
    padded,
    shape_of,
    strides,
)
from ._html import repr_html
from ._nest import LoopNest
from ._operands import as_array, check_length
from ._plan import Plan
from ._relayout import Mover, held_shape, mover, nest_between, plan_between

_WHO = "layout"


@dataclasses.dataclass(frozen=True)
class Layout:
    """How a whole array is stored: its format, shape and type.

    Args:
      format: "ND" (row-major), "DN" (column-major), "NZ", "ZN", "ZZ", "NN", "NC1HWC0",
        "FRACTAL_Z", "FRACTAL_NZ" (which is NZ), or the vendor's number: 2, 3, 4, 29.
      shape: the logical shape, static: (rows, columns) of a matrix, axes before them
        standing in front in the store too; (N, C, H, W) for NC1HWC0, (N, C, Kh, Kw) for
        FRACTAL_Z; anything for ND.
      dtype: the Ascend C type, or a JAX type of the same values.
      fractal: rows and columns of a fractal in elements; None is the format's own of
        512 bytes. L0C holds NZ with (16, 16) whatever the type.
    Attributes: the same, checked.
    Raises: ParamError for a format, shape, type or fractal that is not one.
    Source: instructions.md, Units.

    The blocks of an axis are filled up with padding: zero bits after `pack`, never read
    by `unpack`. A layout is a value: it compares, hashes, and is a static argument.

    >>> import ascjax as asc, jax.numpy as jnp
    >>> nz = asc.Layout("NZ", (17, 33), "half")
    >>> nz.dims, nz.size
    ((3, 2, 16, 16), 1536)
    >>> nz.address(16, 1)
    257
    >>> x = jnp.arange(17 * 33, dtype="float16").reshape(17, 33)
    >>> bool((nz.unpack(nz.pack(x)) == x).all())
    True
    """

    _repr_html_ = repr_html

    format: str
    shape: tuple[int, ...]
    dtype: AscendType
    fractal: tuple[int, int] | None = None

    def __init__(
        self, format: Any, shape: Any, dtype: Any, fractal: Any = None
    ) -> None:
        name = format_of(format, _WHO)
        own = ascend_type(dtype, _WHO)
        values = (
            name,
            shape_of(name, shape, _WHO),
            own,
            checked_fractal(name, own, fractal, _WHO),
        )
        for field, value in zip(dataclasses.fields(self), values, strict=True):
            object.__setattr__(self, field.name, value)

    def __repr__(self) -> str:
        fractal = "" if self.fractal is None else f", fractal={self.fractal}"
        return f"Layout({self.format!r}, {self.shape}, {self.dtype.name!r}{fractal})"

    @functools.cached_property
    def digits(self) -> Digits:
        """The stored axes, the slowest first: which part of which axis each is."""
        return digits_of(self.format, self.shape, self.dtype, self.fractal)

    @property
    def dims(self) -> tuple[int, ...]:
        """Shape of the store: (C1, R1, 16, C0) for NZ."""
        return tuple(digit.extent for digit in self.digits)

    @property
    def padded(self) -> tuple[int, ...]:
        """The logical shape with its padding."""
        return padded(self.digits, len(self.shape))

    @property
    def size(self) -> int:
        """Elements of the buffer, padding included."""
        return math.prod(self.dims)

    @property
    def nest(self) -> LoopNest:
        """`pack` as loops, from the row-major array to the buffer."""
        nest = nest_between(self._plain.digits, self.digits, self.shape)
        if nest is None:
            raise NotImplementedError(f"{self}: no nest")
        return nest

    @property
    def plan(self) -> Plan:
        """How JAX applies `pack`."""
        return _plan(self._plain, self)

    @functools.cached_property
    def _plain(self) -> Layout:
        return Layout("ND", self.shape, self.dtype)

    def address(self, *index: Any) -> Any:
        """Where an element stands in the buffer, counted in elements.

        Args:
          index: one for each logical axis: integers, or NumPy arrays that broadcast.
        Returns: an int; an int64 array for arrays.
        Raises: ParamError for another number of indices or a traced one, BoundsError
          for one outside the shape.
        Source: instructions.md, Units.
        """
        if len(index) != len(self.shape):
            rule = f"be {len(self.shape)} indices, one for each axis of {self.shape}"
            fix = "Leave batch axes out: each has a buffer of its own."
            raise ParamError(_WHO, "index", rule, len(index), fix, SOURCE)
        at = [
            checked_index(value, n, axis, _WHO)
            for axis, (value, n) in enumerate(zip(index, self.shape, strict=True))
        ]
        total = 0
        for digit, stride in zip(self.digits, strides(self.digits), strict=True):
            total = total + at[digit.axis] // digit.step % digit.extent * stride
        return total

    def pack(self, x: Any) -> jax.Array:
        """The buffer that holds an array in this layout.

        Shapes: `x` is (..., *shape), the result (..., size); leading axes are a batch.
          Packed 4-bit arrays are uint8: two elements a byte, in each row of the last
          axis and in the buffer, a spare nibble being 0.
        Args:
          x: an array of this layout's type.
        Returns: the buffer, its padding zero bits.
        Raises: ParamError for an array of another type, BoundsError for another shape.
        Gradient: to `x`; integer types give float0.
        Source: instructions.md, Units.
        """
        x, packed = _array("x", x, self)
        whole = held_shape(self.shape, packed)
        if x.shape[-len(whole) :] != whole:
            unit = "bytes of two elements" if packed else "elements"
            rule = f"have {whole} as its last axes ({unit} in the last one)"
            fix = "Transpose or reshape it, or make the layout for its shape."
            raise BoundsError(_WHO, "x", rule, x.shape, fix, SOURCE)
        return _move(self._plain, self, packed, array_in=True)(x)

    def unpack(self, buffer: Any) -> jax.Array:
        """The array that a buffer of this layout holds, without its padding.

        Shapes: `buffer` is (..., size), the result (..., *shape); leading axes are a
          batch. Packed 4-bit arrays are as in `pack`.
        Args:
          buffer: an array of this layout's type; its padding may hold anything.
        Returns: the array.
        Raises: ParamError for an array of another type, BoundsError for another size.
        Gradient: to `buffer`, zero in the padding; integer types give float0.
        Source: instructions.md, Units.
        """
        buffer, packed = _array("buffer", buffer, self)
        check_length(_WHO, "buffer", (buffer.shape[-1], None), self.size, packed)
        return _move(self, self._plain, packed, array_out=True)(buffer)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready: format, shape, dtype and, where it is not the own, fractal."""
        data = {"format": self.format, "shape": list(self.shape)}
        data["dtype"] = self.dtype.name
        return data | ({"fractal": list(self.fractal)} if self.fractal else {})

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Layout:
        """The layout that `to_dict` described."""
        needs, may = {"format", "shape", "dtype"}, {"fractal"}
        names = set(data) if isinstance(data, Mapping) else set()
        if not needs <= names <= needs | may:
            rule = "hold format, shape, dtype and perhaps fractal"
            got = sorted(map(str, names)) if names else type(data).__name__
            raise ParamError(_WHO, "data", rule, got, "Pass what to_dict gave.", "")
        return cls(**{str(key): value for key, value in data.items()})


def convert(
    x: Any, src: Any, dst: Any, shape: Any = None, dtype: Any = None
) -> jax.Array:
    """A buffer in one layout as a buffer in another.

    Shapes: `x` is (..., size of src), the result (..., size of dst): flat buffers, ND's
      and DN's too; leading axes are a batch. Packed 4-bit buffers are uint8, two
      elements a byte, a spare nibble being 0.
    Args:
      x: what the source holds; its padding may hold anything.
      src, dst: each a `Layout`, or a format's name or number.
      shape: the logical shape, static; may be left out where a `Layout` has it.
      dtype: the Ascend C type; None is what a `Layout` says, else the array's own.
    Returns: the buffer in `dst`, its padding zero bits.
    Raises: ParamError for a format, shape or type that is not one, or that differs
      between the two; BoundsError for a buffer of another size.
    Gradient: to `x`, zero in its padding; integer types give float0.
    Source: instructions.md, Units.

    >>> import ascjax as asc, jax.numpy as jnp
    >>> nz = asc.Layout("NZ", (32, 32), "half").pack(jnp.eye(32, dtype="float16"))
    >>> asc.convert(nz, "NZ", "ZZ", (32, 32)).shape
    (1024,)
    """
    x = as_array("convert", "x", x)
    given = [side for side in (src, dst) if isinstance(side, Layout)]
    for side in given:
        shape = side.shape if shape is None else shape
        dtype = side.dtype if dtype is None else dtype
    own, packed = of_array(x.dtype, dtype, "convert")
    src, dst = (
        side if isinstance(side, Layout) else Layout(side, shape, own)
        for side in (src, dst)
    )
    whole = shape_of("ND", shape, "convert")
    for field, side in (("src", src), ("dst", dst)):
        if (side.shape, side.dtype) != (whole, own):
            rule = f"be a layout of {own} of shape {whole}"
            fix = "Both layouts are of one array: a conversion keeps shape and type."
            raise ParamError("convert", field, rule, side, fix, SOURCE)
    check_length("convert", "x", (x.shape[-1], None), src.size, packed)
    return _move(src, dst, packed)(x)


def _array(field: str, value: Any, layout: Layout) -> tuple[jax.Array, bool]:
    array = as_array(_WHO, field, value)
    return array, of_array(array.dtype, layout.dtype, _WHO, field)[1]


@functools.lru_cache(maxsize=4096)
def _plan(src: Layout, dst: Layout) -> Plan:
    return plan_between(src.digits, dst.digits, src.shape, src.dtype.bits)


@functools.lru_cache(maxsize=4096)
def _move(src: Layout, dst: Layout, packed: bool, **arrays: bool) -> Mover:
    return mover(src.digits, dst.digits, src.shape, src.dtype.bits, packed, **arrays)
