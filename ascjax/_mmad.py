"""`mmad`: the matrix unit, on buffers laid out as they stand in L0."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp

from ._dtypes import TYPES, AscendType, of_array
from ._errors import AlignmentError, BoundsError, ParamError
from ._layout import Layout
from ._operands import SOURCE, Form, as_array, form_of, values_of
from ._products import product as product_of
from ._run import look_up
from ._shardings import batched
from .instr._fields import static_int
from .instr.mmad import MmadParams

_WHO = "mmad"
_L0C_FRACTAL = (16, 16)  # whatever the type
_ALIGN = {"l0a": 512, "l0b": 512, "l0c": 1024, "bias": 64}  # bytes


def mmad(
    l0a: Any,
    l0b: Any,
    params: MmadParams,
    *,
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
      l0a, l0b: what the sources hold, of one type.
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
    if not isinstance(params, MmadParams):
        rule, got = "be MmadParams, after l0a and l0b", type(params).__name__
        fix = "Write asc.mmad(l0a, l0b, params, l0c=l0c)."
        raise ParamError(_WHO, "params", rule, got, fix, MmadParams.source)
    given = {"l0a": l0a, "l0b": l0b, "l0c": l0c, "bias": bias}
    held = tuple(
        None if x is None and name in ("l0c", "bias") else as_array(_WHO, name, x)
        for name, x in given.items()
    )
    call = look_up(
        _prepared,
        params,
        tuple(map(form_of, held)),
        l0c_size,
        product,
        dtype,
        l0a_offset=l0a_offset,
        l0b_offset=l0b_offset,
        l0c_offset=l0c_offset,
        bias_offset=bias_offset,
    )
    return call(*held)


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
    type, packed = of_array(l0a[1], dtype, _WHO)
    each = 2 if packed else 1
    sizes = {"l0a": each * l0a[0], "l0b": each * l0b[0], "l0c": l0c_size}
    sums = jnp.dtype(result_type(type).carrier)
    for name, form, wanted in (
        ("l0b", l0b, l0a[1]),
        ("l0c", l0c, sums),
        ("bias", bias, sums),
    ):
        if form is not None and form[1] != wanted:
            rule, fix = f"hold {wanted}, where l0a holds {type}", "Convert it."
            raise ParamError(_WHO, name, rule, form[1], fix, params.source)
    if bias is not None:
        sizes["bias"] = bias[0]
    if l0c_size is not None:
        rule = "be an integer of at least 0 (elements)"
        l0c_size = static_int(_WHO, "l0c_size", l0c_size, rule, SOURCE)
        if l0c is not None:
            rule = f"be the size of l0c, {l0c[0]} elements, where l0c is given"
        if l0c_size < 0 or l0c not in (None, (l0c_size, sums)):
            fix = "Leave l0c_size out."
            raise BoundsError(_WHO, "l0c_size", rule, l0c_size, fix, SOURCE)
    if l0c is not None:
        sizes["l0c"] = l0c[0]
    elif not params.cmatrix_init_val:
        rule = "be given where cmatrix_init_val is false: the sum starts from it"
        fix = "Pass what L0C holds, or leave cmatrix_init_val out."
        raise ParamError(_WHO, "l0c", rule, None, fix, params.source)
    starts = {name: offsets[f"{name}_offset"] for name in _ALIGN}
    return jax.jit(batched(Mmad.of(params, type, sizes, starts, product), 1))


def result_type(type: AscendType) -> AscendType:
    """The type of L0C where the sources hold `type`."""
    return TYPES["int32_t" if type.name in ("int4b_t", "int8_t") else "float"]


@dataclasses.dataclass(frozen=True)
class Operand:
    """Where a matrix stands in a buffer: its layout, and its start in elements."""

    layout: Layout
    start: int

    @property
    def end(self) -> int:
        """The first element behind it."""
        return self.start + self.layout.size

    def read(self, buffer: jax.Array) -> jax.Array:
        """The matrix that a buffer holds, as values."""
        values = values_of(buffer, self.layout.dtype)
        cut = jax.lax.slice_in_dim(values, self.start, self.end, axis=-1)
        return self.layout.unpack(cut)

    def write(self, buffer: jax.Array, matrix: jax.Array) -> jax.Array:
        """`buffer`, of the same leading axes, with the matrix in its place."""
        packed = self.layout.pack(matrix)
        if packed.shape == buffer.shape:
            return packed
        return jax.lax.dynamic_update_slice_in_dim(buffer, packed, self.start, -1)


@dataclasses.dataclass(frozen=True)
class Mmad:
    """One checked call of `mmad`, as a function of (l0a, l0b, l0c, bias).

    Attributes:
      params: `MmadParams`.
      type: the Ascend C type of L0A and L0B.
      l0a, l0b, l0c, bias: where the matrices stand; all None for a NOP, `bias` also
        where there is none.
      l0c_size: elements of the result.
    """

    params: MmadParams
    type: AscendType
    l0a: Operand | None
    l0b: Operand | None
    l0c: Operand | None
    bias: Operand | None
    l0c_size: int

    @classmethod
    def of(
        cls,
        params: MmadParams,
        type: AscendType,
        sizes: Mapping[str, int | None],
        starts: Mapping[str, int],
        product: Any,
    ) -> Mmad:
        """A call on operands of `sizes` that start at `starts`, both in elements.

        `sizes` has l0a, l0b, l0c (None for just what is needed), and bias where there
        is one. Errors are as of `mmad`.
        """
        if product is None:
            rule = "be given: the order of the fractals in L0A depends on it"
            fix = "Pass product=, such as '910B'."
            raise ParamError(_WHO, "product", rule, None, fix, params.source)
        where = product_of(product, _WHO)
        site = params.site(where, "A2->CO1", type)
        params.check_support(site)
        params.rules(site)
        if "bias" in sizes and not params.cmatrix_init_val:
            rule = "be left out where cmatrix_init_val is false"
            fix = "The sum starts from a bias or from what L0C holds, not from both."
            raise ParamError(_WHO, "bias", rule, "a bias", fix, params.source)
        sums = result_type(type)
        types = {"l0a": type, "l0b": type, "l0c": sums, "bias": sums}
        at = {name: _start(name, value, types[name]) for name, value in starts.items()}
        m, n, k = params.m, params.n, params.k
        if 0 in (m, n, k):
            return cls(params, type, None, None, None, None, sizes["l0c"] or 0)
        deep = -(-k // 16) * 16 if params.k_direction_align else k
        layouts = {
            "l0a": Layout(where.l0a_format, (m, deep), type),
            "l0b": Layout(where.l0b_format, (deep, n), type),
            "l0c": Layout(where.l0c_format, (m, n), sums, _L0C_FRACTAL),
        }
        if "bias" in sizes:
            layouts["bias"] = Layout("ND", (n,), sums)
        found = {name: Operand(each, at[name]) for name, each in layouts.items()}
        for name, operand in found.items():
            size = sizes[name]
            if size is not None and size < operand.end:
                rule = f"hold elements [{operand.start}, {operand.end}): "
                rule += f"{operand.layout}, padded to {operand.layout.padded}"
                fix = "Pass the whole buffer, padding included."
                raise BoundsError(_WHO, name, rule, f"{size} elements", fix, SOURCE)
        size = found["l0c"].end if sizes["l0c"] is None else sizes["l0c"]
        return cls(params, type, **{"bias": None, **found}, l0c_size=size)

    def __call__(
        self,
        l0a: jax.Array,
        l0b: jax.Array,
        l0c: jax.Array | None = None,
        bias: jax.Array | None = None,
    ) -> jax.Array:
        """What L0C holds after."""
        result = jnp.dtype(result_type(self.type).carrier)
        given = [x for x in (l0a, l0b, l0c, bias) if x is not None]
        lead = jnp.broadcast_shapes(*(x.shape[:-1] for x in given))
        before = jnp.zeros(self.l0c_size, result) if l0c is None else l0c
        before = jnp.broadcast_to(before, (*lead, self.l0c_size))
        if self.l0a is None or self.l0b is None or self.l0c is None:
            return before
        k = self.params.k
        found = jnp.matmul(
            _wide(self.l0a.read(l0a))[..., :k],
            _wide(self.l0b.read(l0b))[..., :k, :],
            precision=jax.lax.Precision.HIGHEST,
            preferred_element_type=result,
        )
        if self.bias is not None and bias is not None:
            found = found + self.bias.read(bias)[..., None, :]
        if not self.params.cmatrix_init_val:
            found = found + self.l0c.read(before)
        found = jnp.broadcast_to(found, (*lead, *found.shape[-2:]))
        whole = self.l0c.layout.padded
        if l0c is None or whole == found.shape[-2:]:
            return self.l0c.write(before, found)
        layout = dataclasses.replace(self.l0c.layout, shape=whole)
        full = Operand(layout, self.l0c.start)
        rows, columns = found.shape[-2:]
        kept = full.read(before).at[..., :rows, :columns].set(found)
        return full.write(before, kept)


def _wide(x: jax.Array) -> jax.Array:
    """Values in a type whose products are exact in the type of the sum."""
    if jnp.issubdtype(x.dtype, jnp.integer):
        return x.astype(jnp.int8)
    return x.astype(jnp.float32)


def _start(name: str, value: Any, type: AscendType) -> int:
    """Where an operand starts, in elements, on its buffer's boundary."""
    field = f"{name}_offset"
    rule = "be an integer of at least 0 (elements)"
    start = static_int(_WHO, field, value, rule, SOURCE)
    if start < 0:
        raise BoundsError(_WHO, field, rule, start, "Start inside the buffer.", SOURCE)
    unit = _ALIGN[name] * 8 // type.bits
    if start % unit:
        rule = f"start on a multiple of {_ALIGN[name]} bytes: {unit} elements of {type}"
        got, fix = f"{start} elements", "Move the operand's start to the boundary."
        source = "instructions.md, section 8"
        raise AlignmentError(_WHO, field, rule, got, fix, source)
    return start
