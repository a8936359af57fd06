"""`mmad`: the matrix unit, on buffers laid out as they stand in L0."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from ._cube import ALIGN, WHO, Mmad
from ._cube import result_type as result_type
from ._dtypes import of_array
from ._errors import BoundsError, ParamError
from ._operands import SOURCE, Form, as_array, form_of
from ._run import look_up
from ._shardings import batched
from .instr._fields import static_int
from .instr.mmad import MmadParams


def mmad(
    l0a: Any,
    l0b: Any,
    params: MmadParams,
    *swapped: Any,
    l0c: Any = None,
    l0c_size: int | None = None,
    bias: Any = None,
    l0a_offset: int = 0,
    l0b_offset: int = 0,
    l0c_offset: int = 0,
    bias_offset: int = 0,
    product: Any = None,
    dtype: Any = None,
) -> jax.Array:
    """`Mmad`: L0C [m, n] = L0A [m, k] @ L0B [k, n], from 0, a bias or what L0C holds.

    L0A holds [m, k] in the product's `l0a_format`, L0B [k, n] in ZN, K padded to C0 in
    both; L0C holds [m, n] in NZ with fractals of 16 x 16. Padding is not read: lanes
    from k on take no part, whatever they hold. Nor is it written: L0C keeps its old
    values outside [m, n].

    Shapes: each operand is (..., s), its last axis a flat buffer in elements, at least
      as long as the matrix with its padding; leading axes are a batch, and broadcast.
      Packed 4-bit operands are uint8, two elements a byte. The result is (..., d), as
      long as `l0c`, else `l0c_size`. Nothing is mutated.
    Args:
      l0a, l0b: what the sources hold, of one type; as values, raw bits or packed.
      params: `MmadParams`; static.
      l0c: what L0C held before, int32 or float32; None is zeros.
      l0c_size: elements of the result where `l0c` is None; None is just the matrix with
        its padding.
      bias: n values of L0C's type in C2, the start value; None is 0.
      l0a_offset, l0b_offset, l0c_offset, bias_offset: where the operands start, in
        elements; static.
      product: an `asc.Product`, its name or an alias: L0A's format depends on it.
      dtype: the Ascend C type of the sources, where the arrays' own does not tell.
    Returns: what L0C holds after: int32 for int4b_t and int8_t, exact and wrapping;
      float32 else, accumulated in float32.
    Raises:
      ParamError: `params` of another kind, no product, operands of the wrong type, or a
        start value that is missing or given twice.
      SupportError: a product without a matrix unit, a type that it does not multiply.
      BoundsError: an operand shorter than its matrix.
      AlignmentError: an offset that is not on its buffer's boundary.
    Gradient: as of the matrix product, to l0a, l0b, bias and l0c; zero in padding that
      is not read; integer types give float0.
    Source: instructions.md, section 8; errata Q21.

    >>> import ascjax as asc, jax.numpy as jnp
    >>> a = asc.Layout("ZZ", (2, 3), "half").pack(jnp.ones((2, 3), "float16"))
    >>> b = asc.Layout("ZN", (3, 4), "half").pack(jnp.ones((3, 4), "float16"))
    >>> c = asc.mmad(a, b, asc.MmadParams(2, 4, 3), product="910B")
    >>> c.shape, c[:5]
    ((256,), Array([3., 3., 3., 3., 0.], dtype=float32))
    """
    _check_arguments(l0a, params, swapped)
    given = {"l0a": l0a, "l0b": l0b, "l0c": l0c, "bias": bias}
    held = {
        name: None if x is None and name in ("l0c", "bias") else as_array(WHO, name, x)
        for name, x in given.items()
    }
    call = look_up(
        _prepared,
        held,
        params,
        tuple(map(form_of, held.values())),
        l0c_size,
        product,
        dtype,
        l0a_offset=l0a_offset,
        l0b_offset=l0b_offset,
        l0c_offset=l0c_offset,
        bias_offset=bias_offset,
    )
    return call(*held.values())


def _check_arguments(l0a: Any, params: Any, swapped: tuple) -> None:
    """Raise ParamError where `params` is none, or stands elsewhere."""
    if isinstance(params, MmadParams) and not swapped:
        return
    fix = "Write asc.mmad(l0a, l0b, params, l0c=l0c, bias=bias)."
    if isinstance(params, MmadParams):
        rule, got = "be given by their names", "a fourth argument"
        raise ParamError(WHO, "l0c and bias", rule, got, fix, params.source)
    rule, got = "be MmadParams, after l0a and l0b", type(params).__name__
    if any(isinstance(each, MmadParams) for each in swapped):
        got = "arguments in Ascend C's order (dst, fm, filter, params)"
    elif isinstance(l0a, MmadParams):
        got = "params first"
    raise ParamError(WHO, "params", rule, got, fix, MmadParams.source)


@functools.lru_cache(maxsize=4096, typed=True)
def _prepared(
    params: MmadParams,
    forms: tuple[Form, Form, Form | None, Form | None],
    l0c_size: int | None,
    product: Any,
    dtype: Any,
    **offsets: int,
) -> Callable[..., jax.Array]:
    """One call, checked and compiled: a function of (l0a, l0b, l0c, bias)."""
    l0a, l0b, l0c, bias = forms
    type, packed = of_array(l0a[1], dtype, WHO)
    _, packed_b = of_array(l0b[1], type, WHO, "l0b")
    sizes = {
        "l0a": (1 + packed) * l0a[0],
        "l0b": (1 + packed_b) * l0b[0],
        "l0c": l0c_size,
    }
    sums = jnp.dtype(result_type(type).carrier)
    for name, form in (("l0c", l0c), ("bias", bias)):
        if form is not None and form[1] != sums:
            rule, fix = f"hold {sums}, where l0a holds {type}", "Convert it."
            raise ParamError(WHO, name, rule, form[1], fix, params.source)
    if bias is not None:
        sizes["bias"] = bias[0]
    if l0c_size is not None:
        rule = "be an integer of at least 0 (elements)"
        l0c_size = static_int(WHO, "l0c_size", l0c_size, rule, SOURCE)
        if l0c is not None:
            rule = f"be the size of l0c, {l0c[0]} elements, where l0c is given"
        if l0c_size < 0 or l0c not in (None, (l0c_size, sums)):
            fix = "Leave l0c_size out."
            raise BoundsError(WHO, "l0c_size", rule, l0c_size, fix, SOURCE)
    if l0c is not None:
        sizes["l0c"] = l0c[0]
    starts = {name: offsets[f"{name}_offset"] for name in ALIGN}
    made = Mmad.of(params, type, sizes, starts, product)
    if l0c is None and not params.cmatrix_init_val:
        rule = "be given where cmatrix_init_val is false: the sum starts from it"
        fix = "Pass what L0C holds, or leave cmatrix_init_val out."
        raise ParamError(WHO, "l0c", rule, None, fix, params.source)
    return jax.jit(batched(made, 1))
