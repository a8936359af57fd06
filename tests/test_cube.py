"""Mmad and Fixpipe: figures by hand, all types, start values, transforms, errors."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from case_file_helpers import write

import ascjax as asc
from ascjax import oracle
from ascjax.verify import _values, check_case, read_cases
from ascjax.verify._values import draw_values

pytestmark = pytest.mark.quick

MMAD_TYPES = ("int4b_t", "int8_t", "half", "bfloat16_t", "float")
FP8 = ("fp8_e4m3fn_t", "fp8_e5m2_t")
SITES = [(p, t) for p in ("atlas_a2", "atlas_350") for t in MMAD_TYPES]
SITES += [("atlas_350", t) for t in FP8]


Fix = asc.FixpipeParams


def packed(matrix, format, name):
    type = asc.ascend_type(name)
    layout = asc.Layout(format, matrix.shape, type)
    return layout.pack(jax.device_put(matrix.astype(jnp.dtype(type.carrier))))


def sources(product, name, a, b):
    """L0A and L0B, laid out for a product."""
    l0a_format = asc.product(product).l0a_format
    return packed(a, l0a_format, name), packed(b, "ZN", name)


def result(l0c, m, n):
    layout = asc.Layout("NZ", (m, n), l0c.dtype, (16, 16))
    return np.asarray(layout.unpack(l0c[..., : layout.size]))


def small(seed, *shape):
    return np.random.default_rng(seed).integers(-3, 4, shape)


# --- mmad: figures


def test_one_product_by_hand():
    """A = [1 2 3], B = its columns 10 and 100: L0B's fractal is [C0, 16] by columns."""
    l0a = jnp.zeros(256, "float16").at[:3].set(jnp.array([1, 2, 3], "float16"))
    l0b = jnp.zeros(256, "float16").at[:3].set(10).at[16:19].set(100)
    l0c = asc.mmad(l0a, l0b, asc.MmadParams(1, 2, 3), product="910B")
    assert l0c.shape == (256,) and l0c.dtype == jnp.float32
    assert l0c[:3].tolist() == [60, 600, 0]


@pytest.mark.parametrize("product, first", [("atlas_a2", 512), ("atlas_350", 256)])
def test_the_order_of_fractals_in_l0a_is_the_product_s(product, first):
    """Element (16, 0) of A [32, 32] starts the second row of fractals."""
    l0a = jnp.zeros(1024, "float16").at[first].set(1)
    l0b = jnp.zeros(512, "float16").at[0].set(1)
    l0c = asc.mmad(l0a, l0b, asc.MmadParams(32, 16, 32), product=product)
    assert np.flatnonzero(l0c).tolist() == [256]


@pytest.mark.parametrize("product, name", SITES)
@pytest.mark.parametrize(
    "m, n, k", [(16, 16, 64), pytest.param(17, 33, 65, marks=pytest.mark.optimised)]
)
def test_all_types_are_exact(product, name, m, n, k):
    a, b = small(0, m, k), small(1, k, n)
    out = asc.mmad(
        *sources(product, name, a, b), asc.MmadParams(m, n, k), product=product
    )
    assert out.dtype == ("int32" if name.startswith("int") else "float32")
    np.testing.assert_array_equal(result(out, m, n), a @ b)


def test_packed_bytes_are_int4():
    a, b = small(0, 16, 70), small(1, 70, 20)
    l0a, l0b = sources("atlas_a2", "int4b_t", a, b)
    halves = [np.asarray(x).astype(np.int8).view(np.uint8) & 15 for x in (l0a, l0b)]
    held = [x[0::2] | x[1::2] << 4 for x in halves]
    out = asc.mmad(*held, asc.MmadParams(16, 20, 70), product="910B", dtype="int4b_t")
    np.testing.assert_array_equal(result(out, 16, 20), a @ b)


def test_raw_bits_are_values():
    a, b = small(0, 16, 16), small(1, 16, 16)
    bits = [
        jax.lax.bitcast_convert_type(x, jnp.uint16)
        for x in sources("910B", "half", a, b)
    ]
    out = asc.mmad(*bits, asc.MmadParams(16, 16, 16), product="910B", dtype="half")
    np.testing.assert_array_equal(result(out, 16, 16), a @ b)


@pytest.mark.optimised
def test_sums_are_as_near_as_float32():
    m, n, k = 20, 18, 1000
    rng = np.random.default_rng(0)
    a, b = (rng.random(s, np.float32) for s in ((m, k), (k, n)))
    out = asc.mmad(
        *sources("910B", "float", a, b), asc.MmadParams(m, n, k), product="910B"
    )
    exact = a.astype(np.float64) @ b.astype(np.float64)
    assert np.abs(result(out, m, n) / exact - 1).max() <= 2 * k * 2.0**-24


@pytest.mark.optimised
def test_int32_sums_wrap():
    a = np.full((16, 16), 127)
    l0c = jnp.full(256, 2**31 - 1, "int32")
    p = asc.MmadParams(16, 16, 16, cmatrix_init_val=False)
    out = asc.mmad(*sources("910B", "int8_t", a, a), p, l0c=l0c, product="910B")
    wrapped = (2**31 - 1 + 16 * 127**2) - 2**32
    assert (np.asarray(out) == wrapped).all()


@pytest.mark.parametrize(
    "name, align",
    [("half", False), ("float", False), ("float", True), ("fp8_e4m3fn_t", False)],
)
def test_lanes_from_k_on_take_no_part(name, align):
    m, n, k, deep = 3, 5, 11, 16
    a, b = (np.full(s, np.nan) for s in ((16, deep), (deep, 16)))
    a[:m, :k], b[:k, :n] = small(0, m, k), small(1, k, n)
    p = asc.MmadParams(m, n, k, k_direction_align=align)
    out = asc.mmad(*sources("atlas_350", name, a, b), p, product="atlas_350")
    np.testing.assert_array_equal(result(out, m, n), a[:m, :k] @ b[:k, :n])
    assert np.isfinite(out).all()


def test_k_direction_align_pads_k_of_float_to_16():
    a, b = small(0, 16, 8), small(1, 8, 16)
    wide = [np.pad(x, w) for x, w in ((a, ((0, 0), (0, 8))), (b, ((0, 8), (0, 0))))]
    p = asc.MmadParams(16, 16, 8, k_direction_align=True)
    out = asc.mmad(*sources("910B", "float", *wide), p, product="910B")
    np.testing.assert_array_equal(result(out, 16, 16), a @ b)
    with pytest.raises(asc.BoundsError, match=r"l0a must hold elements \[0, 256\)"):
        asc.mmad(*sources("910B", "float", a, b), p, product="910B")


# --- mmad: what it starts from, and what it leaves


@pytest.mark.parametrize("name", ["int8_t", "half"])
def test_l0c_keeps_what_lies_outside_m_n(name):
    m, n, k = 17, 20, 5
    l0a, l0b = sources("910B", name, small(0, m, k), small(1, k, n))
    old = jnp.arange(2000).astype("int32" if name == "int8_t" else "float32")
    p = asc.MmadParams(m, n, k)
    out = asc.mmad(l0a, l0b, p, l0c=old, l0c_offset=256, product="910B")
    at = 256 + oracle.layout("NZ", (m, n), 32, (16, 16))[0]
    inside = np.zeros(2000, bool)
    inside[at] = True
    np.testing.assert_array_equal(out[~inside], old[~inside])
    np.testing.assert_array_equal(out[at], small(0, m, k) @ small(1, k, n))


@pytest.mark.parametrize("m, n", [(16, 32), (3, 18)])
def test_it_starts_from_l0c_or_a_bias(m, n):
    a, b = small(0, m, 16), small(1, 16, n)
    args = sources("910B", "half", a, b)
    once = asc.mmad(*args, asc.MmadParams(m, n, 16), product="910B")
    more = asc.MmadParams(m, n, 16, cmatrix_init_val=False)
    twice = asc.mmad(*args, more, l0c=once, product="910B")
    np.testing.assert_array_equal(result(twice, m, n), 2 * (a @ b))
    bias = jnp.arange(n + 16.0)
    p = asc.MmadParams(m, n, 16)
    out = asc.mmad(*args, p, bias=bias, bias_offset=16, product="910B")
    np.testing.assert_array_equal(result(out, m, n), a @ b + np.arange(16, n + 16))


@pytest.mark.parametrize("counts", [(0, 1, 1), (1, 0, 1), (1, 1, 0)])
def test_a_count_of_zero_is_a_nop(counts):
    none, old = jnp.zeros(0, "float16"), jnp.arange(5.0)
    p = asc.MmadParams(*counts)
    assert asc.mmad(none, none, p, l0c=old, product="910B").tolist() == [*range(5)]
    assert asc.mmad(none, none, p, l0c_size=3, product="910B").tolist() == [0, 0, 0]


# --- mmad: transforms


def test_batches_broadcast_and_vmap():
    a, b = small(0, 4, 16, 20), small(1, 20, 18)
    l0a = asc.Layout("ZZ", (16, 20), "half").pack(jnp.asarray(a).astype("float16"))
    l0b = packed(b, "ZN", "half")
    p = asc.MmadParams(16, 18, 20)
    want = a @ b
    out = asc.mmad(l0a, l0b, p, product="910B")
    np.testing.assert_array_equal(result(out, 16, 18), want)
    mapped = jax.jit(jax.vmap(lambda x: asc.mmad(x, l0b, p, product="910B")))(l0a)
    np.testing.assert_array_equal(mapped, out)
    old = jnp.ones((3, 1, 600))
    kept = asc.mmad(l0a, l0b, p, l0c=old, product="910B")
    assert kept.shape == (3, 4, 600) and (np.asarray(kept[..., 512:]) == 1).all()


def test_the_gradient_is_the_matrix_product_s():
    m, n, k = 5, 7, 9
    a, b = (
        small(s, *shape).astype(np.float32) for s, shape in ((0, (m, k)), (1, (k, n)))
    )
    ct = small(2, m, n).astype(np.float32)
    l0a, l0b = sources("atlas_350", "float", a, b)
    old = jnp.ones(256)
    p = asc.MmadParams(m, n, k, cmatrix_init_val=False)
    nz = asc.Layout("NZ", (m, n), "float", (16, 16))

    def loss(l0a, l0b, old):
        out = asc.mmad(l0a, l0b, p, l0c=old, product="atlas_350")
        return (nz.unpack(out) * ct).sum()

    to_a, to_b, to_c = jax.grad(loss, (0, 1, 2))(l0a, l0b, old)
    np.testing.assert_array_equal(to_a, packed(ct @ b.T, "NZ", "float"))
    np.testing.assert_array_equal(to_b, packed(a.T @ ct, "ZN", "float"))
    np.testing.assert_array_equal(to_c, nz.pack(jnp.asarray(ct)))
    _, tangent = jax.jvp(lambda x: loss(x, l0b, old), (l0a,), (l0a,))
    assert tangent == ((a @ b) * ct).sum()


def test_the_module_is_the_op():
    a, b = small(0, 16, 16), small(1, 16, 16)
    args = sources("910B", "half", a, b)
    module = asc.nn.Mmad(asc.MmadParams(16, 16, 16), product="910B", dtype="half")
    assert not jax.tree.leaves(module)
    again = asc.nn.Mmad.from_dict(module.to_dict())
    assert again == module
    np.testing.assert_array_equal(result(again(*args), 16, 16), a @ b)
    with pytest.raises(asc.SupportError, match="dtype must be one that atlas_a2"):
        asc.nn.Mmad(asc.MmadParams(1, 1, 1), product="910B", dtype="fp8_e5m2_t")


# --- mmad: errors

A = jnp.zeros(256, "float16")
ONE = asc.MmadParams(1, 1, 1)


@pytest.mark.parametrize(
    "error, text, args, options",
    [
        (
            asc.ParamError,
            "params must be MmadParams, after l0a and l0b",
            (ONE, A, A),
            {},
        ),
        (asc.ParamError, "product must be given", (A, A, ONE), {"product": None}),
        (
            asc.SupportError,
            "product must be one that has this",
            (A, A, ONE),
            {"product": "atlas_inference_vector"},
        ),
        (
            asc.SupportError,
            "dtype must be one that atlas_a2",
            (A.astype("int16"), A.astype("int16"), ONE),
            {},
        ),
        (
            asc.ParamError,
            "l0b must hold half: an array of float16",
            (A, A.astype("bfloat16"), ONE),
            {},
        ),
        (asc.ParamError, "l0c must hold float32", (A, A, ONE), {"l0c": A}),
        (asc.ParamError, "bias must hold float32", (A, A, ONE), {"bias": A}),
        (
            asc.BoundsError,
            r"l0a must hold elements \[0, 256\).*got 255 elements",
            (A[1:], A, ONE),
            {},
        ),
        (
            asc.BoundsError,
            r"l0b must hold elements \[256, 512\)",
            (A, A, ONE),
            {"l0b_offset": 256},
        ),
        (
            asc.BoundsError,
            r"l0c must hold elements \[0, 256\)",
            (A, A, ONE),
            {"l0c_size": 9},
        ),
        (
            asc.BoundsError,
            r"bias must hold elements \[0, 1\)",
            (A, A, ONE),
            {"bias": jnp.zeros(0)},
        ),
        (
            asc.BoundsError,
            "l0c_size must be the size of l0c",
            (A, A, ONE),
            {"l0c_size": 9, "l0c": jnp.zeros(256)},
        ),
        (
            asc.BoundsError,
            "l0a_offset must be an integer of at least 0",
            (A, A, ONE),
            {"l0a_offset": -256},
        ),
        (
            asc.AlignmentError,
            "l0a_offset must start on a multiple of 512 bytes: 256",
            (A, A, ONE),
            {"l0a_offset": 16},
        ),
        (
            asc.AlignmentError,
            "l0c_offset must start on a multiple of 1024 bytes: 256",
            (A, A, ONE),
            {"l0c_offset": 16},
        ),
        (
            asc.AlignmentError,
            "bias_offset must start on a multiple of 64 bytes: 16",
            (A, A, ONE),
            {"bias_offset": 8},
        ),
        (
            asc.ParamError,
            "l0c must be given where cmatrix_init_val is false",
            (A, A, asc.MmadParams(1, 1, 1, False)),
            {},
        ),
        (
            asc.ParamError,
            "bias must be left out where",
            (A, A, asc.MmadParams(1, 1, 1, False)),
            {"l0c": jnp.zeros(256), "bias": jnp.zeros(1)},
        ),
        (
            asc.ParamError,
            "k_direction_align must be false for half",
            (A, A, asc.MmadParams(1, 1, 1, k_direction_align=True)),
            {},
        ),
    ],
)
def test_mmad_refuses(error, text, args, options):
    with pytest.raises(error, match=f"^mmad: {text}"):
        asc.mmad(*args, **{"product": "910B", **options})


def test_mmad_is_no_move():
    for made in (asc.sequence, lambda p: asc.chain(p)):
        with pytest.raises(asc.ParamError, match=r"params must be one of|hold moves"):
            made([ONE])


# --- fixpipe


def test_rows_by_hand():
    """18 columns: two of the second block of columns, src_stride rows further on."""
    l0c = jnp.arange(768.0)
    p = asc.FixpipeParams(18, 2, 32, 20)
    out = asc.fixpipe(l0c, p, product="910B", path="CO1->GM")
    assert out.shape == (38,)
    assert out[:18].tolist() == [*range(16), 512, 513]
    assert out[18:22].tolist() == [0, 0, 16, 17]


@pytest.mark.parametrize("n", [1, 16, 32, 33, 40])
def test_matrices_stand_apart(n):
    l0c = jnp.arange(4 * 256 * 3.0)
    p = asc.FixpipeParams(n, 3, 16, n + 1, 2, 5, 300)
    out = np.asarray(asc.fixpipe(l0c, p))
    for nd in range(2):
        for r in range(3):
            for c in range(n):
                source = nd * 5 * 256 + c // 16 * 256 + r * 16 + c % 16
                assert out[nd * 300 + r * (n + 1) + c] == source


@pytest.mark.optimised
@pytest.mark.parametrize(
    "cast, type", [("F322F16", "float16"), ("F322BF16", "bfloat16")]
)
def test_casts_round_to_nearest_even(cast, type):
    step = float(jnp.finfo(type).eps)
    values = [1 + step / 2, 1 + 3 * step / 2, -1 - step * 0.51, np.nan, np.inf, 1e30]
    l0c = jnp.zeros(256).at[:6].set(jnp.array(values))
    out = asc.fixpipe(l0c, asc.FixpipeParams(6, 1, 16, 6, quant_pre=cast))
    assert out.dtype == type
    want = [1, 1 + 2 * step, -1 - step]
    assert out[:3].astype("float32").tolist() == want
    assert np.isnan(out[3]) and np.isinf(out[4])
    assert np.isinf(out[5]) == (cast == "F322F16")


@pytest.mark.optimised
@pytest.mark.parametrize("type", ["float32", "int32"])
def test_relu_cuts_off_below_0(type):
    l0c = (jnp.arange(256) - 3).astype(type)
    out = asc.fixpipe(l0c, asc.FixpipeParams(6, 1, 16, 6, relu_en=True))
    assert out.tolist() == [0, 0, 0, 0, 1, 2] and out.dtype == type


def test_what_is_not_written_keeps_the_type_of_what_arrives():
    p = asc.FixpipeParams(2, 2, 16, 4, quant_pre="F322F16")
    old = jnp.full(8, 7, "float16")
    out = asc.fixpipe(jnp.arange(256.0), p, dst=old, product="910B", path="L0C->GM")
    assert out.tolist() == [0, 1, 7, 7, 16, 17, 7, 7]
    with pytest.raises(asc.ParamError, match="type of what arrives, float16"):
        asc.fixpipe(jnp.arange(256.0), p, dst=old.astype("float32"))


def test_the_gradient_goes_through_cast_and_relu():
    p = asc.FixpipeParams(3, 1, 16, 3, quant_pre="F322BF16", relu_en=True)
    l0c = jnp.arange(-1.0, 255.0)
    weights = jnp.array([2, 3, 4], "bfloat16")
    grad = jax.grad(lambda x: (asc.fixpipe(x, p) * weights).sum().astype("float32"))(
        l0c
    )
    assert grad[:4].tolist() == [0, 0, 4, 0] and grad.dtype == jnp.float32


@pytest.mark.parametrize(
    "error, text, make, options",
    [
        (asc.ParamError, r"dst_stride must be in \[1, ", lambda: Fix(1, 1, 1, 0), {}),
        (
            asc.ParamError,
            r"n_size must be in \[0, 4095\]",
            lambda: Fix(4096, 1, 1, 1),
            {},
        ),
        (
            asc.ParamError,
            "quant_pre must be one of NoQuant, F322F16, F3",
            lambda: Fix(1, 1, 1, 1, 1, 0, 0, "QF322B8_PRE"),
            {},
        ),
        (
            asc.ParamError,
            "quant_pre must be NoQuant for int32_t",
            lambda: Fix(1, 1, 1, 1, 1, 0, 0, "F322F16"),
            {"dtype": "int32"},
        ),
        (asc.BoundsError, "src must hold elements", lambda: Fix(17, 1, 16, 17), {}),
        (
            asc.AlignmentError,
            "src_offset must start on a multiple of 1024 bytes in CO1",
            lambda: Fix(1, 1, 1, 1),
            {"src_offset": 16},
        ),
        (
            asc.OverlapError,
            "dst must be written at most once",
            lambda: Fix(4, 2, 1, 3),
            {},
        ),
        (
            asc.SupportError,
            "product must be one that has",
            lambda: Fix(1, 1, 1, 1),
            {"product": "atlas_inference_vector"},
        ),
    ],
)
def test_fixpipe_refuses(error, text, make, options):
    options = {"product": "910B", "path": "CO1->GM", **options}
    src = jnp.zeros(256, options.pop("dtype", "float32"))
    with pytest.raises(error, match=f"^fixpipe: {text}"):
        asc.fixpipe(src, make(), **options)


def test_moves_that_convert_are_not_joined_with_others():
    cast = asc.FixpipeParams(16, 1, 16, 16, quant_pre="F322F16")
    plain = asc.FixpipeParams(16, 1, 16, 16)
    with pytest.raises(asc.ParamError, match="calls must do to values what the first"):
        asc.sequence([cast, (plain, 0, 16)])(jnp.zeros(256))
    rows = asc.sequence([cast, (cast, 0, 16)])(jnp.arange(256.0))
    assert rows.dtype == jnp.float16 and rows.tolist() == [*range(16)] * 2
    module = asc.nn.Fixpipe(cast, dtype="float", src_size=256)
    with pytest.raises(
        asc.ParamError, match=r"moves\[0\] must move values as they are"
    ):
        asc.chain([module])
    assert asc.nn.Fixpipe.from_dict(module.to_dict()) == module


def test_the_road_ends_in_rows():
    m, n, k = 20, 40, 30
    a, b = small(0, m, k), small(1, k, n)
    l0c = asc.mmad(
        *sources("910B", "half", a, b), asc.MmadParams(m, n, k), product="910B"
    )
    p = asc.FixpipeParams(n, m, 32, n, quant_pre="F322F16")
    rows = asc.fixpipe(l0c, p, product="910B", path="CO1->GM")
    np.testing.assert_array_equal(np.asarray(rows).reshape(m, n), a @ b)


# --- ascjax verify


def test_the_suite_checks_mmad_by_values():
    checks = list(draw_values(1, 3))
    assert {c.case.dtype for c in checks} == {*MMAD_TYPES, *FP8}
    assert {c.case.product == "atlas_350" for c in checks} == {True, False}
    for check in checks[:4]:
        check.by_op()
        assert check.result().status == "ok", check.result().message


def test_the_check_of_values_goes_red(monkeypatch):
    monkeypatch.setattr(_values, "mmad", lambda *args, l0c, **_: l0c + 1)
    check = next(iter(draw_values(1, 0)))
    check.by_op()
    found = check.result()
    assert found.status == "mismatch" and "L0C element 0: expected" in found.message


CASE = {
    "instruction": "mmad",
    "product": "atlas_a2",
    "path": "A2->CO1",
    "dtype": "half",
}
SIZES = {"src_size": 256, "dst_size": 256}


def test_case_files_hold_fixpipe_and_refusals_of_mmad(tmp_path):
    rows = {"nSize": 18, "mSize": 2, "srcStride": 16, "dstStride": 18}
    cases = [
        {**CASE, **SIZES, "fields": {"m": 1, "n": 1, "k": 1}},
        {**CASE, **SIZES, "fields": {"m": 4096}, "why": "m", "field": "m"},
        {**CASE, **SIZES, "fields": {}, "dtype": "int16_t", "why": "the type"},
        {**CASE, "instruction": "fixpipe", "path": "CO1->GM", "dtype": "float"},
    ]
    cases[3] |= {"src_size": 512, "dst_size": 36}
    cases[3]["fields"] = {**rows, "quantPre": "F322F16", "reluEn": True}
    read = read_cases(write(tmp_path, cases))
    results = [check_case(case, through_op=True) for case in read]
    statuses = [result.status for result in results]
    assert statuses == ["unsupported", "refused", "refused", "ok"]
    assert "the built-in suite compares its values" in results[0].message
    assert results[3].compared == ("oracle", "op")


@pytest.mark.optimised
def test_relu_keeps_subnormal_numbers_and_nans():
    """XLA:CPU compares subnormal floats as zeros."""
    x = np.zeros(256, "float32")
    x[:6] = [1e-40, -1e-40, 2e-45, np.nan, -0.0, 3.0]
    got = asc.fixpipe(x, asc.FixpipeParams(16, 1, 16, 16, relu_en=True))
    want = np.where((x > 0) | np.isnan(x), x, np.float32(0))[:16]
    np.testing.assert_array_equal(np.asarray(got).view("u4"), want.view("u4"))
