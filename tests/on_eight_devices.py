"""Moves whose batch is spread over a mesh. Run by `test_sharding.py`."""

import functools
import os

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from campaign_helpers import dumps
from cases import CASES, Case, integers
from helpers import check_equal, check_same, every_kind, moved, operands, pulled_back
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

import ascjax as asc
from ascjax.dumps import check_dumps
from ascjax.sweeps._batch import Spread
from ascjax.sweeps._code import Kind
from ascjax.sweeps._program import apply, mapper
from ascjax.verify import read_cases

# Read when JAX starts its first device, which no import has done.
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = (
    os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8"
)

some_kinds = pytest.mark.parametrize(
    "name", ["load2d_gap", "nddma_nearest", "sequence_irregular"]
)


@functools.cache
def mesh_of(kind: AxisType, *shape: int) -> jax.sharding.Mesh:
    shape = shape or (8,)
    names = ("x", "y")[: len(shape)]
    return jax.make_mesh(shape, names, axis_types=(kind,) * len(shape))


@pytest.fixture(params=[AxisType.Auto, AxisType.Explicit], ids=["auto", "explicit"])
def mesh(request):
    made = mesh_of(request.param)
    with jax.set_mesh(made):
        yield made


def put(mesh, x, *spec):
    return jax.device_put(x, NamedSharding(mesh, P(*spec)))


def spread(x) -> bool:
    """Whether an array lies on all eight devices, each with its own rows."""
    rows = {shard.index[0].indices(x.shape[0]) for shard in x.addressable_shards}
    return len(rows) == 8


def test_there_are_eight_devices_and_spread_goes_red():
    assert jax.device_count() == 8
    mesh = mesh_of(AxisType.Auto)
    assert spread(put(mesh, np.zeros((8, 3)), "x"))
    assert not spread(put(mesh, np.zeros((8, 3)), None))


# --- NamedSharding, Auto and Explicit


@every_kind
def test_a_batch_over_the_mesh(case: Case, mesh):
    """Values, gradients and a vmap, with results spread as the operands are."""
    move = case.move
    src, dst = operands(move, (8,))
    ct = integers(1, dst.shape, dst.dtype)

    @jax.jit
    def run(src, dst, ct):
        out, back = jax.vjp(case.run, src, dst)
        return out, *back(ct), jax.vmap(case.run)(src, dst)

    spread_ones = [put(mesh, x, "x", None) for x in (src, dst, ct)]
    compiled = run.lower(*spread_ones).compile()
    out, to_src, to_dst, mapped = compiled(*spread_ones)
    check_same(out, moved(move, src, dst))
    check_same(mapped, out)
    for got, want in zip((to_src, to_dst), pulled_back(move, ct), strict=True):
        check_equal(got, want)
    results = out, mapped, to_src, to_dst
    chosen = results if mesh.axis_types[0] == AxisType.Explicit else results[:2]
    assert all(map(spread, chosen))  # Auto may place a constant zero anywhere
    text = compiled.as_text()
    for talk in ("all-gather", "all-reduce", "all-to-all", "collective-permute"):
        assert talk not in text


@pytest.mark.quick
@some_kinds
@pytest.mark.parametrize("way", ["one dst", "one src", "dst on all", "src on all"])
def test_one_operand_over_the_mesh(name, way, mesh):
    """The other operand without a batch, or with its batch on every device."""
    case, move = CASES[name], CASES[name].move
    src, dst = operands(move, (8,))
    if way == "one dst":
        dst = dst[0]
    if way == "one src":
        src = src[0]
    places = {"src": ("x", None), "dst": ("x", None)}
    places[way.split()[0 if "on all" in way else 1]] = ()
    ct = integers(1, (8, move.dst_size), src.dtype)
    at = [put(mesh, src, *places["src"]), put(mesh, dst, *places["dst"])]

    @jax.jit
    def run(src, dst, ct):
        out, back = jax.vjp(case.run, src, dst)
        return out, *back(ct)

    out, to_src, to_dst = run(*at, put(mesh, ct, "x", None))
    check_same(out, moved(move, src, dst))
    if mesh.axis_types[0] == AxisType.Explicit:
        assert spread(out)
    want_src, want_dst = pulled_back(move, ct)
    check_equal(to_src, want_src if src.ndim == 2 else want_src.sum(0))
    check_equal(to_dst, want_dst if dst.ndim == 2 else want_dst.sum(0))


@pytest.mark.quick
@some_kinds
def test_one_operand_over_the_mesh_under_vmap(name, mesh):
    case, move = CASES[name], CASES[name].move
    src, dst = operands(move, (8,))
    over = put(mesh, src, "x", None)
    out = jax.jit(jax.vmap(case.run, (0, None)))(over, put(mesh, dst[0]))
    check_same(out, moved(move, src, dst[0]))
    over = put(mesh, dst, "x", None)
    out = jax.jit(jax.vmap(case.run, (None, 0)))(put(mesh, src[0]), over)
    check_same(out, moved(move, src[0], dst))


def test_eager_calls_take_arrays_on_a_mesh(mesh):
    case, move = CASES["load2d_gap"], CASES["load2d_gap"].move
    src, dst = operands(move, (8,))
    at = put(mesh, src, "x", None), put(mesh, dst, "x", None)
    out = case.run(*at)
    check_same(out, moved(move, src, dst))
    assert spread(out)
    check_same(case.run(at[0]), moved(move, src))


@pytest.mark.quick
@every_kind
@pytest.mark.parametrize("way", ["neither", "src", "dst", "batch of src"])
def test_operands_off_the_mesh_in_use(case: Case, way):
    """Arrays of the host as arguments, beside constants, which are on the mesh."""
    move = case.move
    src, dst = operands(move, (3,))[0], operands(move)[1]
    if way != "batch of src":
        src = src[0]
    want = moved(move, src, dst)
    with jax.set_mesh(mesh_of(AxisType.Explicit)):
        if way == "src":
            out = jax.jit(lambda src: case.run(src, jnp.asarray(dst)))(src)
        elif way == "dst":
            out = jax.jit(lambda dst: case.run(jnp.asarray(src), dst))(dst)
        else:
            out = jax.jit(case.run)(src, dst)
    check_same(out, want)


@pytest.mark.quick
@pytest.mark.parametrize("name", ["load2d_transpose", "nddma_constant"])
@pytest.mark.parametrize("kind", [AxisType.Auto, AxisType.Explicit])
def test_two_mesh_axes_on_two_batch_axes(name, kind):
    case, move = CASES[name], CASES[name].move
    src, dst = operands(move, (4, 6))
    mesh = mesh_of(kind, 4, 2)
    with jax.set_mesh(mesh):
        at = [put(mesh, x, "x", "y", None) for x in (src, dst)]
        out = jax.jit(case.run)(*at)
    check_same(out, moved(move, src, dst))
    assert out.sharding.shard_shape(out.shape) == (1, 3, move.dst_size)


def test_shardings_given_to_jit():
    case, move = CASES["nz2nd"], CASES["nz2nd"].move
    src, dst = operands(move, (8,))
    rows = NamedSharding(mesh_of(AxisType.Auto), P("x"))
    out = jax.jit(case.run, in_shardings=(rows, rows), out_shardings=rows)(src, dst)
    check_same(out, moved(move, src, dst))
    assert spread(out)


def test_modules_and_sequences_over_the_mesh(mesh):
    params = asc.LoadData2DParams(0, 2, 1)
    src = integers(1, (8, 512), "float16")
    load = asc.nn.LoadData(params, dtype="half", src_size=512, dst_size=600)
    out = load(put(mesh, src, "x", None))
    check_same(out, moved(load.move, src))
    assert spread(out)


# --- matrix products: the batch of one operand, or of all


PLAIN = asc.Layout("ZZ", (17, 33), "half"), asc.Layout("ZN", (33, 9), "half")
L0C_SIZE = 32 * 16


def mmad(a, b, start, on):
    """[17, 33] @ [33, 9], from a bias or on what L0C holds."""
    l0a, l0b = PLAIN[0].pack(a), PLAIN[1].pack(b)
    params = asc.MmadParams(17, 9, 33, cmatrix_init_val=on == "bias")
    return asc.mmad(l0a, l0b, params, product="910B", **{on: start})


def cube(a, b, _):
    return asc.nn.CubeMatmul("910B", 17, 9, 33, "half", tile=(32, 16, 32))(a, b)


PRODUCTS = {  # and the length of what a product starts from
    "mmad on L0C": (functools.partial(mmad, on="l0c"), L0C_SIZE),
    "mmad on a bias": (functools.partial(mmad, on="bias"), 9),
    "cube": (cube, 1),
}


def factors(lead: str, length: int) -> list[np.ndarray]:
    """A, B and the start, each with a batch where its letter is in `lead`."""
    shapes = {"a": (17, 33), "b": (33, 9), "s": (length,)}
    return [
        integers(2, (8,) * (name in lead) + shape, "f4" if name == "s" else "f2") % 8
        for name, shape in shapes.items()
    ]


@pytest.mark.quick
@pytest.mark.quick
@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize(
    "lead, over", [("a", "a"), ("bs", "b"), ("abs", "abs"), ("abs", "a")]
)
def test_products_over_the_mesh(name, lead, over, mesh):
    """Values and gradients as of one device, the result spread as operands are."""
    run, length = PRODUCTS[name]
    given = factors(lead, length)

    @jax.jit
    def results(*given):
        out, back = jax.vjp(run, *given)
        return out, *back(jnp.ones_like(out))

    places = [("x",) if operand in over else () for operand in "abs"]
    at = [put(mesh, x, *place) for x, place in zip(given, places, strict=True)]
    got = results(*at)
    for one, two in zip(got, results(*given), strict=True):
        check_same(one, two)
    if mesh.axis_types[0] == AxisType.Explicit:
        assert spread(got[0])
    if over == lead:
        check_same(run(*at), got[0])  # eagerly


@pytest.mark.quick
@pytest.mark.quick
@pytest.mark.parametrize("tile", [None, (16, 16, 32)])
@pytest.mark.parametrize("over", ["a", "b", "ab"])
def test_traces_over_the_mesh(over, tile, mesh):
    made = asc.nn.CubeMatmul("910B", 17, 9, 33, "half", tile=tile)
    a, b, _ = factors("ab", 1)
    at = [put(mesh, a, *"x" * ("a" in over)), put(mesh, b, *"x" * ("b" in over))]
    got, want = (jax.tree.leaves(made(*each, trace=True)) for each in (at, (a, b)))
    for one, two in zip(got, want, strict=True):  # `Held` of every buffer
        check_same(one.values, two.values)
        check_same(one.written, two.written)


@pytest.mark.quick
@pytest.mark.quick
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_of_operands_off_the_mesh_in_use(name):
    run, length = PRODUCTS[name]
    given = factors("", length)
    with jax.set_mesh(mesh_of(AxisType.Explicit)):
        check_same(jax.jit(run)(*given), run(*given))
        mixed = jax.jit(lambda a, s: run(a, jnp.asarray(given[1]), s))
        check_same(mixed(given[0], given[2]), run(*given))


@pytest.mark.quick
@pytest.mark.quick
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_in_shard_map(name):
    run, length = PRODUCTS[name]
    given = factors("as", length)
    specs = P("x"), P(), P("x")
    mesh = mesh_of(AxisType.Auto)
    over = jax.shard_map(run, mesh=mesh, in_specs=specs, out_specs=P("x"))
    check_same(jax.jit(over)(*given), jax.jit(run)(*given))


# --- a flat axis that is spread is refused


@pytest.mark.parametrize("field", ["src", "dst"])
def test_a_flat_axis_over_the_mesh_is_refused(field, mesh):
    params = asc.LoadData2DParams(0, 1)
    spec = {"src": (None, None), "dst": (None, None)}
    spec[field] = (None, "x")
    src, dst = (put(mesh, np.zeros((8, 256), "f2"), *spec[x]) for x in ("src", "dst"))
    text = (
        f"load2d: {field} must not be sharded along its last axis, the flat buffer, "
        r"got shards of 32 of 256 elements\. Shard leading \(batch\) axes instead\."
    )
    with pytest.raises(asc.SupportError, match=text):
        asc.load_data(src, params, dst=dst)


@pytest.mark.parametrize("field", ["src", "dst"])
def test_a_flat_axis_over_the_mesh_is_refused_while_tracing(field):
    mesh = mesh_of(AxisType.Explicit)
    spec = {"src": (None, None), "dst": (None, None)}
    spec[field] = (None, "x")
    with jax.set_mesh(mesh):
        src, dst = (
            put(mesh, np.zeros((8, 256), "f2"), *spec[x]) for x in ("src", "dst")
        )
        text = (
            r"must not be sharded along their last axis, the flat buffer, got the "
            r"sharding P\(None, 'x'\)\. Shard leading \(batch\) axes instead\."
        )
        with pytest.raises(asc.SupportError, match=text):
            jax.jit(lambda s, d: asc.load_data(s, asc.LoadData2DParams(0, 1), dst=d))(
                src, dst
            )


# --- shard_map, with its check of what varies over the mesh


VARYING = {
    "both": (P("x"), P("x")),
    "src": (P("x"), P()),
    "dst": (P(), P("x")),
    "none": (P(), P()),
}


@pytest.mark.quick
@every_kind
@pytest.mark.parametrize("varies", ["both", "src"])
def test_shard_map(case: Case, varies):
    check_shard_map(case, varies)


@pytest.mark.quick
@some_kinds
@pytest.mark.parametrize("varies", ["dst", "none"])
def test_shard_map_of_a_constant_source(name, varies):
    check_shard_map(CASES[name], varies)


def check_shard_map(case: Case, varies: str) -> None:
    """Values, and gradients taken outside and inside of the map."""
    move, specs = case.move, VARYING[varies]
    lead = [(8,) if spec else () for spec in specs]
    src, dst = operands(move, lead[0])[0], operands(move, lead[1])[1]
    whole = (8,) if varies != "none" else ()
    ct = integers(1, (*whole, move.dst_size), src.dtype)
    at = P("x") if whole else P()
    mesh = mesh_of(AxisType.Explicit if varies == "both" else AxisType.Auto)

    over = functools.partial(jax.shard_map, mesh=mesh, check_vma=True)
    run = over(case.run, in_specs=specs, out_specs=at)

    def pull(src, dst, ct):
        return jax.vjp(case.run, src, dst)[1](ct)

    @jax.jit
    def results(src, dst, ct):
        out, back = jax.vjp(run, src, dst)
        inside = over(pull, in_specs=(*specs, at), out_specs=specs)(src, dst, ct)
        return out, back(ct), inside

    with jax.set_mesh(mesh):
        given = zip((src, dst, ct), (*specs, at), strict=True)
        out, outside, inside = results(*(put(mesh, x, *spec) for x, spec in given))
    check_same(out, moved(move, src, dst))
    want = [
        pull if given or not whole else pull.sum(0)
        for pull, given in zip(pulled_back(move, ct), lead, strict=True)
    ]
    for got in (outside, inside):
        check_equal(got[0], want[0])
        check_equal(got[1], want[1])


def test_shard_map_without_a_destination():
    case, move = CASES["nddma_constant"], CASES["nddma_constant"].move
    src = operands(move, (8,))[0]
    mesh = mesh_of(AxisType.Auto)
    run = jax.shard_map(case.run, mesh=mesh, in_specs=P("x"), out_specs=P("x"))
    check_same(jax.jit(run)(src), moved(move, src))


@pytest.mark.quick
def test_shard_map_with_a_scan_inside():
    """The carry varies as the sources do, though the destination starts constant."""
    case, move = CASES["load2d_gap"], CASES["load2d_gap"].move
    srcs, dst = operands(move, (8, 3))[0], operands(move)[1]

    def run(srcs, dst):
        first = case.run(srcs[0, 0], dst)
        return jax.lax.scan(lambda d, s: (case.run(s, d), None), first, srcs[0])[0][
            None
        ]

    mesh = mesh_of(AxisType.Auto)
    over = jax.shard_map(
        run, mesh=mesh, in_specs=(P("x"), P()), out_specs=P("x"), check_vma=True
    )
    check_same(jax.jit(over)(srcs, jnp.asarray(dst)), moved(move, srcs[:, 2], dst))


def test_layouts_keep_the_sharding_of_leading_axes(mesh):
    layout = asc.Layout("NZ", (17, 33), "float")
    x = integers(2, (8, 17, 33), "float32")

    @jax.jit
    def run(x):
        buffer = layout.pack(x)
        zn = asc.convert(buffer, layout, "ZN")
        return buffer, layout.unpack(buffer), zn

    buffer, back, zn = run(put(mesh, x, "x", None, None))
    check_same(back, x)
    check_same(zn, asc.Layout("ZN", (17, 33), "float").pack(x))
    assert all(map(spread, (buffer, back, zn)))


@pytest.mark.quick
@pytest.mark.quick
@pytest.mark.parametrize("emulate", ["layout", "path"])
def test_data_parallel_gradients_of_a_layer_with_nz_weights(mesh, emulate):
    """Small integers: sums are exact, whatever their order."""
    plain = eqx.nn.Linear(20, 17, key=jax.random.key(0))
    plain = jax.tree.map(lambda leaf: jnp.round(4 * leaf * 20), plain)
    layer = asc.nn.NZLinear.from_eqx(plain, emulate=emulate)
    x, ct = integers(1, (8, 20), "float32"), integers(2, (8, 17), "float32")

    @jax.jit
    def run(layer, x, ct):
        out, back = jax.vjp(lambda layer: jax.vmap(layer)(x), layer)
        return out, back(ct)[0].weight

    whole = jax.device_put(layer, NamedSharding(mesh, P()))
    out, grad = run(whole, put(mesh, x, "x", None), put(mesh, ct, "x", None))
    check_equal(out, x @ np.asarray(plain.weight).T + np.asarray(plain.bias))
    check_equal(grad, layer.layout.pack(jnp.asarray(ct.T @ x)))
    assert spread(out)


@pytest.mark.quick
@pytest.mark.parametrize("emulate", ["layout", "path"])
def test_data_parallel_training_of_attention(mesh, emulate):
    """Loss and gradients of sequences over the mesh are those of all on one device."""
    layer = asc.nn.NZAttention(2, 6, key=jax.random.key(0), emulate=emulate)
    arrays, rest = eqx.partition(layer, eqx.is_array)
    xs = jax.random.normal(jax.random.key(1), (8, 5, 6))

    @jax.jit
    def run(arrays, xs):
        def loss(arrays):
            out = jax.vmap(lambda x: eqx.combine(arrays, rest)(x, x, x))(xs)
            return ((out - xs) ** 2).mean(), out

        return jax.value_and_grad(loss, has_aux=True)(arrays)

    whole = jax.device_put(arrays, NamedSharding(mesh, P()))
    (value, out), grads = run(whole, put(mesh, xs, "x", None, None))
    (want, _), beside = run(arrays, xs)
    np.testing.assert_allclose(value, want, rtol=1e-5)
    for x, y in zip(jax.tree.leaves(grads), jax.tree.leaves(beside), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-6)
    assert spread(out)


@pytest.mark.quick
@pytest.mark.parametrize("emulate", ["layout", "path"])
def test_data_parallel_gradients_of_a_convolution(mesh, emulate):
    """Small integers: sums are exact, whatever their order."""
    plain = eqx.nn.Conv2d(3, 5, 2, key=jax.random.key(0))
    plain = jax.tree.map(lambda leaf: jnp.round(8 * leaf), plain)
    layer = asc.nn.NZConv2d.from_eqx(plain, emulate=emulate)
    x, ct = integers(1, (8, 3, 4, 4), "float32"), integers(2, (8, 5, 3, 3), "float32")

    @eqx.filter_jit
    def run(layer, x, ct):
        out, back = jax.vjp(lambda weight: jax.vmap(weight)(x), layer)
        return out, back(ct)[0]

    whole = jax.device_put(layer, NamedSharding(mesh, P()))
    over = ("x", None, None, None)
    out, grad = run(whole, put(mesh, x, *over), put(mesh, ct, *over))
    with jax.set_mesh(None):
        want, wanted = run(plain, x, ct)
    check_equal(out, want)
    check_equal(grad.weight, layer.layout.pack(wanted.weight))
    assert spread(out)


@pytest.mark.quick
@pytest.mark.parametrize("way", ["eagerly", "jit"])
def test_scales_are_of_the_whole_batch_over_the_mesh(way, mesh):
    """Each device has one row, and its largest magnitude may be any of them."""
    layer = eqx.nn.Linear(20, 17, key=jax.random.key(0))

    def run(model, xs):
        return jax.vmap(model)(xs)

    xs = np.random.default_rng(0).uniform(-1, 1, (8, 20)).astype("f4")
    for row in (0, 7):
        xs[row, 3] = -9 - row
        ways = {"eagerly": run, "jit": eqx.filter_jit(run)}
        made = asc.nn.quantise(layer, put(mesh, xs, "x"), run=ways[way])
        check_equal(made.x_scale, np.float32(9 + row) / np.float32(127))


# --- sweeps


@pytest.mark.quick
def test_a_sweep_is_spread_over_all_devices():
    """Of calls, runs, paddings and 64 bits alike: what one device gives."""
    l1 = np.arange(1024, dtype="float16")
    load2d = [asc.LoadData2DParams(k % 4, k % 3, k % 2) for k in range(100)]
    image = np.arange(16 * 16 * 16, dtype="float16")
    load3d = [
        asc.LoadData3DParamsV2(
            l1_h=4 + k % 3, l1_w=5, channel_size=16, k_extension=16, m_extension=16,
            filter_w=1 + k % 2, filter_h=1 + k % 2, stride_w=1, stride_h=1,
            dilation_filter_w=1, dilation_filter_h=1,
        )
        for k in range(20)
    ]  # fmt: skip
    info = asc.NdDmaLoopInfo((1,), (1,), (8,), (3,), (2,))
    sweeps = [
        ("load2d", load2d, l1, {}),
        ("load3dv2", load3d, image, {"product": "910B", "path": "L1->L0A"}),
        ("nddma", [asc.NdDmaParams(info, 0)] * 9, l1[:8].astype("uint64"), {}),
    ]
    for name, cases, src, where in sweeps:
        over = asc.sweep(name, cases, src, **where)
        alone = asc.sweep(name, cases, src, devices=jax.local_devices()[:1], **where)
        assert over.status.tolist() == alone.status.tolist()
        assert over.ok.any()
        for x, y in zip(over, alone, strict=True):
            np.testing.assert_array_equal(x, y)


@pytest.mark.quick
def test_dumps_are_checked_on_all_devices(tmp_path, monkeypatch):
    """What is wrong is found on whichever device it is, as on one."""
    wrong = {3, 50, 199}
    file = dumps(tmp_path, 200, wrong=tuple(wrong))
    put, placed = Spread.put, []

    def placing(self, batch):
        found = put(self, batch)
        placed.append(len(found.sharding.device_set))
        return found

    monkeypatch.setattr(Spread, "put", placing)
    for devices, count in ((None, 8), (jax.local_devices()[:1], 1)):
        placed.clear()
        found = list(check_dumps(read_cases(file), devices=devices))
        assert {k for k, one in enumerate(found) if one.failed} == wrong
        assert set(placed) == {count}


def sends(lowered) -> bool:
    program = lowered.compile().as_text()
    words = "all-gather", "all-reduce", "all-to-all", "collective"
    return any(word in program for word in words)


def test_the_check_of_what_is_sent_goes_red():
    total = jax.jit(lambda x: x.sum(0))
    assert sends(total.lower(Spread(None).put(np.zeros((16, 4), np.int32))))


@pytest.mark.quick
@pytest.mark.parametrize("kind", [Kind(4, 0, 0), Kind(8, 8, 0), Kind(0, 0, 64)])
@pytest.mark.parametrize("last", [False, True])
def test_the_programs_of_a_sweep_send_nothing(kind, last):
    """Each device has its own cases, from operands to results."""
    put = Spread(None).put
    numbers = put(np.zeros((16, 2, kind.length), np.int32))
    run = mapper(kind, 1024, last)
    index = run(numbers)
    buffers = [put(np.zeros((16, n), np.uint16)) for n in (4096, 1024, 2)]
    assert spread(index) and spread(apply(index, *buffers))
    for lowered in (run.lower(numbers), apply.lower(index, *buffers)):
        assert not sends(lowered)
    assert not spread(Spread(jax.local_devices()[:1]).put(np.zeros((8, 1), np.int32)))
