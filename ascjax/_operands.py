"""Operands: arrays whose last axis is a flat buffer, checked before a move."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from ._dtypes import AscendType, of_array, require_x64
from ._errors import BoundsError, ParamError, SupportError
from .instr import Params
from .instr._fields import static_int

SOURCE = "instructions.md, Units"
_ALONE = jax.sharding.SingleDeviceSharding
Form = tuple[int, Any]  # length of the last axis, and type, of an operand


def form_of(x: jax.Array | None) -> Form | None:
    """What a move needs to know of an operand; None where there is none."""
    return None if x is None else (x.shape[-1], x.dtype)


def operands(who: str, src: Any, dst: Any) -> tuple[jax.Array, jax.Array | None]:
    """Both operands as arrays; `dst` None stays None."""
    src = as_array(who, "src", src)
    if dst is not None:
        dst = as_array(who, "dst", dst)
        check_lead(who, src, dst)
    return src, dst


def type_of(
    params: Params, src: Form, dst: Form | None, dtype: Any, settled: bool = False
) -> tuple[AscendType, bool]:
    """The operands' type as `params` count it, and whether an entry holds two.

    `settled` where `dtype` is a move's own, so that only `src` can be wrong.
    """
    who, operand = params.instruction, "src" if settled else None
    t, packed = counted_type(type(params), src[1], dtype, who, operand)
    conversion = params.conversion(t)
    arrives = jnp.dtype(conversion.type.carrier) if conversion else src[1]
    if dst is not None and dst[1] != arrives:
        fix = "Convert one of them: a move does not convert."
        rule = f"have the type of src, {src[1]}"
        if conversion:
            rule = f"have the type of what arrives, {arrives}"
            fix = "Pass what the destination holds in that type."
        raise ParamError(who, "dst", rule, dst[1], fix, "Table 2, dst")
    return t, packed


def counted_type(
    cls: type[Params], held: Any, dtype: Any, who: str, operand: str | None = None
) -> tuple[AscendType, bool]:
    """The type of an array of `held` as an instruction counts it, and whether an entry
    holds two; arguments as `of_array` has them."""
    t, packed = of_array(held, dtype, who, operand)
    counted = cls.counted(t)
    return (t, packed) if counted == t else of_array(held, counted, who, operand)


def values_of(x: jax.Array, type: AscendType) -> jax.Array:
    """An operand's elements in the JAX type of their values, from raw bits or packed
    bytes too."""
    carrier = jnp.dtype(type.carrier)
    if x.dtype == carrier:
        return x
    values = jax.lax.bitcast_convert_type(x, carrier)
    return values if values.ndim == x.ndim else values.reshape(*x.shape[:-1], -1)


def as_array(who: str, field: str, value: Any) -> jax.Array:
    """An operand as a JAX array with a flat last axis, whole on each device."""
    array = value if isinstance(value, jax.Array) else _converted(who, field, value)
    if array is None or not array.shape:
        rule = "be an array whose last axis is the flat buffer"
        fix = "Pass an array of shape (..., elements), x.reshape(-1) for one buffer."
        raise ParamError(who, field, rule, _said(value, array), fix, SOURCE)
    if array.dtype.itemsize > 4:
        require_x64(array.dtype, who, field)
    if not isinstance(array, Tracer) and type(array.sharding) is not _ALONE:
        shard = array.sharding.shard_shape(array.shape)
        if shard[-1] != array.shape[-1]:
            raise SupportError(
                who,
                field,
                "not be sharded along its last axis, the flat buffer",
                f"shards of {shard[-1]} of {array.shape[-1]} elements",
                "Shard leading (batch) axes instead.",
                SOURCE,
            )
    return array


def check_lead(who: str, src: jax.Array, dst: jax.Array) -> None:
    """Raise ParamError where the leading axes do not broadcast."""
    try:
        np.broadcast_shapes(src.shape[:-1], dst.shape[:-1])
    except ValueError:
        rule = "have leading axes that broadcast with those of src"
        got = f"{dst.shape[:-1]} where src has {src.shape[:-1]}"
        fix = "Give both the same batch, or one of them none."
        raise ParamError(who, "dst", rule, got, fix, SOURCE) from None


def check_length(
    who: str, field: str, form: Form | None, size: int, packed: bool
) -> None:
    """Raise BoundsError where an operand is not a buffer of `size` elements."""
    length = -(-size // 2) if packed else size
    if form is not None and form[0] != length:
        unit = "bytes, two elements each" if packed else "elements"
        rule = f"hold {length} ({unit}) in its last axis"
        fix = "Make the move for this size, or pass the buffer it was made for."
        raise BoundsError(who, field, rule, form[0], fix, SOURCE)


def _converted(who: str, field: str, value: Any) -> jax.Array | None:
    """A NumPy array or a list as a JAX array; None where it is neither."""
    if isinstance(value, np.ndarray | np.generic):
        require_x64(value.dtype, who, field)
    try:
        return jnp.asarray(value)
    except (TypeError, ValueError):
        return None


def _said(value: Any, array: jax.Array | None) -> str:
    """What was given for an operand that it cannot be, in words."""
    if array is not None:
        return f"a single number, of {array.dtype} and shape ()"
    kind, held = type(value).__name__, getattr(value, "dtype", None)
    return (
        f"{kind}{'' if held is None else f' of {held}'}, which is no array of numbers"
    )


def flat_hint(error: BoundsError, held: Mapping[str, jax.Array | None]) -> BoundsError:
    """The error of an operand that is too short, with what to do where it has leading
    axes: they may be meant as part of the buffer."""
    array = held.get(error.field)
    if array is None or array.size == array.shape[-1]:
        return error
    fix = f"Its shape is {array.shape}, a batch of buffers of {array.shape[-1]}: pass "
    fix += f"x.reshape(-1) where all of it is one. {error.fix}"
    return error.changed(fix=fix)


def sizes_of(
    who: str, src: Form, dst: Form | None, dst_size: Any, packed: bool
) -> tuple[int, int | None]:
    """Elements of both buffers; None for a destination of just what is written."""
    each = 2 if packed else 1
    given = None
    if dst_size is not None:
        rule = "be an integer (elements)"
        given = static_int(who, "dst_size", dst_size, rule, SOURCE)
    if dst is None:
        return each * src[0], given
    length = each * dst[0]
    if given is not None and not length - each < given <= length:
        rule = f"be the size of dst, {length} elements, where dst is given"
        fix = "Leave dst_size out."
        raise BoundsError(who, "dst_size", rule, given, fix, SOURCE)
    return each * src[0], length if given is None else given
