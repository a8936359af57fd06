"""The one linear primitive: a plan applied to JAX arrays, with all of its rules.

Four kinds close under differentiation. With P the copied part, K the kept part:

    put  (src, dst) -> P src + K dst + padding
    put0 (src)      -> P src + padding, the rest zero
    keep (dst)      -> K dst
    take (ct)       -> P' ct, from the destination back to the source

A fill value makes `put` affine, so its jvp is written out: tangents are put, put0 or
keep with a fill of zero. Where a step asks for it, lowering works on bit patterns.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from ._compat import not_mapped
from ._errors import ParamError
from ._plan import Plan
from ._shardings import align, refuse_flat, spec_of, with_auto_axes
from ._steps import Context
from ._window import zeros

move_p = Primitive("ascjax_move")


def run(plan: Plan, src: jax.Array, dst: jax.Array | None) -> jax.Array:
    """Apply a plan: src lead + (src_size,), dst lead + (dst_size,) or None for zeros.

    Leading axes broadcast. To be called while tracing; `jitted` is the cached form.
    """
    if dst is None:
        return move_p.bind(src, plan=plan, kind="put0")
    return move_p.bind(*align(src, dst), plan=plan, kind="put")


@functools.lru_cache(maxsize=4096)
def jitted(plan: Plan):
    """The plan as a compiled function of (src, dst)."""

    def ascjax_move(src, dst=None):
        return run(plan, src, dst)

    return jax.jit(ascjax_move)


# --- types and shardings


def _abstract_eval(*operands, plan: Plan, kind: str):
    size = plan.src_size if kind == "take" else plan.dst_size
    x = operands[0]
    refuse_flat(operands)
    sharding = x.sharding.update(spec=(*spec_of(x)[:-1], None))
    return x.update(shape=(*x.shape[:-1], size), sharding=sharding, weak_type=False)


move_p.def_abstract_eval(_abstract_eval)


@functools.lru_cache(maxsize=4096)
def _impl(plan: Plan, kind: str):
    return jax.jit(lambda *operands: move_p.bind(*operands, plan=plan, kind=kind))


@move_p.def_impl
def _eager(*operands, plan: Plan, kind: str):
    with jax.disable_jit(False):  # without a jit, bind would come back here
        return _impl(plan, kind)(*operands)


# --- derivatives and batches


@functools.lru_cache(maxsize=4096)
def _without_fill(plan: Plan) -> Plan:
    return dataclasses.replace(plan, fills=(0,) * len(plan.fills))


def _jvp(primals, tangents, *, plan: Plan, kind: str):
    out = move_p.bind(*primals, plan=plan, kind=kind)
    linear = _without_fill(plan)
    live = [type(t) is not ad.Zero for t in tangents]
    if not any(live):
        return out, ad.Zero(jax.typeof(out).to_tangent_aval())
    if jax.typeof(out).dtype == jnp.float8_e8m0fnu:
        raise ParamError(
            "ascjax",
            "dtype",
            "have a zero and a sign to be differentiated",
            "float8_e8m0fnu",
            "Differentiate a wider type, or stop the gradient before the move.",
            "products.json, types",
        )
    if kind == "put" and not all(live):
        kind = "put0" if live[0] else "keep"
    moving = [t for t in tangents if type(t) is not ad.Zero]
    return out, move_p.bind(*moving, plan=linear, kind=kind)


ad.primitive_jvps[move_p] = _jvp


def _transpose(ct, *operands, plan: Plan, kind: str):
    linear = _without_fill(plan)
    back = {"put": ("take", "keep"), "put0": ("take",), "keep": ("keep",)}
    cotangents = []
    for operand, kind_back in zip(operands, back.get(kind, ("put0",)), strict=True):
        if not ad.is_undefined_primal(operand):
            cotangents.append(None)
        elif type(ct) is ad.Zero:
            cotangents.append(ad.Zero(operand.aval))
        else:
            cotangents.append(move_p.bind(ct, plan=linear, kind=kind_back))
    return cotangents


ad.primitive_transposes[move_p] = _transpose


def _batch(operands, dims, *, plan: Plan, kind: str):
    size = next(
        x.shape[d] for x, d in zip(operands, dims, strict=True) if d is not not_mapped
    )
    front = [
        jnp.broadcast_to(x, (size, *x.shape))
        if d is not_mapped
        else jnp.moveaxis(x, d, 0)
        for x, d in zip(operands, dims, strict=True)
    ]
    if kind == "put":
        front = align(front[0], front[1])
    return move_p.bind(*front, plan=plan, kind=kind), 0


batching.primitive_batchers[move_p] = _batch


# --- lowering


def _bits_type(dtype: Any) -> Any:
    """The unsigned integers that carry a type; the type itself where none can."""
    bits = _width(dtype)
    if bits > 16 or (not jnp.issubdtype(dtype, jnp.floating) and bits > 4):
        return dtype  # XLA moves these as they are
    return jnp.dtype(f"uint{8 if bits == 4 else bits}")


def _width(dtype: Any) -> int:
    name = jnp.dtype(dtype).name
    return 4 if name.startswith(("int4", "uint4", "float4")) else dtype.itemsize * 8


def _to_bits(x: jax.Array) -> jax.Array:
    target = _bits_type(x.dtype)
    if x.dtype == target:
        return x
    if _width(x.dtype) == 4:
        return jax.lax.bitcast_convert_type(x, jnp.uint4).astype(target)
    return jax.lax.bitcast_convert_type(x, target)


def _from_bits(x: jax.Array, dtype: Any) -> jax.Array:
    if x.dtype == dtype:
        return x
    if _width(dtype) == 4:
        x = x.astype(jnp.uint4)
    return x if x.dtype == dtype else jax.lax.bitcast_convert_type(x, dtype)


def _lower(*operands: jax.Array, plan: Plan, kind: str, fence: bool) -> jax.Array:
    def apply(*operands: jax.Array) -> jax.Array:
        return _apply(*operands, plan=plan, kind=kind, fence=fence)

    return with_auto_axes(apply, operands[0])(*operands)


def _apply(*operands: jax.Array, plan: Plan, kind: str, fence: bool) -> jax.Array:
    """A plan on arrays: what the primitive means."""
    x = operands[0]
    lead = x.ndim - 1
    dtype = x.dtype
    if plan.last is None:
        if kind in ("put", "keep"):
            return operands[-1]
        size = plan.src_size if kind == "take" else plan.dst_size
        return _from_bits(zeros((*x.shape[:-1], size), _to_bits(x)), dtype)
    if kind == "take":
        return _take(x, plan, lead, fence)
    context = Context(_fills(plan, _bits_type(dtype)), fence)
    last, dst = plan.last, operands[-1]
    bits = any(step.wants == "bits" for step in plan.steps)
    if kind == "keep":
        dst = _held(dst, dtype, last.wants, bits)
        return _from_bits(last.keep(dst, lead, context), dtype)
    for step in plan.steps[:-1]:
        x = step.forward(_held(x, dtype, step.wants, bits), lead, context)
    x = _held(last.settled(x, lead, context), dtype, last.wants, bits)
    dst = _held(dst, dtype, last.wants, bits) if kind == "put" else None
    return _from_bits(last.write(x, dst, lead, context), dtype)


def _take(x: jax.Array, plan: Plan, lead: int, fence: bool) -> jax.Array:
    if plan.back is not None:
        return _apply(x, plan=plan.back, kind="put0", fence=fence)
    dtype = x.dtype
    bits = any(step.wants_back == "bits" for step in plan.steps)
    for step in reversed(plan.steps):
        x = _held(x, dtype, step.wants_back, bits)
        x = step.backward(x, lead, Context((), fence))
    return _from_bits(x, dtype)


def _held(x: jax.Array, dtype: Any, wants: str, bits: bool) -> jax.Array:
    """`x` as a step wants it: as values to add up, as bits, or as it is, which is
    faster.

    Types of 8 bits are bits from the start on where any step wants them: jax 0.11 loses
    NaNs of float8_e5m2 where they become bits later.
    """
    if wants == "values":
        return _from_bits(x, dtype)
    width = _width(dtype)
    early = width == 4 or (width == 8 and bits)
    return _to_bits(x) if wants == "bits" or early else x


def _fills(plan: Plan, dtype: Any) -> tuple[np.ndarray, ...]:
    """The padding values as elements of `dtype`, bit for bit."""
    if dtype == jnp.bool_ or jnp.issubdtype(dtype, jnp.complexfloating):
        return tuple(np.asarray(bits, dtype) for bits in plan.fills)
    width = dtype.itemsize * 8
    return tuple(
        np.asarray(bits % (1 << width), f"uint{width}").view(dtype)
        for bits in plan.fills
    )


for _platform, _fence in ((None, False), ("cpu", True)):
    mlir.register_lowering(
        move_p,
        mlir.lower_fun(functools.partial(_lower, fence=_fence), multiple_results=False),
        platform=_platform,
    )
