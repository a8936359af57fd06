"""What users give to `CubeMatmul`, checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..._dtypes import AscendType
from ..._errors import ParamError, SupportError
from ..._operands import SOURCE
from ..._products import ATLAS_350, ATLAS_A2, ATLAS_A3, Product
from ..._shardings import align
from ...instr._fields import static_int
from ...instr.mmad import MmadParams
from .._pipeline import Held, Pipeline
from ._roads import Road, types_of

WHO = "CubeMatmul"
_PRODUCTS = (ATLAS_A2, ATLAS_A3, ATLAS_350)


def checked_product(product: Product, who: str = WHO) -> Product:
    """A product whose roads are known."""
    if product not in _PRODUCTS:
        rule = f"be one of {', '.join(p.key for p in _PRODUCTS)}"
        fix = "Join the moves yourself with asc.nn.Pipeline on another product."
        raise SupportError(who, "product", rule, product, fix, "products.json")
    return product


def checked_type(type: AscendType, product: Product) -> AscendType:
    """A type that the product's Mmad multiplies."""
    known = MmadParams.paths(product)["A2->CO1"]
    if type.name not in known:
        rule = f"be one that {product} brings to L0 and multiplies "
        rule += f"({', '.join(types_of(product))})"
        fix = "Convert the operands."
        raise SupportError(WHO, "dtype", rule, type, fix, MmadParams.source)
    return type


def checked_size(
    field: str, value: Any, fix: str = "Leave an empty product out."
) -> int:
    """A number of elements, at least 1."""
    rule = "be an integer of at least 1 (elements)"
    number = static_int(WHO, field, value, rule, SOURCE)
    if number < 1:
        raise ParamError(WHO, field, rule, number, fix, SOURCE)
    return number


def checked_tile(tile: Any) -> tuple[int, int, int] | None:
    """(bm, bn, bk) of a tile; None stays None."""
    if tile is None:
        return None
    sizes = tuple(tile) if isinstance(tile, tuple | list) else ()
    if len(sizes) != 3:
        rule, fix = "be (bm, bn, bk), one tile in elements", "Or leave it out."
        raise ParamError(WHO, "tile", rule, repr(tile), fix, SOURCE)
    fix = "Pass a positive size, or leave tile out for one tile."
    names = ("bm of tile", "bn of tile", "bk of tile")
    m, n, k = (checked_size(*one, fix) for one in zip(names, sizes, strict=True))
    return m, n, k


def checked_road(
    field: str, given: Any, single: bool, options: Mapping[str, Any]
) -> Pipeline | None:
    """A road of the user's as a `Pipeline` from GM to the side's L0."""
    if given is None:
        return None
    if not single:
        rule, got = "be left out for a product of several tiles", "a road"
        fix = "A road is for one tile: make a CubeMatmul of the tile's size."
        raise ParamError(WHO, field, rule, got, fix, SOURCE)
    side, stages = field[0].upper(), given
    fix = f'Such as [(calls, "GM->{side}1"), (calls, "{side}1->{side}2")].'
    if isinstance(given, Pipeline):
        for name, wanted in options.items():
            got = getattr(given, name)
            if got != wanted:
                rule = f"be made for {wanted}, as the product is"
                raise ParamError(WHO, field, rule, got, "Make it anew.", SOURCE)
        stages = [(list(move.calls), move.path) for move in given.moves]
    elif not isinstance(given, list | tuple):
        rule, got = "be a Pipeline or its stages", type(given).__name__
        raise ParamError(WHO, field, rule, got, fix, SOURCE)
    road = Pipeline(stages, **options)
    if (road.buffers[0], road.buffers[-1]) != ("GM", f"L0{side}"):
        rule, got = f"go from GM to L0{side}", " -> ".join(road.buffers)
        raise ParamError(WHO, field, rule, got, fix, SOURCE)
    return road


def check_batch(a: Any, b: Any) -> None:
    """Raise ParamError where the leading axes of two matrices do not broadcast."""
    try:
        np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        rule = "have leading axes that broadcast with those of a"
        got = f"{b.shape[:-2]} where a has {a.shape[:-2]}"
        fix = "Give both the same batch, or one of them none."
        raise ParamError(WHO, "b", rule, got, fix, SOURCE) from None


def check_bytes(road: Road, rows: int, k: int) -> None:
    """Raise ParamError where tiles of 4-bit elements start inside a byte of GM."""
    field, step, whole = "tile", road.window[1], rows if road.turned else k
    if road.type.bits == 4 and step % 2 and step < whole:
        axis = ("m" if road.side == "A" else "n") if road.turned else "k"
        rule = (
            f"be even in {axis} for {road.type}: two elements of {road.side} share a "
        )
        rule += "byte in GM, where a tile starts"
        raise ParamError(WHO, field, rule, step, "Make it even.", SOURCE)


def joined(one: Held, two: Held) -> Held:
    """A buffer that two sides wrote, each its own part: the second behind the first."""
    parts = align(one.values, two.values[..., one.values.shape[-1] :])
    written = two.written.copy()
    written[: one.written.size] |= one.written
    return Held(one.buffer, jnp.concatenate(parts, axis=-1), written)
