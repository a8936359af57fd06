"""Every move differentiated: exact gradients, by every transform that makes them."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import CASES, Case, integers
from helpers import (
    check_equal,
    check_gradients,
    check_same,
    every_case,
    every_kind,
    moved,
    operands,
    pulled_back,
)

import ascjax as asc


@every_case
def test_gradients_reach_what_was_copied_and_what_was_kept(case: Case):
    check_gradients(case.move, case.run, *operands(case.move, (2,)))


@every_kind
def test_tangents_move_as_values_do_without_the_padding(case: Case):
    move = case.move
    src, dst = operands(move)
    t_src, t_dst = operands(move)[0] + 1, operands(move)[1] - 1

    @jax.jit
    def tangents(src, dst, t_src, t_dst):
        both = jax.jvp(case.run, (src, dst), (t_src, t_dst))
        of_src = jax.jvp(lambda s: case.run(s, dst), (src,), (t_src,))[1]
        of_dst = jax.jvp(lambda d: case.run(src, d), (dst,), (t_dst,))[1]
        return *both, of_src, of_dst

    value, both, of_src, of_dst = tangents(src, dst, t_src, t_dst)
    check_same(value, moved(move, src, dst))
    check_equal(both, linear(move, t_src, t_dst))
    check_equal(of_src, linear(move, t_src, 0 * dst))
    check_equal(of_dst, linear(move, 0 * src, t_dst))


def linear(move: asc.Move, src, dst):
    """The move without its padding: what tangents do."""
    index = move.index_map.index
    out = np.where(index >= 0, src[..., index.clip(0)], dst)
    return np.where(index <= -2, np.zeros_like(out), out)


@pytest.mark.quick
@every_kind
def test_gradients_without_a_jit_around_the_op(case: Case):
    src, dst = operands(case.move)
    ct = integers(3, (case.move.dst_size,), src.dtype)
    to_src, to_dst = pulled_back(case.move, ct)
    got_src, got_dst = jax.vjp(case.run, src, dst)[1](ct)
    check_equal(got_src, to_src)
    check_equal(got_dst, to_dst)
    check_equal(jax.vjp(case.run, src)[1](ct)[0], to_src)


@pytest.mark.quick
@every_kind
def test_hessian_is_exact(case: Case):
    """Of a quadratic of the result, in three directions of both operands."""
    src, dst = operands(case.move)
    to_src = integers(4, (src.size, 3))
    to_dst = integers(5, (dst.size, 3))
    weight = integers(6, (dst.size,))
    slope = linear(case.move, to_src.T, to_dst.T)

    def quadratic(t):
        moving = jnp.asarray(src, jnp.float32) + to_src @ t
        kept = jnp.asarray(dst, jnp.float32) + to_dst @ t
        out = case.run(moving.astype(src.dtype), kept.astype(dst.dtype))
        return (weight * out.astype(jnp.float32) ** 2).sum() / 2

    got = jax.jit(jax.hessian(quadratic))(jnp.ones(3))
    check_equal(got, (slope * weight) @ slope.T)


@pytest.mark.quick
@every_kind
def test_gradients_through_scan_and_checkpoint(case: Case):
    """A scan that carries the destination through three moves, rematerialised."""
    move = case.move
    srcs, dst = operands(move, (3,))[0], operands(move)[1]
    ct = integers(7, dst.shape, dst.dtype)

    @jax.jit
    def run(srcs, dst, ct):
        @jax.checkpoint
        def step(kept, src):
            out = case.run(src, kept)
            return out, out

        def last(srcs, dst):
            return jax.lax.scan(step, dst, srcs)

        (out, each), back = jax.vjp(last, srcs, dst)
        return out, each, back((ct, jnp.zeros_like(each)))

    out, each, (got_srcs, got_dst) = run(srcs, dst, ct)
    kept = dst
    for k in range(3):
        kept = moved(move, srcs[k], kept)
        check_same(each[k], kept)
    check_same(out, kept)
    for k in reversed(range(3)):
        want, ct = pulled_back(move, ct)
        check_equal(got_srcs[k], want)
    check_equal(got_dst, ct)


@pytest.mark.quick
def test_grad_of_checkpoint_saves_and_recomputes_the_same():
    case = CASES["nddma_nearest"]
    src, dst = operands(case.move)

    def loss(run):
        return lambda s, d: (run(s, d).astype(jnp.float32) ** 2).sum()

    plain = jax.grad(loss(case.run), (0, 1))(src, dst)
    again = jax.grad(loss(jax.checkpoint(case.run)), (0, 1))(src, dst)
    for a, b in zip(plain, again, strict=True):
        check_same(a, b)


@pytest.mark.quick
@pytest.mark.parametrize("name", ["load2d_gap", "nddma_constant", "nddma_nearest"])
def test_integer_ops_have_float0_gradients(name):
    case = CASES[name]
    src, dst = operands(case.move)
    src, dst = src.astype("int16"), dst.astype("int16")
    run = partial(case.run, dtype="int16_t")
    if name == "nddma_constant":  # 1.5 is no int16_t
        params = CASES["nddma_constant"].calls[0].params
        run = lambda s, d: asc.data_copy(s, with_fill(params, 3), dst=d)  # noqa: E731
    out, back = jax.vjp(run, src, dst)
    assert out.dtype == jnp.int16
    cotangents = back(np.zeros(out.shape, jax.dtypes.float0))
    for got, like in zip(cotangents, (src, dst), strict=True):
        assert (got.dtype, got.shape) == (jax.dtypes.float0, like.shape)
    zeros = tuple(np.zeros(x.shape, jax.dtypes.float0) for x in (src, dst))
    value, tangent = jax.jvp(run, (src, dst), zeros)
    check_same(value, out)
    assert (tangent.dtype, tangent.shape) == (jax.dtypes.float0, out.shape)
    total = jax.grad(lambda s: run(s, dst).sum().astype(float), allow_int=True)(src)
    assert (total.dtype, total.shape) == (jax.dtypes.float0, src.shape)


def with_fill(params: asc.NdDmaParams, fill) -> asc.NdDmaParams:
    return asc.NdDmaParams(params.loop_info, fill, params.config)
