"""A padding value as the bit pattern of a type.

Fills are bits: 0.0 and -0.0 are equal and hash alike, so a cache keyed on values would
mix them up, and the zero of some types is not representable.
"""

from __future__ import annotations

import dataclasses
import math
import struct
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.errors import JAXTypeError

from ._dtypes import AscendType
from ._errors import ParamError


@dataclasses.dataclass(frozen=True)
class Constant:
    """A scalar that compares by its type and bits, not by its value.

    >>> Constant.of(0.0) == Constant.of(-0.0)
    False
    """

    kind: str
    data: bytes

    @classmethod
    def of(cls, value: Any) -> Constant:
        """From a Python number, a NumPy or JAX scalar, or what `to_json` gave."""
        if isinstance(value, Constant):
            return value
        if isinstance(value, Mapping):
            return cls._of_json(value)
        if isinstance(value, bool | int):
            return cls("int", str(int(value)).encode())
        if isinstance(value, float):
            return cls("float", struct.pack("<d", value))
        if isinstance(value, complex):
            return cls("complex", struct.pack("<dd", value.real, value.imag))
        if isinstance(value, np.generic | np.ndarray | jax.Array):
            array = np.asarray(value)
            if array.ndim == 0:
                return cls(array.dtype.name, array.tobytes())
        raise TypeError(f"not a scalar: {value!r}")

    @classmethod
    def _of_json(cls, value: Mapping) -> Constant:
        try:
            made = cls(str(value["kind"]), bytes.fromhex(value["hex"]))
            made.value  # noqa: B018  (that the kind and the length fit is seen here)
        except Exception as error:
            raise TypeError(f"not a constant: {dict(value)}") from error
        return made

    def to_json(self) -> Any:
        """A JSON number where one says it all, else the kind and the bits."""
        value = self.value
        if self.kind == "int" or (self.kind == "float" and math.isfinite(value)):
            return value
        return {"kind": self.kind, "hex": self.data.hex()}

    def __repr__(self) -> str:
        return repr(self.value)

    @property
    def value(self) -> Any:
        """The number; a NumPy scalar where it was made from one."""
        if self.kind == "int":
            return int(self.data)
        if self.kind == "float":
            return struct.unpack("<d", self.data)[0]
        if self.kind == "complex":
            return complex(*struct.unpack("<dd", self.data))
        return np.frombuffer(self.data, jnp.dtype(self.kind))[0]


def constant_of(value: Any, who: str, field: str, source: str) -> Constant:
    """A field's value as a constant; ParamError where it is no number."""
    try:
        return Constant.of(value)
    except (TypeError, JAXTypeError) as error:
        rule = "be a number, known while tracing"
        fix = "Pass a Python number or a NumPy scalar."
        raise ParamError(who, field, rule, repr(value), fix, source) from error


def fill_bits(
    constant: Constant,
    t: AscendType,
    who: str,
    source: str,
    field: str = "constant_value",
) -> int:
    """The bits of `constant` as an element of `t`; ParamError where it does not fit."""

    def refuse(rule: str, fix: str):
        raise ParamError(who, field, rule, constant.value, fix, source)

    value = constant.value
    if t.bits == 64:
        if value != 0 or (constant.kind != "int" and any(constant.data)):
            refuse("be 0 for 64-bit types", "Pad with 0, or move 32-bit halves.")
        return 0
    if constant.kind == t.jax:
        return int.from_bytes(constant.data, "little")
    number = value.item() if isinstance(value, np.generic) else value
    if isinstance(number, complex) and t.name != "complex32":
        refuse(f"be a real number for {t}", "Leave the imaginary part out.")
    if number == 0 and str(number) in ("0", "0.0", "False"):
        return 0
    if t.name == "complex32":
        number = complex(number)
        halves = [_round(part, "float16") for part in (number.real, number.imag)]
        if None in halves:
            refuse("fit complex32 (two halves)", "Choose a smaller value.")
        return halves[0] | halves[1] << 16  # pyright: ignore
    if t.jax is None:
        refuse(f"be 0 for {t}, which has no values in JAX", "Pad with 0.")
    dtype = jnp.dtype(t.jax)
    if t.jax == "bool" or jnp.issubdtype(dtype, jnp.integer):
        low, high = (0, 1) if t.jax == "bool" else _limits(dtype)
        real = number.real
        whole = math.isfinite(real) and real == int(real)
        if not whole or not low <= real <= high:
            refuse(f"be an integer in [{low}, {high}] for {t}", "Choose one that fits.")
        return int(number.real) % (1 << t.bits)
    bits = _round(number, t.jax)
    if bits is None:
        refuse(f"be finite in {t} ({t.bits} bits)", "Choose a value that fits.")
    return bits  # pyright: ignore[reportReturnType]


def _limits(dtype: Any) -> tuple[int, int]:
    info = jnp.iinfo(dtype)
    return int(info.min), int(info.max)


def _by_odd(wide: np.float64, dtype: Any) -> Any:
    """A float32 that rounds to narrow types as `wide` itself does, not twice.

    ml_dtypes converts through float32. What that step would round off is kept in its
    last bit ("round to odd"), where it can still break a tie.
    """
    if dtype.kind == "f" and dtype.itemsize in (2, 4, 8) and dtype.name != "bfloat16":
        return wide
    near = np.float32(wide)
    if np.float64(near) == wide or not np.isfinite(near):
        return near
    low = np.nextafter(near, np.float32(0)) if abs(near) > abs(wide) else near
    return (low.view(np.uint32) | np.uint32(1)).view(np.float32)


def _round(number: Any, name: str | None) -> int | None:
    """The bits of the nearest value; None where a finite one would be lost."""
    try:
        wide = np.float64(number)
    except OverflowError:
        return None
    with np.errstate(all="ignore"):
        scalar = _by_odd(wide, jnp.dtype(name)).astype(jnp.dtype(name))
    back = float(scalar)
    lost = back != back and number == number
    lost = lost or (abs(back) == float("inf") and abs(number) != float("inf"))
    return None if lost else int.from_bytes(scalar.tobytes(), "little")
