"""`Dump`: what the buffers of one run of a call held, as bits."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._dtypes import AscendType
from .._errors import BoundsError
from .._operands import counted_type
from ..instr import Params
from ._bits import SOURCE, array_of, bits_of


class Dump(NamedTuple):
    """What the buffers of a call held: one unsigned integer of the type's width for
    each element, (elements,), of uint8 where it has 4 bits.

    Attributes:
      src: the source.
      dst_before, dst_after: the destination; `dst_before` is None where nobody kept it.
    """

    src: np.ndarray
    dst_before: np.ndarray | None
    dst_after: np.ndarray


def dump_of(
    who: str, params: Params, src: Any, dst_before: Any, dst_after: Any, dtype: Any
) -> tuple[Dump, AscendType]:
    """The dump that arrays are, and the source's type as the call counts it.

    Args:
      who: the public name that takes them, for errors.
      params: of the call.
      src, dst_before, dst_after: arrays; `dst_before` may be None.
      dtype: the Ascend C type, or None where the source's array tells.
    Raises:
      ParamError: what is no array, or of another type.
      BoundsError: a destination of another size before.
    """
    source, type = held(who, params, "src", src, dtype)
    arrives = params.arrives(type).name
    after, _ = held(who, params, "dst_after", dst_after, arrives)
    if dst_before is None:
        return Dump(source, None, after), type
    before, _ = held(who, params, "dst_before", dst_before, arrives)
    if before.size != after.size:
        rule = f"hold {after.size} elements, as dst_after"
        fix = "Pass the same buffer before and after."
        raise BoundsError(who, "dst_before", rule, before.size, fix, SOURCE)
    return Dump(source, before, after), type


def held(
    who: str, params: Params, field: str, value: Any, dtype: Any
) -> tuple[np.ndarray, AscendType]:
    """A buffer as bits, and its type as the instruction counts it."""
    array = array_of(who, field, value).reshape(-1)
    type, packed = counted_type(params.__class__, array.dtype, dtype, who, field)
    return bits_of(array, type, packed), type
