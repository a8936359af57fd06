"""`nn.NZLinear`: the plain layer, with its weight in NZ."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ascjax as asc

pytestmark = pytest.mark.quick

SIZES = [(20, 17), (16, 32), (1, 1), ("scalar", 3), (5, "scalar"), (33, 70)]
KEY = jax.random.key(3)


def bits(x):
    return np.asarray(x).view(f"uint{8 * x.dtype.itemsize}")


def pair(ins, outs, use_bias=True, dtype=None, **options):
    """The plain layer and ours, made with the same arguments."""
    plain = eqx.nn.Linear(ins, outs, use_bias, dtype, key=KEY)
    return plain, asc.nn.NZLinear(ins, outs, use_bias, dtype, key=KEY, **options)


def vectors(layer, batch=4, dtype="float32", seed=1):
    shape = () if layer.in_features == "scalar" else (layer.in_features,)
    return jax.random.normal(jax.random.key(seed), (batch, *shape), dtype)


def check_same_layer(one, two):
    assert type(one) is type(two)
    assert jax.tree.structure(one) == jax.tree.structure(two)
    for x, y in zip(jax.tree.leaves(one), jax.tree.leaves(two), strict=True):
        assert x.dtype == y.dtype
        np.testing.assert_array_equal(bits(x), bits(y))


def test_the_check_goes_red():
    plain, nz = pair(4, 3)
    for other in (pair(4, 3, False)[0], nz, pair(3, 4)[0]):
        with pytest.raises(AssertionError):
            check_same_layer(plain, other)
    with pytest.raises(AssertionError):
        check_same_layer(plain, jax.tree.map(lambda x: -x, plain))


# --- the same layer


@pytest.mark.optimised
@pytest.mark.parametrize("use_bias", [True, False])
@pytest.mark.parametrize("sizes", SIZES)
def test_float32_gives_the_plain_layer_s_sums(sizes, use_bias):
    """In another order: each may round as often as there are terms."""
    plain, nz = pair(*sizes, use_bias)
    x = vectors(plain)
    assert nz(x[0]).shape == plain(x[0]).shape
    for f in (lambda layer: layer(x[0])[None], lambda layer: jax.vmap(layer)(x)):
        check_sums(eqx.filter_jit(f)(nz), eqx.filter_jit(f)(plain), plain, x)


def check_sums(one, two, plain, x):
    """Two sums in float32 of the same terms, each in an order of its own."""
    sizes = jax.vmap(jax.tree.map(abs, plain))(abs(x))[: len(one)]
    roundings = (plain.weight.shape[1] + 1) * float(jnp.finfo("float32").eps)
    assert (abs(one - two) <= roundings * sizes).all()


def test_another_sum_shows():
    plain, nz = pair(20, 17)
    x = vectors(plain)
    with pytest.raises(AssertionError):
        check_sums(jax.vmap(nz)(x * 1.001), jax.vmap(plain)(x), plain, x)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("sizes", SIZES)
def test_from_eqx_and_to_eqx_keep_every_bit(sizes, dtype):
    plain, nz = pair(*sizes, dtype=dtype)
    check_same_layer(nz.to_eqx(), plain)
    check_same_layer(asc.nn.NZLinear.from_eqx(plain), nz)
    odd = eqx.tree_at(lambda p: p.weight, plain, plain.weight.at[0, 0].set(-0.0))
    check_same_layer(asc.nn.NZLinear.from_eqx(odd).to_eqx(), odd)


def test_payloads_of_nans_come_back():
    plain, _ = pair(4, 3, dtype="float16")
    raw = np.arange(12, dtype="uint16").reshape(3, 4) + 0x7E01
    plain = eqx.tree_at(lambda p: p.weight, plain, jnp.asarray(raw.view("float16")))
    check_same_layer(asc.nn.NZLinear.from_eqx(plain).to_eqx(), plain)


def test_the_weight_stands_as_documented():
    """NZ of [out, in], and so ZN of [in, out]: row 16, column 9 by hand."""
    plain, nz = pair(20, 17)
    assert nz.layout == asc.Layout("NZ", (17, 20), "float")
    # column block 1 of 3, row block 1 of 2, row 0, column 1; blocks of 16 x 8
    assert nz.weight[1 * 2 * 128 + 1 * 128 + 0 * 8 + 1] == plain.weight[16, 9]
    zn = asc.Layout("ZN", (20, 17), "float").pack(plain.weight.T)
    np.testing.assert_array_equal(bits(nz.weight), bits(zn))


def test_it_is_a_module_with_two_leaves():
    _, nz = pair(20, 17)
    assert len(jax.tree.leaves(nz)) == 2
    assert len(jax.tree.leaves(pair(20, 17, False)[1])) == 1
    assert hash(nz.layout) and nz(jnp.ones(20), key=KEY).shape == (17,)


# --- mixed precision


def unit(plain, x):
    """What the matrix unit computes, in NumPy: exact products, wide sums."""
    weight, bias = (np.asarray(leaf).astype("float64") for leaf in plain_leaves(plain))
    given = np.asarray(x.astype(plain.weight.dtype)).astype("float64")
    return given @ weight.T + bias


def plain_leaves(plain):
    return plain.weight, plain.bias


@pytest.mark.parametrize("emulate", ["layout", "path"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_sums_are_float32_and_cast_once(dtype, emulate):
    plain, nz = pair(300, 20, dtype=dtype, emulate=emulate)
    x = vectors(plain, dtype=dtype)
    out = jax.vmap(nz)(x)
    assert out.dtype == dtype
    want = unit(plain, x)
    half = float(jnp.finfo(dtype).eps) / 2  # of one rounding
    assert (
        abs(np.asarray(out).astype("float64") - want) <= half * abs(want) + 1e-5
    ).all()


def test_small_addends_survive_in_the_sum():
    """2048 + 1 is no half; 2048 + 1 + ... + 1 is."""
    plain, _ = pair(65, 1, False, "float16")
    row = jnp.ones((1, 65), "float16").at[0, 0].set(2048)
    plain = eqx.tree_at(lambda p: p.weight, plain, row)
    for emulate in ("layout", "path"):
        nz = asc.nn.NZLinear.from_eqx(plain, emulate=emulate)
        assert nz(jnp.ones(65, "float16"))[0] == 2048 + 64


def test_types_of_results_are_the_plain_layer_s():
    for weight in ("float32", "float16", "bfloat16"):
        plain, nz = pair(5, 3, dtype=weight)
        for given in ("float32", "float16", "bfloat16", "int32"):
            x = jnp.ones(5, given)
            assert jax.eval_shape(nz, x).dtype == jax.eval_shape(plain, x).dtype


def test_a_model_that_was_cast_still_works():
    plain, nz = pair(20, 17)
    cast = functools.partial(jax.tree.map, lambda leaf: leaf.astype("bfloat16"))
    x = vectors(plain)[0]
    np.testing.assert_allclose(cast(nz)(x), cast(plain)(x), rtol=0.02, atol=0.02)
    check_same_layer(cast(nz).to_eqx(), cast(plain))


# --- the road


@pytest.mark.parametrize("product", ["910B", "atlas_350"])
@pytest.mark.parametrize("sizes", [(33, 70), (5, "scalar"), (2500, 40)])
def test_path_gives_the_layer(product, sizes):
    """The last in tiles: 2500 inputs of 40 outputs are more than L0B holds."""
    plain, nz = pair(*sizes, product=product, emulate="path")
    x = vectors(plain, 2)
    np.testing.assert_allclose(
        jax.vmap(nz)(x), jax.vmap(plain)(x), rtol=1e-4, atol=1e-5
    )
    assert str(jax.make_jaxpr(nz)(x[0])).count("dot_general") >= 1


# --- gradients


@pytest.mark.parametrize("emulate", ["layout", "path"])
def test_gradients_are_the_plain_layer_s(emulate):
    plain, nz = pair(20, 17, emulate=emulate)
    x, weight = vectors(plain), jax.random.normal(KEY, (4, 17))

    @eqx.filter_jit
    def grads(layer, x):
        def loss(both):
            return (jax.vmap(both[0])(both[1]) * weight).sum()

        return eqx.filter_grad(loss)((layer, x))

    (got, got_x), (want, want_x) = grads(nz, x), grads(plain, x)
    unpacked = nz.layout.unpack(got.weight)
    for a, b in ((unpacked, want.weight), (got.bias, want.bias), (got_x, want_x)):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)
    padding = np.asarray(nz.layout.pack(jnp.ones((17, 20)))) == 0
    assert padding.sum() == 768 - 340
    assert not bits(got.weight)[padding].any()


def test_padding_stays_zero_bits_and_is_never_read():
    _, nz = pair(20, 17)
    padding = np.asarray(nz.layout.pack(jnp.ones((17, 20)))) == 0
    x = vectors(nz)
    dirty = eqx.tree_at(lambda m: m.weight, nz, jnp.where(padding, jnp.nan, nz.weight))
    np.testing.assert_array_equal(jax.vmap(dirty)(x), jax.vmap(nz)(x))

    @eqx.filter_jit
    def step(nz, moments):
        """Adam with weight decay, by hand."""
        grads = eqx.filter_grad(lambda m: (jax.vmap(m)(x) ** 2).sum())(nz)
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, moments[0], grads)
        v = jax.tree.map(lambda v, g: 0.9 * v + 0.1 * g**2, moments[1], grads)
        new = jax.tree.map(
            lambda p, m, v: p - 0.1 * (m / (jnp.sqrt(v) + 1e-8) + 0.01 * p), nz, m, v
        )
        return new, (m, v)

    zero = jax.tree.map(jnp.zeros_like, nz)
    state = nz, (zero, zero)
    for _ in range(5):
        state = step(*state)
    assert not (np.asarray(state[0].weight) == np.asarray(nz.weight))[~padding].any()
    assert not bits(state[0].weight)[padding].any()


# --- transforms


def test_layers_made_under_vmap_and_run_by_scan():
    keys = jax.random.split(KEY, 3)
    plain = eqx.filter_vmap(lambda key: eqx.nn.Linear(20, 20, key=key))(keys)
    stacked = eqx.filter_vmap(lambda key: asc.nn.NZLinear(20, 20, key=key))(keys)
    check_same_layer(asc.nn.NZLinear.from_eqx(plain), stacked)
    check_same_layer(stacked.to_eqx(), plain)
    x = vectors(stacked, 1)[0]

    @eqx.filter_jit
    def run(layers):
        arrays, rest = eqx.partition(layers, eqx.is_array)
        step = jax.checkpoint(
            lambda x, one: (jnp.tanh(eqx.combine(one, rest)(x)), None)
        )
        return jax.lax.scan(step, x, arrays)[0]

    np.testing.assert_allclose(run(stacked), run(plain), rtol=1e-5, atol=1e-6)
    loss = eqx.filter_grad(lambda layers: run(layers).sum())
    got, want = loss(stacked), loss(plain)
    np.testing.assert_allclose(
        stacked.layout.unpack(got.weight), want.weight, rtol=1e-5, atol=1e-6
    )


def test_equal_layers_do_not_trace_again():
    count = 0

    @eqx.filter_jit
    def run(layer, x):
        nonlocal count
        count += 1
        return layer(x)

    for _ in range(3):
        run(pair(20, 17)[1], jnp.ones(20))
    assert count == 1


# --- refusals

CASES = {
    "features": (
        {"in_features": 0},
        asc.ParamError,
        r"NZLinear: in_features must be an integer of at least 1 \(elements\), or "
        "'scalar', got 0",
    ),
    "no features": (
        {"out_features": 2.5},
        asc.ParamError,
        "NZLinear: out_features must be an integer of at least 1",
    ),
    "word": (
        {"emulate": "road"},
        asc.ParamError,
        "NZLinear: emulate must be one of 'layout', 'path', got 'road'",
    ),
    "type": (
        {"dtype": "float8_e5m2"},
        asc.ParamError,
        r"NZLinear: dtype must be one that trains on the matrix unit \(half, "
        r"bfloat16_t, float\), got float8_e5m2",
    ),
    "product": (
        {"product": "atlas_inference_vector"},
        asc.SupportError,
        "product must be one that has this instruction",
    ),
    "no road": (
        {"product": "310B", "emulate": "path"},
        asc.SupportError,
        "CubeMatmul: product must be one of atlas_a2, atlas_a3, atlas_350",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_refused(name):
    options, error, text = CASES[name]
    given = {"in_features": 4, "out_features": 3, "key": KEY}
    with pytest.raises(error, match=text):
        asc.nn.NZLinear(**{**given, **options})


def test_what_a_call_refuses():
    nz = pair(4, 3)[1]
    for shape in ((3,), (2, 4), ()):
        text = r"NZLinear: x must have shape \(4,\) \(elements\), .* Use jax.vmap for"
        with pytest.raises(asc.BoundsError, match=text):
            nz(jnp.ones(shape))
    with pytest.raises(asc.BoundsError, match=r"shape \(\) "):
        pair("scalar", 3)[1](jnp.ones(1))
    with pytest.raises(asc.ParamError, match="x must be real numbers, got complex64"):
        nz(jnp.ones(4, "complex64"))
