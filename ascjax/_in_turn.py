"""`in_turn`: what is made of one array waits for another.

XLA:CPU orders what does not depend on each other by itself, and unpacks the weights of
all layers of a model before the first one multiplies: that needs their memory at once.
"""

from __future__ import annotations

from typing import Any

import jax
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from ._compat import fenced_together

in_turn_p = Primitive("ascjax_in_turn")
in_turn_p.multiple_results = True


def in_turn(x: jax.Array, after: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Both arrays as they are; what is computed from the first waits for the second."""
    x, after = in_turn_p.bind(x, after)
    return x, after


@in_turn_p.def_abstract_eval
def _abstract_eval(*operands: Any) -> list[Any]:
    return [aval.update(weak_type=False) for aval in operands]


@in_turn_p.def_impl
def _eager(*operands: jax.Array) -> list[jax.Array]:
    return list(operands)


def _jvp(primals: Any, tangents: Any) -> tuple[list[jax.Array], list[Any]]:
    return in_turn_p.bind(*primals), list(tangents)


ad.primitive_jvps[in_turn_p] = _jvp


def _batch(operands: Any, dims: Any) -> tuple[list[jax.Array], Any]:
    return in_turn_p.bind(*operands), dims


batching.primitive_batchers[in_turn_p] = _batch

mlir.register_lowering(in_turn_p, lambda context, *operands: operands)
mlir.register_lowering(
    in_turn_p, mlir.lower_fun(fenced_together, multiple_results=True), platform="cpu"
)
