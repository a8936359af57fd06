"""Element types in safetensors' words, and which Ascend C types each of them holds."""

from __future__ import annotations

from .._dtypes import TYPES, AscendType

_TABLE = """
BOOL bool
U8 uint8_t
I8 int8_t
U16 uint16_t
I16 int16_t
F16 half
BF16 bfloat16_t
U32 uint32_t
I32 int32_t
F32 float
U64 uint64_t
I64 int64_t
F64 double
C64 complex64
F8_E4M3 fp8_e4m3fn_t
F8_E5M2 fp8_e5m2_t
F8_E8M0 fp8_e8m0_t
F4 fp4x2_e2m1_t
"""
_TYPES = {
    code: TYPES[name] for code, name in map(str.split, _TABLE.strip().splitlines())
}
# Elements of 4 bits go into bytes: F4 has no odd rows, and int4b_t no code at all.
_CODES = {t.name: code for code, t in _TYPES.items() if t.bits >= 8}


def type_of(code: str, shape: tuple[int, ...]) -> AscendType | None:
    """The type that a tensor's code alone tells; None where ascjax has none.

    Rows of 4-bit elements that share a byte have no type here either.
    """
    type = _TYPES.get(code)
    half = type is not None and type.bits == 4 and (not shape or shape[-1] % 2)
    return None if half else type


def code_of(type: AscendType) -> str:
    """The code of a file that holds the type: its own, or raw bits."""
    return _CODES.get(type.name, f"U{max(type.bits, 8)}")


def holds(code: str, type: AscendType) -> bool:
    """Whether tensors of a code hold a type: as such, as raw bits or packed bytes."""
    return _TYPES.get(code) == type or code == f"U{max(type.bits, 8)}"
