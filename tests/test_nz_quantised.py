"""`nn.NZLinearInt8` and `nn.quantise`: int8 on the road, against the float layers."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ascjax as asc

pytestmark = pytest.mark.quick

KEY = jax.random.key(5)
PLAIN, NZ, INT8 = eqx.nn.Linear, asc.nn.NZLinear, asc.nn.NZLinearInt8
SIZES = [(20, 17), (33, 70), ("scalar", "scalar")]
EPS = 2.0**-24  # of one rounding to float32


def bits(x):
    return np.asarray(x).view(f"uint{8 * x.dtype.itemsize}")


def drawn(*shape, seed=1, dtype="float32"):
    """Values of a normal distribution; NumPy has no draw to compile for each shape."""
    values = np.random.default_rng(seed).normal(size=shape)
    return jnp.asarray(values.astype("float32")).astype(dtype)


def vectors(layer, batch=6, dtype="float32"):
    shape = () if layer.in_features == "scalar" else (layer.in_features,)
    return drawn(batch, *shape, dtype=dtype)


def plain_of(ins, outs, use_bias=True, dtype="float32", lead=()):
    """A plain layer, or a stack of them."""
    make = functools.partial(PLAIN, ins, outs, use_bias, dtype, key=KEY)
    empty = eqx.filter_eval_shape(make)
    deep = empty.weight.shape[1] ** 0.5
    return jax.tree.map(
        lambda leaf: drawn(*lead, *leaf.shape, seed=2, dtype=dtype) / deep, empty
    )


def wide(x):
    return np.asarray(x).astype("float64")


def steps_of(layer):
    """The int8 weight as [out, in]."""
    return np.asarray(layer.layout.unpack(layer.weight))


def with_weight(layer, weight):
    return eqx.tree_at(lambda p: p.weight, layer, jnp.asarray(weight))


def calibrated(plain, xs, **options):
    """The layer with the scale that `xs` asks for."""
    return INT8.from_float(plain, x_scale=abs(xs).max() / 127, **options)


run = eqx.filter_jit(lambda layer, xs: jax.vmap(layer)(xs))


# --- how far from the float layer


def error_and_bound(plain, layer, xs, before=0):
    """How far the results for `xs` are from exact ones, and how far they may be.

    Of y = W x, W' the weight that int8 stands for and x' the rounded x, the error is
    (W - W') x + W' (x - x'), where |W - W'| <= half a step of its channel and
    |x - x'| <= `before`, the error that x comes with, + half a step. To that come
    float32's roundings: of the quotients, of at most 127 steps; and five from the sum
    to the result, of scales, sums, products and the bias.
    """
    x = wide(xs).reshape(len(xs), -1)
    weight, bias = wide(plain.weight), wide(plain.bias)
    step = wide(layer.weight_scale)
    held = abs(steps_of(layer).astype("float64")) * step[:, None]
    x_step = abs(x).max(-1, keepdims=True) / 127
    if layer.x_scale is not None:
        x_step = wide(layer.x_scale)
    half = 0.5 + 127 * EPS
    off_x = before + half * x_step * np.ones_like(x)
    bound = half * step * abs(x).sum(-1, keepdims=True) + off_x @ held.T
    bound += 5 * EPS * ((abs(x) + off_x) @ held.T + abs(bias))
    want = x @ weight.T + bias
    got = wide(run(layer, xs)).reshape(want.shape)
    return abs(got - want), bound


def check_within(error, bound):
    assert (error <= bound).all(), (error - bound).max()
    assert error.any()  # it is not the float layer that was looked at


@pytest.mark.parametrize("way", ["static", "dynamic"])
@pytest.mark.parametrize("sizes", SIZES)
def test_a_layer_stays_within_what_its_scales_allow(sizes, way):
    plain = plain_of(*sizes)
    xs = vectors(plain)
    layer = calibrated(plain, xs) if way == "static" else INT8.from_float(plain)
    check_within(*error_and_bound(plain, layer, xs))


def test_the_bound_is_reached_and_goes_red():
    """A weight and both x half a step above theirs."""
    plain = plain_of(2, 1)
    plain = with_weight(plain, [[127.0, 10.5]])
    x = jnp.asarray([[0.5, 64.5]])
    layer = INT8.from_float(plain, x_scale=1.0)
    error, bound = error_and_bound(plain, layer, x)
    check_within(error, bound)
    assert error > 0.99 * bound
    moved = eqx.tree_at(lambda m: m.weight_scale, layer, layer.weight_scale * 0.9)
    cases = [(error_and_bound(plain, moved, x)[0], bound), (0 * error, bound)]
    for wrong in cases:
        with pytest.raises(AssertionError):
            check_within(*wrong)


def test_a_model_stays_within_what_its_scales_allow():
    """What a layer is off reaches the next one: relu and the cut-off only shrink it."""
    layers = [plain_of(20, 17), eqx.nn.Lambda(jax.nn.relu), plain_of(17, 33)]
    xs = drawn(6, 20)
    model = asc.nn.quantise(eqx.nn.Sequential(layers), xs)
    before, given, off = np.zeros(xs.shape), xs, xs
    for plain, layer in ((layers[0], model[0]), (layers[2], model[2])):
        _, before = error_and_bound(plain, layer, given, before)
        given, off = run(plain, given), run(layer, off)
        check_within(abs(wide(off) - wide(given)), before + 1e-5)  # the float model's
        given, off = jax.nn.relu(given), jax.nn.relu(off)


# --- the rounding and the sums, exactly


@pytest.mark.parametrize("sizes", SIZES)
def test_a_channel_s_largest_weight_is_127_steps(sizes):
    plain = plain_of(*sizes)
    layer = INT8.from_float(plain)
    steps, weight = steps_of(layer), np.asarray(plain.weight)
    assert (abs(steps.astype(int)).max(-1) == 127).all()
    np.testing.assert_allclose(layer.weight_scale, abs(weight).max(-1) / 127, rtol=1e-6)
    scale = np.asarray(layer.weight_scale)[:, None]
    np.testing.assert_array_equal(steps, np.rint(weight / scale))
    assert layer.layout == asc.Layout("NZ", weight.shape, "int8_t")
    back = layer.to_eqx()
    np.testing.assert_array_equal(back.weight, steps.astype("float32") * scale)
    assert jax.tree.structure(back) == jax.tree.structure(plain)


TIES = [127, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49]
STEPS = [127, 0, 2, 2, 0, -2, -2, 0]


def test_ties_go_to_even():
    layer = INT8.from_float(with_weight(plain_of(8, 1), [TIES]), x_scale=1)
    assert layer.weight_scale == 1
    assert steps_of(layer)[0].tolist() == STEPS
    one = with_weight(plain_of(1, 1, False), [[127.0]])
    one = INT8.from_float(one, x_scale=1)
    odd = {200.0: 127, -200.0: -127, -128.0: -127, jnp.inf: 127, jnp.nan: 0}
    xs = jnp.asarray([*TIES, *odd])[:, None]
    assert (run(one, xs)[:, 0] / 127).tolist() == [*STEPS, *odd.values()]


@pytest.mark.parametrize("emulate", ["layout", "path"])
def test_sums_are_exact(emulate):
    """Of whole numbers, with scales of 1: beyond 2^24 too, where float32 is not."""
    rng = np.random.default_rng(0)
    weight = rng.integers(-127, 128, (5, 3000))
    weight[:, 0], weight[1] = 127, -127
    xs = rng.integers(-127, 128, (3, 3000))
    xs[0] = 127
    plain = with_weight(plain_of(3000, 5, False), weight.astype("float32"))
    layer = INT8.from_float(plain, x_scale=1, emulate=emulate)
    assert (layer.weight_scale == 1).all()
    want = xs @ weight.T
    assert abs(want).max() == 3000 * 127**2 > 2**24
    got = run(layer, jnp.asarray(xs, "float32"))
    np.testing.assert_array_equal(got, want.astype("float32"))
    jaxpr = str(jax.make_jaxpr(layer)(jnp.ones(3000)))
    assert "preferred_element_type=int32" in jaxpr


@pytest.mark.parametrize("way", ["static", "dynamic"])
@pytest.mark.parametrize("product", ["910B", "atlas_350"])
@pytest.mark.parametrize("sizes", [(33, 70), ("scalar", "scalar")])
def test_path_gives_layout_s_bits(sizes, product, way):
    plain = plain_of(*sizes)
    xs = vectors(plain, 3)
    options = {"x_scale": 0.02} if way == "static" else {}
    one, two = (
        INT8.from_float(plain, product=product, emulate=emulate, **options)
        for emulate in ("layout", "path")
    )
    np.testing.assert_array_equal(bits(run(one, xs)), bits(run(two, xs)))


def test_channels_and_vectors_of_zeros():
    plain = plain_of(4, 3)
    plain = with_weight(plain, plain.weight.at[1].set(0))
    layer = INT8.from_float(plain)
    assert layer.weight_scale[1] == 1 and not steps_of(layer)[1].any()
    xs = jnp.stack([jnp.ones(4), jnp.zeros(4), jnp.ones(4).at[2].set(jnp.nan)])
    one, zero, nan = np.asarray(run(layer, xs))  # each with a scale of its own
    assert one[1] == plain.bias[1] and np.isnan(nan).all()
    np.testing.assert_array_equal(zero, plain.bias)


# --- the layer as a module


def test_it_is_made_of_the_plain_layer_of_its_key():
    for options in ({}, {"x_scale": 0.5, "product": "atlas_350", "emulate": "path"}):
        new = INT8(20, 17, key=KEY, **options)
        plain = PLAIN(20, 17, key=KEY)
        assert eqx.tree_equal(new, INT8.from_float(plain, **options))
    assert len(jax.tree.leaves(new)) == 4
    assert len(jax.tree.leaves(INT8(20, 17, False, key=KEY))) == 2
    assert jax.eval_shape(new, jnp.ones(20)).shape == (17,)


def test_of_an_nz_layer_it_takes_product_and_emulate():
    plain = plain_of(20, 17)
    nz = NZ.from_eqx(plain, product="atlas_350", emulate="path")
    layer = INT8.from_float(nz)
    assert (layer.product, layer.emulate) == (asc.ATLAS_350, "path")
    same = INT8.from_float(nz, product="910B", emulate="layout")
    assert eqx.tree_equal(same, INT8.from_float(plain))


def test_types_of_results_are_the_plain_layer_s():
    for held in ("float32", "float16", "bfloat16"):
        plain = plain_of(5, 3, dtype=held)
        layer = INT8.from_float(plain, x_scale=0.02)
        assert layer.to_eqx().weight.dtype == held
        for given in ("float32", "float16", "bfloat16", "int32"):
            x = jnp.ones(5, given)
            assert jax.eval_shape(layer, x).dtype == jax.eval_shape(plain, x).dtype
    xs = vectors(plain, 2, dtype=held)  # of bfloat16
    want = wide(xs) @ wide(plain.weight).T + wide(plain.bias)
    np.testing.assert_allclose(wide(run(layer, xs)), want, atol=0.1)


def test_gradients_go_to_bias_and_scale_alone():
    layer = INT8.from_float(plain_of(20, 17), x_scale=0.02)

    @eqx.filter_jit
    @eqx.filter_grad
    def grad(both):
        return both[0](both[1]).sum()

    grads, to_x = grad((layer, vectors(layer, 1)[0]))
    assert grads.weight is None and not to_x.any()
    assert (grads.bias == 1).all() and grads.weight_scale.all()


def test_stacked_layers_run_by_scan():
    plain = plain_of(20, 20, lead=(3,))
    stacked = INT8.from_float(plain, x_scale=0.02)
    assert stacked.weight.shape == (3, 1024) and stacked.x_scale.shape == (3,)
    x = vectors(stacked, 1)[0]

    @eqx.filter_jit
    def scanned(layers, x):
        arrays, rest = eqx.partition(layers, eqx.is_array)
        step = jax.checkpoint(lambda x, one: (eqx.combine(one, rest)(x), None))
        return jax.lax.scan(step, x, arrays)[0]

    want = x
    for k in range(3):
        one = jax.tree.map(lambda leaf, k=k: leaf[k], plain)
        want = run(INT8.from_float(one, x_scale=0.02), want[None])[0]
    np.testing.assert_allclose(scanned(stacked, x), want, rtol=1e-6, atol=1e-6)
    found = asc.nn.quantise(plain, x, run=scanned)
    assert (found.x_scale == found.x_scale[0]).all() and found.x_scale.shape == (3,)
    assert found.x_scale[0] >= abs(x).max() / 127 * (1 - 1e-6)
    back = stacked.to_eqx().weight
    assert (abs(back - plain.weight) <= 0.51 * stacked.weight_scale[..., None]).all()


def test_equal_layers_do_not_trace_again():
    count = 0

    @eqx.filter_jit
    def counted(layer, x):
        nonlocal count
        count += 1
        return layer(x)

    for _ in range(3):
        counted(INT8.from_float(plain_of(20, 17)), jnp.ones(20))
    assert count == 1


# --- whole models


class Net(eqx.Module):
    """Layers of both kinds, and an odd one."""

    first: PLAIN
    second: NZ
    odd: eqx.nn.Conv1d

    def __init__(self):
        self.first = plain_of(20, 17)
        self.second = NZ.from_eqx(plain_of(17, 9), product="atlas_350")
        self.odd = eqx.nn.Conv1d(1, 1, 3, key=KEY)

    def __call__(self, x):
        return self.odd(self.second(3 * jnp.tanh(self.first(x)))[None])[0]


def kinds(model):
    parts = model.first, model.second, model.odd
    return [type(part).__name__ for part in parts]


RUNS = {
    "vmap": None,
    "jit": eqx.filter_jit(lambda model, xs: jax.vmap(model)(xs)),
    "checkpoint": eqx.filter_jit(
        lambda model, xs: jax.vmap(eqx.filter_checkpoint(model))(xs)
    ),
    "map": lambda model, xs: jax.lax.map(model, xs),
    "gradient": eqx.filter_jit(
        lambda model, xs: jax.grad(lambda xs: jax.vmap(model)(xs).sum())(xs)
    ),
}


@pytest.mark.parametrize("way", RUNS)
def test_scales_are_those_of_what_the_layers_are_given(way):
    net = Net()
    xs = drawn(8, 20).at[5, 3].set(-9)
    model = asc.nn.quantise(net, xs, run=RUNS[way])
    assert kinds(model) == ["NZLinearInt8", "NZLinearInt8", "Conv1d"]
    assert (model.first.product, model.second.product) == (
        asc.ATLAS_A2,
        asc.ATLAS_350,
    )
    given = 3 * np.tanh(xs @ net.first.weight.T + net.first.bias)
    for layer, most in ((model.first, 9), (model.second, abs(given).max())):
        np.testing.assert_allclose(layer.x_scale, most / 127, rtol=1e-6)


def test_without_a_batch_scales_are_dynamic():
    model = asc.nn.quantise(Net(), product="910B", emulate="path")
    assert kinds(model) == ["NZLinearInt8", "NZLinearInt8", "Conv1d"]
    for layer in (model.first, model.second):
        assert layer.x_scale is None
        assert (layer.product, layer.emulate) == (asc.ATLAS_A2, "path")
    made = eqx.filter_eval_shape(asc.nn.quantise, Net())
    assert made.first.weight.shape == (1024,)


@pytest.mark.parametrize(
    ("options", "chosen"),
    [
        ({"where": lambda m: m.first}, ["NZLinearInt8", "NZLinear"]),
        ({"where": lambda m: (m.first, m.second)}, ["NZLinearInt8"] * 2),
        ({"only": lambda layer: layer.in_features == 17}, ["Linear", "NZLinearInt8"]),
        ({"only": lambda layer: False}, ["Linear", "NZLinear"]),
    ],
)
def test_where_and_only_choose(options, chosen):
    xs = drawn(4, 20)
    assert kinds(asc.nn.quantise(Net(), xs, **options))[:2] == chosen
    assert kinds(asc.nn.quantise(Net(), **options))[:2] == chosen


# --- refusals

LAYER = plain_of(4, 3)
ONES = jnp.ones((2, 4))


@pytest.mark.parametrize("scale", [0, -1.0, float("nan"), float("inf")])
def test_a_scale_that_is_none_is_refused(scale):
    text = r"NZLinearInt8: x_scale must be finite and above 0 .*, got "
    for make in (
        lambda: INT8.from_float(LAYER, x_scale=scale),
        lambda: INT8(4, 3, key=KEY, x_scale=scale),
    ):
        with pytest.raises(asc.ParamError, match=text + str(scale)):
            make()


def quantised(value, **options):
    return lambda: asc.nn.quantise(LAYER, value, **options)


CASES = {
    "zeros": (
        quantised(0 * ONES),
        asc.ParamError,
        r"quantise: batch must give every layer finite values that are not all 0, got "
        r"a largest magnitude of 0.0 before Linear\(4, 3\)\. Calibrate on real data",
    ),
    "nan": (
        quantised(ONES.at[0, 0].set(jnp.nan)),
        asc.ParamError,
        r"finite values .*, got a largest magnitude of nan before",
    ),
    "infinity": (
        quantised(ONES.at[0, 0].set(-jnp.inf)),
        asc.ParamError,
        r"finite values .*, got a largest magnitude of inf before",
    ),
    "not reached": (
        quantised(ONES, run=lambda model, xs: xs),
        asc.ParamError,
        r"quantise: batch must reach every layer to quantise, got no call of Linear\(4",
    ),
    "run alone": (
        quantised(None, run=lambda model, xs: xs),
        asc.ParamError,
        "quantise: batch must be given where run is, got None",
    ),
    "product": (
        quantised(None, product="atlas_inference_vector"),
        asc.SupportError,
        "product must be one that has this instruction",
    ),
    "no product": (
        quantised(None, product="atlas_900"),
        asc.SupportError,
        "quantise: product must be one of",
    ),
    "no road": (
        quantised(None, product="310B", emulate="path"),
        asc.SupportError,
        "CubeMatmul: product must be one of atlas_a2, atlas_a3, atlas_350",
    ),
    "word": (
        quantised(None, emulate="fast"),
        asc.ParamError,
        "quantise: emulate must be one of 'layout', 'path', got 'fast'",
    ),
    "where": (
        lambda: asc.nn.quantise(Net(), where=lambda m: m.odd),
        asc.ParamError,
        r"quantise: where must give parts .* \(Linear, NZLinear\), got Conv1d",
    ),
    "weight": (
        lambda: INT8.from_float(with_weight(LAYER, LAYER.weight.at[1, 2].set(jnp.nan))),
        asc.ParamError,
        "NZLinearInt8: weight must be finite: .*, got 1 elements that are not",
    ),
    "type": (
        lambda: INT8.from_float(jax.tree.map(jnp.int8, LAYER)),
        asc.ParamError,
        "NZLinearInt8: dtype must be one that trains on the matrix unit",
    ),
    "kind": (
        lambda: INT8.from_float(Net()),
        asc.ParamError,
        "NZLinearInt8: layer must be an eqx.nn.Linear or an NZLinear, got Net",
    ),
    "features": (
        lambda: INT8(0, 3, key=KEY),
        asc.ParamError,
        "NZLinearInt8: in_features must be an integer of at least 1",
    ),
    "deep": (
        lambda: INT8(133145, 1, key=KEY),
        asc.BoundsError,
        r"NZLinearInt8: in_features must be at most 133144 \(elements\): int32 holds",
    ),
    "a scale a channel": (
        lambda: INT8.from_float(LAYER, x_scale=jnp.ones(4)),
        asc.BoundsError,
        r"NZLinearInt8: x_scale must have shape \(\) or \(\): one scale for all of x, ",
    ),
    "no number": (
        lambda: INT8.from_float(LAYER, x_scale="small"),
        asc.ParamError,
        "NZLinearInt8: x_scale must be finite and above 0 .*, got 'small'",
    ),
    "cast": (
        lambda: jax.tree.map(jnp.float32, INT8(4, 3, key=KEY))(jnp.ones(4)),
        asc.ParamError,
        "NZLinearInt8: weight must be int8, got float32",
    ),
    "shape": (
        lambda: INT8(4, 3, key=KEY)(ONES),
        asc.BoundsError,
        r"NZLinearInt8: x must have shape \(4,\) \(elements\), .* Use jax.vmap for",
    ),
    "complex": (
        lambda: INT8(4, 3, key=KEY)(jnp.ones(4, "complex64")),
        asc.ParamError,
        "NZLinearInt8: x must be real numbers, got complex64",
    ),
}


# --- batches and models that do not do


def one_sum(model, xs):
    return model(xs).sum()


MISUSES = {
    "product": ("910B", {}, r"got str \(\w+Error: .*quantise\(model, batch, product\)"),
    "vector": (ONES[0], {}, r"got one of shape \(4,\) \(\w+Error: "),
    "lists": (ONES.tolist(), {}, r"got list \(\w+Error: "),
    "features": (jnp.ones((2, 5)), {}, r"got one of shape \(2, 5\) \(\w+Error: "),
    "no example": (ONES[:0], {}, r"got one of shape \(0, 4\) \("),
    "run": (ONES, {"run": one_sum}, r"got one of shape \(2, 4\) \("),
}


@pytest.mark.parametrize("name", MISUSES)
def test_a_batch_that_the_model_does_not_run_on(name):
    batch, options, text = MISUSES[name]
    rule = r"quantise: batch must be what run takes \(without run: examples along .*"
    with pytest.raises(asc.ParamError, match=rule + text) as caught:
        asc.nn.quantise(LAYER, batch, **options)
    cause = caught.value.__cause__
    assert cause is not None and not isinstance(cause, asc.AscendError)


def test_what_a_layer_refuses_is_said_by_the_layer():
    nz = NZ.from_eqx(LAYER)
    with pytest.raises(asc.BoundsError, match=r"NZLinear: x must have shape \(4,\)"):
        asc.nn.quantise(nz, jnp.ones((2, 5)))


TRACES = {
    "batch": lambda: jax.jit(lambda xs: asc.nn.quantise(LAYER, xs).bias)(ONES),
    "model": lambda: eqx.filter_jit(lambda m: asc.nn.quantise(m, ONES))(LAYER),
    "neither": lambda: jax.jit(lambda: asc.nn.quantise(LAYER, ONES).bias)(),
    "shapes": lambda: eqx.filter_eval_shape(asc.nn.quantise, LAYER, ONES),
    "a branch": quantised(
        ONES,
        run=lambda model, xs: jax.lax.cond(
            xs[0, 0] > 2, lambda: jax.vmap(model)(xs), lambda: jnp.zeros((2, 3))
        ),
    ),
}


@pytest.mark.parametrize("name", TRACES)
def test_calibration_needs_values(name):
    text = r"quantise: batch must run outside of jax\.jit, where it and the model have "
    text += r"values, got tracers .* at Linear\(4, 3\)\. Calibrate first and jit the"
    with pytest.raises(asc.ParamError, match=text):
        TRACES[name]()


class Reads(eqx.Module):
    """It reads an attribute of its layer."""

    layer: PLAIN
    name: str = eqx.field(static=True)

    def __call__(self, x):
        found = getattr(self.layer, self.name)
        return self.layer(x) + jnp.asarray(found).sum()


@pytest.mark.parametrize("name", ["in_features", "out_features", "use_bias", "bias"])
def test_a_model_may_read_what_its_layers_keep(name):
    plain = Reads(LAYER, name)
    model = asc.nn.quantise(plain, ONES)
    np.testing.assert_allclose(run(model, ONES), run(plain, ONES), atol=0.05)


@pytest.mark.parametrize("make", [eqx.nn.WeightNorm, lambda one: Reads(one, "weight")])
def test_a_model_that_reads_a_weight_is_refused(make):
    text = r"quantise: model must call its layers to quantise, and not read their "
    text += r"weights, .*, got a read of Linear\(4, 3\)\.weight\. Leave the layer out"
    with pytest.raises(asc.ParamError, match=text):
        asc.nn.quantise(make(LAYER), ONES)


def test_a_layer_lacks_what_the_plain_one_lacks():
    with pytest.raises(asc.ParamError, match="'Linear' object has no attribute 'colou"):
        asc.nn.quantise(Reads(LAYER, "colour"), ONES)


@pytest.mark.parametrize("name", CASES)
def test_what_is_refused(name):
    call, error, text = CASES[name]
    with pytest.raises(error, match=text):
        call()
