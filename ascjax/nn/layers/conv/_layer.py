"""`NZConv2d`: `eqx.nn.Conv2d` with its weight in FRACTAL_Z."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from ...._dtypes import AscendType, of_array
from ...._errors import BoundsError, ParamError
from ...._in_turn import in_turn
from ...._layout import Layout
from ...._products import ATLAS_A2, Product
from ...._products import product as product_of
from ..._pipeline import Pipeline
from ...cube._given import checked_product
from .._given import (
    SOURCE,
    checked_count,
    checked_dtype,
    checked_emulate,
    checked_weight,
    filled,
    weight_type,
)
from ._convolution import Convolution
from ._filters import convolved, packed, pads_of, unpacked
from ._given import (
    WHO,
    Padding,
    Pair,
    check_pads,
    check_road,
    checked_groups,
    checked_padding,
    checked_padding_mode,
    checked_pair,
)
from ._road import convolved_on_road, job_of

_ARGUMENTS = (
    *("in_channels", "out_channels", "kernel_size", "stride", "padding", "dilation"),
    *("groups", "use_bias", "padding_mode"),
)


class NZConv2d(eqx.Module):
    """`eqx.nn.Conv2d` whose trainable weight is a buffer in FRACTAL_Z.

    `weight` is `asc.Layout("FRACTAL_Z", (out, in, rows, columns), dtype)`, flat: a
    matrix of out x im2col columns in NZ, which is L0B's order, so that loads to L0B
    copy it as it stands. Its padding is zero bits, is never read, and has a gradient of
    zero: under an optimiser it stays as it is. With groups each has a buffer, (out /
    groups, in / groups, rows, columns), and `weight` is (groups, size); small groups
    are mostly padding.

    The matrix unit multiplies in the weight's type and adds up in float32; the bias is
    added in float32, and the result cast to the type of x and weight together.

    Args:
      in_channels, out_channels: channels of the image and of the result.
      kernel_size, stride, dilation: elements, one integer or (rows, columns).
      padding: elements, an integer, a pair, or a pair of (before, after); or "VALID",
        "SAME", "SAME_LOWER".
      groups: groups of channels, each with filters of its own.
      use_bias: whether to add a bias, a plain array.
      padding_mode: "ZEROS", "REFLECT", "REPLICATE" or "CIRCULAR".
      dtype: float32 (None), float16 or bfloat16: of the weight and the bias.
      key: for the first values, those of `eqx.nn.Conv2d` with the same key.
      product: the product that multiplies.
      emulate: "layout" unpacks the weight and does one convolution; "path" runs every
        call: the image in NC1HWC0 to L1, Load3DV2 to L0A, the weight to L1 and L0B,
        Mmad, Fixpipe, in tiles where it must, for atlas_a2, atlas_a3 and atlas_350.
    Shapes: `module(x)` takes (in_channels, rows, columns) and gives (out_channels, ...)
      as `eqx.nn.Conv2d`; batches by `jax.vmap`. `weight` is (layout.size,), or (groups,
      layout.size). Axes in front of a weight, as in models made under
      `eqx.filter_vmap`, stay there.
    Raises:
      ParamError: an argument that is none of these; a type that does not train on the
        unit, such as float64; complex x. For "path": groups, a padding mode other than
        "ZEROS", and what the fields of Load3DV2 do not hold.
      SupportError: a product without a matrix unit, or without a known road for "path".
      BoundsError: x of another shape; for "path", a row of places that no buffer holds.
    Gradient: to x, weight and bias; zero in the weight's padding.
    Source: instructions.md, Units, sections 7 and 8.

    >>> import ascjax as asc, equinox as eqx, jax, jax.numpy as jnp
    >>> layer = asc.nn.NZConv2d(3, 5, 3, padding=1, key=jax.random.key(0))
    >>> layer.weight.shape, layer.layout.dims
    ((1152,), (1, 3, 3, 1, 16, 8))
    >>> plain = eqx.nn.Conv2d(3, 5, 3, padding=1, key=jax.random.key(0))
    >>> x = jnp.ones((3, 8, 8))
    >>> bool((layer(x) == plain(x)).all())
    True
    """

    weight: jax.Array
    bias: jax.Array | None
    in_channels: int = eqx.field(static=True)
    out_channels: int = eqx.field(static=True)
    kernel_size: Pair = eqx.field(static=True)
    stride: Pair = eqx.field(static=True)
    padding: Padding = eqx.field(static=True)
    dilation: Pair = eqx.field(static=True)
    groups: int = eqx.field(static=True)
    use_bias: bool = eqx.field(static=True)
    padding_mode: str = eqx.field(static=True)
    product: Product = eqx.field(static=True)
    emulate: str = eqx.field(static=True)
    layout: Layout = eqx.field(static=True)

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = (1, 1),
        padding: Any = (0, 0),
        dilation: Any = (1, 1),
        groups: int = 1,
        use_bias: bool = True,
        padding_mode: str = "ZEROS",
        dtype: Any = None,
        *,
        key: jax.Array,
        product: Any = ATLAS_A2,
        emulate: str = "layout",
    ):
        unit = "(channels)"
        self.in_channels = checked_count(WHO, "in_channels", in_channels, unit)
        self.out_channels = checked_count(WHO, "out_channels", out_channels, unit)
        self.kernel_size = checked_pair("kernel_size", kernel_size)
        self.stride = checked_pair("stride", stride)
        self.padding = checked_padding(padding)
        self.dilation = checked_pair("dilation", dilation)
        self.groups = checked_groups(groups, self.in_channels, self.out_channels)
        self.use_bias = use_bias
        self.padding_mode = checked_padding_mode(padding_mode, self.padding)
        self.product = product_of(product, WHO)
        self.emulate = checked_emulate(WHO, emulate)
        if emulate == "path":
            self._check_road()
        plain = eqx.nn.Conv2d(**_given(self), dtype=checked_dtype(WHO, dtype), key=key)
        type = weight_type(WHO, plain.weight, self.product)
        outs, ins = self.out_channels // self.groups, self.in_channels // self.groups
        self.layout = Layout("FRACTAL_Z", (outs, ins, *self.kernel_size), type)
        self.weight = packed(plain.weight, self.layout, self.groups)
        self.bias = plain.bias

    def __call__(self, x: Any, *, key: jax.Array | None = None) -> jax.Array:
        """The layer of one image; `key` is ignored."""
        x = jnp.asarray(x)
        if x.ndim != 3 or x.shape[0] != self.in_channels:
            rule = f"have shape ({self.in_channels}, rows, columns), one image"
            fix = "Use jax.vmap for batches."
            raise BoundsError(WHO, "x", rule, x.shape, fix, SOURCE)
        if jnp.issubdtype(x.dtype, jnp.complexfloating):
            fix = "Pass real and imaginary parts one by one."
            raise ParamError(WHO, "x", "be real numbers", x.dtype, fix, SOURCE)
        type = jnp.result_type(x, self.weight)
        weight, x = in_turn(self.weight, x)
        filters = unpacked(weight, self.layout, self.groups)
        x = x.astype(filters.dtype)
        if self.emulate == "path":
            held, _ = of_array(filters.dtype, None, WHO)
            rows, columns = x.shape[1:]
            y = convolved_on_road(filters, x, self._over(rows, columns, held))
        else:
            y = convolved(
                filters,
                x,
                self.stride,
                self.padding,
                self.dilation,
                self.groups,
                self.padding_mode,
            )
        if self.bias is not None:
            y = y + self.bias.astype(y.dtype)
        return y.astype(type)

    def roads(self, rows: int, columns: int) -> tuple[Pipeline, Pipeline]:
        """The roads of an image's first tile: of the image to L0A, and of the weight to
        L0B, whatever `emulate` says.

        Shapes: the first takes the image, `asc.Layout("NC1HWC0", (1, in_channels, rows,
        columns), dtype)`, the second a weight of the layer. Raises as "path".
        """
        self._check_road()
        job = job_of(self._over(rows, columns, self.layout.dtype))
        return job.a[0].pipeline, job.b[0].pipeline

    def _check_road(self) -> None:
        """Raise where there is no road, whatever the image."""
        checked_product(self.product, WHO)
        sizes = self.kernel_size, self.stride, self.dilation
        check_road(*sizes, self.groups, self.padding_mode)
        if not isinstance(self.padding, str):
            check_pads(self.padding)

    def _over(self, rows: int, columns: int, type: AscendType) -> Convolution:
        """The convolution of an image of this size."""
        sizes = self.kernel_size, self.stride, self.dilation
        pads = pads_of((rows, columns), *sizes, self.padding)
        check_pads(pads)
        channels, map = self.in_channels, (rows, columns)
        made = Convolution(
            self.product, type, channels, map, self.out_channels, *sizes, pads
        )
        if 0 in (*map, *made.places):
            rule = f"be as large as the filter's reach, {made.reach}, with its padding"
            fix = "Take larger images, or more padding."
            raise BoundsError(WHO, "x", rule, map, fix, SOURCE)
        return made

    @classmethod
    def from_eqx(
        cls, layer: eqx.nn.Conv2d, *, product: Any = ATLAS_A2, emulate: str = "layout"
    ) -> NZConv2d:
        """The same layer with its weight in FRACTAL_Z, bit for bit.

        `layer` may have a weight with axes in front, (..., out, in / groups, rows,
        columns): each gets a buffer. Raises as the class, and for a weight that is
        no array or not of the layer's sizes.
        """
        product = product_of(product, WHO)
        ins = layer.in_channels // layer.groups
        shape = (layer.out_channels, ins, *layer.kernel_size)
        type = checked_weight(WHO, layer.weight, shape, product)
        options = {"dtype": type.jax, "product": product, "emulate": emulate}

        def make(key: jax.Array) -> NZConv2d:
            return cls(**_given(layer), **options, key=key)

        made = eqx.filter_eval_shape(make, jax.random.key(0))
        weight = packed(layer.weight, made.layout, made.groups)
        return filled(make, {"weight": weight, "bias": layer.bias})

    def to_eqx(self) -> eqx.nn.Conv2d:
        """The plain layer with the same weight and bias, bit for bit."""

        def make(key: jax.Array) -> eqx.nn.Conv2d:
            return eqx.nn.Conv2d(**_given(self), dtype=self.weight.dtype, key=key)

        filters = unpacked(self.weight, self.layout, self.groups)
        return filled(make, {"weight": filters, "bias": self.bias})


def _given(layer: Any) -> dict[str, Any]:
    """What a layer, plain or ours, was made of, besides its type and key."""
    return {name: getattr(layer, name) for name in _ARGUMENTS}
