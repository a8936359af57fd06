"""Weight files: every bit kept on every road, and what is refused.

Files are read back by `safetensors.deserialize`, addresses are the oracle's: neither
knows of ascjax's reader, writer or layouts.
"""

import functools
import json
import tracemalloc
import zipfile

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import safetensors
import safetensors.numpy
from helpers import bits, check_same, of_bits, patterns
from hypothesis import given, settings
from hypothesis import strategies as st

import ascjax as asc
from ascjax import oracle
from ascjax._dtypes import TYPES
from ascjax.cli import main
from ascjax.weights import _file

KEY = jax.random.key(3)
LIKE = asc.nn.NZLinear(20, 17, key=KEY)
LEAVES = jax.tree.leaves(LIKE)
CODES = {
    **{"bool": "BOOL", "int8_t": "I8", "uint8_t": "U8", "int16_t": "I16"},
    **{"uint16_t": "U16", "half": "F16", "bfloat16_t": "BF16", "int32_t": "I32"},
    **{"uint32_t": "U32", "float": "F32", "int64_t": "I64", "uint64_t": "U64"},
    **{"double": "F64", "complex64": "C64", "complex32": "U32"},
    **{"fp8_e4m3fn_t": "F8_E4M3", "fp8_e5m2_t": "F8_E5M2", "fp8_e8m0_t": "F8_E8M0"},
    **{"hifloat8_t": "U8", "int4b_t": "U8", "fp4x2_e2m1_t": "U8", "fp4x2_e1m2_t": "U8"},
}


@functools.cache
def models():
    """The same model with plain layers and with NZ ones."""
    plain = eqx.nn.MLP(20, 3, width_size=17, depth=1, key=KEY)
    return plain, asc.nn.to_nz(plain, "910B")


def plain_file(path, tensors, metadata=None):
    """A safetensors file of {name: (code, shape, bytes)}, its header made by hand."""
    header, at = {"__metadata__": metadata} if metadata else {}, 0
    for name, (code, shape, data) in tensors.items():
        ends = [at, at + len(data)]
        header[name] = {"dtype": code, "shape": list(shape), "data_offsets": ends}
        at += len(data)
    text = json.dumps(header).encode()
    data = b"".join(data for _, _, data in tensors.values())
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path


def held(path):
    """{name: (code, shape, bytes)} of a file, as safetensors reads it."""
    found = safetensors.deserialize(path.read_bytes())
    return {n: (t["dtype"], tuple(t["shape"]), bytes(t["data"])) for n, t in found}


def metadata(path):
    """What the file says of itself: ascjax's part, and all."""
    with safetensors.safe_open(path, "np") as file:
        every = file.metadata() or {}
    return json.loads(every.get("ascjax", "{}")), every


def rows(x, width):
    """The bytes of rows of elements: pairs of 4-bit ones, the even one low."""
    raw = bits(x)
    if width == 4:
        raw = np.pad(raw, [(0, 0)] * (raw.ndim - 1) + [(0, raw.shape[-1] % 2)])
        raw = raw[..., ::2] | raw[..., 1::2] << 4
    return raw.tobytes()


def stored(layout, x):
    """The buffers that the oracle makes of arrays (..., *shape)."""
    at, size = oracle.layout(
        layout.format, layout.shape, layout.dtype.bits, layout.fractal
    )
    raw = bits(x)
    out = np.zeros((*raw.shape[: raw.ndim - at.ndim], size), raw.dtype)
    out[..., at] = raw
    return of_bits(out, x.dtype)


def check_road(tmp_path, layout, x, move=asc.weights.pack):
    """ND -> file -> packed file -> array -> packed file -> ND file, bit for bit."""
    nd, packed, again, back = (
        tmp_path / f"{name}.safetensors" for name in ("nd", "packed", "again", "back")
    )
    width, type = layout.dtype.bits, layout.dtype
    said = {"w": asc.Layout("ND", x.shape, type)}
    asc.weights.save(nd, {"w": x}, layouts=said, overwrite=True)
    assert held(nd)["w"][::2] == (CODES[type.name], rows(x, width))

    move(nd, packed, layout.format, "910B", "w", overwrite=True)
    want = stored(layout, x)
    assert held(packed)["w"][::2] == (CODES[type.name], rows(want, width))
    (entry,) = asc.weights.inspect(packed)
    assert (entry.layout, entry.shape) == (layout, x.shape)
    assert entry.product is asc.ATLAS_A2

    kept = {"layouts": {"w": layout}, "product": "910B"}
    got = asc.weights.load(packed, {"w": np.empty_like(want)}, **kept)["w"]
    check_same(got, want)
    asc.weights.save(again, {"w": got}, overwrite=True, **kept)
    assert again.read_bytes() == packed.read_bytes()

    asc.weights.unpack(packed, back, overwrite=True)
    assert held(back) == held(nd)
    check_same(asc.weights.load(nd, {"w": np.empty_like(x)}, layouts=said)["w"], x)


# --- every bit of every type


@pytest.mark.parametrize("type", TYPES.values(), ids=repr)
def test_every_type_keeps_every_bit(tmp_path, type):
    carrier = jnp.dtype(type.carrier)
    for format, shape in [("NZ", (17, 33)), ("FRACTAL_Z", (17, 33, 2, 3))]:
        x = patterns(1, shape, carrier)  # NaNs with payloads, denormals, -0
        check_road(tmp_path, asc.Layout(format, shape, type), x)


# No Ascend C type is that of all arrays of uint4.
CARRIERS = {type.carrier for type in TYPES.values()} - {"uint4"}


@pytest.mark.parametrize("name", sorted(CARRIERS))
def test_arrays_without_elements_come_back(tmp_path, name):
    carrier = jnp.dtype(name)
    shapes = [(0,), (3, 0), (0, 0, 2), (0, 3)]
    model = [patterns(1, shape, carrier) for shape in shapes]
    asc.weights.save(tmp_path / "plain", model)
    for x, got in zip(model, asc.weights.load(tmp_path / "plain", model), strict=True):
        check_same(got, x)
    batch = {"w": patterns(1, (0, 17, 33), carrier)}
    asc.weights.save(tmp_path / "nd", batch)
    asc.weights.pack(tmp_path / "nd", tmp_path / "nz", only="w")
    asc.weights.unpack(tmp_path / "nz", tmp_path / "back")
    assert held(tmp_path / "back") == held(tmp_path / "nd")


def test_matrices_without_elements_are_copied(tmp_path):
    plain, packed = tmp_path / "plain", tmp_path / "packed"
    asc.weights.save(plain, {"no.w": np.zeros((0, 3), "f2"), "w": np.ones((3, 5))})
    for only in (None, "*w"):
        entries = asc.weights.pack(plain, packed, only=only, overwrite=True)
        assert [entry.name for entry in entries if entry.layout] == ["w"]
        assert held(packed)["no.w"] == held(plain)["no.w"]
    text = r"only='no\.w' must match .* the last 2 not empty\), got no\.w, ND, 0 x 3\."
    with pytest.raises(asc.weights.WeightsError, match=text):
        asc.weights.pack(plain, packed, only=["*w", "no.w"], overwrite=True)


@st.composite
def roads(draw):
    format = draw(st.sampled_from(["DN", "NZ", "ZN", "ZZ", "NN", "NC1HWC0"]))
    own = 4 if format == "NC1HWC0" else 2
    side = st.integers(1, 9 if own == 4 else 70)
    shape = tuple(draw(side) for _ in range(own))
    lead = tuple(draw(st.lists(st.integers(1, 3), max_size=2)))
    return asc.Layout(format, shape, draw(st.sampled_from([*TYPES.values()]))), lead


@settings(max_examples=40)
@given(roads(), st.integers(0, 99))
def test_any_shape_and_batch_keeps_every_bit(tmp_path_factory, road, seed):
    layout, lead = road
    x = patterns(seed, (*lead, *layout.shape), jnp.dtype(layout.dtype.carrier))
    check_road(tmp_path_factory.mktemp("road"), layout, x)


@pytest.mark.parametrize(
    ("type", "raw"),
    [
        ("half", [0x7C01, 0x7E00, 0xFDFF, 0x0001, 0x83FF, 0x8000, 0xFC00]),
        ("bfloat16_t", [0x7F81, 0xFFC1, 0x0001, 0x807F, 0x8000]),
        ("float", [0x7F800001, 0xFFC12345, 0x00000001, 0x807FFFFF, 0x80000000]),
        ("double", [0x7FF0000000000001, 0xFFF8000000000123, 1, 1 << 63]),
        ("fp8_e4m3fn_t", range(256)),
        ("hifloat8_t", range(256)),
    ],
)
def test_nans_denormals_and_zeros(tmp_path, type, raw):
    layout = asc.Layout("NZ", (len(raw), 1), type)
    x = of_bits(np.array([*raw], np.uint64)[:, None], layout.dtype.carrier)
    check_road(tmp_path, layout, x)


@pytest.mark.parametrize("fault", ["bit", "padding", "order", "shape"])
def test_check_road_goes_red(tmp_path, fault):
    layout = asc.Layout("NZ", (17, 33), "half")

    def wrong(src, dst, *rest, **options):
        if fault == "shape":
            return asc.weights.pack(src, dst, "ZZ", *rest[1:], **options)
        done = asc.weights.pack(src, dst, *rest, **options)
        data = bytearray(dst.read_bytes())
        if fault == "order":
            data[-3072:-3070], data[-3070:-3068] = data[-3070:-3068], data[-3072:-3070]
        else:
            data[-3072 if fault == "bit" else -1] ^= 1
        dst.write_bytes(data)
        return done

    with pytest.raises(AssertionError):
        check_road(tmp_path, layout, patterns(0, (17, 33), "float16"), wrong)


def test_jax_arrays_come_back_as_jax_arrays(tmp_path):
    path = tmp_path / "a"
    model = {
        "int4": jnp.arange(-8, 7, dtype="int4").reshape(3, 5),
        "bool": jnp.array([True, False]),
        "scalar": jnp.asarray(jnp.nan, "bfloat16"),
        "empty": jnp.zeros((0, 3), "float8_e5m2"),
        "host": np.array([1 << 40, -1]),
        "turned": np.arange(6, dtype="f4").reshape(2, 3).T,
        "big": np.array([1, 258], ">u2"),
    }
    asc.weights.save(path, model)
    raw = bytes.fromhex("98ba0c ed0f01 325406")
    assert held(path)["int4"] == ("U8", (3, 3), raw)
    got = asc.weights.load(path, model)
    for name, x in model.items():
        assert isinstance(got[name], type(x))
        native = x.astype(x.dtype.newbyteorder("=")) if name == "big" else x
        check_same(got[name], native)


def test_packed_bytes_and_one_element_an_entry_are_one_file(tmp_path):
    layout = asc.Layout("NZ", (17, 33), "int4b_t")
    x = patterns(3, (17, 33), "int4")
    packed = layout.pack(np.frombuffer(rows(x, 4), "u1").reshape(17, 17))
    for name, buffer in {"a": packed, "b": layout.pack(x)}.items():
        asc.weights.save(tmp_path / name, {"w": buffer}, layouts={"w": layout})
    assert held(tmp_path / "a") == held(tmp_path / "b")
    like = {"w": jnp.zeros(layout.size, "int4")}
    got = asc.weights.load(tmp_path / "a", like, layouts={"w": layout})
    check_same(layout.unpack(got["w"]), x)


# --- models


class Both(eqx.Module):
    """A layer of one's own, with a weight in FRACTAL_Z and another leaf in NZ."""

    weight: jax.Array
    query: jax.Array
    bias: jax.Array
    layout: asc.Layout = eqx.field(static=True)
    query_layout: asc.Layout = eqx.field(static=True)
    product: asc.Product = eqx.field(static=True)
    rate: float = 0.5

    def __init__(self, seed=0):
        self.layout = asc.Layout("FRACTAL_Z", (17, 3, 2, 2), "half")
        self.query_layout = asc.Layout("NZ", (5, 7), "float")
        self.weight = self.layout.pack(patterns(seed, (17, 3, 2, 2), "float16"))
        self.query = self.query_layout.pack(patterns(seed, (5, 7), "float32"))
        self.bias = jnp.asarray(patterns(seed, (17,), "float16"))
        self.product = asc.ATLAS_350


def check_same_arrays(one, two):
    assert jax.tree.structure(one) == jax.tree.structure(two)
    for x, y in zip(jax.tree.leaves(one), jax.tree.leaves(two), strict=True):
        check_same(x, y) if eqx.is_array(x) else None


def test_a_model_comes_back(tmp_path):
    path = tmp_path / "model.safetensors"
    _, model = models()
    assert asc.weights.save(path, model) is None
    got = held(path)
    assert got["layers.0.weight"][:2] == ("F32", (768,))
    assert sorted(got) == [
        f"layers.{k}.{name}" for k in (0, 1) for name in ("bias", "weight")
    ]
    like = jax.tree.map(lambda x: x + 1 if eqx.is_array(x) else x, model)
    check_same_arrays(asc.weights.load(path, like), model)
    shapes = eqx.filter_eval_shape(lambda: model)
    check_same_arrays(asc.weights.load(path, shapes), model)
    with pytest.raises(AssertionError):
        check_same_arrays(like, model)


def test_the_metadata_describe_every_array(tmp_path):
    path = tmp_path / "model.safetensors"
    asc.weights.save(path, {"a": Both()}, metadata={"format": "pt"})
    own, every = metadata(path)
    assert every["format"] == "pt"
    assert own == {
        "version": 1,
        "tensors": {
            "a.bias": {"format": "ND", "shape": [17], "dtype": "half"},
            "a.weight": {
                **{"format": "FRACTAL_Z", "shape": [17, 3, 2, 2], "dtype": "half"},
                "product": "atlas_350",
            },
            "a.query": {
                **{"format": "NZ", "shape": [5, 7], "dtype": "float"},
                "product": "atlas_350",
            },
        },
    }


def test_any_layer_that_says_its_layouts(tmp_path):
    path = tmp_path / "model.safetensors"
    model = [Both(1), {"x": (Both(2), jax.nn.relu, None)}]
    asc.weights.save(path, model)
    like = [Both(5), {"x": (Both(6), jax.nn.relu, None)}]
    check_same_arrays(asc.weights.load(path, like), model)
    asc.weights.unpack(path, tmp_path / "nd")
    want = rows(patterns(2, (17, 3, 2, 2), "float16"), 16)
    assert held(tmp_path / "nd")["1.x.0.weight"] == ("F16", (17, 3, 2, 2), want)
    want = rows(patterns(2, (5, 7), "float32"), 32)
    assert held(tmp_path / "nd")["1.x.0.query"] == ("F32", (5, 7), want)


def test_stacked_layers_and_cast_ones(tmp_path):
    path = tmp_path / "model.safetensors"
    raw = [patterns(k, (3, *x.shape), "bfloat16") for k, x in enumerate(LEAVES)]
    model = jax.tree.unflatten(jax.tree.structure(LIKE), map(jnp.asarray, raw))
    asc.weights.save(path, model)
    _, entry = asc.weights.inspect(path)
    assert entry.shape == (3, 17, 20)
    assert (entry.fractal, entry.stored) == ((16, 8), "NZ of 16 x 8")  # float's own
    check_same_arrays(asc.weights.load(path, model), model)
    asc.weights.unpack(path, tmp_path / "nd")
    at, _ = oracle.layout("NZ", (17, 20), 16, (16, 8))
    want = np.asarray(model.weight)[:, at]
    assert held(tmp_path / "nd")["weight"] == ("BF16", (3, 17, 20), rows(want, 16))


# --- files of others


def test_a_plain_file_becomes_a_model_s(tmp_path):
    plain, want = models()
    arrays = {
        f"layers.{k}.{name}": np.asarray(getattr(layer, name))
        for k, layer in enumerate(plain.layers)
        for name in ("weight", "bias")
    }
    src, dst = tmp_path / "plain.safetensors", tmp_path / "packed.safetensors"
    safetensors.numpy.save_file(
        arrays, src, metadata={"format": "pt", "a": "1", "é": "2"}
    )
    entries = asc.weights.pack(src, dst, "NZ", "910B")
    assert entries == asc.weights.inspect(dst)
    assert metadata(dst)[1]["format"] == "pt"
    check_same_arrays(asc.weights.load(dst, eqx.filter_eval_shape(lambda: want)), want)
    back = tmp_path / "back.safetensors"
    asc.weights.unpack(dst, back)
    assert back.read_bytes() == src.read_bytes()


def test_patterns_choose_and_the_rest_is_copied(tmp_path):
    data = np.arange(4096, dtype="u1").tobytes()
    src = plain_file(
        tmp_path / "src",
        {
            "odd": ("F6_E2M3", (4,), data[:3]),  # ends off every width
            "conv.weight": ("F32", (2, 3, 2, 2), data[:96]),
            "norm.weight": ("F16", (4,), data[:8]),
            "a.weight": ("F16", (3, 5), data[:30]),
            "b.weight": ("F4", (2, 6), data[:6]),
            "c": ("F4", (2, 5), data[:5]),  # rows that share a byte
        },
    )
    one, two = tmp_path / "one", tmp_path / "two"
    first = asc.weights.pack(src, one, only=["a.*", "b.weight"])
    assert {e.name for e in first if e.layout} == {"a.weight", "b.weight"}
    second = asc.weights.pack(one, two, "FRACTAL_Z", "910B", "*.weight")
    layouts = {e.name: e.format for e in second}
    assert layouts == {
        **{"odd": "ND", "conv.weight": "FRACTAL_Z", "norm.weight": "ND"},
        **{"a.weight": "NZ", "b.weight": "NZ", "c": "ND"},
    }
    assert held(two)["b.weight"][:2] == ("F4", (1024,))
    assert held(two)["odd"] == held(src)["odd"]
    asc.weights.unpack(two, one, only="conv.*", overwrite=True)
    asc.weights.unpack(one, one, overwrite=True)  # in place
    assert held(one) == held(src) and metadata(one)[1] == {}
    by_itself = asc.weights.pack(src, one, overwrite=True)
    assert [e.name for e in by_itself if e.layout] == ["a.weight", "b.weight"]
    with pytest.raises(asc.weights.WeightsError, match=r"got a\.weight, NZ, 3 x 5"):
        asc.weights.pack(one, two, only="a.*", overwrite=True)
    with pytest.raises(asc.weights.WeightsError, match="type that ascjax has"):
        asc.weights.pack(src, two, only="c", overwrite=True)


def test_bytes_whose_type_the_caller_names(tmp_path):
    data = np.arange(17 * 9, dtype="u1").tobytes()
    src = plain_file(tmp_path / "src", {"w": ("U8", (17, 9), data)})
    packed, back = tmp_path / "packed", tmp_path / "back"
    (entry,) = asc.weights.pack(src, packed, dtype="int4b_t")
    assert (entry.type.name, entry.shape) == ("int4b_t", (17, 18))
    asc.weights.unpack(packed, back)
    assert held(back) == held(src)
    assert metadata(back)[0]["tensors"]["w"]["dtype"] == "int4b_t"  # U8 says less
    (entry,) = asc.weights.pack(back, packed, "ND", dtype="uint8_t", overwrite=True)
    assert (entry.type.name, entry.shape) == ("uint8_t", (17, 9))


def test_memory_stays_near_one_tensor(tmp_path):
    mib = 1 << 20
    arrays = {f"w{k:02}": np.full((512, 1024), k, "u2") for k in range(16)}
    src, dst = tmp_path / "src", tmp_path / "dst"
    safetensors.numpy.save_file(arrays, src)
    del arrays
    for move in (asc.weights.pack, asc.weights.unpack):
        tracemalloc.start()
        move(src, dst)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 6 * mib
        src, dst = dst, tmp_path / "back"


# --- writing


@pytest.mark.parametrize("fault", [KeyboardInterrupt, OSError])
def test_a_broken_run_leaves_no_half_file(tmp_path, monkeypatch, fault):
    src, dst = tmp_path / "src", tmp_path / "dst"
    asc.weights.save(src, {"a": np.zeros((3, 3)), "b": np.zeros((3, 3), "f4")})
    dst.write_text("mine")
    calls = []
    block = _file.File.block

    def breaks(self, tensor):
        calls.append(tensor.name)
        if len(calls) == 2:
            raise fault("stop")
        return block(self, tensor)

    monkeypatch.setattr(_file.File, "block", breaks)
    with pytest.raises((fault, asc.weights.WeightsError)):
        asc.weights.pack(src, dst, overwrite=True)
    assert len(calls) == 2 and dst.read_text() == "mine"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["dst", "src"]


def test_nothing_is_replaced_unless_asked(tmp_path):
    path, link = tmp_path / "a", tmp_path / "link"
    asc.weights.save(path, {"w": np.zeros((3, 3))})
    old = path.read_bytes()
    for write in (
        lambda: asc.weights.save(path, {"w": np.ones((3, 3))}),
        lambda: asc.weights.pack(path, path),
        lambda: asc.weights.unpack(path, path),
    ):
        with pytest.raises(asc.weights.WeightsError, match="must not exist yet"):
            write()
    assert path.read_bytes() == old
    link.symlink_to(path)
    asc.weights.save(link, {"w": np.ones((3, 3))}, overwrite=True)
    assert link.is_symlink() and path.read_bytes() != old


# --- refusals


@pytest.fixture
def saved(tmp_path):
    """A file of `LIKE`."""
    path = tmp_path / "layer.safetensors"
    asc.weights.save(path, LIKE)
    return path


def changed(path, change):
    """The file with its metadata, as parsed JSON, changed."""
    own, _ = metadata(path)
    text = change(own)
    text = text if isinstance(text, str) else json.dumps(own)
    return plain_file(path, held(path), {"ascjax": text})


@pytest.mark.parametrize(
    ("like", "text"),
    [
        (
            lambda: asc.nn.NZLinear(20, 17, dtype="float16", key=KEY),
            r"weight must have the type half, as like has, got float\. Cast or convert",
        ),
        (
            lambda: eqx.nn.Linear(20, 17, key=KEY),
            r"weight must have the layout ND, as like has, got NZ\. Load into a model",
        ),
        (
            lambda: asc.nn.NZLinear(17, 20, key=KEY),
            r"must have the shape \(20, 17\), as like has, got \(17, 20\)\. Make like",
        ),
        (
            lambda: asc.nn.NZLinear(20, 17, key=KEY, product="950PR"),
            r"weight must have the product atlas_350, as like has, got atlas_a2\. Load",
        ),
        (
            lambda: asc.nn.NZLinear(20, 17, use_bias=False, key=KEY),
            r"names must be those of like, got bias too many\. A file is loaded whole",
        ),
        (
            lambda: {"a": LIKE, "b": None},
            r"got a\.bias, a\.weight missing; bias, weight too many",
        ),
    ],
)
def test_files_that_do_not_fit(saved, like, text):
    with pytest.raises(asc.weights.WeightsError, match=text) as caught:
        asc.weights.load(saved, eqx.filter_eval_shape(like))
    assert caught.value.who == str(saved)


def test_a_long_list_of_names_is_cut(tmp_path):
    path = tmp_path / "a"
    asc.weights.save(path, {f"w{k}": np.zeros(1) for k in range(9)})
    text = r"w0, w1, w2, w3, w4 and 4 more too many"
    with pytest.raises(asc.weights.WeightsError, match=text):
        asc.weights.load(path, {})


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (
            lambda own: own.update(version=2),
            r"metadata must be of version 1, which this ascjax reads, got 2\. Update",
        ),
        (lambda own: own.update(version=0), r"be of version 1.*got 0\. Save or pack"),
        (lambda own: own.pop("version"), "hold JSON with version and tensors under"),
        (lambda own: own.update(tensors=[]), "hold JSON with version and tensors"),
        (lambda own: "{", r"hold JSON with version and tensors .*got '\{'"),
        (lambda own: "[1]", "hold JSON with version and tensors"),
        (
            lambda own: own["tensors"].pop("bias"),
            r"describe each tensor of the file, and no other, got bias not described\.",
        ),
        (
            lambda own: own["tensors"].update(more={}),
            "got more described but absent",
        ),
        (
            lambda own: own["tensors"]["weight"].update(shape=[17, 33]),
            r"weight must hold what the metadata say, NZ of float \(17, 33\) in 5120 "
            r"bytes, got a tensor of F32 in 3072 bytes",
        ),
        (
            lambda own: own["tensors"]["weight"].update(dtype="int32_t"),
            r"weight must hold .* NZ of int32_t .*got a tensor of F32",
        ),
        (
            lambda own: own["tensors"]["weight"].update(dtype="float9"),
            r"weight must be described by its format, .*dtype must name",
        ),
        (lambda own: own["tensors"]["weight"].update(format="NX"), "be described by"),
        (lambda own: own["tensors"]["weight"].update(shape=[20]), "be described by"),
        (lambda own: own["tensors"]["weight"].update(shape=3), "be described by"),
        (lambda own: own["tensors"]["weight"].update(dtype=None), "be described by"),
        (lambda own: own["tensors"]["bias"].update(shape=[-17, -1]), "a negative size"),
        (lambda own: own["tensors"]["weight"].update(product="x"), "be described by"),
        (lambda own: own["tensors"]["weight"].update(fractal="xy"), "be described by"),
        (lambda own: own["tensors"].update(weight=3), "be described by"),
    ],
)
def test_metadata_that_are_wrong(saved, change, text):
    changed(saved, change)
    with pytest.raises(asc.weights.WeightsError, match=text):
        asc.weights.load(saved, LIKE)
    with pytest.raises(asc.weights.WeightsError, match=text):
        asc.weights.inspect(saved)


def test_metadata_that_are_right_pass(saved):
    changed(saved, lambda own: own["tensors"]["weight"].update(more="ignored"))
    check_same_arrays(asc.weights.load(saved, LIKE), LIKE)


def test_a_header_with_a_wrong_byte_is_refused_or_read(saved):
    whole, rng = saved.read_bytes(), np.random.default_rng(0)
    size, said = 8 + int.from_bytes(whole[:8], "little"), set()
    for _ in range(300):
        data = bytearray(whole)
        data[rng.integers(size)] = rng.choice([*b'0123456789{}[]",:-nu\0\xff'])
        saved.write_bytes(data)
        try:
            asc.weights.load(saved, LIKE)
        except asc.weights.WeightsError as error:  # and no other
            said.add(error.field)
    assert said >= {"the file", "metadata", "weight", "bias"}


def test_plain_files_are_not_loaded(tmp_path):
    path = tmp_path / "plain"
    safetensors.numpy.save_file({"weight": np.zeros((17, 20), "f4")}, path)
    text = "must have metadata of ascjax's, .*plain safetensors file.*asc.weights.pack"
    with pytest.raises(asc.weights.WeightsError, match=text):
        asc.weights.load(path, {"weight": np.zeros((17, 20), "f4")})


def npz(path):
    with path.open("wb") as file:
        np.savez(file, w=np.ones(3))


def torch_zip(path):
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("archive/data.pkl", b"\x80\x02}q\x00.")


TORCH = "torch.load, write its tensors with safetensors.torch.save_file"
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
INDEX = '{\n  "metadata": {"total_size": 1},\n  "weight_map": {"w": "1-of-2"}\n}'
OTHERS = {
    "npz": (
        npz,
        r"an \.npz file of NumPy's\. Load it with np.load, .*safetensors.numpy.save_fi",
    ),
    "zip": (torch_zip, f"a zip archive, such as torch.save writes.*{TORCH}"),
    "pickle": (
        lambda path: path.write_bytes(b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."),
        f"a pickle, such as torch.save once wrote.*{TORCH}",
    ),
    "git-lfs": (
        lambda path: path.write_text(POINTER),
        r"a git-lfs pointer, which stands for the file\. Run git lfs pull\.",
    ),
    "HTML": (
        lambda path: path.write_text("\n<!DOCTYPE html>\n<html lang='en'>"),
        r"an HTML page\. Download the file itself",
    ),
    "index": (
        lambda path: path.write_text(INDEX),
        r"JSON, such as the index of a model in shards\. Name its shards one by one",
    ),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_files_of_other_kinds_are_named(tmp_path, kind):
    make, text = OTHERS[kind]
    make(tmp_path / "a")
    text = f"the file must be a whole safetensors file, got what looks like {text}"
    for use in (asc.weights.inspect, lambda path: asc.weights.load(path, {})):
        with pytest.raises(asc.weights.WeightsError, match=text):
            use(tmp_path / "a")


@pytest.mark.parametrize("length", [0x0280, 0x04034B50])
def test_a_cut_file_is_of_no_other_kind(tmp_path, length):
    """Its header's length may start as a pickle or a zip does."""
    (tmp_path / "a").write_bytes(length.to_bytes(8, "little") + b'{"w": {"dtype":')
    with pytest.raises(asc.weights.WeightsError, match="may have been cut short"):
        asc.weights.inspect(tmp_path / "a")


def test_a_path_comes_first(tmp_path):
    path, text = tmp_path / "a", "weights: path must be the name of a file, a text or "
    for use in (
        lambda: asc.weights.save(LIKE, path),
        lambda: asc.weights.save(LIKE, str(path)),
        lambda: asc.weights.load(LIKE, path),
        lambda: asc.weights.load(eqx.filter_eval_shape(lambda: LIKE), str(path)),
    ):
        with pytest.raises(asc.ParamError, match=text) as caught:
            use()
        assert caught.value.got == "NZLinear"
        assert "save(path, model), load(path, like)" in caught.value.fix
    for use in (
        lambda: asc.weights.inspect(3),
        lambda: asc.weights.pack({"w": np.ones(3)}, path),
        lambda: asc.weights.unpack(path, None),
    ):
        with pytest.raises(asc.ParamError, match=text):
            use()


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_directory_is_no_file_to_write(saved, tmp_path, overwrite):
    text = r"the file must be a file to write, got a directory\. Name a file in it\."
    for write in (
        lambda **options: asc.weights.save(tmp_path, LIKE, **options),
        lambda **options: asc.weights.pack(saved, tmp_path, **options),
        lambda **options: asc.weights.unpack(saved, tmp_path, **options),
    ):
        with pytest.raises(asc.weights.WeightsError, match=text):
            write(overwrite=overwrite)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda path: None, r"the file must exist, got no such file\. Name a"),
        (lambda path: path.mkdir(), "the file must exist, got a directory"),
        (lambda path: path.write_bytes(b""), "a whole safetensors file, got 0 bytes"),
        (lambda path: path.write_text("hello, this is text"), "be a whole safetensors"),
        (
            lambda path: path.write_bytes(path.with_name("ok").read_bytes()[:-1]),
            r"be a whole safetensors file, got \d+ bytes of which safetensors says: .*"
            r"it may have been cut short",
        ),
        (
            lambda path: path.write_bytes(path.with_name("ok").read_bytes()[:30]),
            "be a whole safetensors file, got 30 bytes",
        ),
        (
            lambda path: path.write_bytes(path.with_name("ok").read_bytes() + b"x"),
            "be a whole safetensors file",
        ),
    ],
)
def test_files_that_are_none(tmp_path, make, text, capsys):
    asc.weights.save(tmp_path / "ok", {"w": np.zeros((3, 3))})
    path = tmp_path / "bad"
    make(path)
    for use in (
        lambda: asc.weights.load(path, {}),
        lambda: asc.weights.inspect(path),
        lambda: asc.weights.pack(path, tmp_path / "out"),
        lambda: asc.weights.unpack(path, tmp_path / "out"),
    ):
        with pytest.raises(asc.weights.WeightsError, match=text):
            use()
    assert main(["weights", "inspect", str(path)]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"ascjax: {path}: the file must") and err.count("\n") == 1


SOME = {"w": np.ones(3)}


@pytest.mark.parametrize(
    ("model", "options", "error", "text"),
    [
        ({"a.b": np.ones(1), "a": {"b": np.ones(1)}}, {}, "ParamError", "name of its"),
        (np.ones(1), {}, "ParamError", "model must give each .*got ''"),
        ({"__metadata__": np.ones(1)}, {}, "ParamError", "name of its own"),
        ({"k": jax.random.key(0)}, {}, "ParamError", "save: k must be an array of num"),
        ({"k": np.zeros(2, "S3")}, {}, "ParamError", "save: k: dtype must"),
        (
            {"k": jax.ShapeDtypeStruct((1,), "float32")},
            {},
            "ParamError",
            "k must be an array with values, got its shape alone",
        ),
        (
            {"k": np.zeros(3)},
            {"layouts": {"j": asc.Layout("ND", (3,), "double")}},
            "ParamError",
            "layouts must name arrays of the model, k, got j",
        ),
        (
            {"k": np.zeros(3)},
            {"layouts": {"k": "NZ"}},
            "ParamError",
            r"layouts\['k'\] must be an asc.Layout",
        ),
        (
            {"k": np.zeros(3, "f2")},
            {"layouts": {"k": asc.Layout("NZ", (17, 33), "half")}},
            "BoundsError",
            r"k must have \(1536,\) as its last axes",
        ),
        (
            {"k": np.zeros(1024, "f4")},
            {"layouts": {"k": asc.Layout("FRACTAL_Z", (17, 3, 2, 2), "half")}},
            "ParamError",
            "k must be of half, whose blocks FRACTAL_Z has here, got float",
        ),
        ({}, {}, "ParamError", r"save: model must hold an array, got dict without one"),
        ({"a": 1.0}, {}, "ParamError", "got dict without one. Make arrays of its num"),
        ("abc", {}, "ParamError", "must hold an array, got str without one"),
        (SOME, {"metadata": {"step": 3}}, "ParamError", "metadata must be texts by n"),
        (SOME, {"metadata": {"ascjax": "x"}}, "ParamError", "'ascjax' not among these"),
        ({}, {"product": "atlas_900"}, "SupportError", "product must be one of"),
    ],
)
def test_models_that_are_not_saved(tmp_path, model, options, error, text):
    with pytest.raises(getattr(asc, error), match=text):
        asc.weights.save(tmp_path / "a", model, **options)
    assert [*tmp_path.iterdir()] == []


def test_tracers_are_not_saved(tmp_path):
    with pytest.raises(asc.ParamError, match="w must be an array with values, got a t"):
        jax.jit(lambda w: asc.weights.save(tmp_path / "a", {"w": w}))(jnp.ones(3))


def test_wide_numbers_need_numpy_or_x64(tmp_path):
    path = tmp_path / "a"
    asc.weights.save(path, {"w": np.array([1 << 40])})
    with pytest.raises(asc.ParamError, match="load: w: dtype must be at most 32 bits"):
        asc.weights.load(path, {"w": jax.ShapeDtypeStruct((1,), "int64")})


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"layout": "NX"}, "ParamError", "pack: format must be one of"),
        ({"product": "x"}, "SupportError", "pack: product must be one of"),
        ({"dtype": "float9"}, "ParamError", "pack: dtype must name"),
        (
            {"only": "no*"},
            "AscendError",
            r"only='no\*' must match a plain tensor that NZ can store .* no tensor",
        ),
        (
            {"only": ["w", "b"]},
            "AscendError",
            r"only='b' must match .* NZ can store \(2 axes or more, .* got b, ND, 17\.",
        ),
        (
            {"layout": "FRACTAL_Z"},
            "AscendError",
            "match a plain tensor that FRACTAL_Z can",
        ),
        ({"dtype": "int4b_t"}, "AscendError", "w must hold int4b_t, .*got F16"),
        ({"only": "e"}, "AscendError", r"last 2 not empty\), got e, ND, 0 x 3 x 0\."),
    ],
)
def test_what_is_not_packed(tmp_path, options, error, text):
    src, dst = tmp_path / "src", tmp_path / "dst"
    arrays = {"w": np.zeros((3, 5), "f2"), "b": np.zeros(17), "e": np.zeros((0, 3, 0))}
    safetensors.numpy.save_file(arrays, src)
    with pytest.raises(getattr(asc, error), match=text):
        asc.weights.pack(src, dst, **options)
    assert not dst.exists()
    with pytest.raises(asc.weights.WeightsError, match="match a packed tensor"):
        asc.weights.unpack(src, dst)


def test_a_place_that_cannot_be_written(tmp_path):
    path = tmp_path / "no" / "a"
    text = "must be writable, got No such file or directory. Name a file in a directory"
    with pytest.raises(asc.weights.WeightsError, match=text):
        asc.weights.save(path, {"w": np.zeros(3)})


def test_without_the_package(saved, monkeypatch, capsys):
    monkeypatch.setitem(__import__("sys").modules, "safetensors", None)
    for use in (
        lambda: asc.weights.save("a", LIKE),
        lambda: asc.weights.load(saved, LIKE),
        lambda: asc.weights.inspect(saved),
    ):
        with pytest.raises(asc.SupportError, match=r"pip install 'ascjax\[weights\]'"):
            use()
    assert main(["weights", "inspect", str(saved)]) == 2
    assert "pip install 'ascjax[weights]'" in capsys.readouterr().err


# --- the command


def run(*words):
    return main(["weights", *map(str, words)])


def test_inspect_lists_every_tensor(saved, capsys):
    assert run("inspect", saved) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [" ".join(line) for line in lines] == [
        "name type shape layout product bytes padding",
        "bias float 17 ND - 68 0.0%",
        "weight float 17 x 20 NZ atlas_a2 3,072 55.7%",
        "1 of 2 tensors packed, 3,140 bytes, 54.5% of them padding",
    ]


def test_long_names_stay_on_one_line(tmp_path, capsys):
    name = "model.layers." * 12 + "[weight]"
    asc.weights.save(tmp_path / "a", {name: np.zeros(3)})
    assert run("inspect", tmp_path / "a") == 0
    assert f"{name}  double  3" in capsys.readouterr().out


def test_pack_and_unpack_there_and_back(tmp_path, capsys):
    src, dst, back = (tmp_path / name for name in ("src", "dst", "back"))
    arrays = {"a.weight": np.ones((17, 33), "f2"), "b.weight": np.ones((3, 5), "f4")}
    safetensors.numpy.save_file(arrays, src)
    words = ("--layout", "29", "--product", "950PR", "--only", "a.*", "--only", "b.*")
    assert run("pack", src, dst, *words) == 0
    said = capsys.readouterr().out
    assert said == f"{dst}: 2 of 2 tensors packed, 3,584 bytes, 67.0% of them padding\n"
    products = {e.product for e in asc.weights.inspect(dst)}
    assert products == {asc.ATLAS_350}
    assert run("unpack", dst, back, "--only", "a.*") == 0
    assert run("unpack", dst, back) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"ascjax: {back}: the file must not exist yet")
    assert "Traceback" not in err and "--overwrite" in err
    assert run("unpack", dst, back, "--overwrite") == 0
    assert back.read_bytes() == src.read_bytes()


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["pack", "a", "b", "--layout", "NX"], "pack: format must be one of"),
        (["pack", "a", "b", "--only"], "requires an argument"),
        (["pack", "a"], "Missing argument 'OUT'"),
        (["melt"], "No such command 'melt'"),
    ],
)
def test_bad_words_have_status_2(words, text, capsys):
    assert run(*words) == 2
    assert text in " ".join(capsys.readouterr().err.split())
