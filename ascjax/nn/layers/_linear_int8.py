"""`NZLinearInt8`: a linear layer for inference, int8 on the matrix unit."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from ..._dtypes import AscendType
from ..._errors import ParamError
from ..._layout import Layout
from ..._products import ATLAS_A2, Product
from ..._products import product as product_of
from ._given import (
    SOURCE,
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
from ._int8 import (
    INT8,
    as_int8,
    channels_as_int8,
    check_finite,
    check_unit,
    checked_scale,
    scale_of,
)
from ._linear import NZLinear
from ._matmul import cube_of
from ._weight import multiplied, multiplied_on_road, unpacked

_WHO = "NZLinearInt8"


class NZLinearInt8(eqx.Module):
    """`eqx.nn.Linear` for inference: int8 weight in NZ, int8 x, int32 sums.

    `weight` is `asc.Layout("NZ", (out, in), "int8_t")`, flat, and close to the float
    one divided by `weight_scale`, a scale for each output channel. x is divided by
    `x_scale`, one for all of x, and rounded to int8: to nearest, ties to even, cut off
    at 127 either way (NaN is 0). Scales are symmetric: 0 stays 0, -128 is never taken.
    The int32 sums are exact. They leave L0C as they are, and are dequantised behind the
    road, in float32: times x_scale * weight_scale, plus the bias, cast to the type that
    `eqx.nn.Linear` gives.

    Args:
      in_features, out_features, use_bias, dtype, key: as `asc.nn.NZLinear`; the first
        values are those, rounded to int8.
      x_scale: what one step of int8 is worth in x; None is dynamic: for each vector,
        its largest magnitude divided by 127 (or 1 where it is all 0).
      product: the product that multiplies.
      emulate: "layout" or "path", as `asc.nn.NZLinear`; both give the same sums.
    Shapes: as `asc.nn.NZLinear`; `weight` is (layout.size,), `weight_scale` (out,),
      `x_scale` (), all behind the axes in front of a weight.
    Raises:
      ParamError: as `asc.nn.NZLinear`; a weight that is not finite; an x_scale that is
        not finite and above 0 (both where their values are known); a weight that is no
        longer int8.
      BoundsError: x of another shape; more than 133144 inputs, whose sums may wrap; an
        x_scale for each channel.
      SupportError: a product without a matrix unit, or without a known road for "path".
    Gradient: to bias and weight_scale; none to x, which is rounded, nor to weight.
    Source: instructions.md, Units and section 8, for all up to L0C. Fixpipe's quantised
      forms are not in it: what they would do is a step of its own here.

    >>> import ascjax as asc, equinox as eqx, jax, jax.numpy as jnp
    >>> plain = eqx.nn.Linear(20, 17, key=jax.random.key(0))
    >>> layer = asc.nn.NZLinearInt8.from_float(plain, x_scale=1 / 127)
    >>> layer.weight.shape, layer.weight.dtype, layer.layout.dims
    ((1024,), dtype('int8'), (1, 2, 16, 32))
    >>> x = jnp.linspace(-1, 1, 20)
    >>> bool(abs(layer(x) - plain(x)).max() < 0.02)
    True
    """

    weight: jax.Array
    weight_scale: jax.Array
    x_scale: jax.Array | None
    bias: jax.Array | None
    in_features: Features = eqx.field(static=True)
    out_features: Features = eqx.field(static=True)
    use_bias: bool = eqx.field(static=True)
    dtype: AscendType = eqx.field(static=True)
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
        x_scale: Any = None,
        product: Any = ATLAS_A2,
        emulate: str = "layout",
    ):
        self.in_features = checked_features(_WHO, "in_features", in_features)
        self.out_features = checked_features(_WHO, "out_features", out_features)
        self.use_bias = use_bias
        self.product = product_of(product, _WHO)
        self.emulate = checked_emulate(_WHO, emulate)
        deep = 1 if self.in_features == "scalar" else self.in_features
        check_unit(_WHO, self.product, deep)
        dtype = checked_dtype(_WHO, dtype)
        plain = eqx.nn.Linear(
            self.in_features, self.out_features, use_bias, dtype, key=key
        )
        self.dtype = weight_type(_WHO, plain.weight, self.product)
        if emulate == "path":
            cube_of(self.product, 1, *plain.weight.shape, INT8, transpose_b=True)
        self.layout = Layout("NZ", plain.weight.shape, INT8)
        matrix, self.weight_scale = channels_as_int8(plain.weight)
        self.weight, self.bias = self.layout.pack(matrix), plain.bias
        self.x_scale = None if x_scale is None else checked_scale(_WHO, x_scale, ())

    def __call__(self, x: Any, *, key: jax.Array | None = None) -> jax.Array:
        """The layer of one vector; `key` is ignored."""
        x = checked_vector(_WHO, x, self.in_features)
        if self.weight.dtype != jnp.int8:
            rule, fix = "be int8", "Leave the arrays of this layer as they are."
            raise ParamError(_WHO, "weight", rule, self.weight.dtype, fix, SOURCE)
        type = jnp.result_type(x, self.dtype.carrier)
        wide = jax.lax.stop_gradient(x.reshape(-1).astype(jnp.float32))
        scale = scale_of(abs(wide).max()) if self.x_scale is None else self.x_scale
        steps = as_int8(wide, scale)
        if self.emulate == "path":
            sums = multiplied_on_road(self.weight, self.layout, steps, self.product)
        else:
            sums = multiplied(self.weight, self.layout, steps)
        y = sums.astype(jnp.float32) * (scale * self.weight_scale)
        if self.bias is not None:
            y = y + self.bias.astype(jnp.float32)
        y = y.astype(type)
        return y[..., 0] if self.out_features == "scalar" else y

    @classmethod
    def from_float(
        cls,
        layer: eqx.nn.Linear | NZLinear,
        *,
        x_scale: Any = None,
        product: Any = None,
        emulate: str | None = None,
    ) -> NZLinearInt8:
        """The same layer, its weight rounded to int8.

        `product` and `emulate` are the layer's own where they are None, those of
        `asc.nn.NZLinear` where it has none. Axes in front of a weight stay; `x_scale`
        has them too, or is one for all of them. Raises as the class, and ParamError for
        a layer of another kind.
        """
        if not isinstance(layer, eqx.nn.Linear | NZLinear):
            rule, got = "be an eqx.nn.Linear or an NZLinear", type(layer).__name__
            fix = "Convert whole models with asc.nn.quantise."
            raise ParamError(_WHO, "layer", rule, got, fix, SOURCE)
        if product is None:
            product = getattr(layer, "product", ATLAS_A2)
        own = getattr(layer, "emulate", "layout")
        emulated = checked_emulate(_WHO, own if emulate is None else emulate)
        product = product_of(product, _WHO)
        plain = layer.to_eqx() if isinstance(layer, NZLinear) else layer
        shape = matrix_shape(_WHO, plain)
        held = checked_weight(_WHO, plain.weight, shape, product)
        check_finite(_WHO, plain.weight)

        def make(key: jax.Array) -> NZLinearInt8:
            sizes = plain.in_features, plain.out_features, plain.use_bias
            options = {"product": product, "emulate": emulated}
            return cls(*sizes, held.carrier, key=key, **options)

        lead = plain.weight.shape[:-2]
        if x_scale is not None:
            x_scale = checked_scale(_WHO, x_scale, lead)
        matrix, weight_scale = channels_as_int8(plain.weight)
        leaves = {
            "weight": Layout("NZ", shape, INT8).pack(matrix),
            "weight_scale": weight_scale,
            "x_scale": x_scale,
            "bias": plain.bias,
        }
        return filled(make, leaves)

    def to_eqx(self) -> eqx.nn.Linear:
        """The plain layer with the weight that the int8 one stands for.

        In the type of the layer that this one was made of, to which it is rounded.
        """

        def make(key: jax.Array) -> eqx.nn.Linear:
            sizes = self.in_features, self.out_features, self.use_bias
            return eqx.nn.Linear(*sizes, self.dtype.carrier, key=key)

        steps = unpacked(self.weight, self.layout).astype(jnp.float32)
        matrix = (steps * self.weight_scale[..., None]).astype(self.dtype.carrier)
        return filled(make, {"weight": matrix, "bias": self.bias})
