"""`NZLinear`: `eqx.nn.Linear` with its weight in NZ."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from ..._layout import Layout
from ..._products import ATLAS_A2, Product
from ..._products import product as product_of
from ._given import (
    Features,
    checked_dtype,
    checked_emulate,
    checked_features,
    checked_vector,
    checked_weight,
    filled,
    matrix_shape,
    weight_type,
)
from ._matmul import cube_of
from ._weight import multiplied, multiplied_on_road, unpacked

_WHO = "NZLinear"


class NZLinear(eqx.Module):
    """`eqx.nn.Linear` whose trainable weight is a buffer in NZ.

    `weight` is `asc.Layout("NZ", (out, in), dtype)`, flat: what
    `torch_npu.npu_format_cast(linear.weight, 29)` stores, and, bit for bit, L0B's ZN of
    [in, out], so that loads to L0B copy it as it stands. Its padding is zero bits, is
    never read, and has a gradient of zero: under an optimiser it stays as it is.

    The matrix unit multiplies in the weight's type and adds up in float32; the bias is
    added in float32, and the result cast to the type that `eqx.nn.Linear` gives. In
    float32 the sums are the plain layer's, in an order of their own.

    Args:
      in_features, out_features: elements of a vector, or "scalar" for a number.
      use_bias: whether to add a bias, a plain array.
      dtype: float32 (None), float16 or bfloat16: of the weight and the bias.
      key: for the first values, those of `eqx.nn.Linear` with the same key.
      product: the product that multiplies.
      emulate: "layout" unpacks the weight and does one dot; "path" runs every call of
        `asc.nn.CubeMatmul` from GM, which holds [out, in], to L0 and back, in tiles
        where it must, for atlas_a2, atlas_a3 and atlas_350.
    Shapes: `module(x)` takes (in_features,) and gives (out_features,), or () for
      "scalar", as `eqx.nn.Linear`; batches by `jax.vmap`. `weight` is (layout.size,).
      Axes in front of a weight, as in models made under `eqx.filter_vmap`, stay there.
    Raises:
      ParamError: features that are no positive integers; a type that does not train on
        the unit, such as float64; another word for `emulate`; complex x.
      SupportError: a product without a matrix unit, or without a known road for "path".
      BoundsError: x of another shape.
    Gradient: to x, weight and bias; zero in the weight's padding.
    Source: instructions.md, Units and section 8.

    >>> import ascjax as asc, equinox as eqx, jax, jax.numpy as jnp
    >>> layer = asc.nn.NZLinear(20, 17, key=jax.random.key(0))
    >>> layer.weight.shape, layer.layout.dims
    ((768,), (3, 2, 16, 8))
    >>> plain = eqx.nn.Linear(20, 17, key=jax.random.key(0))
    >>> x = jnp.ones(20)
    >>> bool(jnp.allclose(layer(x), plain(x), atol=1e-6))
    True
    """

    weight: jax.Array
    bias: jax.Array | None
    in_features: Features = eqx.field(static=True)
    out_features: Features = eqx.field(static=True)
    use_bias: bool = eqx.field(static=True)
    product: Product = eqx.field(static=True)
    emulate: str = eqx.field(static=True)
    layout: Layout = eqx.field(static=True)

    def __init__(
        self,
        in_features: Features,
        out_features: Features,
        use_bias: bool = True,
        dtype: Any = None,
        *,
        key: jax.Array,
        product: Any = ATLAS_A2,
        emulate: str = "layout",
    ):
        self.in_features = checked_features(_WHO, "in_features", in_features)
        self.out_features = checked_features(_WHO, "out_features", out_features)
        self.use_bias = use_bias
        self.product = product_of(product, _WHO)
        self.emulate = checked_emulate(_WHO, emulate)
        dtype = checked_dtype(_WHO, dtype)
        plain = eqx.nn.Linear(
            self.in_features, self.out_features, use_bias, dtype, key=key
        )
        type = weight_type(_WHO, plain.weight, self.product)
        if emulate == "path":
            cube_of(self.product, 1, *plain.weight.shape, type, transpose_b=True)
        self.layout = Layout("NZ", plain.weight.shape, type)
        self.weight, self.bias = self.layout.pack(plain.weight), plain.bias

    def __call__(self, x: Any, *, key: jax.Array | None = None) -> jax.Array:
        """The layer of one vector; `key` is ignored."""
        x = checked_vector(_WHO, x, self.in_features)
        type = jnp.result_type(x, self.weight)
        x = x.reshape(-1)
        if self.emulate == "path":
            y = multiplied_on_road(self.weight, self.layout, x, self.product)
        else:
            y = multiplied(self.weight, self.layout, x)
        if self.bias is not None:
            y = y + self.bias.astype(y.dtype)
        y = y.astype(type)
        return y[..., 0] if self.out_features == "scalar" else y

    @classmethod
    def from_eqx(
        cls, layer: eqx.nn.Linear, *, product: Any = ATLAS_A2, emulate: str = "layout"
    ) -> NZLinear:
        """The same layer with its weight in NZ, bit for bit.

        `layer` may have a weight with axes in front, (..., out, in): each matrix gets a
        buffer. Raises as the class, and for a weight that is no array or not of the
        layer's sizes.
        """
        product = product_of(product, _WHO)
        shape = matrix_shape(_WHO, layer)
        type = checked_weight(_WHO, layer.weight, shape, product)

        def make(key: jax.Array) -> NZLinear:
            sizes = layer.in_features, layer.out_features, layer.use_bias
            return cls(*sizes, type.jax, key=key, product=product, emulate=emulate)

        layout = Layout("NZ", shape, type)
        leaves = {"weight": layout.pack(layer.weight), "bias": layer.bias}
        return filled(make, leaves)

    def to_eqx(self) -> eqx.nn.Linear:
        """The plain layer with the same weight and bias, bit for bit."""

        def make(key: jax.Array) -> eqx.nn.Linear:
            sizes = self.in_features, self.out_features, self.use_bias
            return eqx.nn.Linear(*sizes, self.weight.dtype, key=key)

        matrix = unpacked(self.weight, self.layout)
        return filled(make, {"weight": matrix, "bias": self.bias})
