"""The arrays of a model: their names, and the layouts that its layers say they have.

A layer says so by attributes that are a `Layout`: `layout` for its leaf `weight`, and
`NAME_layout` for any other leaf NAME. `product` is the product of all of them.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from .._dtypes import AscendType, of_array
from .._errors import BoundsError, ParamError
from .._formats import fractal_of, is_fractal
from .._layout import Layout
from .._products import Product
from .._products import product as product_of
from .._relayout import held_shape
from ._bits import row_bytes
from ._entry import Entry, sized
from ._file import SOURCE


@dataclasses.dataclass(frozen=True)
class Leaf:
    """An array of a model, or its shape alone, and its entry in a file.

    `bits`: of what one entry of the array holds; 8 for two elements of 4 bits.
    """

    value: Any
    type: AscendType
    entry: Entry
    bits: int


def leaves_of(
    who: str, model: Any, layouts: Mapping[str, Layout] | None, product: Any
) -> list[Leaf | None]:
    """The leaves of a model, as `jax.tree.leaves` has them; None for those that are no
    arrays.

    Args:
      who: the public function, for errors.
      model: any pytree.
      layouts: of leaves whose layers say nothing, by name.
      product: of these.
    Raises:
      ParamError: for a name of `layouts` that is no array's, for arrays without a name
        or with the same one, and for types that no Ascend type holds.
    """
    given = dict(layouts or {})
    target = None if product is None else product_of(product, who)
    found: list[Leaf | None] = []
    for name, value, layout, own in _named(model, ""):
        if not isinstance(value, jax.Array | np.ndarray | jax.ShapeDtypeStruct):
            found.append(None)
            continue
        if name in given:
            layout, own = given.pop(name), target
            if not isinstance(layout, Layout):
                rule, fix = "be an asc.Layout", "Make one: asc.Layout('NZ', ...)."
                raise ParamError(who, f"layouts[{name!r}]", rule, repr(layout), fix)
        found.append(_leaf(who, name, value, layout, own))
    _check_names(who, [leaf.entry.name for leaf in found if leaf], given)
    return found


def _named(
    node: Any, prefix: str
) -> Iterator[tuple[str, Any, Layout | None, Product | None]]:
    """Each leaf: its name, itself, and the layout and product that its layer says."""

    def inner(child: Any) -> bool:
        return child is not node and _says_layouts(child)

    flat, _ = jax.tree_util.tree_flatten_with_path(node, is_leaf=inner)
    for path, child in flat:
        key = jax.tree_util.keystr(path, simple=True, separator=".")
        name = f"{prefix}{key}"
        if inner(child):
            yield from _named(child, f"{name}.")
            continue
        layout = _layout(node, key) if _says_layouts(node) else None
        own = getattr(node, "product", None) if layout else None
        yield name, child, layout, own if isinstance(own, Product) else None


def _says_layouts(node: Any) -> bool:
    if not isinstance(node, eqx.Module):
        return False
    return any(isinstance(value, Layout) for value in vars(node).values())


def _layout(layer: Any, leaf: str) -> Layout | None:
    own = "layout" if leaf == "weight" else f"{leaf}_layout"
    found = getattr(layer, own, None)
    return found if isinstance(found, Layout) else None


def _check_names(who: str, names: list[str], left: Mapping[str, Any]) -> None:
    if left:
        rule = f"name arrays of the model, {', '.join(names[:5]) or 'which has none'}"
        fix = "Name them as ascjax weights inspect does."
        raise ParamError(who, "layouts", rule, ", ".join(left), fix, SOURCE)
    counts = collections.Counter(names)
    bad = [n for n in names if counts[n] > 1 or n in ("", "__metadata__")]
    if bad:
        rule = "give each of its arrays a name of its own"
        fix = "Put it into a dict: {'weight': array}; leave dots out of its keys."
        raise ParamError(who, "model", rule, f"{bad[0]!r}", fix, SOURCE)


def _leaf(
    who: str, name: str, value: Any, layout: Layout | None, product: Product | None
) -> Leaf:
    """A leaf and its entry."""
    if isinstance(value, Tracer):
        fix = "Call it outside of jax.jit and of other transforms."
        raise ParamError(who, name, "be an array with values", "a tracer", fix, SOURCE)
    if jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        fix = "Leave it out, or keep jax.random.key_data of it."
        got = "a random key"
        raise ParamError(who, name, "be an array of numbers", got, fix, SOURCE)
    if layout is None:
        type, _ = of_array(value.dtype, None, f"{who}: {name}")
        return Leaf(value, type, sized(Entry(name, type, value.shape)), type.bits)
    layout = _held(who, name, value, layout)
    _, packed = of_array(value.dtype, layout.dtype, f"{who}: {name}")
    if layout.format == "ND":
        tail = held_shape(layout.shape, packed)
    else:
        bits = layout.dtype.bits
        tail = (row_bytes((layout.size,), bits) if packed else layout.size,)
    if value.shape[-len(tail) :] != tail:
        rule = f"have {tail} as its last axes, as {layout} is stored"
        fix = "Pack it again: its layout is another array's."
        raise BoundsError(who, name, rule, value.shape, fix, SOURCE)
    shape = (*value.shape[: -len(tail)], *layout.shape)
    entry = Entry(name, layout.dtype, shape, layout.format, layout.fractal, product)
    bits = 8 if packed else layout.dtype.bits
    return Leaf(value, layout.dtype, sized(entry), bits)


def _held(who: str, name: str, value: Any, layout: Layout) -> Layout:
    """The layout of a buffer, which keeps its fractals where it was cast since."""
    try:
        of_array(value.dtype, layout.dtype, who)
    except ParamError:
        type, _ = of_array(value.dtype, None, f"{who}: {name}")
    else:
        return layout
    if is_fractal(layout.format):
        fractal = layout.fractal or fractal_of(layout.format, layout.dtype)
        return Layout(layout.format, layout.shape, type, fractal)
    if layout.format in ("ND", "DN") or type.c0 == layout.dtype.c0:
        return Layout(layout.format, layout.shape, type)
    rule = f"be of {layout.dtype}, whose blocks {layout.format} has here"
    fix = "Cast the plain layer, and convert that."
    raise ParamError(who, name, rule, type, fix, SOURCE)
