"""The structs that NDDMA's params hold: its loops, and its config."""

from __future__ import annotations

import dataclasses
from typing import Any

from jax.core import Tracer

from .._errors import ParamError
from ._fields import as_flag, flag, in_range, static_int

_WHO = "nddma"
UNSET_PAD = 0xFFFF


def _list(high: int, unit: str, default: Any = dataclasses.MISSING):
    """A field that holds one integer in [0, high] a dimension."""
    meta = {"range": (0, high), "unit": unit}
    return dataclasses.field(default=default, metadata=meta)


@dataclasses.dataclass(frozen=True)
class NdDmaLoopInfo:
    """`NdDmaLoopInfo<dim>`: one value a dimension in each list, the innermost first.

    Args:
      loop_src_stride: elements from one source element to the next, [0, 2^40).
      loop_dst_stride: elements from one destination element to the next, [0, 2^20).
      loop_size: elements, padding not counted, [0, 2^20); a 0 makes a NOP.
      loop_lp_size: padding elements before them, [0, 255]; None is 0 everywhere.
      loop_rp_size: padding elements after them, [0, 255]; None is 0 everywhere.
    Raises:
      ParamError: lists of different lengths, not 1 to 5 dimensions, or out of range.
    Source: NDDMA, Table 5; instructions.md, section 5.

    >>> import ascjax as asc
    >>> asc.NdDmaLoopInfo((1, 8), (1, 16), (8, 2), (3, 1), (5, 1)).dim
    2
    """

    loop_src_stride: tuple[int, ...] = _list(2**40 - 1, "elements")
    loop_dst_stride: tuple[int, ...] = _list(2**20 - 1, "elements")
    loop_size: tuple[int, ...] = _list(2**20 - 1, "elements")
    loop_lp_size: tuple[int, ...] | None = _list(
        255, "padding elements on the left", default=None
    )
    loop_rp_size: tuple[int, ...] | None = _list(
        255, "padding elements on the right", default=None
    )

    def __post_init__(self):
        source = "NDDMA, Table 5"
        length = None
        for field in dataclasses.fields(self):
            name, unit = field.name, field.metadata["unit"]
            _, high = field.metadata["range"]
            value: Any = getattr(self, name)
            if value is None and field.default is None:
                value = (0,) * (length or 0)
            try:
                items = (value,) if isinstance(value, Tracer) else tuple(value)  # pyright: ignore
            except TypeError:
                rule = f"be a list of integers in [0, {high}] ({unit})"
                fix = "Give one value a dimension, the innermost first."
                raise ParamError(_WHO, name, rule, repr(value), fix, source) from None
            length = len(items) if length is None else length
            items_differ = len(items) != length
            if not 1 <= len(items) <= 5 or items_differ:
                raise ParamError(
                    _WHO,
                    name,
                    "have one value a dimension, 1 to 5 in every list",
                    f"{len(items)} values"
                    + (f" where loop_src_stride has {length}" if items_differ else ""),
                    "Give all lists one length; split a move of more dimensions.",
                    source,
                )
            checked = tuple(
                in_range(_WHO, f"{name}[{k}]", item, 0, high, unit, source)
                for k, item in enumerate(items)
            )
            object.__setattr__(self, name, checked)

    @property
    def dim(self) -> int:
        """Number of dimensions."""
        return len(self.loop_size)


@dataclasses.dataclass(frozen=True)
class NdDmaConfig:
    """`NdDmaConfig`: how padding is filled, and one padding size for all dimensions.

    Args:
      is_nearest_value_mode: pad with the nearest element instead of the constant.
      loop_lp_size: left padding in every dimension, [0, 255], or 0xFFFF to leave the
        dimensions' own.
      loop_rp_size: the same on the right.
      asc_optimize: reserved, without effect.
    Raises:
      ParamError: a field out of range.
    Source: NDDMA, Table 3; instructions.md, section 5.

    >>> import ascjax as asc
    >>> asc.NdDmaConfig(is_nearest_value_mode=True).loop_lp_size == 0xFFFF
    True
    """

    is_nearest_value_mode: bool = flag()
    loop_lp_size: int = UNSET_PAD
    loop_rp_size: int = UNSET_PAD
    asc_optimize: bool = False

    def __post_init__(self):
        source = "NDDMA, Table 3"
        for name in ("is_nearest_value_mode", "asc_optimize"):
            value = as_flag(_WHO, name, getattr(self, name), source)
            object.__setattr__(self, name, value)
        for name in ("loop_lp_size", "loop_rp_size"):
            rule = "be in [0, 255] (padding elements) or 0xFFFF"
            value = static_int(_WHO, name, getattr(self, name), rule, source)
            if value != UNSET_PAD:
                unit = "padding elements, or 0xFFFF to leave it unset"
                value = in_range(_WHO, name, value, 0, 255, unit, source)
            object.__setattr__(self, name, value)
