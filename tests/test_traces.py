"""Moves exported, under strict settings, donated; and how often they are traced."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import CASES, Case, integers
from helpers import (
    bits,
    check_equal,
    check_move,
    check_same,
    every_kind,
    moved,
    operands,
    pulled_back,
)
from jax import export

import ascjax as asc
from ascjax import _primitive


@pytest.mark.parametrize(
    "name", ["load2d_gap", "nddma_constant", "nddma_nearest", "sequence_irregular"]
)
def test_export_is_saved_loaded_and_differentiated(name):
    case, move = CASES[name], CASES[name].move
    src, dst = operands(move, (2,))
    exported = export.export(jax.jit(case.run))(src, dst)
    loaded = export.deserialize(exported.serialize(vjp_order=1))
    check_same(loaded.call(src, dst), moved(move, src, dst))
    ct = integers(8, dst.shape, dst.dtype)
    got = jax.vjp(loaded.call, src, dst)[1](ct)
    for one, want in zip(got, pulled_back(move, ct), strict=True):
        check_equal(one, want)


def test_export_takes_a_symbolic_batch():
    case, move = CASES["load2d_transpose"], CASES["load2d_transpose"].move
    (batch,) = export.symbolic_shape("b")
    shape = jax.ShapeDtypeStruct((batch, move.src_size), "float16")
    exported = export.export(jax.jit(case.run))(shape)
    src = operands(move, (3,))[0]
    check_same(exported.call(src), moved(move, src))


def test_export_for_other_machines_than_this_one():
    case = CASES["nz2nd"]
    machines = ("cpu", "cuda")
    exported = export.export(jax.jit(case.run), platforms=machines)(
        *operands(case.move)
    )
    assert exported.platforms == machines
    check_move(case.move, exported.call, *operands(case.move))


@every_kind
def test_strict_promotion_finds_nothing_to_promote(case: Case):
    """A user's settings reach the code that traces inside the primitive."""
    src, dst = operands(case.move, (2,))

    def loss(src, dst):
        out = case.run(src, dst)
        return jnp.vdot(out, jax.lax.stop_gradient(out))

    with jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
        jax.jit(jax.value_and_grad(loss, (0, 1))).lower(src, dst)
        as_bits = partial(case.run, dtype=case.dtype)
        jax.jit(as_bits).lower(bits(src), bits(dst))


@pytest.fixture
def traces(monkeypatch):
    """Counts how often a plan is traced."""
    seen = []
    run = _primitive.run

    def counting(plan, *operands):
        seen.append(plan)
        return run(plan, *operands)

    monkeypatch.setattr(_primitive, "run", counting)
    return seen


def padded(fill, size=7):
    info = asc.NdDmaLoopInfo([1], [1], [size], [2], [1])
    return asc.NdDmaParams(info, fill)


def test_equal_params_do_not_trace_again(traces):
    src = np.ones(1301, "float16")
    for repeat in (5, np.int64(5), 5):
        params = asc.LoadData2DParams(0, repeat, if_transpose=repeat == 5)
        asc.load_data(src, params)
        asc.load_data(src, params, dtype="half", dst_size=1280)
        asc.run_move(asc.Move.of(params, dtype="half", src_size=1301), src)
        asc.sequence([(params, 0, 0)])(src)
        jax.grad(lambda x, p=params: asc.load_data(x, p).sum())(src)
    assert len(traces) <= 2  # once, and once more where grad traces the caller
    first = len(traces)
    asc.load_data(src[1:], asc.LoadData2DParams(0, 5, if_transpose=True))
    assert len(traces) == first + 1, "the control: another size is another trace"


def test_params_are_static_arguments_of_a_jit():
    count = 0

    @partial(jax.jit, static_argnums=1)
    def run(src, params):
        nonlocal count
        count += 1
        return asc.data_copy(src, params)

    src = np.ones(7, np.float32)
    for fill in (2.0, np.float64(2.0).item(), 2.0):
        run(src, padded(fill))
    assert count == 1
    run(src, padded(-2.0))
    assert count == 2


def test_zero_and_minus_zero_are_two_paddings(traces):
    src = np.ones(7, np.float32)
    results = [asc.data_copy(src, padded(fill)) for fill in (0.0, -0.0, 0.0, -0.0, 0)]
    signs = [bool(np.signbit(out[0])) for out in results]
    assert signs == [False, True, False, True, False]
    assert len(set(traces)) <= 2

    @partial(jax.jit, static_argnums=1)
    def run(src, params):
        return asc.data_copy(src, params)

    results = [run(src, padded(fill)) for fill in (0.0, -0.0, 0.0, -0.0)]
    assert [bool(np.signbit(out[0])) for out in results] == [False, True, False, True]


def test_nothing_is_mutated_and_inputs_may_be_donated():
    case = CASES["load2d_gap"]
    src, dst = operands(case.move)
    kept_src, kept_dst = src.copy(), dst.copy()
    case.run(src, dst)
    check_same(src, kept_src)
    check_same(dst, kept_dst)
    donated = jnp.asarray(dst)
    out = jax.jit(case.run, donate_argnums=1)(src, donated)
    assert donated.is_deleted()
    check_same(out, moved(case.move, src, dst))
