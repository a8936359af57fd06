"""`nn.to_nz` and `nn.to_nd`: whole models, and training beside the plain ones."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ascjax as asc

pytestmark = pytest.mark.quick

KEY = jax.random.key(7)
PLAIN, NZ = eqx.nn.Linear, asc.nn.NZLinear
LAYERS = PLAIN | NZ | eqx.nn.MultiheadAttention | asc.nn.NZAttention


class Doubled(eqx.nn.Linear):
    """A layer that only looks like the plain one."""

    def __call__(self, x, *, key=None):
        return 2 * super().__call__(x)


class Net(eqx.Module):
    """Layers as an attribute, in a tuple, in another module, and one that is odd."""

    first: eqx.nn.Linear
    rest: tuple
    attention: eqx.nn.MultiheadAttention
    name: str = eqx.field(static=True)

    def __init__(self, key):
        keys = jax.random.split(key, 4)
        self.first = PLAIN(20, 17, key=keys[0])
        self.rest = (jax.nn.relu, PLAIN(17, 9, key=keys[1]), Doubled(9, 8, key=keys[2]))
        self.attention = eqx.nn.MultiheadAttention(2, 8, key=keys[3])
        self.name = "net"

    def __call__(self, xs):
        for layer in (self.first, *self.rest):
            xs = jax.vmap(layer)(xs)
        return self.attention(xs, xs, xs)


def net():
    return Net(KEY)


def kinds(model):
    """Names of the layers, in order."""

    def is_layer(node):
        return isinstance(node, LAYERS)

    leaves = jax.tree.leaves(model, is_leaf=is_layer)
    return [type(leaf).__name__ for leaf in leaves if is_layer(leaf)]


def raw(model):
    arrays = [np.asarray(x) for x in jax.tree.leaves(model) if eqx.is_array(x)]
    return [x.view(f"uint{8 * x.dtype.itemsize}") for x in arrays]


def check_same_model(one, two):
    """The same structure, and the same bits in every array."""
    assert jax.tree.structure(one) == jax.tree.structure(two)
    for x, y in zip(raw(one), raw(two), strict=True):
        np.testing.assert_array_equal(x, y)


def test_the_check_goes_red():
    bent = eqx.tree_at(
        lambda m: m.first.bias, net(), replace_fn=lambda b: b.at[0].add(1)
    )
    for other in (bent, asc.nn.to_nz(net())):
        with pytest.raises(AssertionError):
            check_same_model(net(), other)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_all_layers_there_and_back(dtype):
    plain = jax.tree.map(lambda x: x.astype(dtype) if eqx.is_array(x) else x, net())
    model = asc.nn.to_nz(plain, "910B")
    assert kinds(plain) == ["Linear", "Linear", "Doubled", "MultiheadAttention"]
    assert kinds(model) == ["NZLinear", "NZLinear", "Doubled", "NZAttention"]
    assert model.first.product is asc.ATLAS_A2 and model.name == "net"
    check_same_model(asc.nn.to_nd(model), plain)
    check_same_model(asc.nn.to_nz(model), model)  # nothing is left to convert


def test_the_model_gives_the_same():
    plain, model = net(), asc.nn.to_nz(net())
    xs = jax.random.normal(KEY, (5, 20))
    run = eqx.filter_jit(lambda model, xs: model(xs))
    np.testing.assert_allclose(run(model, xs), run(plain, xs), rtol=1e-5, atol=1e-6)


def in_nz(model):
    """Which layers have NZ weights."""
    return [k for k, kind in enumerate(kinds(model)) if kind.startswith("NZ")]


@pytest.mark.parametrize(
    ("options", "chosen"),
    [
        ({"where": lambda m: m.first}, [0]),
        ({"where": lambda m: (m.first, m.rest[1])}, [0, 1]),
        ({"where": lambda m: m.attention}, [3]),
        ({"only": lambda layer: not hasattr(layer, "num_heads")}, [0, 1]),
        ({"only": lambda layer: getattr(layer, "in_features", 0) == 17}, [1]),
        ({"only": lambda layer: hasattr(layer, "num_heads")}, [3]),
        ({"where": lambda m: m.rest, "only": lambda layer: layer.use_bias}, [1]),
        ({"only": lambda layer: False}, []),
    ],
)
def test_where_and_only_choose(options, chosen):
    model = asc.nn.to_nz(net(), **options)
    assert in_nz(model) == chosen
    check_same_model(asc.nn.to_nd(model), net())
    back = asc.nn.to_nd(asc.nn.to_nz(net()), **options)
    assert in_nz(back) == [k for k in (0, 1, 3) if k not in chosen]


def test_where_reaches_into_attention():
    """Projections alone, in a layer that stays the plain one."""
    model = asc.nn.to_nz(
        net(), where=lambda m: (m.attention.key_proj, m.attention.value_proj)
    )
    assert kinds(model)[3] == "MultiheadAttention"
    assert type(model.attention.key_proj) is NZ
    assert type(model.attention.query_proj) is PLAIN
    check_same_model(asc.nn.to_nd(model), net())
    check_same_model(asc.nn.to_nz(model), asc.nn.to_nz(net()))


def test_one_layer_is_a_model():
    layer = PLAIN(20, 17, key=KEY)
    assert type(asc.nn.to_nz(layer, "atlas_350", emulate="path")) is NZ
    check_same_model(asc.nn.to_nd(asc.nn.to_nz(layer)), layer)


def test_shapes_alone_are_converted_too():
    made = eqx.filter_eval_shape(asc.nn.to_nz, PLAIN(20, 17, key=KEY))
    assert made.weight.shape == (768,)


def test_layers_that_hold_nz_already_become_those_asked_for():
    plain = net()
    model = asc.nn.to_nz(plain, "910B")
    other = asc.nn.to_nz(model, "atlas_350", emulate="path")
    for layer in (other.first, other.attention, other.attention.value_proj):
        assert (layer.product, layer.emulate) == (asc.ATLAS_350, "path")
    check_same_model(asc.nn.to_nd(other), plain)
    assert asc.nn.to_nz(model, "910B").first is model.first


def wrapped():
    keys = jax.random.split(KEY, 4)
    norm = eqx.nn.WeightNorm(PLAIN(9, 9, key=keys[0]))
    state = eqx.nn.SpectralNorm(PLAIN(9, 9, key=keys[1]), "weight", key=keys[1])
    tied = eqx.nn.Embedding(9, 9, key=keys[2]), PLAIN(9, 9, False, key=keys[3])
    tied = eqx.nn.Shared(tied, lambda t: t[1].weight, lambda t: t[0].weight)
    return norm, state, tied


def test_layers_whose_weight_another_makes_stay_plain():
    model = wrapped()
    check_same_model(asc.nn.to_nz(model), model)
    check_same_model(asc.nn.quantise(model), model)
    assert type(asc.nn.to_nz(model, where=lambda m: m[0].layer)[0].layer) is NZ


def of_shape(layer, *shape):
    return eqx.tree_at(lambda layer: layer.weight, layer, jnp.ones(shape))


MISFITS = {  # a weight that is not of its layer's sizes, and the name of the NZ layer
    "fewer outputs": (of_shape(PLAIN(5, 5, key=KEY), 4, 5), "NZLinear"),
    "transposed": (of_shape(PLAIN(5, 7, key=KEY), 5, 7), "NZLinear"),
    "stacked on axis 1": (of_shape(PLAIN(5, 5, key=KEY), 5, 4, 5), "NZLinear"),
    "a vector": (of_shape(PLAIN(5, 5, key=KEY), 5), "NZLinear"),
    "HWIO": (of_shape(eqx.nn.Conv2d(3, 8, 3, key=KEY), 3, 3, 3, 8), "NZConv2d"),
    "a projection": (
        eqx.tree_at(
            lambda layer: layer.key_proj,
            eqx.nn.MultiheadAttention(2, 8, key=KEY),
            of_shape(PLAIN(8, 8, key=KEY), 8, 6),
        ),
        "NZAttention",
    ),
}


@pytest.mark.parametrize("misfit, who", MISFITS.values(), ids=MISFITS)
def test_a_weight_of_other_sizes_is_refused(misfit, who):
    rule = (
        rf"{who}: weight must have shape \(\.\.\., \d.*\), the layer's own sizes, got"
    )
    with pytest.raises(asc.BoundsError, match=rule):
        asc.nn.to_nz([misfit])
    if isinstance(misfit, PLAIN):
        with pytest.raises(asc.BoundsError, match="weight must have shape"):
            asc.nn.quantise(misfit)


@pytest.mark.parametrize(
    ("convert", "error", "text"),
    [
        (
            lambda: asc.nn.to_nz(eqx.partition(net(), eqx.is_array)[1]),
            asc.ParamError,
            r"NZLinear: weight must be an array, got .*NoneType.*\. Convert a model",
        ),
        (
            lambda: asc.nn.to_nz(eqx.filter_eval_shape(net)),
            asc.ParamError,
            r"weight must be an array, got .*ShapeDtypeStruct.*nor shapes alone",
        ),
        (
            lambda: asc.nn.to_nz(PLAIN(0, 4, key=KEY)),
            asc.ParamError,
            "NZLinear: in_features must be an integer of at least 1",
        ),
        (
            lambda: asc.nn.to_nz(net(), only="rest.0"),
            asc.ParamError,
            r"to_nz: only must be a function of a layer.*'rest\.0'. Pass only=lambda",
        ),
        (
            lambda: asc.nn.to_nz(net(), where=lambda m: m.rest[2]),
            asc.ParamError,
            r"to_nz: where must give parts of the model that hold a layer to convert "
            r"\(Linear, .*\), got Doubled\. Choose layers",
        ),
        (
            lambda: asc.nn.to_nd(net(), where=lambda m: m.first),
            asc.ParamError,
            r"to_nd: where must give parts .* \(NZLinear, .*\), got Linear",
        ),
        (
            lambda: asc.nn.to_nz(net(), "atlas_900"),
            asc.SupportError,
            "to_nz: product must be one of",
        ),
        (
            lambda: asc.nn.to_nz(net(), emulate="fast"),
            asc.ParamError,
            "to_nz: emulate must be one of 'layout', 'path', got 'fast'",
        ),
        (
            lambda: asc.nn.to_nz(jax.tree.map(jnp.int8, PLAIN(3, 4, key=KEY))),
            asc.ParamError,
            "NZLinear: dtype must be one that trains on the matrix unit",
        ),
    ],
)
def test_what_is_refused(convert, error, text):
    with pytest.raises(error, match=text):
        convert()


MADE = {
    "linear": lambda dtype: NZ(3, 4, dtype=dtype, key=KEY),
    "int8": lambda dtype: asc.nn.NZLinearInt8(3, 4, dtype=dtype, key=KEY),
    "convolution": lambda dtype: asc.nn.NZConv2d(3, 4, 3, dtype=dtype, key=KEY),
    "attention": lambda dtype: asc.nn.NZAttention(2, 4, dtype=dtype, key=KEY),
}


@pytest.mark.parametrize("dtype", ["int8", "float64", float, "complex64", "no type"])
@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_types_that_do_not_train_are_refused_before_a_layer_is_made(make, dtype):
    rule = "dtype must be one that trains on the matrix unit"
    with pytest.raises(asc.ParamError, match=rule):
        make(dtype)


# --- training


def losses(model, steps=100, wrap=lambda f: f):
    """Plain SGD on a smooth function of vectors; the loss of each step."""
    xs = jax.random.normal(jax.random.key(1), (32, 20))
    ys = jnp.sin(xs[:, :3] * 2) + xs[:, 3:6] ** 2

    def loss(model):
        return ((jax.vmap(wrap(model))(xs) - ys) ** 2).mean()

    @eqx.filter_jit
    def run(model):
        arrays, rest = eqx.partition(model, eqx.is_array)

        def step(arrays, _):
            value, grads = eqx.filter_value_and_grad(loss)(eqx.combine(arrays, rest))
            new = jax.tree.map(lambda p, g: p - 0.05 * g, arrays, grads)
            return new, value

        arrays, values = jax.lax.scan(step, arrays, None, steps)
        return eqx.combine(arrays, rest), values

    model, values = run(model)
    return np.asarray(values), model


def apart(got, want):
    """The largest relative difference."""
    return (abs(got - want) / abs(want)).max()


@pytest.mark.parametrize(
    "wrap", [lambda f: f, eqx.filter_checkpoint], ids=["plain", "checkpoint"]
)
@pytest.mark.parametrize("emulate", ["layout", "path"])
def test_training_follows_the_plain_model(emulate, wrap):
    """100 steps of float32, at sizes that are no whole fractals."""
    plain = eqx.nn.MLP(20, 3, width_size=33, depth=2, key=KEY, activation=jnp.tanh)
    want, _ = losses(plain, wrap=wrap)
    model = asc.nn.to_nz(plain, "910B", emulate=emulate)
    got, trained = losses(model, wrap=wrap)
    assert want[-1] < 0.5 * want[0] and math.isfinite(want[-1])
    assert apart(got, want) < 1e-5
    for layer in trained.layers:
        matrix = layer.layout.unpack(layer.weight)
        np.testing.assert_array_equal(layer.layout.pack(matrix), layer.weight)


def test_apart_goes_red():
    plain = eqx.nn.MLP(20, 3, width_size=33, depth=2, key=KEY, activation=jnp.tanh)
    want, _ = losses(plain)
    bent = eqx.tree_at(lambda m: m.layers[0].bias, plain, replace_fn=lambda b: b + 1e-3)
    assert apart(losses(bent)[0], want) > 1e-5
