"""Weights are unpacked one layer at a time, and nothing else changes."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import check_same

import ascjax as asc
from ascjax._in_turn import in_turn

SIZE, DEPTH = 256, 6
WEIGHT = 4 * SIZE * SIZE  # bytes


def temporary(f, *args):
    """Bytes that a compiled call needs beside its arguments and results."""
    return jax.jit(f).lower(*args).compile().memory_analysis().temp_size_in_bytes


def weights():
    keys = jax.random.split(jax.random.key(0), DEPTH)
    return [jax.random.normal(key, (SIZE * SIZE,)) for key in keys]


LAYOUT = asc.Layout("ZN", (SIZE, SIZE), "float")


def deep(weights, x, ordered):
    for weight in weights:
        if ordered:
            weight, x = in_turn(weight, x)
        x = jax.nn.relu(x @ LAYOUT.unpack(weight))
    return x


def test_a_weight_is_unpacked_when_its_layer_multiplies():
    x = jnp.ones((8, SIZE))
    assert temporary(lambda w, x: deep(w, x, True), weights(), x) < 2 * WEIGHT


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="of XLA:CPU")
def test_without_turns_xla_unpacks_all_weights_first():
    """The control: where this fails, XLA orders well by itself, and turns can go."""
    x = jnp.ones((8, SIZE))
    assert temporary(lambda w, x: deep(w, x, False), weights(), x) > 4 * WEIGHT


@pytest.mark.parametrize("form", ["Linear", "Conv2d", "MultiheadAttention"])
def test_layers_unpack_in_turn(form):
    """A model needs little more memory than its largest layer."""
    keys = jax.random.split(jax.random.key(0), DEPTH)
    make, run, x = {
        "Linear": (
            lambda key: eqx.nn.Linear(SIZE, SIZE, key=key),
            lambda layer, x: jax.vmap(layer)(x),
            jnp.ones((8, SIZE)),
        ),
        "Conv2d": (
            lambda key: eqx.nn.Conv2d(128, 128, 2, padding="SAME", key=key),
            lambda layer, x: layer(x),
            jnp.ones((128, 2, 2)),
        ),
        "MultiheadAttention": (
            lambda key: eqx.nn.MultiheadAttention(2, SIZE, key=key),
            lambda layer, x: layer(x, x, x),
            jnp.ones((8, SIZE)),
        ),
    }[form]
    model = asc.nn.to_nz([make(key) for key in keys])
    arrays, rest = eqx.partition(model, eqx.is_array)

    def forward(arrays, x):
        for layer in eqx.combine(arrays, rest):
            x = run(layer, x)
        return x

    assert temporary(forward, arrays, x) < 2.5 * WEIGHT


def both(w, x):
    return in_turn(w, x)


def test_values_are_as_they_are():
    odd = np.array([0x7F81, 0x8000, 1], np.uint16).view(jnp.bfloat16)
    w, x = jax.jit(both)(odd, np.arange(4, dtype="int8"))
    check_same(w, odd)
    check_same(x, np.arange(4, dtype="int8"))
    check_same(in_turn(odd, odd)[0], odd)


def test_derivatives_of_every_order_pass_through():
    def f(w, x):
        w, x = in_turn(w, x)
        return (w**3 * x**2).sum()

    w, x = jnp.array([2.0, 3.0]), jnp.array([5.0, 7.0])
    np.testing.assert_allclose(jax.jit(jax.grad(f, 1))(w, x), 2 * w**3 * x)
    np.testing.assert_allclose(
        jax.jit(jax.hessian(f))(w, x), jnp.diag(6 * w * x**2), rtol=1e-6
    )
    _, tangent = jax.jvp(lambda w: f(w, x), (w,), (jnp.ones(2),))
    np.testing.assert_allclose(tangent, (3 * w**2 * x**2).sum())


def test_batches_of_either_operand():
    w, x = jnp.arange(6.0).reshape(2, 3), jnp.arange(3.0)
    held, same = jax.vmap(both, (0, None), (0, None))(w, x)
    check_same(held, np.asarray(w))
    check_same(same, np.asarray(x))
    check_same(jax.vmap(both, (1, 0))(w, x)[0], np.asarray(w.T))
