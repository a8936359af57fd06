"""One checked call of the matrix unit: where matrices stand, and what it leaves."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp

from ._dtypes import TYPES, AscendType
from ._errors import AlignmentError, BoundsError, ParamError
from ._layout import Layout
from ._operands import SOURCE, values_of
from ._products import product as product_of
from .instr._fields import static_int
from .instr.mmad import MmadParams

WHO = "mmad"
ALIGN = {"l0a": 512, "l0b": 512, "l0c": 1024, "bias": 64}  # bytes
_L0C_FRACTAL = (16, 16)  # whatever the type


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
            raise ParamError(WHO, "product", rule, None, fix, params.source)
        where = product_of(product, WHO)
        site = params.site(where, "A2->CO1", type)
        params.check_support(site)
        params.rules(site)
        if "bias" in sizes and not params.cmatrix_init_val:
            rule = "be left out where cmatrix_init_val is false, which starts from l0c"
            fix = "Pass l0c and no bias, or leave cmatrix_init_val out."
            raise ParamError(WHO, "bias", rule, "a bias", fix, params.source)
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
                raise BoundsError(WHO, name, rule, f"{size} elements", fix, SOURCE)
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
    start = static_int(WHO, field, value, rule, SOURCE)
    if start < 0:
        raise BoundsError(WHO, field, rule, start, "Start inside the buffer.", SOURCE)
    unit = ALIGN[name] * 8 // type.bits
    if start % unit:
        rule = f"start on a multiple of {ALIGN[name]} bytes: {unit} elements of {type}"
        got, fix = f"{start} elements", "Move the operand's start to the boundary."
        source = "instructions.md, section 8"
        raise AlignmentError(WHO, field, rule, got, fix, source)
    return start
