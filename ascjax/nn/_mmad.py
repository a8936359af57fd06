"""The matrix unit as an Equinox module."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax

from .._dtypes import AscendType, ascend_type
from .._errors import ParamError
from .._mmad import mmad
from .._products import Product
from .._products import product as product_of
from ..instr.mmad import MmadParams


class Mmad(eqx.Module):
    """`asc.mmad` as a module for one product and type.

    Args:
      params: `MmadParams`.
      product: the product; L0A's format depends on it.
      dtype: the Ascend C type of L0A and L0B, or the JAX type of the same values.
      l0c_size: elements of the result where no `l0c` is given; None is just the matrix
        with its padding.
    Shapes: `module(l0a, l0b, l0c=None, bias=None)` takes flat buffers, as `asc.mmad`.
    Raises: as `asc.mmad`: for params, product and type when the module is built, for
      operands when it is called.
    Gradient: as `asc.mmad`; the module itself has no leaves to train.
    Source: instructions.md, section 8.

    >>> import ascjax as asc, jax.numpy as jnp
    >>> cube = asc.nn.Mmad(asc.MmadParams(16, 16, 16), product="910B", dtype="half")
    >>> cube(jnp.ones(256, "float16"), jnp.ones(256, "float16"))[:2]
    Array([16., 16.], dtype=float32)
    """

    params: MmadParams = eqx.field(static=True)
    product: Product = eqx.field(static=True)
    dtype: AscendType = eqx.field(static=True)
    l0c_size: int | None = eqx.field(static=True)

    def __init__(
        self,
        params: MmadParams,
        *,
        product: Any,
        dtype: Any,
        l0c_size: int | None = None,
    ):
        if not isinstance(params, MmadParams):
            rule, got = "be MmadParams", type(params).__name__
            fix = "Make them first, with their fields."
            raise ParamError("mmad", "params", rule, got, fix, MmadParams.source)
        self.params, self.l0c_size = params, l0c_size
        self.product = product_of(product, "mmad")
        self.dtype = ascend_type(dtype, "mmad")
        site = params.site(self.product, "A2->CO1", self.dtype)
        params.check_support(site)
        params.rules(site)

    def __call__(
        self,
        l0a: Any,
        l0b: Any,
        l0c: Any = None,
        bias: Any = None,
        *,
        key: jax.Array | None = None,
    ) -> jax.Array:
        """What L0C holds after; shapes as `asc.mmad`. `key` is ignored."""
        return mmad(
            l0a,
            l0b,
            self.params,
            l0c=l0c,
            l0c_size=None if l0c is not None else self.l0c_size,
            bias=bias,
            product=self.product,
            dtype=self.dtype,
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready: params, product, type and size."""
        return {
            **self.params.to_dict(),
            "product": self.product.key,
            "dtype": self.dtype.name,
            "l0c_size": self.l0c_size,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Mmad:
        """The module that `to_dict` described."""
        rest = {k: v for k, v in data.items() if k not in ("instruction", "fields")}
        return cls(MmadParams.from_fields(data["fields"]), **rest)
