"""`asc.testing.expected` and `sentinel`: golden data, and buffers that hide nothing."""

import numpy as np
import pytest

import ascjax as asc
from ascjax._dtypes import TYPES
from ascjax.testing import assert_same_move, expected, sentinel

P = asc.LoadData2DParams(start_index=1, repeat_times=2, src_stride=2)


def patterns(buffer):
    return buffer.view(f"uint{8 * buffer.itemsize}")


@pytest.mark.parametrize("seed", [0, 1, 5])
@pytest.mark.parametrize("name", [name for name in TYPES if TYPES[name].bits > 8])
def test_wide_elements_are_all_different(name, seed):
    buffer = sentinel(4096, name, seed)
    assert buffer.shape == (4096,) and buffer.dtype.name == TYPES[name].carrier
    assert np.unique(patterns(buffer)).size == 4096
    assert np.array_equal(patterns(buffer), patterns(sentinel(4096, name, seed)))


def test_a_byte_holds_each_pattern_once_in_256_elements_in_no_period():
    rounds = sentinel(1024, "uint8_t").reshape(4, 256)
    assert all(np.unique(part).size == 256 for part in rounds)
    assert np.unique(rounds, axis=0).shape[0] == 4
    assert np.unique(sentinel(7, "int8_t")).size == 7


def test_packed_elements_are_nibbles():
    buffer = sentinel(16, "int4b_t")
    assert buffer.dtype == np.uint8 and buffer.shape == (8,)
    assert sorted([*(buffer & 15), *(buffer >> 4)]) == list(range(16))
    assert sentinel(5, "fp4x2_e1m2_t").shape == (3,)


def test_bools_are_bools():
    buffer = sentinel(64, "bool")
    assert buffer.dtype == bool and patterns(buffer).max() == 1
    assert 0 < buffer.sum() < 64


@pytest.mark.parametrize(("seeds", "size"), [(2, 2**15), (4, 2**14), (3, 2**14)])
def test_seeds_share_no_pattern(seeds, size):
    held = [patterns(sentinel(size, "half", seed)) for seed in range(seeds)]
    assert np.unique(np.concatenate(held)).size == seeds * size


def test_an_empty_buffer():
    assert sentinel(0, "float").shape == (0,)


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ((-1, "half"), "^sentinel: size must be an integer, 0 or more, got -1"),
        ((1.5, "half"), "^sentinel: size must be an integer, 0 or more, got 1.5"),
        ((4, "half", -1), "^sentinel: seed must be an integer, 0 or more, got -1"),
        ((4, "fp3"), "^sentinel: dtype must name an Ascend C type, got 'fp3'"),
    ],
)
def test_bad_arguments_are_told(args, text):
    with pytest.raises(asc.ParamError, match=text):
        sentinel(*args)


@pytest.mark.parametrize("name", ["half", "bfloat16_t", "uint8_t"])
def test_golden_data_is_what_the_op_leaves(name):
    c = TYPES[name].fractal
    src, before = sentinel(5 * c, name), sentinel(3 * c, name, 1)
    golden = expected(src, before, P, dtype=name)
    raw = patterns(before).copy()
    raw[: 2 * c] = patterns(src).reshape(5, c)[[1, 3]].reshape(-1)
    assert golden.dtype == before.dtype
    assert np.array_equal(patterns(golden), raw)
    assert_same_move(src, golden, P, dst_before=before, dtype=name)


def test_golden_data_of_packed_elements():
    src, before = sentinel(4096, "int4b_t"), sentinel(1024, "int4b_t", 1)
    one = asc.LoadData2DParams(start_index=2, repeat_times=1)
    golden = expected(src, before, one, dtype="int4b_t")
    assert golden.dtype == np.uint8 and golden.shape == before.shape
    assert np.array_equal(golden, src[1024:1536])


def test_golden_data_of_several_calls():
    src, before = sentinel(1024, "half"), sentinel(768, "half", 1)
    one = asc.LoadData2DParams(repeat_times=1)
    calls = [asc.Call(one), asc.Call(one, 512, 256)]
    golden = patterns(expected(src, before, calls))
    raw = patterns(src)
    parts = [raw[:256], raw[512:768], patterns(before)[512:]]
    assert np.array_equal(golden, np.concatenate(parts))


def test_a_kernel_that_does_nothing_goes_red():
    """It would pass where source and destination held the same."""
    src, before = sentinel(1024, "half"), sentinel(512, "half", 1)
    with pytest.raises(AssertionError, match="512 of 512 elements differ"):
        assert_same_move(src, before, P, dst_before=before, diagnose=False)


@pytest.mark.parametrize(
    ("before", "params", "error", "text"),
    [
        ([1, 2], P, asc.ParamError, "^expected: dst_before must hold half"),
        (np.zeros(9, "float16"), P, asc.BoundsError, "dst must hold"),
        (np.zeros(512, "float16"), "x", asc.ParamError, "^expected: params must be an"),
    ],
)
def test_what_is_refused(before, params, error, text):
    with pytest.raises(error, match=text):
        expected(sentinel(1024, "half"), before, params)
