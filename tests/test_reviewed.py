"""Corners that were found by looking for them."""

import pickle
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ascjax as asc
from ascjax._stack import stack

ONE = asc.LoadData2DParams(repeat_times=1)
L1 = jnp.arange(1024, dtype="float16")


def test_an_index_map_never_wraps_a_large_source():
    p = asc.NdDmaParams(asc.NdDmaLoopInfo((2**33 + 1, 1), (3, 2), (2, 3)))
    shape = jax.ShapeDtypeStruct((2**34,), "int8")
    with pytest.raises(asc.BoundsError, match="hold at most 2147483647"):
        jax.eval_shape(lambda s: asc.data_copy(s, p), shape)
    with pytest.raises(asc.BoundsError, match="hold at most 2147483647"):
        asc.IndexMap(np.array([2**32 + 5]), 2**33)


@pytest.mark.parametrize("option", ["src_offset", "dst_offset", "dst_size"])
def test_a_warm_cache_refuses_what_a_cold_one_does(option):
    asc.load_data(L1, ONE, **{option: 512})
    with pytest.raises(asc.ParamError, match=f"{option} must be an integer"):
        asc.load_data(L1, ONE, **{option: 512.0})


def test_a_copy_of_a_product_is_that_product():
    p = asc.LoadData2DParams(repeat_times=1, dst_gap=3)
    again = pickle.loads(pickle.dumps(asc.ATLAS_TRAINING))
    for product in (again, asc.ATLAS_TRAINING, "atlas_training"):
        with pytest.raises(asc.SupportError, match="dst_gap must be 0"):
            asc.load_data(L1, p, product=product)


def test_ops_run_with_jit_disabled():
    want = asc.load_data(L1, ONE, src_offset=256)
    with jax.disable_jit():
        got = asc.load_data(L1, ONE, src_offset=256)
    np.testing.assert_array_equal(got, want)


def test_a_transpose_of_4_bits_needs_no_product_that_has_it():
    p = asc.LoadData2dTransposeParamsV2(repeat_times=1, dst_gap=3)
    move = asc.Move.of(p, dtype="int4b_t", src_size=4096)
    assert move.index_map.index[1] == 64
    with pytest.raises(asc.SupportError, match="dtype must be one that atlas_350"):
        asc.Move.of(p, dtype="int4b_t", src_size=4096, product="atlas_350")


def test_a_sequence_says_what_does_not_hash():
    fill = asc.sequence([ONE])
    np.testing.assert_array_equal(
        fill(L1, dst_size=jnp.int32(512)), fill(L1, dst_size=512)
    )
    with pytest.raises(asc.SupportError, match="product must be one of"):
        asc.sequence([ONE], product=["910B"])(L1)


def test_only_paddings_may_be_left_out():
    with pytest.raises(asc.ParamError, match="loop_dst_stride must be a list"):
        asc.NdDmaLoopInfo((1,), None, (3,))
    with pytest.raises(asc.ParamError, match="loop_size must be a list"):
        asc.NdDmaLoopInfo((1,), (1,), None)


@pytest.mark.parametrize(
    "make, text",
    [
        (lambda: asc.Params.from_dict({}), "data must hold 'instruction'"),
        (lambda: asc.Call(3), "params must be an instruction's params, got int"),
        (lambda: asc.Nz2NdParamsFull(1, 32, 32, np.array([1, 2])), "src_nd_matrix"),
        (lambda: asc.load_data(L1, ONE, overlap=np.array([1])), "overlap must be one"),
        (
            lambda: asc.NdDmaParams.from_fields(
                {
                    "loopSrcStride": [1],
                    "loopDstStride": [1],
                    "loopSize": [1],
                    "config": 5,
                }
            ),
            "config must be the config's fields",
        ),
        (
            lambda: asc.NdDmaParams(
                asc.NdDmaLoopInfo((1,), (1,), (1,)), {"kind": "foo", "hex": "00"}
            ),
            "constant_value must be a number",
        ),
    ],
)
def test_bad_input_of_any_kind_is_an_ascend_error(make, text):
    with pytest.raises(asc.ParamError, match=text):
        make()


def test_a_packed_write_past_the_declared_size_is_refused():
    src, dst = jnp.zeros(1024, "uint8"), jnp.zeros(513, "uint8")
    with pytest.raises(asc.BoundsError, match=r"dst must hold elements \[0, 1026\)"):
        asc.load_data(src, ONE, dst=dst, dst_size=1025, dst_offset=2, dtype="int4b_t")


def test_hashes_do_not_travel_between_processes():
    fill = asc.sequence([ONE], path="A1->A2", dtype="half")
    hash(fill)
    code = (
        "import sys, pickle, ascjax as asc; got = pickle.load(sys.stdin.buffer);"
        "same = asc.sequence([asc.LoadData2DParams(repeat_times=1)], path='A1->A2',"
        "dtype='half'); assert got == same and hash(got) == hash(same)"
    )
    subprocess.run([sys.executable, "-c", code], input=pickle.dumps(fill), check=True)


def test_a_nop_without_a_destination_writes_nothing():
    nop = asc.LoadData2DParams(repeat_times=0)
    assert asc.load_data(L1, nop, dst_offset=1 << 20).shape == (0,)


def test_nested_loops_of_calls_are_one_nest():
    p = asc.LoadData2DParams(repeat_times=2, src_stride=1, if_transpose=True)
    calls = tuple(
        asc.Call(p, 512 * (4 * m + n), 512 * (8 * n + m))
        for m in range(8)
        for n in range(4)
    )
    move = asc.Move.sequence(calls, dtype="half", src_size=512 * 32)
    assert move.nest is not None
    assert not any(hasattr(step, "index") for step in move.plan.steps)
    maps = [
        asc.IndexMap.of_nest(nest, move.src_size, move.dst_size) for nest in move.nests
    ]
    assert move.index_map == maps[0].sequence(*maps[1:])
    assert asc.IndexMap.of_nest(move.nest, move.src_size, move.dst_size) == (
        move.index_map
    )


@pytest.mark.parametrize(
    "starts",
    [
        [(0, 0), (1, 5), (7, 9)],
        [(0, 0), (1, 1), (2, 2), (5, 5)],
        [(0, 0), (1, 1), (4, 4), (6, 6)],
    ],
)
def test_calls_that_step_unevenly_are_not(starts):
    nest = asc.LoopNest.strided(0, 0, ("e", 1, 1, 1))
    assert stack([nest.shift(*start) for start in starts]) is None


@pytest.mark.parametrize("name", ["repeatTimes", "repeat_time"])
def test_a_field_s_name_is_corrected(name):
    with pytest.raises(asc.ParamError, match=r"got \w+\. Write repeat_times\."):
        asc.LoadData2DParams(**{name: 2})


def test_a_refused_call_of_a_sequence_is_numbered():
    with pytest.raises(asc.BoundsError, match="load2d, call 1: src must hold"):
        asc.sequence([ONE, (ONE, 999_999)])(L1)


def test_dst_is_given_by_its_name():
    with pytest.raises(asc.ParamError, match="dst must be given by its name"):
        asc.load_data(L1, ONE, L1)


def test_a_module_has_its_settings_as_static_fields():
    load = asc.nn.LoadData(ONE, dtype="half", src_size=512, product="910B")
    assert (load.params, load.product, load.path) == (ONE, asc.ATLAS_A2, None)
    assert (load.dtype.name, load.src_size, load.dst_size) == ("half", 512, 256)
    assert jax.tree.leaves(load) == []
