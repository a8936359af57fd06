"""`to_nz` and `to_nd`: all layers of a model, to layers with NZ weights and back."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, TypeVar

import equinox as eqx
import jax

from ..._errors import ParamError
from ..._products import ATLAS_A2
from ..._products import product as product_of
from ._attention import NZAttention
from ._given import SOURCE, checked_emulate
from ._linear import NZLinear
from .conv._layer import NZConv2d

# All there is to a pair: NZ.from_eqx(layer, product=, emulate=), and nz.to_eqx().
# Exact types: a subclass may compute something else.
PAIRS: dict[type, Any] = {
    eqx.nn.Linear: NZLinear,
    eqx.nn.Conv2d: NZConv2d,
    eqx.nn.MultiheadAttention: NZAttention,
}

# They hand a layer's weight to it as they call it, so that it must stay a plain one.
WRAPPERS = (eqx.nn.Shared, eqx.nn.SpectralNorm, eqx.nn.WeightNorm)

Model = TypeVar("Model")
Selector = Callable[[Any], Any]


def to_nz(
    model: Model,
    product: Any = ATLAS_A2,
    where: Selector | None = None,
    *,
    only: Callable[[Any], bool] | None = None,
    emulate: str = "layout",
) -> Model:
    """A model with its layers' weights in the product's layout, bit for bit.

    Every `eqx.nn.Linear` becomes an `asc.nn.NZLinear`, every `eqx.nn.Conv2d` an
    `asc.nn.NZConv2d`, every `eqx.nn.MultiheadAttention`, as a whole, an
    `asc.nn.NZAttention`; all else stays as it is, and so do subclasses, which may
    compute something else, and what is inside of `eqx.nn.Shared`, `SpectralNorm` and
    `WeightNorm`, which make the weight that a layer gets. Layers that hold NZ weights
    already become those of `product` and `emulate`.

    Shapes: a weight (..., out, in) becomes a buffer (..., size), as in those layers.
    Args:
      model: any Equinox model, or a pytree of them.
      product: the product whose matrix unit multiplies.
      where: which parts: a function of the model that gives one node or a sequence of
        nodes, as `eqx.tree_at` takes it; all layers in them are converted. None is the
        whole model. A part of an attention layer is one of its projections alone.
      only: which layers: a function of a layer, of any kind, that says whether to
        convert it. An attention layer is asked for once, as a whole.
      emulate: "layout" or "path", as in those layers.
    Returns: a new model of the same kind.
    Raises:
      ParamError: `where` gives a part without such a layer; a layer has a type that
        does not train on the matrix unit, or no road for "path" (leave it out with
        `only`).
      SupportError: a product without a matrix unit, or without a known road for "path".
    Gradient: of the weights, in the product's layout, zero in the padding.
    Source: instructions.md, Units and section 8.

    >>> import ascjax as asc, equinox as eqx, jax
    >>> mlp = eqx.nn.MLP(20, 3, width_size=17, depth=1, key=jax.random.key(0))
    >>> model = asc.nn.to_nz(mlp, "910B")
    >>> [layer.weight.shape for layer in model.layers]
    [(768,), (384,)]
    >>> bool(eqx.tree_equal(asc.nn.to_nd(model), mlp))
    True
    """
    product = product_of(product, "to_nz")
    emulate = checked_emulate("to_nz", emulate)

    def make(layer: Any) -> Any:
        if type(layer) not in PAIRS:
            if (layer.product, layer.emulate) == (product, emulate):
                return layer
            layer = layer.to_eqx()
        return PAIRS[type(layer)].from_eqx(layer, product=product, emulate=emulate)

    kinds = (*PAIRS.keys(), *PAIRS.values())
    return converted("to_nz", model, kinds, make, where, only)


def to_nd(
    model: Model,
    where: Selector | None = None,
    *,
    only: Callable[[Any], bool] | None = None,
) -> Model:
    """The model with plain layers: `to_nz` undone, bit for bit.

    Shapes, gradient: as `asc.nn.to_nz`, the other way.
    Args:
      model: a model with layers that hold NZ weights.
      where, only: which of them, as in `asc.nn.to_nz`; None is all.
    Returns: a new model of the same kind.
    Raises: ParamError where `where` gives a part without such a layer.
    Source: instructions.md, Units.

    >>> import ascjax as asc, jax
    >>> layer = asc.nn.NZLinear(20, 17, key=jax.random.key(0))
    >>> asc.nn.to_nd([layer])[0].weight.shape
    (17, 20)
    """
    kinds = PAIRS.values()
    return converted("to_nd", model, kinds, lambda nz: nz.to_eqx(), where, only)


def converted(
    who: str,
    model: Any,
    kinds: Collection[Any],
    make: Callable[[Any], Any],
    where: Selector | None,
    only: Callable[[Any], bool] | None,
) -> Any:
    """The model with `make` of each layer of exactly `kinds` that `where` and `only`
    choose; `who` is the function that a user called, for errors."""

    def is_layer(node: Any) -> bool:
        return type(node) in kinds

    def is_whole(node: Any) -> bool:
        return is_layer(node) or isinstance(node, WRAPPERS)

    def one(node: Any) -> Any:
        chosen = is_layer(node) and (only is None or only(node))
        return make(node) if chosen else node

    def part(node: Any) -> Any:
        if not any(map(is_layer, jax.tree.leaves(node, is_leaf=is_whole))):
            names = ", ".join(kind.__name__ for kind in kinds)
            rule = f"give parts of the model that hold a layer to convert ({names})"
            fix = "Choose layers, or parts that hold some."
            got = type(node).__name__
            raise ParamError(who, "where", rule, got, fix, SOURCE)
        return jax.tree.map(one, node, is_leaf=is_whole)

    if only is not None and not callable(only):
        rule = "be a function of a layer, which says whether to convert it"
        fix = "Pass only=lambda layer: ..., or where= for parts of the model."
        raise ParamError(who, "only", rule, repr(only), fix, SOURCE)
    if where is None:
        return jax.tree.map(one, model, is_leaf=is_whole)
    return eqx.tree_at(where, model, replace_fn=part)
