"""Every move in every batch: the same results. And the checks that say so."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import CASES, KINDS, Case
from helpers import (
    check_equal,
    check_gradients,
    check_move,
    check_same,
    every_case,
    moved,
    operands,
)

import ascjax as asc
from ascjax import oracle

# --- the checks themselves


def test_check_same_goes_red():
    zero = np.zeros(3, np.float32)
    for wrong in (-zero, zero + 1, zero[:2], zero.astype(np.float64), zero.view("i4")):
        with pytest.raises(AssertionError):
            check_same(wrong, zero)
    with pytest.raises(AssertionError):
        check_same(np.array([0x7FC00000], "u4").view("f4"), np.float32([np.inf]))


def test_check_equal_goes_red():
    zero = np.zeros(3, np.float32)
    check_equal(-zero, zero)
    for wrong in (zero + 1, zero[:2], zero.astype(np.float64)):
        with pytest.raises(AssertionError):
            check_equal(wrong, zero)


@pytest.mark.parametrize("leak", ["source", "kept", "padding"])
def test_check_move_goes_red(leak):
    move = CASES["nddma_constant"].move
    cell = {"source": 19, "kept": 12, "padding": 0}[leak]
    assert (move.index_map.index[cell] < 0) == (leak != "source")

    def wrong(src, dst):
        out = moved(move, src, dst)
        out[cell] += 1
        return out

    check_move(move, partial(moved, move), *operands(move))
    with pytest.raises(AssertionError):
        check_move(move, wrong, *operands(move))


@pytest.mark.parametrize("lost", ["src", "dst"])
def test_check_gradients_goes_red(lost):
    case = CASES["load2d_repeat"] if lost == "src" else CASES["load2d_gap"]

    def wrong(src, dst):
        if lost == "src":  # one of three repeats forgotten
            kept = jnp.arange(case.move.dst_size) < 512
            out = case.run(src, dst)
            return jnp.where(kept, out, jax.lax.stop_gradient(out))
        return case.run(src, jax.lax.stop_gradient(dst))

    check_gradients(case.move, case.run, *operands(case.move))
    with pytest.raises(AssertionError):
        check_gradients(case.move, wrong, *operands(case.move))


@pytest.mark.parametrize(
    "case",
    [case for case in CASES.values() if len(case.calls) == 1],
    ids=[name for name, case in CASES.items() if len(case.calls) == 1],
)
def test_the_table_s_maps_are_the_oracle_s(case: Case):
    move, call = case.move, case.calls[0]
    want = oracle.run(
        call.params.instruction,
        call.params.to_fields(),
        move.type.bits,
        np.arange(move.src_size),
        np.full(move.dst_size, -1),
        src_offset=call.src_offset,
        dst_offset=call.dst_offset,
        pad=-2,
        overlap=case.overlap,
        product=move.product and move.product.key,
        path=move.path,
    )
    np.testing.assert_array_equal(move.index_map.index, want)


# --- values


@every_case
def test_the_op_does_what_the_map_says(case: Case):
    src, dst = operands(case.move)
    check_move(case.move, case.run, src, dst)
    check_move(case.move, case.run, src)


# The ways to batch: the operands' leading shapes, and how the op is mapped over them.
BATCHES = {
    "leading axes": ((2, 3), (2, 3), lambda f: f),
    "one source for all": ((), (2, 3), lambda f: f),
    "one dst for all": ((3,), (), lambda f: f),
    "vmap both": ((3,), (3,), jax.vmap),
    "vmap src": ((3,), (), lambda f: jax.vmap(f, (0, None))),
    "vmap dst": ((), (3,), lambda f: jax.vmap(f, (None, 0))),
    "vmap twice": ((2, 3), (3,), lambda f: jax.vmap(jax.vmap(f), (0, None))),
    "vmap inner axes": ((3,), (3,), lambda f: turned(jax.vmap(f, -1, -1))),
    "vmap src inner": ((3,), (), lambda f: turned(jax.vmap(f, (1, None), 1))),
}


def turned(f):
    """`f` of operands whose batch stands behind the buffer."""

    def run(src, dst):
        return f(src.T, dst.T).T

    return run


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, marks=() if name in KINDS else pytest.mark.quick)
        for name, case in CASES.items()
    ],
    ids=CASES,
)
def test_batches_and_vmap_over_any_axis(case: Case):
    ways = list(BATCHES)
    if case not in map(CASES.get, KINDS):  # pairwise: two ways each in turn
        start = list(CASES.values()).index(case)
        ways = [ways[(start + 4 * k) % len(ways)] for k in range(2)]
    leads = [BATCHES[way][:2] for way in ways]
    pairs = [
        (operands(case.move, src)[0], operands(case.move, dst)[1]) for src, dst in leads
    ]

    @jax.jit
    def results(pairs):
        return [
            BATCHES[way][2](case.run)(*pair)
            for way, pair in zip(ways, pairs, strict=True)
        ]

    for way, pair, got in zip(ways, pairs, results(pairs), strict=True):
        np.testing.assert_array_equal(got, moved(case.move, *pair), err_msg=way)


def test_vmap_with_another_order_of_results():
    case = CASES["nz2nd"]
    src, dst = operands(case.move, (2, 3))
    out = jax.vmap(jax.vmap(case.run, 0, 1), 0, 2)(src, dst)
    check_same(np.transpose(out, (2, 1, 0)), moved(case.move, src, dst))


def test_batches_that_do_not_fit_each_other_are_refused():
    case = CASES["load2d_gap"]
    src, dst = operands(case.move, (3,))[0], operands(case.move, (2,))[1]
    with pytest.raises(asc.AscendError, match="load2d: dst must "):
        case.run(src, dst)


def test_a_batch_of_none_is_none():
    for name in ("load2d_gap", "nddma_nearest", "sequence_irregular"):
        case = CASES[name]
        src, dst = operands(case.move, (0,))
        assert case.run(src, dst).shape == (0, case.move.dst_size)


@every_case
def test_eval_shape_runs_nothing(case: Case):
    dtype, move = case.move.type.carrier, case.move
    src = jax.ShapeDtypeStruct((5, move.src_size), dtype)
    dst = jax.ShapeDtypeStruct((move.dst_size,), dtype)
    out = jax.eval_shape(case.run, src, dst)
    assert (out.shape, out.dtype) == ((5, move.dst_size), dtype)
    assert out.weak_type is False
    assert jax.eval_shape(case.run, src).shape == (5, move.dst_size)
