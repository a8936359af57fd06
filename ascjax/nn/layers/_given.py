"""What users give to layers that hold NZ weights, checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..._dtypes import AscendType, ascend_type, of_array
from ..._errors import AscendError, BoundsError, ParamError
from ..._operands import as_array
from ..._products import Product
from ...instr._fields import static_int
from ...instr.mmad import MmadParams

SOURCE = "instructions.md, section 8"
EMULATIONS = ("layout", "path")
_FLOATS = ("half", "bfloat16_t", "float")
Made = TypeVar("Made", bound=eqx.Module)
Features = int | Literal["scalar"]


def checked_emulate(who: str, emulate: Any) -> str:
    """How much of the road a layer runs."""
    if emulate not in EMULATIONS:
        rule = f"be one of {', '.join(map(repr, EMULATIONS))}"
        fix = "Take 'layout' to train, 'path' for every instruction of the road."
        raise ParamError(who, "emulate", rule, repr(emulate), fix, SOURCE)
    return emulate


def checked_weight(
    who: str, weight: Any, shape: tuple[int, ...], product: Product
) -> AscendType:
    """The type of a plain layer's weight, (..., *shape), that trains on the unit."""
    if not isinstance(weight, (jax.Array, np.ndarray)):
        fix = "Convert a model with its arrays: not its static part, nor shapes alone."
        raise ParamError(who, "weight", "be an array", type(weight), fix, SOURCE)
    if weight.shape[-len(shape) :] != shape:
        rule = f"have shape (..., {', '.join(map(str, shape))}), the layer's own sizes"
        fix = "Stack layers along the first axis; leave others out with only=."
        raise BoundsError(who, "weight", rule, weight.shape, fix, SOURCE)
    return weight_type(who, weight, product)


def checked_dtype(who: str, dtype: Any) -> Any:
    """A type of weights to be made; None is JAX's own float."""
    if dtype is not None:
        try:
            held = ascend_type(jnp.dtype(dtype).name, who).name
        except (TypeError, AscendError):  # what JAX, or Ascend C, does not have
            held = ""
        _check_trains(who, held, dtype)
    return dtype


def _check_trains(who: str, name: str, got: Any) -> None:
    if name not in _FLOATS:
        rule = f"be one that trains on the matrix unit ({', '.join(_FLOATS)})"
        fix = "Pass dtype='float32', or cast the weight."
        raise ParamError(who, "dtype", rule, got, fix, SOURCE)


def weight_type(who: str, weight: Any, product: Product) -> AscendType:
    """The type of a weight that trains on the product's matrix unit."""
    type, _ = of_array(as_array(who, "weight", weight).dtype, None, who)
    _check_trains(who, type.name, type)
    params = MmadParams(16, 16, 16)
    params.check_support(params.site(product, "A2->CO1", type))
    return type


def filled(make: Callable[[jax.Array], Made], leaves: Mapping[str, Any]) -> Made:
    """What `make` makes of a key, holding `leaves` instead of new ones."""
    empty = eqx.filter_eval_shape(make, jax.random.key(0))
    return eqx.tree_at(
        lambda layer: [getattr(layer, name) for name in leaves],
        empty,
        list(leaves.values()),
        is_leaf=lambda leaf: leaf is None,
    )


def checked_count(
    who: str,
    field: str,
    value: Any,
    unit: str = "(elements)",
    fix: str = "Leave an empty layer out.",
) -> int:
    """A number of `unit`, at least 1."""
    rule = f"be an integer of at least 1 {unit}"
    number = static_int(who, field, value, rule, SOURCE)
    if number < 1:
        raise ParamError(who, field, rule, number, fix, SOURCE)
    return number


def checked_features(who: str, field: str, value: Any) -> Features:
    """A number of features, or "scalar"."""
    if isinstance(value, str) and value == "scalar":
        return "scalar"
    return checked_count(who, field, value, "(elements), or 'scalar'")


def matrix_shape(who: str, layer: Any) -> tuple[int, int]:
    """(out, in) of a plain linear layer, whatever its weight is."""

    def count(field: str) -> int:
        features = checked_features(who, field, getattr(layer, field))
        return 1 if isinstance(features, str) else features

    return count("out_features"), count("in_features")


def checked_vector(who: str, x: Any, features: Features) -> jax.Array:
    """One vector of real numbers, or one number."""
    x = jnp.asarray(x)
    wanted = () if features == "scalar" else (features,)
    if x.shape != wanted:
        rule = f"have shape {wanted} (elements), one vector"
        raise BoundsError(who, "x", rule, x.shape, "Use jax.vmap for batches.", SOURCE)
    if jnp.issubdtype(x.dtype, jnp.complexfloating):
        fix = "Pass real and imaginary parts one by one."
        raise ParamError(who, "x", "be real numbers", x.dtype, fix, SOURCE)
    return x
