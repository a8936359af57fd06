"""`quantise`: a model's layers to int8, their scales from a batch that it runs on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..._errors import AscendError, ParamError
from ..._products import product as product_of
from ._convert import Model, Selector, converted
from ._given import SOURCE, checked_emulate
from ._int8 import scale_of
from ._linear import NZLinear
from ._linear_int8 import NZLinearInt8

# All there is to one: from_float(layer, x_scale=, product=, emulate=).
QUANTISED: dict[type, Any] = {eqx.nn.Linear: NZLinearInt8, NZLinear: NZLinearInt8}
_WHO = "quantise"


def quantise(
    model: Model,
    batch: Any = None,
    product: Any = None,
    where: Selector | None = None,
    *,
    only: Callable[[Any], bool] | None = None,
    emulate: str | None = None,
    run: Callable[[Any, Any], Any] | None = None,
) -> Model:
    """A model for inference: its layers on the matrix unit in int8, int32 sums.

    Every `eqx.nn.Linear` and `asc.nn.NZLinear` becomes an `asc.nn.NZLinearInt8`; all
    else stays as it is, and so do subclasses. Weights get a scale for each output
    channel. x gets one for each layer: the largest magnitude that the float model gives
    it on `batch`, divided by 127.

    Shapes: as `asc.nn.NZLinearInt8`.
    Args:
      model: any Equinox model, or a pytree of them.
      batch: what the model runs on to calibrate; None leaves the scales of x dynamic,
        found anew for each vector.
      product: the product that multiplies; None is each layer's own, atlas_a2 for a
        plain one.
      where, only: which layers, as in `asc.nn.to_nz`.
      emulate: "layout" or "path"; None is each layer's own, "layout" for a plain one.
      run: how the model runs on `batch`, a function of both; None is
        `jax.vmap(model)(batch)`. Layers in a stack that a scan runs share one scale;
        dynamic ones, or a list of layers, are closer.
    Returns: a new model of the same kind.
    Raises:
      ParamError: a batch on which the model or one of its layers does not run, or
        runs under jit alone, where there are no values; a layer that is given only
        zeros or what is not finite; a model that reads a layer's weight while it runs;
        `run` without a batch; `where` gives a part without such a layer; a weight that
        is not finite.
      SupportError: a product without a matrix unit, or without a known road for "path".
    Gradient: as `asc.nn.NZLinearInt8`.
    Source: instructions.md, Units and section 8.

    >>> import ascjax as asc, equinox as eqx, jax
    >>> mlp = eqx.nn.MLP(20, 3, width_size=17, depth=1, key=jax.random.key(0))
    >>> xs = jax.random.normal(jax.random.key(1), (64, 20))
    >>> model = asc.nn.quantise(mlp, xs, "910B")
    >>> [layer.weight.dtype.name for layer in model.layers]
    ['int8', 'int8']
    >>> bool(abs(jax.vmap(model)(xs) - jax.vmap(mlp)(xs)).max() < 0.05)
    True
    """
    if product is not None:
        product = product_of(product, _WHO)
    if emulate is not None:
        emulate = checked_emulate(_WHO, emulate)
    if batch is None and run is not None:
        rule, fix = "be given where run is", "Leave run out for dynamic scales."
        raise ParamError(_WHO, "batch", rule, None, fix, SOURCE)

    def make(layer: Any, x_scale: Any = None) -> Any:
        to = QUANTISED[type(layer)].from_float
        return to(layer, x_scale=x_scale, product=product, emulate=emulate)

    kinds = QUANTISED.keys()
    if batch is None:
        return converted(_WHO, model, kinds, make, where, only)
    watched = converted(_WHO, model, kinds, _Watched, where, only)
    _run(run or _mapped, watched, batch)

    def measured(watch: _Watched) -> Any:
        return make(watch.layer, watch.x_scale())

    return converted(_WHO, watched, (_Watched,), measured, None, None)


def _mapped(model: Any, batch: Any) -> Any:
    return jax.vmap(model)(batch)


def _run(run: Callable[[Any, Any], Any], watched: Any, batch: Any) -> None:
    """Run the model, until all magnitudes are noted.

    Raises:
      ParamError: for what the model does not run on; why not is its cause.
    """
    try:
        jax.block_until_ready(run(watched, batch))
        jax.effects_barrier()
    except AscendError:
        raise
    except Exception as error:
        rule = "be what run takes (without run: examples along a first axis, as "
        rule += "jax.vmap(model) takes them)"
        shape = getattr(batch, "shape", None)
        got = type(batch).__name__ if shape is None else f"one of shape {shape}"
        got += f" ({type(error).__name__}: {str(error).partition(chr(10))[0]})"
        fix = "The call is quantise(model, batch, product); run= says how else the "
        fix += "model runs on a batch."
        raise ParamError(_WHO, "batch", rule, got, fix, SOURCE) from error


class _Seen:
    """The magnitudes that a layer met: a static field, the same for every trace."""

    def __init__(self) -> None:
        self.most: list[np.ndarray] = []
        self.called = False  # perhaps by a trace alone

    def note(self, x: jax.Array) -> None:
        """Keep the largest magnitude in `x`, or in all of the batch that runs at once:
        one number, which no device of a mesh has a part of."""
        self.called = True

        @jax.custom_batching.custom_vmap
        def found(x: jax.Array) -> jax.Array:
            most = abs(x.astype(jnp.float32)).max()
            jax.debug.callback(lambda most: self.most.append(np.asarray(most)), most)
            return most

        @found.def_vmap
        def _(size: int, batched: list[bool], x: jax.Array) -> tuple[jax.Array, bool]:
            return found(x), False

        found(x)


def _name(layer: Any) -> str:
    return f"{type(layer).__name__}({layer.in_features}, {layer.out_features})"


class _Watched(eqx.Module):
    """A layer that notes the largest magnitude in all that it is given, also under
    jit, vmap and scan."""

    layer: Any
    seen: _Seen = eqx.field(static=True)

    def __init__(self, layer: Any):
        self.layer, self.seen = layer, _Seen()

    def __call__(self, x: Any, *, key: jax.Array | None = None) -> Any:
        self.seen.note(jax.lax.stop_gradient(jnp.asarray(x)))
        return self.layer(x, key=key)

    def __getattr__(self, name: str) -> Any:
        """What a model reads of the layer, but for what it will have no longer."""
        layer = object.__getattribute__(self, "layer")
        if name != "weight":
            return getattr(layer, name)
        rule = "call its layers to quantise, and not read their weights, which become "
        rule += "int8 in NZ"
        got, fix = f"a read of {_name(layer)}.weight", "Leave the layer out with only=."
        raise ParamError(_WHO, "model", rule, got, fix, SOURCE)

    def x_scale(self) -> jax.Array:
        """The scale of all that was noted."""
        name = _name(self.layer)
        fix = "Calibrate on real data, leave the layer out with only=, or leave batch "
        fix += "out for dynamic scales."
        if not self.seen.most:
            rule, got = "reach every layer to quantise", f"no call of {name}"
            if self.seen.called:
                rule = "run outside of jax.jit, where it and the model have values"
                got = f"tracers (or a branch not taken) at {name}"
                fix = "Calibrate first and jit the result, or leave batch out for "
                fix += "dynamic scales."
            raise ParamError(_WHO, "batch", rule, got, fix, SOURCE)
        most = np.max(self.seen.most)
        if not (np.isfinite(most) and most > 0):
            rule = "give every layer finite values that are not all 0"
            got = f"a largest magnitude of {most} before {name}"
            raise ParamError(_WHO, "batch", rule, got, fix, SOURCE)
        return scale_of(jnp.asarray(most))
