"""Ascend C type names, and the JAX arrays that hold them.

A type is known by the vendor's name. Names are looked up here, never through
`jnp.dtype`: "float" is 32 bits wide in Ascend C.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ._compat import x64_enabled
from ._errors import ParamError


@dataclasses.dataclass(frozen=True)
class AscendType:
    """One element type, by its Ascend C name.

    Attributes:
      name: the Ascend C name.
      bits: width of one element.
      jax: name of the JAX type with the same values, or None where JAX has none.

    An array of `jax` holds the type; so does an array of unsigned integers of the same
    width, as raw bits. A type of 4 bits may also come packed in uint8, two elements a
    byte, the even one in the low nibble.

    >>> import ascjax as asc
    >>> t = asc.ascend_type("int8_t")
    >>> t.bits, t.c0, t.fractal
    (8, 32, 512)
    """

    name: str
    bits: int
    jax: str | None

    @property
    def c0(self) -> int:
        """Elements in one data block of 32 bytes."""
        return 256 // self.bits

    @property
    def fractal(self) -> int:
        """Elements in one fractal of 512 bytes: 16 rows of C0."""
        return 16 * self.c0

    @property
    def pair(self) -> AscendType:
        """Two elements of 4 bits as one of a byte, the first in the low nibble."""
        return AscendType(self.name, 2 * self.bits, None)

    @property
    def carrier(self) -> str:
        """Name of the JAX type of an array that holds this type."""
        return self.jax or f"uint{self.bits}"

    def __repr__(self) -> str:
        table = TYPES.get(self.name, self)
        return self.name if self.bits == table.bits else f"{self.name} pairs"


_TABLE = """
bool 8 bool
int8_t 8 int8
uint8_t 8 uint8
int16_t 16 int16
uint16_t 16 uint16
half 16 float16
bfloat16_t 16 bfloat16
int32_t 32 int32
uint32_t 32 uint32
float 32 float32
int64_t 64 int64
uint64_t 64 uint64
double 64 float64
complex64 64 complex64
complex32 32 -
int4b_t 4 int4
fp4x2_e2m1_t 4 float4_e2m1fn
fp4x2_e1m2_t 4 -
fp8_e4m3fn_t 8 float8_e4m3fn
fp8_e5m2_t 8 float8_e5m2
fp8_e8m0_t 8 float8_e8m0fnu
hifloat8_t 8 -
"""

TYPES: dict[str, AscendType] = {
    name: AscendType(name, int(bits), None if jax_name == "-" else jax_name)
    for name, bits, jax_name in map(str.split, _TABLE.strip().splitlines())
}
_BY_JAX = {t.jax: t for t in TYPES.values() if t.jax}


def ascend_type(name: Any, who: str = "ascjax") -> AscendType:
    """Look a type up by its Ascend C name, its JAX name, or a NumPy or JAX dtype.

    Args:
      name: what to look up.
      who: the instruction that asks, for the error.

    Raises:
      ParamError: for a name that is not in the table, or one of Python's own types.

    >>> import ascjax as asc
    >>> asc.ascend_type("float").jax, asc.ascend_type("bfloat16").name
    ('float32', 'bfloat16_t')
    """
    if isinstance(name, AscendType):
        return name
    known = TYPES.get(name) or _BY_JAX.get(name) if isinstance(name, str) else None
    pythons = (float, int, bool, complex, None)  # NumPy takes None for float64
    if known is None and not any(name is python for python in pythons):
        try:
            known = _BY_JAX.get(np.dtype(name).name)
        except Exception:  # NumPy parses strings, and raises what its parser does
            known = None
    if known is None or (isinstance(name, str) and not name):
        raise ParamError(
            who,
            "dtype",
            "name an Ascend C type",
            repr(name),
            f"Use one of {', '.join(TYPES)}, or a JAX dtype of the same values.",
            "products.json, types",
        )
    return known


def of_array(
    array_dtype: Any, dtype: Any, who: str, operand: str | None = None
) -> tuple[AscendType, bool]:
    """The Ascend type of an operand, and whether it is packed two to a byte.

    Args:
      array_dtype: the array's own type.
      dtype: what the caller says it is, or None to go by the array.
      who: the instruction, for the error.
      operand: the argument at fault where the array does not hold `dtype`; None where
        `dtype` may be what is wrong.
    """
    held = _held(array_dtype)
    if dtype is None:
        if held in _BY_JAX:
            return _BY_JAX[held], False
        raise ParamError(
            who,
            "dtype",
            "tell the Ascend type where the array's own type does not",
            f"an array of {held} and dtype=None",
            "Pass dtype= with an Ascend C name, such as 'int4b_t' or 'fp4x2_e1m2_t'.",
            "products.json, types",
        )
    t = ascend_type(dtype, who)
    if held in (t.carrier, f"uint{t.bits}"):
        return t, False
    if t.bits == 4 and held == "uint8":
        return t, True
    kinds = f"an array of {t.carrier}"
    if t.carrier != f"uint{t.bits}":
        kinds += f", of uint{t.bits} (raw bits)"
    kinds += ", or of uint8 (two elements a byte)" if t.bits == 4 else ""
    field, rule = "dtype", f"fit the array: {t} is held by {kinds}"
    fix = "Convert the array, or name the type that it holds."
    if operand is not None:
        field, rule, fix = operand, f"hold {t}: {kinds}", "Convert it."
    got = f"an array of {held}"
    raise ParamError(who, field, rule, got, fix, "products.json, types")


def _held(array_dtype: Any) -> str:
    try:
        return np.dtype(array_dtype).name
    except TypeError:  # such as the type of JAX's random keys
        return str(array_dtype)


def require_x64(array_dtype: Any, who: str, operand: str = "dtype") -> None:
    """Refuse an array of 64-bit numbers, which JAX would silently make 32 bits wide."""
    held = _held(array_dtype)
    wide = ("int64", "uint64", "float64", "complex128")
    if held in wide and not x64_enabled():
        half = held.replace("64", "32").replace("128", "64")
        raise ParamError(
            who,
            operand,
            "be at most 32 bits wide while jax_enable_x64 is off",
            _BY_JAX[held].name if held in _BY_JAX else held,
            f"Convert it, such as with .astype('{half}'), or call "
            "jax.config.update('jax_enable_x64', True) first.",
            "products.json, types",
        )
