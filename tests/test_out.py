"""`out=` gives a large result memory that is no longer needed."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ascjax as asc

P = asc.LoadData2DParams(0, 2, 1, if_transpose=True)
SRC = jnp.arange(512, dtype="float16")


@pytest.mark.parametrize("dst", [None, jnp.ones(768, "float16")])
def test_the_result_takes_its_memory(dst):
    want = asc.load_data(SRC, P, dst=dst)
    out = jnp.zeros_like(want)
    where = out.unsafe_buffer_pointer()
    got = asc.load_data(SRC, P, dst=dst, out=out)
    np.testing.assert_array_equal(got, want)
    assert out.is_deleted() and got.unsafe_buffer_pointer() == where


def test_under_a_transform_it_is_only_an_argument():
    want = asc.load_data(SRC, P)
    got = jax.jit(lambda src, out: asc.load_data(src, P, out=out))(SRC, want)
    np.testing.assert_array_equal(got, want)
    grad = jax.grad(lambda src: asc.load_data(src, P, out=want).sum())(SRC)
    assert grad.tolist() == [1] * 512


@pytest.mark.parametrize(
    "out", [jnp.zeros(511, "float16"), jnp.zeros(512), np.zeros(512, "float16"), 3]
)
def test_it_is_of_the_result_s_form(out):
    text = r"load_data: out must be an array of float16 of shape \(512,\)"
    with pytest.raises(asc.ParamError, match=text):
        asc.load_data(SRC, P, out=out)


def test_it_is_no_operand():
    dst = jnp.ones(512, "float16")
    for out in (SRC, dst):
        with pytest.raises(asc.ParamError, match="out must be an array that is no op"):
            asc.load_data(SRC, P, dst=dst, out=out)
