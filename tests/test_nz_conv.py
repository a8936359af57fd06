"""`nn.NZConv2d`: the plain layer, with its weight in FRACTAL_Z."""

import functools
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ascjax as asc
from ascjax.nn.layers.conv._road import job_of

pytestmark = pytest.mark.quick

KEY = jax.random.key(3)
SIZE = (9, 11)  # of an image

# Arguments of the layer; 3, 5, 17 and 20 channels are no whole blocks.
CASES = {
    "plain": (3, 5, 3),
    "one": (1, 1, 1),
    "stride": {"args": (5, 20, 3), "stride": 2},
    "strides": {"args": (3, 17, (3, 2)), "stride": (1, 3)},
    "dilation": {"args": (3, 5, (2, 3)), "dilation": (3, 2), "padding": 2},
    "same": {"args": (4, 3, 4), "padding": "SAME", "stride": (2, 1)},
    "same lower": {"args": (4, 3, (4, 2)), "padding": "same_lower"},
    "pairs": {"args": (17, 16, 3), "padding": ((2, 0), (1, 2))},
    "blocks": {"args": (20, 33, (1, 3)), "padding": (0, 1), "use_bias": False},
    "whole": {"args": (3, 7, SIZE), "padding": "VALID"},
}
LAYOUT_ONLY = {
    "groups": {"args": (6, 4, 3), "groups": 2, "padding": 1},
    "depthwise": {"args": (5, 10, 3), "groups": 5},
    "reflect": {"args": (3, 5, 3), "padding_mode": "reflect", "padding": 2},
    "circular": {"args": (3, 5, 4), "padding_mode": "CIRCULAR", "padding": "SAME"},
    "replicate": {"args": (3, 5, 3), "padding_mode": "REPLICATE", "padding": (2, 1)},
    "cropped": {"args": (3, 5, 3), "padding": -1},
}
EVERY = {**CASES, **LAYOUT_ONLY}


def given(name):
    case = EVERY[name]
    options = dict(case) if isinstance(case, dict) else {"args": case}
    return options.pop("args"), options


def bits(x):
    return np.asarray(x).view(f"uint{8 * x.dtype.itemsize}")


def numbers(seed, shape, dtype="float32"):
    """Made by NumPy: JAX compiles its random numbers for each shape."""
    values = np.random.default_rng(seed).uniform(-1, 1, shape)
    return jnp.asarray(values.astype(dtype))


def plain_of(*args, **options):
    """The plain layer with values of our own."""
    make = functools.partial(eqx.nn.Conv2d, *args, **options)
    empty = eqx.filter_eval_shape(lambda key: make(key=key), KEY)
    reach = (empty.weight.size / empty.out_channels) ** -0.5
    return jax.tree.map(lambda x: reach * numbers(2, x.shape, x.dtype), empty)


def pair(name, dtype="float32", **options):
    """The plain layer and ours, with the same weight and bias."""
    args, case = given(name)
    plain = plain_of(*args, dtype=dtype, **case)
    return plain, asc.nn.NZConv2d.from_eqx(plain, **options)


def images(layer, batch=2, dtype="float32", size=SIZE):
    return numbers(1, (batch, layer.in_channels, *size), dtype)


def check_same_layer(one, two):
    assert type(one) is type(two)
    assert jax.tree.structure(one) == jax.tree.structure(two)
    for x, y in zip(jax.tree.leaves(one), jax.tree.leaves(two), strict=True):
        assert x.dtype == y.dtype
        np.testing.assert_array_equal(bits(x), bits(y))


def padding_of(nz):
    """Where a weight's buffer holds padding."""
    ones = jnp.ones((*nz.weight.shape[:-1], *nz.layout.shape), nz.weight.dtype)
    return np.asarray(nz.layout.pack(ones)) == 0


def test_the_check_goes_red():
    plain, nz = pair("plain")
    for other in (pair("one")[0], nz, pair("stride")[0]):
        with pytest.raises(AssertionError):
            check_same_layer(plain, other)
    with pytest.raises(AssertionError):
        check_same_layer(plain, jax.tree.map(lambda x: -x, plain))


# --- the same layer


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("plain", None), ("same lower", "float16"), ("groups", "bfloat16")],
)
def test_the_same_key_gives_the_same_values(name, dtype):
    args, case = given(name)
    options = {"dtype": dtype, "key": KEY, **case}
    plain, nz = eqx.nn.Conv2d(*args, **options), asc.nn.NZConv2d(*args, **options)
    check_same_layer(nz.to_eqx(), plain)
    check_same_layer(asc.nn.NZConv2d.from_eqx(plain), nz)


@pytest.mark.parametrize("name", EVERY)
def test_float32_gives_the_plain_layer_s_bits(name):
    plain, nz = pair(name)
    x = images(plain)
    run = eqx.filter_jit(lambda layer, x: jax.vmap(layer)(x))
    np.testing.assert_array_equal(run(nz, x), run(plain, x))


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("name", ["plain", "pairs", "groups", "same lower"])
def test_from_eqx_and_to_eqx_keep_every_bit(name, dtype):
    plain, nz = pair(name, dtype)
    check_same_layer(nz.to_eqx(), plain)
    odd = eqx.tree_at(lambda p: p.weight, plain, plain.weight.at[0, 0].set(-0.0))
    check_same_layer(asc.nn.NZConv2d.from_eqx(odd).to_eqx(), odd)


def test_payloads_of_nans_come_back():
    plain, _ = pair("plain", "float16")
    raw = np.arange(135, dtype="uint16").reshape(5, 3, 3, 3) + 0x7E01
    plain = eqx.tree_at(lambda p: p.weight, plain, jnp.asarray(raw.view("float16")))
    check_same_layer(asc.nn.NZConv2d.from_eqx(plain).to_eqx(), plain)


def test_the_weight_stands_as_documented():
    """Filter 16, channel 9, row 2, column 1 by hand; and as NZ of im2col columns."""
    plain, nz = pair("pairs")  # 17 channels, 16 filters, 3 x 3, blocks of 8
    assert nz.layout == asc.Layout("FRACTAL_Z", (16, 17, 3, 3), "float")
    block = (1 * 3 + 2) * 3 + 1  # of 16 filters x 8 channels: c1, row, column
    assert nz.weight[block * 128 + 15 * 8 + 1] == plain.weight[15, 9, 2, 1]
    padded = jnp.pad(plain.weight, ((0, 0), (0, 7), (0, 0), (0, 0)))
    columns = padded.reshape(16, 3, 8, 3, 3).transpose(0, 1, 3, 4, 2).reshape(16, -1)
    nz_of_columns = asc.Layout("NZ", columns.shape, "float").pack(columns)
    np.testing.assert_array_equal(bits(nz.weight), bits(nz_of_columns))


def test_each_group_has_a_buffer():
    plain, nz = pair("groups")
    assert nz.weight.shape == (2, 9 * 16 * 8) and nz.layout.shape == (2, 3, 3, 3)
    second = nz.layout.unpack(nz.weight[1])
    np.testing.assert_array_equal(second, plain.weight[2:])


def test_to_nz_and_to_nd_convert_it():
    class Net(eqx.Module):
        layers: list

        def __call__(self, x):
            x = jax.nn.relu(self.layers[1](jax.nn.relu(self.layers[0](x))))
            return self.layers[2](x.reshape(-1))

    plain = Net([pair("plain")[0], pair("stride")[0], eqx.nn.Linear(240, 3, key=KEY)])
    model = asc.nn.to_nz(plain, "atlas_350")
    names = [type(layer).__name__ for layer in model.layers]
    assert names == ["NZConv2d", "NZConv2d", "NZLinear"]
    assert model.layers[0].product is asc.ATLAS_350
    x = images(plain.layers[0])[0]
    np.testing.assert_allclose(model(x), plain(x), rtol=1e-5, atol=1e-6)
    check_same_layer(asc.nn.to_nd(model), plain)
    one = eqx.nn.Conv2d(4, 4, 3, groups=2, key=KEY)
    with pytest.raises(asc.ParamError, match="NZConv2d: groups must be 1 for emulate="):
        asc.nn.to_nz([one], emulate="path")


@pytest.mark.parametrize("name", ["plain", "groups"])
def test_weight_files_keep_every_bit(name, tmp_path):
    pytest.importorskip("safetensors")
    plain, nz = pair(name, "bfloat16", product="atlas_350")
    asc.weights.save(tmp_path / "conv.safetensors", nz)
    like = jax.tree.map(jnp.zeros_like, nz)
    check_same_layer(asc.weights.load(tmp_path / "conv.safetensors", like), nz)
    asc.weights.unpack(tmp_path / "conv.safetensors", tmp_path / "plain.safetensors")
    with pytest.raises(asc.weights.WeightsError, match="product"):
        asc.weights.load(tmp_path / "conv.safetensors", asc.nn.to_nz(plain))


# --- mixed precision


def exact(plain, x):
    """The convolution in float64, as a sum over elements of the filter."""
    weight, x = (np.asarray(a).astype("float64") for a in (plain.weight, x))
    high, wide = (n - k + 1 for n, k in zip(x.shape[1:], weight.shape[2:], strict=True))
    out = np.asarray(plain.bias).astype("float64") + np.zeros((1, high, wide))
    for i, j in np.ndindex(weight.shape[2:]):
        window = x[:, i : i + high, j : j + wide]
        out = out + np.einsum("oc,chw->ohw", weight[:, :, i, j], window)
    return out


@pytest.mark.parametrize("emulate", ["layout", "path"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_sums_are_float32_and_cast_once(dtype, emulate):
    plain = plain_of(40, 20, 3, dtype=dtype)
    x = images(plain, 1, dtype)[0]
    out = asc.nn.NZConv2d.from_eqx(plain, emulate=emulate)(x)
    want = exact(plain, x)
    assert out.dtype == dtype
    half = float(jnp.finfo(dtype).eps) / 2  # of one rounding
    got = np.asarray(out).astype("float64")
    assert (abs(got - want) <= half * abs(want) + 1e-5).all()


def test_small_addends_survive_in_the_sum():
    """2048 + 1 is no half; 2048 + 1 + ... + 1 is."""
    plain = plain_of(65, 1, 1, use_bias=False, dtype="float16")
    row = jnp.ones((1, 65, 1, 1), "float16").at[0, 0].set(2048)
    plain = eqx.tree_at(lambda p: p.weight, plain, row)
    for emulate in ("layout", "path"):
        nz = asc.nn.NZConv2d.from_eqx(plain, emulate=emulate)
        assert (nz(jnp.ones((65, 2, 2), "float16")) == 2048 + 64).all()


def test_types_of_results_are_those_of_image_and_weight():
    for weight in ("float32", "float16", "bfloat16"):
        nz = pair("plain", weight)[1]
        for dtype in ("float32", "float16", "bfloat16", "int32"):
            x = jnp.ones((3, *SIZE), dtype)
            assert jax.eval_shape(nz, x).dtype == jnp.result_type(weight, dtype)


@pytest.mark.parametrize("emulate", ["layout", "path"])
def test_a_model_that_was_cast_still_works(emulate):
    plain, nz = pair("plain", emulate=emulate)
    cast = functools.partial(jax.tree.map, lambda leaf: leaf.astype("bfloat16"))
    x = images(plain)[0]
    got, want = cast(nz)(x), plain(x)
    np.testing.assert_allclose(got, want, rtol=0.03, atol=0.03)
    check_same_layer(cast(nz).to_eqx(), cast(plain))


# --- the road


@pytest.mark.parametrize("product", ["910B", "atlas_350"])
@pytest.mark.parametrize("name", CASES)
def test_path_gives_the_layer(product, name):
    plain, nz = pair(name, product=product, emulate="path")
    x = images(plain, 1)[0]
    np.testing.assert_allclose(nz(x), plain(x), rtol=1e-4, atol=1e-5)


# Arguments, options, image; and whether tiles cut m, n and k, by hand: L0A and L0B hold
# 16384 floats.
TILED = {
    "m": ((3, 4, 3), {"padding": 1}, (59, 40), (True, False, False)),
    "k": ((150, 4, 3), {}, (5, 5), (False, False, True)),
    "n": ((8, 2100, 1), {}, (2, 3), (False, True, False)),
    "all": ((20, 200, 5), {"padding": 2, "stride": 2}, (24, 30), (True, True, True)),
}


@pytest.mark.parametrize("product", ["910B", "atlas_350"])
@pytest.mark.parametrize("name", TILED)
def test_path_gives_the_layer_in_tiles(product, name):
    args, options, size, cut = TILED[name]
    plain = plain_of(*args, **options)
    nz = asc.nn.NZConv2d.from_eqx(plain, product=product, emulate="path")
    conv = nz._over(*size, nz.layout.dtype)
    tile = job_of(conv).tile
    assert tuple(t < n for t, n in zip(tile, conv.sizes, strict=True)) == cut
    x = images(plain, 1, size=size)[0]
    np.testing.assert_allclose(nz(x), plain(x), rtol=1e-4, atol=1e-4)


def test_path_takes_the_instructions_of_the_road():
    plain = plain_of(20, 17, 3, dtype="float16", padding=1)
    nz = asc.nn.NZConv2d.from_eqx(plain)
    image, weight = nz.roads(8, 8)
    assert image.buffers == ("GM", "L1", "L0A")
    assert weight.buffers == ("GM", "L1", "L0B")
    kinds = [
        [type(move.calls[0].params).__name__ for move in road.moves]
        for road in (image, weight)
    ]
    assert kinds == [
        ["DataCopyParams", "LoadData3DParamsV2"],
        ["DataCopyParams", "LoadData2DParams"],
    ]
    x = images(nz, 1, "float16", (8, 8))[0]
    l0a = image(asc.Layout("NC1HWC0", (1, 20, 8, 8), "half").pack(x[None]))
    matrix = asc.Layout("ZZ", (64, 2 * 9 * 16), "half").unpack(l0a)
    # the place (2, 3), channel 17, the filter's row 0 and column 2
    assert matrix[2 * 8 + 3, (1 * 9 + 0 * 3 + 2) * 16 + 1] == x[17, 1, 4]
    np.testing.assert_array_equal(bits(weight(nz.weight)), bits(nz.weight))


def test_path_in_one_step_and_in_many_is_the_same():
    nz = asc.nn.NZConv2d.from_eqx(plain_of(17, 5, 3, padding=1))
    conv = nz._over(*SIZE, nz.layout.dtype)
    given = conv.image.pack(images(nz, 1)), nz.weight
    one, many = (job_of(conv).multiply(fused)(*given) for fused in (True, False))
    np.testing.assert_array_equal(one, many)


# --- gradients


@pytest.mark.parametrize("emulate", ["layout", "path"])
@pytest.mark.parametrize("name", ["same", "pairs"])
def test_gradients_are_the_plain_layer_s(name, emulate):
    plain, nz = pair(name, emulate=emulate)
    x = images(plain)
    shape = jax.eval_shape(jax.vmap(plain), x).shape
    weight = numbers(4, shape)

    @eqx.filter_jit
    def grads(layer, x):
        def loss(both):
            return (jax.vmap(both[0])(both[1]) * weight).sum()

        return eqx.filter_grad(loss)((layer, x))

    (got, got_x), (want, want_x) = grads(nz, x), grads(plain, x)
    filters = nz.layout.unpack(got.weight)
    for a, b in ((filters, want.weight), (got.bias, want.bias), (got_x, want_x)):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)
    assert not bits(got.weight)[padding_of(nz)].any()


def test_gradients_of_groups_are_the_plain_layer_s():
    plain, nz = pair("groups")
    x = images(plain)
    grads = eqx.filter_jit(
        eqx.filter_grad(lambda layer, x: (jax.vmap(layer)(x) ** 2).sum())
    )
    got, want = grads(nz, x), grads(plain, x)
    np.testing.assert_allclose(got.to_eqx().weight, want.weight, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_gradients_of_16_bits_are_summed_in_float32(dtype):
    """Against the same layer held in float32."""
    nz = pair("plain", dtype)[1]
    x = images(nz, dtype=dtype)
    wide = jax.tree.map(lambda leaf: leaf.astype("float32"), nz)
    grads = eqx.filter_jit(
        eqx.filter_grad(lambda nz, x: jax.vmap(nz)(x).astype("float32").sum())
    )
    got, want = grads(nz, x), grads(wide, x.astype("float32"))
    assert got.weight.dtype == dtype
    tolerance = 2 * float(jnp.finfo(dtype).eps)
    as_wide = got.weight.astype("float32")
    np.testing.assert_allclose(as_wide, want.weight, rtol=tolerance, atol=1e-3)


@pytest.mark.parametrize("emulate", ["layout", "path"])
def test_padding_is_never_read(emulate):
    _, nz = pair("plain", emulate=emulate)
    padding = padding_of(nz)
    assert padding.sum() == 9 * 16 * 8 - 135
    x = images(nz, 1)[0]
    dirty = eqx.tree_at(lambda m: m.weight, nz, jnp.where(padding, jnp.nan, nz.weight))
    np.testing.assert_array_equal(dirty(x), nz(x))


# --- transforms and training


def test_layers_made_under_vmap_and_run_by_scan():
    keys = jax.random.split(KEY, 3)
    make = functools.partial(eqx.nn.Conv2d, 4, 4, 3, padding=1, groups=2)
    plain = eqx.filter_vmap(lambda key: make(key=key))(keys)
    ours = functools.partial(asc.nn.NZConv2d, 4, 4, 3, padding=1, groups=2)
    stacked = eqx.filter_vmap(lambda key: ours(key=key))(keys)
    check_same_layer(asc.nn.NZConv2d.from_eqx(plain), stacked)
    check_same_layer(stacked.to_eqx(), plain)
    x = images(stacked, 1)[0]

    @eqx.filter_jit
    def run(layers):
        arrays, rest = eqx.partition(layers, eqx.is_array)
        step = jax.checkpoint(
            lambda x, one: (jnp.tanh(eqx.combine(one, rest)(x)), None)
        )
        return jax.lax.scan(step, x, arrays)[0]

    np.testing.assert_allclose(run(stacked), run(plain), rtol=1e-5, atol=1e-6)


def test_equal_layers_do_not_trace_again():
    count = 0

    @eqx.filter_jit
    def run(layer, x):
        nonlocal count
        count += 1
        return layer(x)

    for _ in range(3):
        run(pair("plain", emulate="path")[1], jnp.ones((3, *SIZE)))
    assert count == 1


def losses(layer, wrap=lambda f: f, steps=100):
    """Plain SGD on a smooth function of images; the loss of each step."""
    xs = images(layer, 4, size=(6, 6))
    ys = jnp.sin(xs.mean(1, keepdims=True) * 3)

    def loss(layer):
        return ((jnp.tanh(jax.vmap(wrap(layer))(xs)) - ys) ** 2).mean()

    @eqx.filter_jit
    def run(layer):
        arrays, rest = eqx.partition(layer, eqx.is_array)

        def step(arrays, _):
            value, grads = eqx.filter_value_and_grad(loss)(eqx.combine(arrays, rest))
            return jax.tree.map(lambda p, g: p - 0.2 * g, arrays, grads), value

        arrays, values = jax.lax.scan(step, arrays, None, steps)
        return eqx.combine(arrays, rest), values

    layer, values = run(layer)
    return layer, np.asarray(values)


@functools.cache
def plain_losses():
    plain = plain_of(3, 5, 3, padding="SAME")
    return plain, losses(plain)[1]


def apart(got, want):
    """The largest relative difference."""
    return (abs(got - want) / abs(want)).max()


@pytest.mark.parametrize(
    "wrap", [lambda f: f, eqx.filter_checkpoint], ids=["plain", "checkpoint"]
)
@pytest.mark.parametrize("emulate", ["layout", "path"])
def test_training_follows_the_plain_layer(emulate, wrap):
    plain, want = plain_losses()
    assert want[-1] < 0.8 * want[0] and math.isfinite(want[-1])
    nz = asc.nn.to_nz(plain, "910B", emulate=emulate)
    trained, got = losses(nz, wrap)
    assert apart(got, want) < 1e-5
    assert not bits(trained.weight)[padding_of(nz)].any()


def test_apart_goes_red():
    plain, want = plain_losses()
    bent = eqx.tree_at(lambda m: m.bias, plain, replace_fn=lambda b: b + 1e-3)
    assert apart(losses(bent)[1], want) > 1e-5


# --- refusals

PATH = {"emulate": "path"}
REFUSED = {
    "channels": (
        {"in_channels": 0},
        r"in_channels must be an integer of at least 1 \(channels\), got 0",
    ),
    "filters": ({"out_channels": 2.5}, "out_channels must be an integer of at least 1"),
    "kernel": (
        {"kernel_size": (3, 0)},
        r"kernel_size must be an integer of at least 1 \(elements\), or two of them: "
        r"rows, columns, got \(3, 0\)",
    ),
    "three": ({"stride": (1, 1, 1)}, r"stride must .*, got \(1, 1, 1\)\. Give one or"),
    "dilation": ({"dilation": "two"}, "dilation must be an integer .*, got 'two'"),
    "padding": ({"padding": "SOME"}, "padding must be one of 'SAME', 'SAME_LOWER'"),
    "mixed": ({"padding": ((1, 2, 3), 1)}, r"padding must .*, got \(\(1, 2, 3\), 1\)"),
    "mode that cuts off": (
        {"padding_mode": "reflect", "padding": ((0, 1), (2, -1))},
        r"padding must be at least 0 \(elements\) for padding_mode='REFLECT', got "
        r"\(\(0, 1\), \(2, -1\)\)",
    ),
    "mode": ({"padding_mode": "WRAP"}, "padding_mode must be one of ZEROS, REFLECT"),
    "groups": (
        {"groups": 2},
        r"groups must divide in_channels and out_channels \(channels\), 4 and 3, got 2",
    ),
    "word": ({"emulate": "road"}, "emulate must be one of 'layout', 'path', got"),
    "type": (
        {"dtype": "float8_e5m2"},
        r"dtype must be one that trains on the matrix unit \(half, bfloat16_t, float\)",
    ),
    "groups on the road": (
        {**PATH, "groups": 2, "out_channels": 4},
        "groups must be 1 for emulate='path': one Mmad sums over all channels, got 2",
    ),
    "mode on the road": (
        {**PATH, "padding_mode": "REFLECT"},
        "padding_mode must be ZEROS for emulate='path': .*, got REFLECT",
    ),
    "kernel on the road": (
        {**PATH, "kernel_size": (1, 512)},
        r"kernel_size must be at most 511 \(elements\) for emulate='path', the range "
        r"of Load3DV2's filterW, got \(1, 512\)",
    ),
    "stride on the road": (
        {**PATH, "stride": 64},
        "stride must be at most 63 .* Load3DV2's strideW",
    ),
    "dilation on the road": (
        {**PATH, "dilation": 256},
        "dilation must be at most 255 .* Load3DV2's dilationFilterW",
    ),
    "padding on the road": (
        {**PATH, "padding": ((0, 256), (0, 0))},
        r"padding must be in \[0, 255\] \(elements\) for emulate='path', the range of "
        r"Load3DV2's padList, got \(\(0, 256\), \(0, 0\)\)\. Take emulate='layout'",
    ),
    "cropped on the road": ({**PATH, "padding": -1}, r"padding must be in \[0, 255\]"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name):
    options, text = REFUSED[name]
    given = {"in_channels": 4, "out_channels": 3, "kernel_size": 3, "key": KEY}
    with pytest.raises(asc.ParamError, match=f"NZConv2d: {text}"):
        asc.nn.NZConv2d(**{**given, **options})


def test_products_that_are_refused():
    make = functools.partial(asc.nn.NZConv2d, 4, 3, 3, key=KEY)
    with pytest.raises(asc.SupportError, match="product must be one that has this"):
        make(product="atlas_inference_vector")
    text = "NZConv2d: product must be one of atlas_a2, atlas_a3, atlas_350, got atlas_2"
    with pytest.raises(asc.SupportError, match=text):
        make(product="310B", emulate="path")
    with pytest.raises(asc.SupportError, match=text):
        make(product="310B").roads(*SIZE)
    assert make(product="310B")(jnp.ones((4, *SIZE))).shape == (3, 7, 9)


def test_what_a_call_refuses():
    nz = pair("plain")[1]
    for shape in ((2, 9, 9), (3, 9), (1, 3, 9, 9)):
        text = r"NZConv2d: x must have shape \(3, rows, columns\), .* Use jax.vmap for"
        with pytest.raises(asc.BoundsError, match=text):
            nz(jnp.ones(shape))
    with pytest.raises(asc.ParamError, match="x must be real numbers, got complex64"):
        nz(jnp.ones((3, 9, 9), "complex64"))
    bent = eqx.tree_at(lambda m: m.weight, nz, nz.weight[:-1])
    with pytest.raises(asc.BoundsError, match=r"NZConv2d: weight must hold 1152 \("):
        bent(jnp.ones((3, 9, 9)))


def test_what_a_call_on_the_road_refuses():
    nz = pair("plain", emulate="path")[1]
    text = r"x must be as large as the filter's reach, \(3, 3\), .*, got \(2, 9\)"
    with pytest.raises(asc.BoundsError, match=text):
        nz(jnp.ones((3, 2, 9)))
    text = "NZConv2d: L0A must hold at most 65536 bytes, what atlas_a2 has, got 66048 "
    text += "bytes for one row of 2049 places of the filter. Cut the image"
    with pytest.raises(asc.BoundsError, match=text):
        nz(jnp.ones((3, 3, 2051)))
    far = asc.nn.NZConv2d.from_eqx(plain_of(3, 5, 3, dilation=60), emulate="path")
    size = 121 * 420 * 32 + 16 * 8 * 4  # all rows of a block of channels, and filters
    text = f"NZConv2d: L1 must hold at most 524288 bytes, .* got {size} bytes for one"
    with pytest.raises(asc.BoundsError, match=text):
        far(jnp.ones((3, 121, 420)))
    far = asc.nn.NZConv2d(3, 5, 1, padding=(40, 0), key=KEY, emulate="path")
    text = r"padding must leave rows of the image under every tile .*, got \(40, 40\) "
    with pytest.raises(asc.ParamError, match=text):
        far(jnp.ones((3, 2, 300)))
    wide = asc.nn.NZConv2d(3, 5, (1, 300), padding="SAME", dilation=2, key=KEY, **PATH)
    with pytest.raises(asc.ParamError, match=r"padding must be in \[0, 255\]"):
        wide(jnp.ones((3, 9, 9)))
