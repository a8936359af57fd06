"""`asc.testing`: what the tests of a kernel repository use."""

import jax.numpy as jnp
import numpy as np
import pytest

import ascjax as asc
from ascjax.testing import assert_same_move

SRC = np.arange(2048, dtype="float16")
P = asc.LoadData2DParams(repeat_times=3, src_stride=2)
BEFORE = np.full(2048, 7, "float16")


def left(params=P):
    return np.array(asc.load_data(SRC, params, dst=BEFORE))


@pytest.mark.parametrize("as_array", [np.asarray, jnp.asarray])
def test_the_same_move_passes(as_array):
    options = {"dtype": "half", "product": "910B", "path": "L1->L0A"}
    src, after, before = map(as_array, (SRC, left(), BEFORE))
    assert_same_move(src, after, P, dst_before=before, **options)
    assert_same_move(src, after, P)


def test_a_torch_tensor_is_an_array():
    torch = pytest.importorskip("torch")
    assert_same_move(torch.from_numpy(SRC), torch.from_numpy(left()), P)


def test_a_difference_says_where_and_why():
    other = asc.LoadData2DParams(repeat_times=3, src_stride=2, dst_gap=1)
    with pytest.raises(AssertionError) as failed:
        assert_same_move(SRC, left(other), P, dst_before=BEFORE, path="A1->A2")
    text = str(failed.value)
    assert text.startswith("load2d: 768 of 2048 elements differ, the first: ")
    assert "destination element 256 (fractal 1, row 0, column 0;" in text
    assert "\n  matches exactly if dst_gap were 1 (claimed 0)" in text
    with pytest.raises(AssertionError) as failed:
        assert_same_move(SRC, left(other), P, dst_before=BEFORE, diagnose=False)
    assert "matches" not in str(failed.value)


def test_cells_that_are_not_written_count_only_where_they_are_known():
    after = left()
    after[1000] = 1
    assert_same_move(SRC, after, P)
    with pytest.raises(AssertionError, match="1 of 2048 elements differ"):
        assert_same_move(SRC, after, P, dst_before=BEFORE)


def test_bits_are_compared():
    zeros = np.zeros(256, "float16")
    one = asc.LoadData2DParams(repeat_times=1)
    assert_same_move(zeros, zeros, one)
    with pytest.raises(AssertionError, match="expected 0x0000, got 0x8000"):
        assert_same_move(zeros, -zeros, one, diagnose=False)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda: assert_same_move(SRC, left().astype("int8"), P),
            asc.ParamError,
            "dst_after must hold half",
        ),
        (lambda: assert_same_move(SRC[:256], left(), P), asc.BoundsError, "src must"),
        (
            lambda: assert_same_move(SRC, left(), P, dtype="int8_t"),
            asc.ParamError,
            "src must hold int8_t",
        ),
    ],
)
def test_bad_input_is_an_error_of_its_own(call, error, text):
    with pytest.raises(error, match=text):
        call()
