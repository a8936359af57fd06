"""Moves from buffer to buffer, joined into one nest, one map, one plan."""

import random

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ascjax as asc
from ascjax._compose import compose
from ascjax._gather import Gather
from ascjax._simplify import simplify


def dense(rng, total, name):
    """A random transpose of `total` elements, as a nest."""
    factors, rest = [], total
    while rest > 1:
        factors.append(rng.choice([n for n in (2, 3, 4, 8) if rest % n == 0]))
        rest //= factors[-1]
    order = rng.sample(range(len(factors)), len(factors))
    steps = []
    for ranks in (range(len(factors)), order):
        step, at = 1, [0] * len(factors)
        for k in reversed(ranks):
            at[k], step = step, step * factors[k]
        steps.append(at)
    rows = zip(factors, *steps, strict=True)
    return asc.LoopNest.strided(0, 0, *((f"{name}{k}", *r) for k, r in enumerate(rows)))


def check_composed(first, then, sizes):
    """The nest of both means one map after the other; whether there was one."""
    src, mid, dst = sizes
    both = compose(first, then)
    want = asc.IndexMap.of_nest(first, src, mid).chain(
        asc.IndexMap.of_nest(then, mid, dst)
    )
    for nest in filter(None, (both, both and simplify(both))):
        assert asc.IndexMap.of_nest(nest, src, dst) == want
    return both is not None


@given(st.randoms(use_true_random=False), st.sampled_from([48, 64, 256]))
def test_transposes_compose_by_algebra(rng, total):
    first, then = dense(rng, total, "a"), dense(rng, total, "b")
    check_composed(first, then, (total,) * 3)


def test_most_transposes_of_powers_of_two_compose():
    rng = random.Random(0)
    pairs = [(dense(rng, 256, "a"), dense(rng, 256, "b")) for _ in range(100)]
    done = sum(check_composed(*pair, (256,) * 3) for pair in pairs)
    assert done > 60


def test_check_composed_goes_red(monkeypatch):
    one = dense(random.Random(1), 64, "a")
    right = compose
    monkeypatch.setattr(
        "test_chain.compose", lambda first, then: right(first, then).shift(1, 0)
    )
    with pytest.raises((AssertionError, asc.BoundsError)):
        check_composed(one, one, (64,) * 3)


STRIDED = asc.LoopNest.strided
GAPPED = STRIDED(0, 0, ("i", 8, 16, 32), ("e", 16, 1, 1))  # 16 written, 16 not


@pytest.mark.parametrize(
    "then, dst, there",
    [
        (STRIDED(0, 0, ("j", 16, 1, 8), ("i", 8, 32, 1)), 128, True),
        (STRIDED(255 - 16, 0, ("i", 8, -32, 16), ("e", 16, -1, 1)), 128, True),
        (STRIDED(32, 0, ("r", 3, 0, 16), ("e", 16, 1, 1)), 48, True),
        (STRIDED(8, 0, ("e", 16, 1, 1)), 16, False),  # reads what is not written
        (STRIDED(0, 0, ("e", 256, 1, 1)), 256, False),
        (STRIDED(1, 0, ("i", 3, 5, 1)), 3, True),
        (STRIDED(5, 0, ("r", 4, -1, 0)), 1, False),  # the order of writes decides
        (asc.LoopNest.nop(), 8, False),
    ],
)
def test_gaps_windows_flips_and_repeats(then, dst, there):
    assert check_composed(GAPPED, then, (128, 256, dst)) == there


def test_what_lies_before_the_first_write_is_not_read_from_the_source():
    first = STRIDED(4, 4, ("i", 8, 1, 1))
    for start in range(13 - 3):
        then = STRIDED(start, 0, ("j", 3, 1, 1))
        assert check_composed(first, then, (16, 16, 3)) == (4 <= start <= 9)


def turn(repeat, size):
    p = asc.LoadData2DParams(0, repeat, 1, if_transpose=True)
    return asc.Move.of(p, dtype="half", src_size=size)


def columns(n, rows, cols):
    """NZ of matrices of 16-bit elements to rows."""
    p = asc.Nz2NdParamsFull(1, rows, cols, 1, rows, cols, 1)
    return asc.Move.of(p, dtype="half", src_size=n)


def check_chain(moves, dtype="float16"):
    """The chain equals its moves one by one, forward and backward."""
    road = asc.chain(moves)
    rng = np.random.default_rng(0)
    src = jnp.asarray(rng.integers(-9, 9, moves[0].src_size), dtype)
    dst = jnp.asarray(rng.integers(-9, 9, moves[-1].dst_size), dtype)

    def steps(src, dst):
        for move in moves[:-1]:
            src = asc.run_move(move, src)
        return asc.run_move(moves[-1], src, dst)

    got, back = jax.vjp(road, src, dst)
    want, back_too = jax.vjp(steps, src, dst)
    np.testing.assert_array_equal(got, want)
    for one, two in zip(back(dst), back_too(dst), strict=True):
        np.testing.assert_array_equal(one, two)
    return road


def test_twenty_moves_are_one_plan():
    moves = [turn(16, 4096), columns(4096, 64, 64)] * 10
    road = check_chain(moves)
    assert road.nest is not None and len(road.plan.steps) <= 3
    assert not any(isinstance(step, Gather) for step in road.plan.steps)


def test_there_and_back_is_nothing():
    road = check_chain([turn(16, 4096)] * 2)
    assert [str(step) for step in road.plan.steps] == [
        "read      4096 every 1 from 0 of src",
        "write     4096 every 1 from 0 of dst",
    ]


def test_padding_on_the_way_goes_through_a_map():
    info = asc.NdDmaLoopInfo((1, 8), (1, 16), (8, 2), (3, 1), (5, 1))
    pad = [
        asc.Move.of(asc.NdDmaParams(info, value), dtype="half", src_size=size)
        for value, size in ((5.0, 16), (7.0, 64))
    ]
    road = check_chain(pad)
    assert road.nest is None and road.fills == (0, 0x4500, 0x4700)


def test_what_no_move_writes_is_zero_bits():
    gap = asc.Move.of(asc.LoadData2DParams(0, 2, 1, 0, 1), dtype="half", src_size=512)
    all_of_it = asc.Move.of(asc.LoadData2DParams(0, 3, 1), dtype="half", src_size=768)
    out = check_chain([gap, all_of_it])(jnp.ones(512, "float16"))
    assert out.reshape(3, 256).sum(1).tolist() == [256, 0, 256]


def test_modules_chain_as_their_moves():
    p = asc.LoadData2DParams(0, 2, 1, if_transpose=True)
    load = asc.nn.LoadData(p, dtype="half", src_size=512)
    assert asc.chain([load, load]) == asc.chain([load.move] * 2)


@pytest.mark.parametrize(
    "moves, error, text",
    [
        ([], asc.ParamError, "chain: moves must hold moves, got "),
        ([3], asc.ParamError, r"chain: moves must hold moves, got \[3\]"),
        (
            [turn(2, 512), turn(3, 768)],
            asc.BoundsError,
            r"chain: moves\[1\] must read 512 elements, .* got 768",
        ),
        (
            [
                turn(2, 512),
                asc.Move.of(
                    asc.LoadData2DParams(0, 1), dtype="bfloat16_t", src_size=512
                ),
            ],
            asc.ParamError,
            r"chain: moves\[1\] must move half, .* got bfloat16_t",
        ),
    ],
)
def test_what_does_not_join_is_refused(moves, error, text):
    with pytest.raises(error, match=text):
        asc.chain(moves)


def test_a_chain_takes_buffers_of_its_sizes():
    road = asc.chain([turn(2, 512)])
    with pytest.raises(asc.BoundsError, match=r"chain: src must hold 512 \(elements\)"):
        road(jnp.zeros(256, "float16"))


def test_a_nop_on_the_way_moves_nothing():
    load = asc.Move.of(asc.LoadData2DParams(0, 4, 1), dtype="half", src_size=1024)
    nop = asc.Move.of(
        asc.LoadData2DParams(0, 0), dtype="half", src_size=1024, dst_size=256
    )
    for moves in ([nop], [load, nop]):
        assert not check_chain(moves)(jnp.ones(1024, "float16")).any()


def test_the_later_write_wins_along_a_chain():
    load = asc.Move.of(asc.LoadData2DParams(0, 4, 1), dtype="half", src_size=1024)
    one, two = asc.LoadData2DParams(0, 1), asc.LoadData2DParams(0, 2, 1)
    back = [asc.Call(one, 256, 0), asc.Call(one, 0, 0)]
    spill = [
        asc.Call(two, (2 * b + 8 * c) * 256, (2 * b + c) * 256)
        for b in range(2)
        for c in range(2)
    ]
    for calls, size in ((back, 1024), (spill, 4096)):
        last = asc.Move.sequence(tuple(calls), dtype="half", src_size=size)
        check_chain([load, last] if size == 1024 else [last])
