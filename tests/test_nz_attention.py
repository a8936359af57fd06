"""`nn.NZAttention`: the plain layer, with its weights in NZ."""

import functools
import inspect

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ascjax as asc
from ascjax.nn.layers import _heads, _matmul

pytestmark = pytest.mark.quick

PLAIN, NZ = eqx.nn.MultiheadAttention, asc.nn.NZAttention
KEY = jax.random.key(5)
PROJECTIONS = ("query_proj", "key_proj", "value_proj", "output_proj")
ALL_BIASES = {f"use_{name[:-5]}_bias": True for name in PROJECTIONS}
GIVEN = {
    "two heads": {"num_heads": 2, "query_size": 20},
    "heads that leave some": {"num_heads": 3, "query_size": 10},
    "biases": {"num_heads": 2, "query_size": 6, **ALL_BIASES},
    "one bias": {"num_heads": 2, "query_size": 6, "use_key_bias": True},
    "all": {
        **{"num_heads": 3, "query_size": 7, "key_size": 9, "value_size": 5},
        **{"output_size": 3, "qk_size": 4, "vo_size": 17},
        **ALL_BIASES,
        "dropout_p": 0.25,
        "inference": True,
    },
}
OURS = ("product", "emulate")


def bits(x):
    x = np.asarray(x)
    return x.view(f"uint{8 * x.dtype.itemsize}")


@functools.cache
def pair(name="two heads", **options):
    """The plain layer and ours, made with the same arguments."""
    given = {**GIVEN[name], **options}
    theirs = {field: value for field, value in given.items() if field not in OURS}
    return PLAIN(**theirs, key=KEY), NZ(**given, key=KEY)


def sequences(layer, rows=5, others=7, dtype="float32", lead=()):
    """query, key_ and value."""
    rng = np.random.default_rng(1)
    sizes = (rows, layer.query_size), (others, layer.key_size)
    return tuple(
        jnp.asarray(rng.standard_normal((*lead, *size)), dtype)
        for size in (*sizes, (others, layer.value_size))
    )


@eqx.filter_jit
def run(layer, xs, *args, **options):
    return layer(*xs, *args, **options)


def close(got, want, rtol=1e-5, atol=1e-6):
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol, atol)


def check_same_layer(one, two):
    assert type(one) is type(two)
    assert jax.tree.structure(one) == jax.tree.structure(two)
    for x, y in zip(jax.tree.leaves(one), jax.tree.leaves(two), strict=True):
        assert type(x) is type(y)
        np.testing.assert_array_equal(bits(x), bits(y), strict=True)


def test_the_checks_go_red():
    plain, nz = pair()
    for other in (pair("biases")[0], nz, pair(dropout_p=0.5)[0]):
        with pytest.raises(AssertionError):
            check_same_layer(plain, other)
    bent = eqx.tree_at(
        lambda p: p.key_proj.weight, plain, replace_fn=lambda w: 1.01 * w
    )
    with pytest.raises(AssertionError):
        check_same_layer(plain, bent)
    with pytest.raises(AssertionError):
        close(run(bent, sequences(plain)), run(plain, sequences(plain)))


# --- the same layer


@pytest.mark.parametrize("name", GIVEN)
def test_it_gives_the_plain_layer_s_values(name):
    plain, nz = pair(name)
    xs = sequences(plain)
    close(run(nz, xs), run(plain, xs))


@pytest.mark.parametrize("method", ["__init__", "__call__"])
def test_arguments_and_their_defaults_are_the_plain_layer_s(method):
    ours, theirs = (
        {
            name: (p.kind, p.default)
            for name, p in inspect.signature(f).parameters.items()
        }
        for f in (getattr(NZ, method), getattr(PLAIN, method))
    )
    own = {"product", "emulate"} if method == "__init__" else set()
    assert ours.keys() - theirs.keys() == own
    assert {name: ours[name] for name in theirs} == theirs


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        *((name, "float32") for name in GIVEN),
        ("biases", "float16"),
        ("biases", "bfloat16"),
    ],
)
def test_from_eqx_and_to_eqx_keep_every_bit(name, dtype):
    plain, nz = pair(name, dtype=dtype)
    check_same_layer(nz.to_eqx(), plain)
    check_same_layer(NZ.from_eqx(plain), nz)


def test_odd_bits_and_a_changed_dropout_come_back():
    plain, _ = pair("biases", dtype="float16")
    raw = np.arange(36, dtype="uint16").reshape(6, 6) + 0x7E01  # payloads of NaNs
    where = [lambda p: p.value_proj.weight, lambda p: p.dropout.p]
    for place, new in zip(where, (jnp.asarray(raw.view("float16")), 0.75), strict=True):
        plain = eqx.tree_at(place, plain, new)
    nz = NZ.from_eqx(plain, product="atlas_350", emulate="path")
    check_same_layer(nz.to_eqx(), plain)
    assert (nz.dropout.p, nz.emulate, nz.product) == (0.75, "path", asc.ATLAS_350)
    assert nz.query_proj.emulate == "path"


def test_a_projection_taken_back_alone_is_a_layer_s_part():
    """And so is one that was converted alone, in a plain layer."""
    plain, nz = pair()
    xs = sequences(plain)
    mixed = asc.nn.to_nd(nz, where=lambda m: m.key_proj)
    assert type(mixed.key_proj) is eqx.nn.Linear
    close(run(mixed, xs), run(plain, xs))
    check_same_layer(mixed.to_eqx(), plain)
    part = asc.nn.to_nz(plain, where=lambda m: m.key_proj)
    assert type(part) is PLAIN
    close(run(part, xs), run(plain, xs))
    check_same_layer(NZ.from_eqx(part), nz)


class Doubled(eqx.nn.Linear):
    """A projection that only looks like the plain one."""

    def __call__(self, x, *, key=None):
        return 2 * super().__call__(x)


@pytest.mark.parametrize("convert", [NZ.from_eqx, asc.nn.to_nz])
def test_other_projections_stay_as_they_are(convert):
    other = Doubled(20, 20, False, key=KEY)
    plain = eqx.tree_at(lambda p: p.key_proj, pair()[0], other)
    nz = convert(plain)
    kinds = [type(getattr(nz, name)).__name__ for name in PROJECTIONS]
    assert kinds == ["NZLinear", "Doubled", "NZLinear", "NZLinear"]
    close(run(nz, sequences(plain)), run(plain, sequences(plain)))
    check_same_layer(nz.to_eqx(), plain)
    kept = asc.nn.to_nz([plain], only=lambda layer: type(layer) is eqx.nn.Linear)
    check_same_layer(kept[0], plain)


@pytest.mark.parametrize("emulate", ["layout", "path"])
def test_its_projections_are_quantised(emulate):
    """Heads are multiplied in their own type, whatever the projections multiply."""
    plain, nz = pair("biases", emulate=emulate)
    xs = sequences(plain)
    int8 = asc.nn.quantise(nz, xs, run=run)
    assert type(int8) is NZ and int8.key_proj.weight.dtype == "int8"
    assert abs(run(int8, xs) - run(plain, xs)).max() < 0.02
    beside = asc.nn.quantise(plain, xs, run=run)
    close(run(int8, xs), run(beside, xs))


def test_leaves_are_those_of_the_plain_layer():
    for name in ("two heads", "biases"):
        plain, nz = pair(name)
        assert len(jax.tree.leaves(nz)) == len(jax.tree.leaves(plain))
        assert hash(nz.query_proj.layout) and nz.num_heads == plain.num_heads


# --- masks, dropout, process_heads


def masks(rows=5, others=7, heads=2):
    causal = jnp.tril(jnp.ones((rows, others), bool))
    each = jax.random.bernoulli(KEY, 0.5, (heads, rows, others))
    return {
        "causal": causal,
        "each head": each,
        "nothing to see": each.at[:, 1].set(False),
        "numbers": causal.astype("float32"),
        "NumPy": np.asarray(causal),
    }


@pytest.mark.parametrize("name", masks())
def test_masks_hide_what_the_plain_layer_s_do(name):
    plain, nz = pair()
    xs, mask = sequences(plain), masks()[name]
    close(run(nz, xs, mask), run(plain, xs, mask))
    assert abs(run(nz, xs, mask) - run(nz, xs)).max() > 1e-3


def test_what_is_hidden_is_not_looked_at():
    """In half too, where the smallest number is no wider than the scores."""
    for dtype in ("float32", "float16"):
        _, nz = pair(dtype=dtype)
        query, key_, value = sequences(nz, dtype=dtype)
        mask = jnp.ones((5, 7), bool).at[:, 3].set(False)
        moved = value.at[3].set(1e4)
        got = run(nz, (query, key_, moved), mask)
        np.testing.assert_array_equal(got, run(nz, (query, key_, value), mask))
        assert (got != run(nz, (query, key_, moved))).any()


@pytest.mark.parametrize("emulate", ["layout", "path"])
def test_dropout_drops_what_the_plain_layer_does(emulate):
    plain, nz = pair(dropout_p=0.5, emulate=emulate)
    xs, mask = sequences(plain), masks()["each head"]
    one, two = (run(nz, xs, mask, key=key) for key in jax.random.split(KEY, 2))
    assert abs(one - two).max() > 1e-3
    for key, out in zip(jax.random.split(KEY, 2), (one, two), strict=True):
        close(out, run(plain, xs, mask, key=key))


def test_dropout_is_switched_as_the_plain_layer_s():
    plain, nz = pair(dropout_p=0.5)
    xs = sequences(plain)
    still = run(plain, xs, inference=True)
    close(run(nz, xs, inference=True), still)
    close(run(eqx.nn.inference_mode(nz), xs), still)
    with pytest.raises(RuntimeError, match="Dropout requires a key"):
        nz(*xs)
    with pytest.warns(UserWarning, match="NZAttention: deterministic= is deprecated"):
        close(run(nz, xs, deterministic=True), still)


@pytest.mark.parametrize("emulate", ["layout", "path"])
def test_heads_are_processed(emulate):
    plain, nz = pair("two heads", emulate=emulate)
    rope = eqx.nn.RotaryPositionalEmbedding(plain.qk_size)

    def process(query, key_, value):
        turn = jax.vmap(rope, 1, 1)
        return turn(query), turn(key_), 2 * value

    xs = sequences(plain)
    close(run(nz, xs, process_heads=process), run(plain, xs, process_heads=process))


# --- mixed precision


def unit(layer, xs, dtype):
    """In NumPy: factors cast to the layer's type, all else wide."""

    def cast(x):
        return np.asarray(jnp.asarray(x, "float32").astype(dtype)).astype("float64")

    def project(name, x):
        one = getattr(layer, name)
        return cast(x) @ cast(one.weight).T + cast(one.bias)

    heads = [
        cast(project(name, x)).reshape(len(x), layer.num_heads, -1).swapaxes(0, 1)
        for name, x in zip(PROJECTIONS, xs, strict=False)
    ]
    query, key_, value = heads
    scores = cast(query / np.sqrt(layer.qk_size)) @ key_.swapaxes(1, 2)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    found = (cast(weights) @ value).swapaxes(0, 1).reshape(len(xs[0]), -1)
    return project("output_proj", cast(found))


@pytest.mark.parametrize("emulate", ["layout", "path"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_each_product_s_factors_are_cast_and_its_sum_is_float32(dtype, emulate):
    plain, nz = pair("biases", dtype=dtype, emulate=emulate)
    xs = sequences(plain, dtype=dtype)
    out = run(nz, xs)
    assert out.dtype == dtype
    want, eps = unit(plain, xs, dtype), float(jnp.finfo(dtype).eps)
    # half a unit of the result's cast, and of a head or weight that fell the other way
    bound = eps / 2 * abs(want) + eps / 2
    assert (abs(np.asarray(out).astype("float64") - want) <= bound).all()


@pytest.mark.parametrize(
    ("weight", "given", "factor"),
    [
        ("float32", "float32", "float32"),
        ("float32", "float16", "float32"),
        ("bfloat16", "bfloat16", "bfloat16"),
        ("float16", "int32", "float16"),
        ("bfloat16", "float32", "float32"),
    ],
)
def test_the_unit_gets_what_the_projections_give(weight, given, factor, monkeypatch):
    plain, nz = pair("biases", dtype=weight)
    real, met = _heads.matmul, []

    def noted(a, b, *args, **options):
        out = real(a, b, *args, **options)
        met.append((a.dtype, b.dtype, out.dtype))
        return out

    monkeypatch.setattr(_heads, "matmul", noted)
    jax.eval_shape(lambda *xs: nz(*xs), *sequences(plain, dtype=given))
    assert met == [(factor, factor, "float32")] * 2


def test_types_that_the_unit_lacks_are_multiplied_in_float32():
    assert _heads.factor_type(jnp.dtype("float64")) == "float32"
    assert _heads.factor_type(jnp.dtype("float8_e5m2")) == "float32"


@pytest.mark.parametrize("emulate", ["layout", "path"])
def test_scores_keep_what_half_cannot_hold(emulate):
    """2049 is no half, so that with scores in half both keys would weigh the same."""
    plain = PLAIN(1, 64, dtype="float16", key=KEY)
    eye = jnp.eye(64, dtype="float16")
    for name in PROJECTIONS:
        plain = eqx.tree_at(lambda p, n=name: getattr(p, n).weight, plain, eye)
    nz = NZ.from_eqx(plain, emulate=emulate)
    query = jnp.full((1, 64), 8, "float16")  # divided by 8
    key_ = jnp.zeros((2, 64), "float16").at[:, 0].set(2048).at[1, 1].set(1)
    value = jnp.zeros((2, 64), "float16").at[1].set(1)
    share = 1 / (1 + np.exp(-1))
    np.testing.assert_allclose(run(nz, (query, key_, value)), share, atol=5e-4)
    np.testing.assert_allclose(run(plain, (query, key_, value)), 0.5, atol=5e-4)


def test_types_of_results_are_the_plain_layer_s():
    for weight in ("float32", "float16", "bfloat16"):
        plain, nz = pair("biases", dtype=weight)
        for given in ("float32", "float16", "bfloat16", "int32"):
            xs = sequences(plain)
            xs = (xs[0].astype(given), *(x.astype(weight) for x in xs[1:]))
            want = jax.eval_shape(plain, *xs)
            assert jax.eval_shape(nz, *xs).dtype == want.dtype


def test_a_model_that_was_cast_still_works():
    plain, nz = pair()
    cast = functools.partial(
        jax.tree.map, lambda x: x.astype("bfloat16") if eqx.is_array(x) else x
    )
    xs = sequences(plain)
    np.testing.assert_allclose(run(cast(nz), xs), run(plain, xs), rtol=0.05, atol=0.02)
    check_same_layer(cast(nz).to_eqx(), cast(plain))


# --- the road


@pytest.mark.parametrize(
    ("product", "dtype"),
    [("910B", "float32"), ("atlas_350", "float16")],
)
def test_path_gives_the_layer_in_tiles(product, dtype):
    """60 keys, or values, of 600 elements are more than L0B holds."""
    options = {"product": product, "dtype": dtype, "qk_size": 600, "vo_size": 600}
    _, nz = pair("one bias", **options, emulate="path")
    _, layout = pair("one bias", **options)
    xs = sequences(nz, 3, 60, dtype=dtype)
    got, want = run(nz, xs), run(layout, xs)
    eps = float(jnp.finfo(dtype).eps)
    close(got, want, atol=max(1e-6, eps / 2))


def test_path_multiplies_each_head_by_itself():
    """No product has both heads' elements."""
    _, nz = pair(emulate="path")
    made = []

    def noted(*sizes):
        made.append(sizes[1:4])
        return real(*sizes)

    real = _matmul.cube_of
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_matmul, "cube_of", noted)
        jax.eval_shape(lambda *xs: nz(*xs), *sequences(nz))
    assert made == [(5, 7, 10), (5, 10, 7)]  # (m, n, k)


# --- gradients and transforms


@pytest.mark.parametrize("emulate", ["layout", "path"])
def test_gradients_are_the_plain_layer_s(emulate):
    plain, nz = pair("biases", emulate=emulate)
    xs, mask = sequences(plain), masks()["each head"]
    weight = jax.random.normal(KEY, (5, 6))

    @eqx.filter_jit
    def grads(layer, xs):
        def loss(both):
            return (both[0](*both[1], mask) * weight).sum()

        return eqx.filter_grad(loss)((layer, xs))

    (got, got_xs), (want, want_xs) = grads(nz, xs), grads(plain, xs)
    for x, y in zip(got_xs, want_xs, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-5)
    for name in PROJECTIONS:
        one, two = getattr(got, name), getattr(want, name)
        layout = getattr(nz, name).layout
        np.testing.assert_allclose(one.bias, two.bias, rtol=1e-4, atol=1e-5)
        unpacked = layout.unpack(one.weight)
        np.testing.assert_allclose(unpacked, two.weight, rtol=1e-4, atol=1e-5)
        padding = np.asarray(layout.pack(jnp.ones(layout.shape))) == 0
        assert padding.any() and not bits(one.weight)[padding].any()


def test_vmap_over_any_axis():
    plain, nz = pair()
    xs = sequences(plain, lead=(3,))
    moved = [jnp.moveaxis(x, 0, k) for k, x in enumerate(xs)]
    out = eqx.filter_jit(lambda layer, xs: jax.vmap(layer, (0, 1, 2))(*xs))(nz, moved)
    for k in range(3):
        close(out[k], run(plain, [x[k] for x in xs]))


def test_layers_made_under_vmap_and_run_by_scan():
    keys = jax.random.split(KEY, 3)
    plain = eqx.filter_vmap(lambda key: PLAIN(2, 10, key=key))(keys)
    stacked = eqx.filter_vmap(lambda key: NZ(2, 10, key=key))(keys)
    check_same_layer(NZ.from_eqx(plain), stacked)
    check_same_layer(stacked.to_eqx(), plain)

    @eqx.filter_jit
    def deep(layers, x):
        arrays, rest = eqx.partition(layers, eqx.is_array)

        def step(x, one):
            return x + eqx.combine(one, rest)(x, x, x), None

        return jax.lax.scan(jax.checkpoint(step), x, arrays)[0]

    x = jax.random.normal(KEY, (5, 10))
    close(deep(stacked, x), deep(plain, x))


def test_equal_layers_do_not_trace_again():
    count = 0

    @eqx.filter_jit
    def counted(layer, xs):
        nonlocal count
        count += 1
        return layer(*xs)

    for _ in range(3):
        nz = pair()[1]
        counted(nz, sequences(nz))
    assert count == 1


# --- training


STEPS = 100


@eqx.filter_jit
def trained(layer, wrap=lambda f: f):
    """SGD on a smooth function of sequences: what comes out, the loss of each step."""
    xs = jax.random.normal(jax.random.key(1), (8, 5, layer.query_size))
    ys = jnp.sin(2 * xs) + xs[:, ::-1] ** 2
    keys = jax.random.split(KEY, 8)
    arrays, rest = eqx.partition(layer, eqx.is_inexact_array)

    def loss(arrays):
        model = wrap(eqx.combine(arrays, rest))
        out = jax.vmap(lambda x, key: model(x, x, x, key=key))(xs, keys)
        return ((out - ys) ** 2).mean()

    def step(arrays, _):
        value, grads = jax.value_and_grad(loss)(arrays)
        return jax.tree.map(lambda p, g: p - 0.2 * g, arrays, grads), value

    return jax.lax.scan(step, arrays, None, STEPS)


def apart(got, want):
    """The largest relative difference."""
    return (abs(got - want) / abs(want)).max()


def test_apart_goes_red():
    plain, _ = pair("biases", dropout_p=0.125)
    bent = eqx.tree_at(
        lambda p: p.value_proj.bias, plain, replace_fn=lambda b: b + 1e-3
    )
    assert apart(trained(bent)[1], trained(plain)[1]) > 1e-5


@pytest.mark.parametrize(
    ("emulate", "wrap"),
    [
        ("layout", {}),
        ("path", {"wrap": eqx.filter_checkpoint}),
    ],
    ids=["layout", "path, checkpoint"],
)
def test_training_follows_the_plain_layer(emulate, wrap):
    """100 steps of float32 of a batch, at sizes that are no whole fractals."""
    plain, nz = pair("biases", dropout_p=0.125, emulate=emulate)
    _, want = trained(plain)
    end, got = trained(nz, **wrap)
    assert want[-1] < 0.95 * want[0] and np.isfinite(want[-1])
    assert apart(got, want) < 1e-5
    for name in PROJECTIONS:
        weight, layout = getattr(end, name).weight, getattr(nz, name).layout
        np.testing.assert_array_equal(layout.pack(layout.unpack(weight)), weight)


# --- refusals

CASES = {
    "heads": (
        {"num_heads": 0},
        asc.ParamError,
        r"NZAttention: num_heads must be an integer of at least 1 \(heads\), got 0",
    ),
    "no size": (
        {"value_size": 2.5},
        asc.ParamError,
        r"NZAttention: value_size must be an integer of at least 1 \(elements\), got "
        "2.5",
    ),
    "too many heads": (
        {"num_heads": 9},
        asc.ParamError,
        "NZAttention: qk_size must be an integer .*, got 0. Left out, qk_size and "
        "vo_size are query_size // num_heads",
    ),
    "word": (
        {"emulate": "road"},
        asc.ParamError,
        "NZAttention: emulate must be one of 'layout', 'path', got 'road'",
    ),
    "type": (
        {"dtype": "float8_e5m2"},
        asc.ParamError,
        "NZAttention: dtype must be one that trains on the matrix unit",
    ),
    "product": (
        {"product": "atlas_900"},
        asc.SupportError,
        "NZAttention: product must be one of",
    ),
    "no unit": (
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
    given = {"num_heads": 2, "query_size": 8, "key": KEY}
    with pytest.raises(error, match=text):
        NZ(**{**given, **options})


CALLS = {
    "batch": (
        {"query": jnp.ones((2, 5, 20))},
        r"NZAttention: query must have shape \(rows, 20\) \(elements\), one sequence, "
        r"got \(2, 5, 20\)\. Use jax\.vmap for batches",
    ),
    "rows": (
        {"query": jnp.ones((0, 20))},
        r"NZAttention: query must have shape \(rows, 20\) .* of at least one row, got "
        r"\(0, 20\)\. Leave empty sequences out",
    ),
    "others": (
        {"key_": jnp.ones((0, 20)), "value": jnp.ones((0, 20))},
        "NZAttention: key_ must have shape .* of at least one row",
    ),
    "size": (
        {"key_": jnp.ones((7, 19))},
        r"NZAttention: key_ must have shape \(rows, 20\)",
    ),
    "length": (
        {"value": jnp.ones((6, 20))},
        "NZAttention: value must have as many rows as key_, 7, got 6",
    ),
    "mask": (
        {"mask": jnp.ones((5, 5), bool)},
        r"NZAttention: mask must have shape \(5, 7\) \(rows of query, of key_\), or "
        r"\(2, 5, 7\) for each head, got \(5, 5\)",
    ),
    "mask of one head": (
        {"mask": jnp.ones((1, 5, 7), bool)},
        "NZAttention: mask must have shape",
    ),
    "process_heads": (
        {"process_heads": lambda query, key_, value: (query[1:], key_, value)},
        r"NZAttention: process_heads must give heads of the shapes that it gets, "
        r"\(\(5, 2, 10\), .*\) \(elements\), got \(\(4, 2, 10\)",
    ),
    "two of process_heads": (
        {"process_heads": lambda query, key_, value: (query, key_)},
        r"NZAttention: process_heads must give heads .*, got \(\(5, 2, 10\), "
        r"\(7, 2, 10\)\)\.",
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_what_a_call_refuses(name):
    given, text = CALLS[name]
    _, nz = pair()
    xs = dict(zip(("query", "key_", "value"), sequences(nz), strict=True))
    with pytest.raises(asc.BoundsError, match=text):
        nz(**{**xs, **given})
