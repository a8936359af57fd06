"""Layouts: address, pack, unpack and convert against the oracle's formulas."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import bits, check_same, of_bits, on_device, patterns
from hypothesis import given, settings
from hypothesis import strategies as st

import ascjax as asc
from ascjax import oracle
from ascjax._dtypes import TYPES

MATRICES = ("ND", "DN", "NZ", "ZN", "ZZ", "NN")
MAPS = ("ND", "NC1HWC0", "FRACTAL_Z")
SHAPES = [
    (1, 1),
    (17, 33),
    (16, 64),
    (64, 96),
    (2, 3, 5),
    (2, 17, 1, 3),
    (33, 65, 2, 1),
]
CASES = [
    (format, shape)
    for shape in SHAPES
    for format in (MATRICES if len(shape) < 4 else MAPS)
]
WIDTHS = {4: "int4b_t", 8: "int8_t", 16: "half", 32: "float", 64: "int64_t"}
CARRIED = [t for t in TYPES.values() if t.bits < 64]
each_case = pytest.mark.parametrize(("format", "shape"), CASES)


def ids(shape):
    """Every element its own number, from 1: 0 is padding."""
    return np.arange(1, np.prod(shape) + 1, dtype=np.uint32).reshape(shape)


def stored(layout, x):
    """What the oracle puts into the buffer."""
    at, size = oracle.layout(
        layout.format, layout.shape, layout.dtype.bits, layout.fractal
    )
    raw = bits(x)
    out = np.zeros((*raw.shape[: raw.ndim - at.ndim], size), raw.dtype)
    out[..., at] = raw
    return of_bits(out, np.asarray(x).dtype)


def check_layout(layout, pack, unpack, x, junk):
    """pack and unpack as the oracle says, with `junk` in the padding of what comes."""
    want = stored(layout, x)
    check_same(pack(*on_device(x)), want)
    at, _ = oracle.layout(
        layout.format, layout.shape, layout.dtype.bits, layout.fractal
    )
    raw = bits(np.broadcast_to(junk, want.shape)).copy()
    raw[..., at] = bits(x)
    check_same(unpack(*on_device(of_bits(raw, want.dtype))), np.asarray(x))


# --- three statements


@pytest.mark.parametrize("width", WIDTHS)
@each_case
def test_address_and_nest_are_the_oracle_s(format, shape, width):
    layout = asc.Layout(format, shape, WIDTHS[width])
    at, size = oracle.layout(format, shape, width)
    assert (layout.size, np.prod(layout.dims)) == (size, size)
    np.testing.assert_array_equal(layout.address(*np.indices(shape)), at)
    last = tuple(n - 1 for n in shape)
    found = layout.address(*last)
    assert found == at[last] and type(found) is int
    index = asc.IndexMap.of_nest(layout.nest, int(np.prod(shape)), size).index
    want = np.full(size, -2)
    want[at] = np.arange(at.size).reshape(shape)
    np.testing.assert_array_equal(index, want)


@pytest.mark.parametrize(
    ("format", "shape", "width"),
    [(*case, (4, 8, 16, 32)[k % 4]) for k, case in enumerate(CASES)],
)
def test_pack_and_unpack_move_ids_as_the_oracle_says(format, shape, width):
    dtype = WIDTHS[width]
    layout = asc.Layout(format, shape, dtype)
    x = ids(shape)
    carrier = jnp.dtype(layout.dtype.jax)
    # A narrow type holds the ids in pieces of its own width.
    for shift in range(0, int(x.max()).bit_length(), width):
        piece = of_bits((x >> shift) & (2**width - 1), carrier)
        junk = of_bits(np.full((), 2**width - 1, np.uint32), carrier)
        check_layout(layout, layout.pack, layout.unpack, piece, junk)


@pytest.mark.parametrize(
    ("shape", "width"),
    [
        ((17, 33), 8),
        pytest.param((1, 1), 16, marks=pytest.mark.quick),
        pytest.param((64, 96), 4, marks=pytest.mark.quick),
        ((2, 17, 1, 3), 16),
    ],
)
def test_convert_is_pack_after_unpack_whatever_the_padding_held(shape, width):
    formats = MATRICES if len(shape) < 4 else MAPS
    dtype = jnp.dtype(TYPES[WIDTHS[width]].jax)
    x = patterns(width, shape, dtype)
    for one, two in itertools.product(formats, formats):
        src, dst = (asc.Layout(f, shape, WIDTHS[width]) for f in (one, two))
        at, size = oracle.layout(one, shape, width)
        raw = bits(patterns(7, (size,), dtype)).copy()
        raw[at] = bits(x)
        (given,) = on_device(of_bits(raw, dtype))
        got = asc.convert(given, one, two, shape, WIDTHS[width])
        check_same(got, stored(dst, x))
        check_same(asc.convert(given, src, dst), got)


@pytest.mark.parametrize("fault", ["address", "padding", "element"])
def test_check_layout_goes_red(fault):
    layout = asc.Layout("NZ", (17, 33), "int32_t")
    x = ids((17, 33)).astype(np.int32)

    def pack(x):
        out = np.array(layout.pack(x))
        if fault == "address":
            out[[0, 1]] = out[[1, 0]]
        if fault == "padding":
            out[-1] = 1
        return out

    def unpack(buffer):
        out = np.array(layout.unpack(buffer))
        out[-1, -1] += fault == "element"
        return out

    with pytest.raises(AssertionError):
        check_layout(layout, pack, unpack, x, np.int32(-1))


def test_the_documented_figures():
    nz = asc.Layout("NZ", (32, 64), "half")  # fractals down the first 16 columns first
    assert nz.dims == (4, 2, 16, 16)
    assert [nz.address(*at) for at in ((0, 15), (1, 0), (16, 0), (0, 16))] == [
        *(15, 16, 256, 512)
    ]
    zz = asc.Layout("ZZ", (32, 64), "half")
    assert [zz.address(*at) for at in ((0, 16), (16, 0), (1, 2))] == [256, 1024, 18]
    zn = asc.Layout("ZN", (64, 32), "int8_t")  # a fractal is 32 x 16, by columns
    assert zn.dims == (2, 2, 16, 32)
    assert [zn.address(*at) for at in ((1, 0), (0, 1), (0, 16), (32, 0))] == [
        *(1, 32, 512, 1024)
    ]
    nn = asc.Layout("NN", (64, 32), "int8_t")
    assert [nn.address(*at) for at in ((0, 1), (32, 0), (0, 16))] == [32, 512, 1024]
    dn = asc.Layout("DN", (3, 5), "float")
    assert dn.address(2, 1) == 5
    l0c = asc.Layout("NZ", (17, 20), "float", fractal=(16, 16))
    assert (l0c.dims, l0c.address(16, 17)) == ((2, 2, 16, 16), 769)
    assert asc.Layout("NZ", (17, 20), "float").dims == (3, 2, 16, 8)
    fmap = asc.Layout("NC1HWC0", (2, 17, 3, 4), "half")
    assert fmap.dims == (2, 2, 3, 4, 16)
    assert fmap.address(1, 16, 2, 3) == (((1 * 2 + 1) * 3 + 2) * 4 + 3) * 16
    weight = asc.Layout("FRACTAL_Z", (17, 33, 3, 2), "int8_t")
    assert weight.dims == (2, 3, 2, 2, 16, 32)
    assert weight.address(16, 32, 1, 1) == (((1 * 3 + 1) * 2 + 1) * 2 + 1) * 512


def test_expert_weights_have_a_matrix_each():
    both = asc.Layout("NZ", (3, 17, 33), "half")
    one = asc.Layout("NZ", (17, 33), "half")
    x = patterns(0, (3, 17, 33), "float16")
    assert (both.dims, both.size) == ((3, *one.dims), 3 * one.size)
    check_same(both.pack(x), one.pack(x).reshape(-1))
    assert both.address(2, 16, 1) == 2 * one.size + 257


# --- properties


@st.composite
def layouts(draw):
    format = draw(st.sampled_from([*MATRICES, "NC1HWC0", "FRACTAL_Z"]))
    rank = 4 if format in MAPS[1:] else draw(st.integers(2, 3))
    high = 9 if rank == 4 else 70
    shape = tuple(draw(st.integers(1, high)) for _ in range(rank))
    dtype = draw(st.sampled_from(CARRIED))
    fractal = None
    if format in ("NZ", "ZN", "ZZ", "NN") and draw(st.booleans()):
        fractal = draw(st.tuples(st.integers(1, 20), st.integers(1, 20)))
    return asc.Layout(format, shape, dtype, fractal)


@settings(max_examples=15)
@given(layouts(), st.integers(0, 99))
def test_any_layout_packs_bit_for_bit_and_comes_back(layout, seed):
    x = patterns(seed, layout.shape, jnp.dtype(layout.dtype.carrier))
    junk = patterns(seed + 1, (layout.size,), x.dtype)
    check_layout(layout, layout.pack, layout.unpack, x, junk)


@settings(max_examples=15)
@given(layouts(), st.data(), st.integers(0, 99))
def test_any_conversion_ends_as_a_direct_pack(src, data, seed):
    other = MATRICES if src.format in MATRICES else MAPS
    name = data.draw(st.sampled_from(other))
    dst = asc.Layout(name, src.shape, src.dtype)
    x = patterns(seed, src.shape, jnp.dtype(src.dtype.carrier))
    one, two = stored(src, x), stored(dst, x)
    check_same(asc.convert(*on_device(one), src, dst), two)
    check_same(asc.convert(*on_device(two), dst, src), one)


# --- types


def nibbles(x):
    """Packed rows of bytes from rows of nibbles, as in a dump."""
    raw = bits(x)
    raw = np.pad(raw, [(0, 0)] * (raw.ndim - 1) + [(0, raw.shape[-1] % 2)])
    return raw[..., ::2] | raw[..., 1::2] << 4


@pytest.mark.parametrize(
    ("format", "shape", "dtype"),
    [
        *(
            pytest.param(
                *case,
                "int4b_t",
                marks=() if case[1] == (17, 33) else pytest.mark.quick,
            )
            for case in CASES
        ),
        *(
            (*case, dtype)
            for case in (("NZ", (17, 66)), ("ZN", (130, 64)), ("NZ", (4, 130)))
            for dtype in ("int4b_t", "fp4x2_e1m2_t")
        ),
    ],
)
def test_packed_bytes_hold_what_single_elements_do(format, shape, dtype):
    layout = asc.Layout(format, shape, dtype)
    x = of_bits(patterns(3, (2, *shape), "int4").view("uint8") & 15, "int4")
    rows = on_device(nibbles(x), nibbles(stored(layout, x)), nibbles(x.reshape(2, -1)))
    matrix, buffer, flat = rows
    check_same(layout.pack(matrix), buffer)
    check_same(layout.unpack(buffer), matrix)
    check_same(asc.convert(buffer, layout, "ND"), flat)
    check_same(asc.convert(flat, "ND", layout), buffer)


@each_case
def test_every_type_of_packed_bytes_moves_by_the_same_programs(format, shape):
    """So that one of them is enough above."""
    one, other = (asc.Layout(format, shape, f"{t}_t") for t in ("int4b", "fp4x2_e1m2"))
    matrix = jnp.zeros((*shape[:-1], -(-shape[-1] // 2)), "uint8")
    buffer = jnp.zeros(-(-one.size // 2), "uint8")
    for name, x in (("pack", matrix), ("unpack", buffer)):
        made = [jax.make_jaxpr(getattr(each, name))(x) for each in (one, other)]
        assert str(made[0]) == str(made[1])
        assert "plan=" in str(made[0])


def test_pairs_that_stay_together_move_as_bytes():
    layout = asc.Layout("NZ", (17, 66), "int4b_t")
    text = str(jax.make_jaxpr(layout.pack)(jnp.zeros((17, 33), "uint8")))
    assert text.count("ascjax_move") >= 1 and "shift" not in text
    odd = asc.Layout("ZN", (17, 66), "int4b_t")
    assert "shift" in str(jax.make_jaxpr(odd.pack)(jnp.zeros((17, 33), "uint8")))


@pytest.mark.parametrize("dtype", CARRIED, ids=repr)
@pytest.mark.parametrize("format", ["NZ", "ZN"])
def test_every_type_keeps_every_bit(format, dtype):
    layout = asc.Layout(format, (33, 70), dtype)
    x = patterns(5, (2, 33, 70), jnp.dtype(dtype.carrier))  # NaNs, denormals, -0
    junk = patterns(6, (2, layout.size), x.dtype)
    check_layout(layout, layout.pack, layout.unpack, x, junk)


@pytest.mark.parametrize("dtype", ["int64_t", "double", "complex64"])
def test_64_bits_keep_every_bit(dtype):
    layout = asc.Layout("ZN", (5, 33), dtype)
    assert layout.dims == (2, 3, 16, 4)
    with jax.enable_x64(True):
        x = patterns(5, (5, 33), jnp.dtype(layout.dtype.carrier))
        check_layout(layout, layout.pack, layout.unpack, x, x[0, 0])
    with pytest.raises(asc.ParamError, match="while jax_enable_x64 is off"):
        layout.pack(np.zeros((5, 33), np.int64))


# --- transforms


@pytest.mark.quick
@pytest.mark.parametrize(
    ("format", "shape"), [("NZ", (17, 33)), ("ZN", (32, 64)), ("DN", (3, 5))]
)
def test_transforms(format, shape):
    layout = asc.Layout(format, shape, "float")
    at, size = oracle.layout(format, shape, 32)
    rng = np.random.default_rng(1)
    x = rng.normal(size=(3, *shape)).astype("f4")
    buffer = rng.normal(size=(3, size)).astype("f4")
    want = stored(layout, x)
    check_same(jax.jit(layout.pack)(x), want)
    check_same(jax.vmap(layout.pack)(x), want)
    check_same(jax.vmap(layout.pack, -1)(np.moveaxis(x, 0, -1)), want)
    check_same(jax.vmap(layout.unpack)(want), x)
    out, tangent = jax.jvp(layout.pack, (x,), (x,))
    check_same(tangent, want)
    check_same(out, want)
    check_same(jax.vjp(layout.pack, x)[1](buffer)[0], buffer[:, at])
    check_same(jax.vjp(layout.unpack, buffer)[1](x)[0], want)
    ravel = jax.grad(lambda b: (asc.convert(b, layout, "ND") ** 2).sum())(buffer)
    check_same(ravel, stored(layout, 2 * buffer[:, at]))
    hessian = jax.hessian(lambda x: (layout.pack(x) ** 2).sum())
    one = hessian(jnp.ones(shape))
    assert float(jnp.abs(one).sum()) == 2 * np.prod(shape)


@pytest.mark.quick
def test_a_conversion_between_padded_layouts_has_a_gradient():
    shape = (17, 33)
    src, dst = asc.Layout("NZ", shape, "float"), asc.Layout("ZN", shape, "float")
    ct = np.random.default_rng(0).normal(size=dst.size).astype("f4")
    back = jax.vjp(lambda b: asc.convert(b, src, dst), jnp.zeros(src.size))[1](ct)[0]
    check_same(back, src.pack(dst.unpack(ct)))


def test_integers_have_no_gradient_and_one_shape_only_is_traced():
    layout = asc.Layout("NZ", (17, 33), "int8_t")
    shape = jax.eval_shape(layout.pack, jax.ShapeDtypeStruct((4, 17, 33), "int8"))
    assert shape.shape == (4, layout.size)
    back = jax.vjp(layout.pack, jnp.zeros((17, 33), "int8"))[1]
    zero = np.zeros(layout.size, jax.dtypes.float0)
    assert back(zero)[0].dtype == jax.dtypes.float0


# --- one plan


def test_a_conversion_of_whole_blocks_is_one_transpose():
    def steps(src, dst, shape, dtype):
        pair = [asc.Layout(f, shape, dtype) for f in (src, dst)]
        x = jnp.zeros(pair[0].size, pair[0].dtype.jax)
        return str(jax.make_jaxpr(lambda x: asc.convert(x, *pair))(x))

    for pair in itertools.product(MATRICES, MATRICES):
        text = steps(*pair, (64, 64), "int8_t")
        assert text.count("= ascjax_move") == 1 and "index" not in text
        assert "Crop" not in text and text.count("Permute") <= 1
    assert steps("NZ", "ZN", (17, 33), "int8_t").count("= ascjax_move") == 1


def test_plans_say_what_they_do():
    assert str(asc.Layout("NZ", (32, 33), "half").plan) == (
        "read      32 every 33 x 33 every 1 from 0 of src\n"
        "pad       0+0, 0+15 with the constant\n"
        "split     32 x 48 into 32 x 3 x 16\n"
        "transpose (1, 0, 2)\n"
        "write     3 every 512 x 32 every 16 x 16 every 1 from 0 of dst"
    )


# --- values


def test_layouts_are_values():
    one = asc.Layout("FRACTAL_NZ", [17, np.int64(33)], jnp.float16, (16, 16))
    assert one == asc.Layout(29, (17, 33), "half") and one.fractal is None
    assert hash(one) == hash(asc.Layout("zN", (17, 33), "half"))
    wide = asc.Layout("NZ", (17, 33), "float", fractal=[16, 16])
    assert wide != asc.Layout("NZ", (17, 33), "float")
    for layout in (one, wide):
        assert asc.Layout.from_dict(layout.to_dict()) == layout
        assert eval(repr(layout), {"Layout": asc.Layout}) == layout
    assert wide.padded == (32, 48)


@pytest.mark.parametrize(
    ("name", "format"),
    [
        *((2, "ND"), (3, "NC1HWC0"), (4, "FRACTAL_Z"), (29, "NZ")),
        *(("ACL_FORMAT_FRACTAL_NZ", "NZ"), ("ACL_FORMAT_ND", "ND")),
        *(("Nz", "NZ"), ("zN", "NZ"), ("Zn", "ZN"), ("nZ", "ZN"), ("Zz", "ZZ")),
        (np.int32(29), "NZ"),
    ],
)
def test_the_vendor_s_names_and_numbers(name, format):
    shape = (3, 4, 5, 6) if format in MAPS else (3, 4)
    assert asc.Layout(name, shape, "half").format == format


# --- errors

NZ = asc.Layout("NZ", (17, 33), "half")


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: asc.Layout("NX", (1, 1), "half"), "ParamError", "format must be one"),
        (lambda: asc.Layout(5, (1, 1), "half"), "ParamError", "got 5"),
        (lambda: asc.Layout(True, (1, 1), "half"), "ParamError", "format must be one"),
        (lambda: asc.Layout("NZ", (3,), "half"), "ParamError", r"be \(R, C\), axes"),
        (lambda: asc.Layout("NZ", (0, 3), "half"), "ParamError", "at least 1"),
        (lambda: asc.Layout("NZ", 3, "half"), "ParamError", "shape must be"),
        (lambda: asc.Layout("NZ", "33", "half"), "ParamError", "shape must be"),
        (lambda: asc.Layout("NZ", (3, 2.5), "half"), "ParamError", "got 2.5"),
        (lambda: asc.Layout("ND", (), "half"), "ParamError", "at least one axis"),
        (
            lambda: asc.Layout("NC1HWC0", (3, 4, 5), "half"),
            "ParamError",
            r"be \(N, C, H, W\), each at least 1 \(elements\), for NC1HWC0",
        ),
        (lambda: asc.Layout("NZ", (3, 3), "int3"), "ParamError", "dtype must name"),
        (
            lambda: asc.Layout("ND", (3, 3), "half", (16, 16)),
            "ParamError",
            "fractal must be left out for ND",
        ),
        (
            lambda: asc.Layout("NZ", (3, 3), "half", 16),
            "ParamError",
            r"fractal must be \(rows, columns\)",
        ),
        (lambda: asc.Layout("NZ", (3, 3), "half", (0, 1)), "ParamError", "at least 1"),
        (lambda: NZ.address(1), "ParamError", "index must be 2 indices"),
        (lambda: NZ.address(17, 0), "BoundsError", r"in \[0, 17\) .* axis 0, got 17"),
        (lambda: NZ.address(0, -1), "BoundsError", "got -1"),
        (lambda: NZ.address(0, np.array([3, 33])), "BoundsError", "got 33"),
        (lambda: NZ.address(0, 1.5), "ParamError", "got 1.5"),
        (lambda: NZ.address(0, np.array([1.5])), "ParamError", "must be integers"),
        (
            lambda: jax.jit(lambda k: NZ.address(0, k))(1),
            "ParamError",
            "got a tracer",
        ),
        (
            lambda: NZ.pack(jnp.zeros((33, 17), "float16")),
            "BoundsError",
            r"x must have \(17, 33\) as its last axes .*got \(33, 17\)",
        ),
        (lambda: NZ.pack(jnp.zeros(33, "float16")), "BoundsError", "x must have"),
        (lambda: NZ.pack(jnp.zeros((17, 33))), "ParamError", "array of float32"),
        (
            lambda: NZ.unpack(jnp.zeros(1535, "float16")),
            "BoundsError",
            r"buffer must hold 1536 \(elements\)",
        ),
        (
            lambda: asc.Layout("NZ", (3, 5), "int4b_t").pack(jnp.zeros((3, 5), "u1")),
            "BoundsError",
            r"\(3, 3\) as its last axes \(bytes",
        ),
        (
            lambda: asc.convert(jnp.zeros(9), "NZ", "ZN", (3, 3)),
            "BoundsError",
            r"convert: x must hold 128 \(elements\)",
        ),
        (
            lambda: asc.convert(jnp.zeros(9, "u1"), "NZ", "ZN", (3, 3), "half"),
            "ParamError",
            "convert: dtype must fit the array",
        ),
        (lambda: asc.convert(jnp.zeros(9), "NZ", "ZN"), "ParamError", "shape must be"),
        (
            lambda: asc.convert(
                jnp.zeros(1536, "float16"), NZ, asc.Layout("ZN", (33, 17), "half")
            ),
            "ParamError",
            r"dst must be a layout of half of shape \(17, 33\)",
        ),
        (
            lambda: asc.convert(jnp.zeros(1536, "float16"), NZ, "ZN", (3, 3)),
            "ParamError",
            r"src must be a layout of half of shape \(3, 3\)",
        ),
        (lambda: asc.Layout.from_dict({"format": "NZ"}), "ParamError", "data must"),
        (lambda: asc.Layout.from_dict([1]), "ParamError", "got list"),
    ],
)
def test_errors(make, error, text):
    with pytest.raises(getattr(asc, error), match=text) as caught:
        make()
    assert type(caught.value).__name__ == error
    assert caught.value.fix
