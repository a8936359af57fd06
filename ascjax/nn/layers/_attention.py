"""`NZAttention`: `eqx.nn.MultiheadAttention` with its projections' weights in NZ."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from ..._in_turn import in_turn
from ..._products import ATLAS_A2, Product
from ..._products import product as product_of
from ._given import (
    checked_count,
    checked_dtype,
    checked_emulate,
    checked_weight,
    filled,
    matrix_shape,
)
from ._heads import (
    WHO,
    attended,
    check_lengths,
    checked_mask,
    checked_rows,
    factor_type,
    processed,
)
from ._linear import NZLinear

_PARTS = ("query_proj", "key_proj", "value_proj", "output_proj", "dropout")
_SIZES = ("query_size", "key_size", "value_size", "output_size", "qk_size", "vo_size")
_BIASES = ("use_query_bias", "use_key_bias", "use_value_bias", "use_output_bias")
_STATIC = ("num_heads", *_SIZES, *_BIASES)
_FIX = "Left out, qk_size and vo_size are query_size // num_heads."
Plain = eqx.nn.MultiheadAttention


class NZAttention(eqx.Module):
    """`eqx.nn.MultiheadAttention` whose trainable weights are buffers in NZ.

    The four projections are `asc.nn.NZLinear` layers, with bits of the plain ones. Both
    products of a head, queries by keys and weights by values, are the matrix unit's:
    factors of the type that the projections give (of float32 where the unit does not
    multiply that), sums in float32. Mask, softmax and dropout are done in float32; each
    result is cast once, where it goes into the next product or out, and comes out in
    the type that the plain layer gives. In float32 that is the plain layer's
    arithmetic, step by step.

    Args:
      num_heads: heads side by side.
      query_size, key_size, value_size, output_size: elements of a row of each; the
        last three are `query_size` where they are None.
      qk_size, vo_size: elements of a head's queries and keys, and of its values;
        None is query_size // num_heads.
      use_query_bias, use_key_bias, use_value_bias, use_output_bias: whether a
        projection adds a bias, a plain array.
      dropout_p: the share of attention weights to drop.
      inference: whether to drop none; `eqx.nn.inference_mode` sets it.
      dtype: float32 (None), float16 or bfloat16: of weights and biases.
      key: for the first values, those of the plain layer with the same key.
      product: the product that multiplies.
      emulate: "layout" unpacks the weights and does one dot for each product; "path"
        runs every call of `asc.nn.CubeMatmul` for all six, each head a product of its
        own, in the largest tiles that fit, for atlas_a2, atlas_a3 and atlas_350.
    Shapes: `module(query, key_, value)` takes (rows, query_size), (others, key_size)
      and (others, value_size), in elements, and gives (rows, output_size); batches by
      `jax.vmap`. Axes in front of weights, as in models made under `eqx.filter_vmap`,
      stay there.
    Raises:
      ParamError: sizes that are no positive integers; a type that does not train on
        the unit; another word for `emulate`.
      SupportError: a product without a matrix unit, or without a known road for "path".
      BoundsError: operands or a mask of other shapes, or heads that `process_heads`
        gave another one.
      RuntimeError: dropout without a key, as Equinox raises it.
    Gradient: to query, key_, value, weights and biases; zero in the weights' padding.
    Source: instructions.md, Units and section 8.

    >>> import ascjax as asc, equinox as eqx, jax, jax.numpy as jnp
    >>> key = jax.random.key(0)
    >>> layer = asc.nn.NZAttention(2, 20, key=key)
    >>> layer.query_proj.weight.shape, layer.query_proj.layout.dims
    ((768,), (3, 2, 16, 8))
    >>> plain = eqx.nn.MultiheadAttention(2, 20, key=key)
    >>> x = jax.random.normal(key, (5, 20))
    >>> bool(jnp.allclose(layer(x, x, x), plain(x, x, x), rtol=1e-5, atol=1e-6))
    True
    """

    query_proj: NZLinear
    key_proj: NZLinear
    value_proj: NZLinear
    output_proj: NZLinear
    dropout: eqx.nn.Dropout
    num_heads: int = eqx.field(static=True)
    query_size: int = eqx.field(static=True)
    key_size: int = eqx.field(static=True)
    value_size: int = eqx.field(static=True)
    output_size: int = eqx.field(static=True)
    qk_size: int = eqx.field(static=True)
    vo_size: int = eqx.field(static=True)
    use_query_bias: bool = eqx.field(static=True)
    use_key_bias: bool = eqx.field(static=True)
    use_value_bias: bool = eqx.field(static=True)
    use_output_bias: bool = eqx.field(static=True)
    product: Product = eqx.field(static=True)
    emulate: str = eqx.field(static=True)

    def __init__(
        self,
        num_heads: int,
        query_size: int,
        key_size: int | None = None,
        value_size: int | None = None,
        output_size: int | None = None,
        qk_size: int | None = None,
        vo_size: int | None = None,
        use_query_bias: bool = False,
        use_key_bias: bool = False,
        use_value_bias: bool = False,
        use_output_bias: bool = False,
        dropout_p: float = 0.0,
        inference: bool = False,
        dtype: Any = None,
        *,
        key: jax.Array,
        product: Any = ATLAS_A2,
        emulate: str = "layout",
    ):
        num_heads = checked_count(WHO, "num_heads", num_heads, "(heads)")
        query_size = checked_count(WHO, "query_size", query_size)
        of_head = query_size // num_heads
        given = (key_size, value_size, output_size, qk_size, vo_size)
        usual = (query_size, query_size, query_size, of_head, of_head)
        sizes = (
            checked_count(WHO, field, default if size is None else size, fix=_FIX)
            for field, size, default in zip(_SIZES[1:], given, usual, strict=True)
        )
        self.product = product_of(product, WHO)
        self.emulate = checked_emulate(WHO, emulate)
        plain = Plain(
            num_heads,
            query_size,
            *sizes,
            use_query_bias=use_query_bias,
            use_key_bias=use_key_bias,
            use_value_bias=use_value_bias,
            use_output_bias=use_output_bias,
            dropout_p=dropout_p,
            inference=inference,
            dtype=checked_dtype(WHO, dtype),
            key=key,
        )
        for name, part in _parts(plain, self.product, emulate).items():
            setattr(self, name, part)
        for name in _STATIC:
            setattr(self, name, getattr(plain, name))

    def __call__(
        self,
        query: Any,
        key_: Any,
        value: Any,
        mask: Any = None,
        *,
        key: jax.Array | None = None,
        inference: bool | None = None,
        deterministic: bool | None = None,
        process_heads: Callable[..., Any] | None = None,
    ) -> jax.Array:
        """What each row of `query` gathers from `value`, by its likeness to `key_`.

        Args:
          query, key_, value: rows of elements, as many of `value` as of `key_`.
          mask: (rows, others), or (heads, rows, others) for each head its own: where
            it is False, a row does not look. A row that looks nowhere takes the mean.
          key: for dropout.
          inference: whether to drop nothing, in place of the layer's own.
          deterministic: what `inference` was called before.
          process_heads: a function of the heads of queries, keys and values, each
            (rows, heads, elements of one), that gives new ones of the same shapes.
        """
        if deterministic is not None:
            text = f"{WHO}: deterministic= is deprecated, as Equinox has it; pass "
            warnings.warn(f"{text}inference=.", stacklevel=2)
            inference = deterministic
        query = checked_rows("query", query, self.query_size)
        key_ = checked_rows("key_", key_, self.key_size)
        value = checked_rows("value", value, self.value_size)
        check_lengths(key_, value)
        queries = self._projected(self.query_proj, query)
        key_, queries = in_turn(key_, queries)
        keys_ = self._projected(self.key_proj, key_)
        value, keys_ = in_turn(value, keys_)
        values = self._projected(self.value_proj, value)
        heads = processed((queries, keys_, values), process_heads)
        mask = checked_mask(mask, heads)
        axis = 0 if mask is not None and mask.ndim == 3 else None
        keys = None if key is None else jax.random.split(key, self.num_heads)
        type = jnp.result_type(*heads)

        def attend(query, key_, value, mask, key) -> jax.Array:
            dropped = functools.partial(self.dropout, key=key, inference=inference)
            unit = self.product, self.emulate
            return attended(query, key_, value, mask, dropped, factor_type(type), unit)

        found = jax.vmap(attend, (1, 1, 1, axis, 0), 1)(*heads, mask, keys)
        found = found.reshape(len(heads[0]), -1).astype(type)
        return jax.vmap(self.output_proj)(found)

    def _projected(self, projection: NZLinear, rows: jax.Array) -> jax.Array:
        """The heads of rows: (rows, heads, elements of one)."""
        return jax.vmap(projection)(rows).reshape(len(rows), self.num_heads, -1)

    @classmethod
    def from_eqx(
        cls, layer: Plain, *, product: Any = ATLAS_A2, emulate: str = "layout"
    ) -> NZAttention:
        """The same layer with its weights in NZ, bit for bit, and the same dropout.

        Weights may have axes in front, as in `asc.nn.NZLinear.from_eqx`. A projection
        that is no `eqx.nn.Linear`, such as a subclass, stays as it is: it may compute
        something else. Raises as the class.
        """
        product, emulate = product_of(product, WHO), checked_emulate(WHO, emulate)
        given = {name: getattr(layer, name) for name in _STATIC}

        def make(key: jax.Array) -> NZAttention:
            options = {"dtype": jnp.float32, "product": product, "emulate": emulate}
            return cls(**given, **options, key=key)

        return filled(make, _parts(layer, product, emulate))

    def to_eqx(self) -> Plain:
        """The plain layer with the same weights, biases and dropout, bit for bit."""
        given = {name: getattr(self, name) for name in _STATIC}
        parts = _converted(self, NZLinear, lambda nz: nz.to_eqx())
        return filled(lambda key: Plain(**given, key=key), parts)


def _parts(layer: Plain, product: Product, emulate: str) -> dict[str, Any]:
    """What an NZ layer holds of a plain one, by name."""

    def held(linear: eqx.nn.Linear) -> NZLinear:
        checked_weight(WHO, linear.weight, matrix_shape(WHO, linear), product)
        return NZLinear.from_eqx(linear, product=product, emulate=emulate)

    return _converted(layer, eqx.nn.Linear, held)


def _converted(layer: Any, kind: type, make: Callable[[Any], Any]) -> dict[str, Any]:
    """The parts of a layer by name, each layer of exactly `kind` in them converted."""

    def is_layer(node: Any) -> bool:
        return type(node) is kind

    def one(node: Any) -> Any:
        return make(node) if is_layer(node) else node

    parts = {name: getattr(layer, name) for name in _PARTS}
    return jax.tree.map(one, parts, is_leaf=is_layer)
