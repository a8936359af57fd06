"""Every element type, on an instruction that takes it, in every array that holds it."""

import contextlib
import functools

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from cases import CASES, integers, nddma
from helpers import (
    bits,
    check_equal,
    check_same,
    moved,
    of_bits,
    patterns,
    pulled_back,
)

import ascjax as asc
from ascjax._dtypes import TYPES

LOAD = asc.LoadData2DParams(0, 2, 2, dst_gap=1)
WINDOW = asc.LoadData2DParamsV2(0, 0, 4, 2, 5, 5)
ROWS = asc.Nz2NdParamsFull(2, 3, 32, 1, 5, 40, 150)
PADDED = nddma((1, 9), (1, 13), (7, 3), (2, 1), (1, 0))


def site_of(name: str) -> tuple[asc.Params, str, str]:
    """An instruction that moves the type, with a product and a path that do."""
    for params, product in (
        (PADDED, "atlas_350"),
        (ROWS, "atlas_350"),
        (WINDOW, "atlas_350"),
        (LOAD, "atlas_a2"),
    ):
        for path, names in params.paths(asc.product(product)).items():
            if name in names:
                return params, product, path
    raise LookupError(name)


def wide(bits: int):
    """64-bit arrays exist in JAX only where the user asks for them."""
    return jax.enable_x64(True) if bits == 64 else contextlib.nullcontext()


def run(params, src, dst=None, **options):
    return getattr(asc, params.op)(src, params, dst=dst, **options)


def as_move(params, src, dst, dtype, **options) -> asc.Move:
    sizes = {"src_size": src.shape[-1], "dst_size": dst.shape[-1]}
    return asc.Move.of(params, dtype=dtype, **sizes, **options)


@pytest.mark.parametrize("name", TYPES)
def test_every_type_moves_on_an_instruction_that_takes_it(name):
    t = asc.ascend_type(name)
    params, product, path = site_of(name)
    options = {"product": product, "path": path}
    held = [t.jax] * bool(t.jax) + [f"uint{t.bits}"] * (t.jax != f"uint{t.bits}")
    size = asc.Move.of(params, dtype=name, src_size=1 << 16).dst_size + 3
    with wide(t.bits):
        for carrier in held:
            src = patterns(1, (2, 40 * 4096 // t.bits), jnp.dtype(carrier))
            dst = patterns(2, (2, size), jnp.dtype(carrier))
            out = run(params, src, dst, dtype=name, **options)
            assert out.dtype == carrier
            check_same(out, moved(as_move(params, src, dst, name, **options), src, dst))
        if t.jax:  # the array's own type tells
            src, dst = (of_bits(bits(x), jnp.dtype(t.jax)) for x in (src, dst))
            out = run(params, src, dst, **options)
            check_same(out, moved(as_move(params, src, dst, name, **options), src, dst))


def test_every_type_of_the_table_is_tried():
    assert {name: asc.ascend_type(name).bits for name in TYPES} == {
        **dict.fromkeys(("int4b_t", "fp4x2_e2m1_t", "fp4x2_e1m2_t"), 4),
        **dict.fromkeys(("bool", "int8_t", "uint8_t", "hifloat8_t"), 8),
        **dict.fromkeys(("fp8_e4m3fn_t", "fp8_e5m2_t", "fp8_e8m0_t"), 8),
        **dict.fromkeys(("int16_t", "uint16_t", "half", "bfloat16_t"), 16),
        **dict.fromkeys(("int32_t", "uint32_t", "float", "complex32"), 32),
        **dict.fromkeys(("int64_t", "uint64_t", "double", "complex64"), 64),
    }


# A transposed square, and a gather, for each width that has them.
SQUARES = asc.LoadData2dTransposeParams(0, 2, 1, dst_gap=4, dst_frac_gap=0)


@pytest.mark.parametrize(
    "name", ["int4b_t", "int8_t", "uint16_t", "int32_t", "fp4x2_e2m1_t"]
)
def test_squares_of_every_width_are_transposed(name):
    t = asc.ascend_type(name)
    src = patterns(1, (8 * t.fractal,), jnp.dtype(t.jax))
    dst = patterns(2, (9 * t.fractal,), jnp.dtype(t.jax))
    out = asc.load_data_with_transpose(src, SQUARES, dst=dst)
    check_same(out, moved(as_move(SQUARES, src, dst, name), src, dst))


@pytest.mark.parametrize("name", ["bool", "int4b_t", "uint8_t", "fp4x2_e2m1_t"])
def test_an_irregular_sequence_of_narrow_types(name):
    t = asc.ascend_type(name)
    calls = [(asc.LoadData2DParams(0, 1), a, b) for a, b in ((0, 0), (9, 900), (70, 5))]
    src = patterns(1, (t.fractal + 71,), jnp.dtype(t.jax))
    dst = patterns(2, (1500 + t.fractal,), jnp.dtype(t.jax))
    move = asc.Move.sequence(
        tuple(asc.Call(*call) for call in calls),
        dtype=name,
        src_size=src.size,
        dst_size=dst.size,
    )
    check_same(asc.sequence(calls)(src, dst), moved(move, src, dst))


def test_one_array_type_for_several_ascend_types():
    src = np.arange(512, dtype=np.uint8)
    for name in ("uint8_t", "hifloat8_t", "fp8_e5m2_t", "fp8_e8m0_t", "bool"):
        out = asc.load_data(src, asc.LoadData2DParams(0, 1), dtype=name)
        check_same(out, src)


@pytest.mark.parametrize(
    "held, dtype, text",
    [
        (
            "float32",
            "half",
            r"load2d: dtype must fit the array: half is held by an array of float16, "
            r"of uint16 \(raw bits\), got an array of float32\. Convert the array",
        ),
        (
            "int8",
            "int4b_t",
            r"of uint8 \(two elements a byte\), got an array of int8\.",
        ),
        (
            "float32",
            float,
            "load2d: dtype must name an Ascend C type, got <class 'float'>",
        ),
        (
            "uint4",
            None,
            "load2d: dtype must tell the Ascend type where the array's own",
        ),
    ],
)
def test_a_type_that_is_not_the_array_s_is_refused(held, dtype, text):
    with pytest.raises(asc.ParamError, match=text):
        asc.load_data(
            np.zeros(2048, jnp.dtype(held)), asc.LoadData2DParams(0, 1), dtype=dtype
        )


def test_no_type_is_no_type():
    """NumPy takes None for float64."""
    move = functools.partial(asc.Move.of, asc.LoadData2DParams(0, 1), src_size=2048)
    for make in (move, functools.partial(asc.Layout, "NZ", (16, 16))):
        with pytest.raises(asc.ParamError, match="name an Ascend C type, got None"):
            make(dtype=None)


def test_dst_of_another_type_is_refused():
    text = (
        r"load2d: dst must have the type of src, float16, got float32\. Convert one of "
        r"them: a move does not convert\."
    )
    with pytest.raises(asc.ParamError, match=text):
        asc.load_data(
            np.zeros(256, "f2"), asc.LoadData2DParams(0, 1), dst=np.zeros(256, "f4")
        )


# --- 64 bits


@pytest.mark.parametrize("field", ["src", "dst"])
@pytest.mark.parametrize(
    "dtype, name",
    [("int64", "int64_t"), ("uint64", "uint64_t"), ("float64", "double")],
)
def test_64_bit_arrays_are_refused_without_x64_and_never_narrowed(dtype, name, field):
    arrays = {"src": np.zeros(400, "f4"), "dst": np.zeros(300, "f4")}
    arrays[field] = arrays[field].astype(dtype)
    text = (
        rf"nz2nd: {field} must be at most 32 bits wide while jax_enable_x64 is off, "
        rf"got {name}\. Convert it, such as with \.astype\('{dtype[:-2]}32'\), or call "
        r"jax\.config\.update\('jax_enable_x64', True\) first\."
    )
    with pytest.raises(asc.ParamError, match=text):
        asc.data_copy(arrays["src"], ROWS, dst=arrays["dst"])


def test_a_64_bit_array_left_over_from_x64_is_refused():
    with jax.enable_x64(True):
        src = jnp.zeros(400, "float64")
    with pytest.raises(asc.ParamError, match="jax_enable_x64 is off, got double"):
        asc.data_copy(src, ROWS)


def test_complex128_is_refused_with_and_without_x64():
    for x64 in (False, True):
        with (
            jax.enable_x64(x64),
            pytest.raises(asc.ParamError, match=r"nz2nd: (src|dtype)"),
        ):
            asc.data_copy(np.zeros(400, "c16"), ROWS)


def test_64_bits_as_32_bit_arrays_are_refused():
    text = "nz2nd: dtype must fit the array: double is held by an array of float64"
    with pytest.raises(asc.ParamError, match=text):
        asc.data_copy(np.zeros(400, "f4"), ROWS, dtype="double")


def test_x64_may_come_and_go():
    """One process, the same params: each call follows the setting of its moment."""
    src = np.arange(400, dtype="float64") / 3
    with jax.enable_x64(True):
        before = asc.data_copy(src, ROWS, dst_size=300)
        assert before.dtype == jnp.float64
    with pytest.raises(asc.ParamError, match="jax_enable_x64 is off"):
        asc.data_copy(src, ROWS, dst_size=300)
    narrow = asc.data_copy(src.astype("f4"), ROWS, dst_size=300)
    assert narrow.dtype == jnp.float32
    with jax.enable_x64(True):
        check_same(asc.data_copy(src, ROWS, dst_size=300), before)
        check_same(asc.data_copy(src.astype("f4"), ROWS, dst_size=300), narrow)


def test_double_under_jit_grad_and_vmap():
    with jax.enable_x64(True):
        src, dst = integers(1, (3, 400), "f8"), integers(2, (3, 300), "f8")
        move = as_move(ROWS, src, dst, "double")
        out, back = jax.vjp(jax.jit(jax.vmap(lambda s, d: run(ROWS, s, d))), src, dst)
        check_same(out, moved(move, src, dst))
        ct = integers(3, out.shape, "f8")
        for got, want in zip(back(ct), pulled_back(move, ct), strict=True):
            check_equal(got, want)


# --- gradients of types that are not plain floats


@pytest.mark.parametrize("case", ["nddma_broadcast", "sequence_two_paddings"])
def test_complex64_gradients(case):
    case = CASES[case]
    calls = [
        (nddma(p.loop_info.loop_src_stride, *lists(p)), c.src_offset, c.dst_offset)
        for c in case.calls
        for p in [c.params]
    ]
    run = asc.sequence(calls)
    src = integers(1, (case.src_size,)) + 1j * integers(2, (case.src_size,))
    dst = integers(3, (case.dst_size,)) + 1j * integers(4, (case.dst_size,))
    src, dst = src.astype("complex64"), dst.astype("complex64")
    move = asc.Move.sequence(
        run.calls, dtype="complex64", src_size=src.size, dst_size=dst.size
    )
    out, back = jax.vjp(run, src, dst)
    check_same(out, moved(move, src, dst))
    ct = dst[::-1] * np.complex64(1j)
    for got, want in zip(back(ct), pulled_back(move, ct), strict=True):
        check_equal(got, want)


def lists(params):
    info = params.loop_info
    return info.loop_dst_stride, info.loop_size, info.loop_lp_size, info.loop_rp_size


@pytest.mark.parametrize(
    "name", ["bfloat16_t", "fp8_e4m3fn_t", "fp8_e5m2_t", "fp4x2_e2m1_t"]
)
@pytest.mark.parametrize("plan", ["gap", "repeat"])
def test_narrow_floats_have_exact_gradients(name, plan):
    """Sums are made in float32 and rounded once: 3 copies of 0.5 are 1.5."""
    t = asc.ascend_type(name)
    params = LOAD if plan == "gap" else asc.LoadData2DParams(0, 3, 0)
    dtype = jnp.dtype(t.jax)
    src = integers(1, (3 * t.fractal,)).astype(dtype)
    dst = integers(2, (4 * t.fractal + 1,)).astype(dtype)
    move = as_move(params, src, dst, name)
    out, back = jax.vjp(lambda s, d: run(params, s, d, dtype=name), src, dst)
    check_same(out, moved(move, src, dst))
    ct = np.full(dst.shape, 0.5, dtype)
    for got, want in zip(back(ct), pulled_back(move, ct), strict=True):
        check_equal(got, want)


def test_sums_of_narrow_floats_round_once():
    """8 copies of cotangents in bfloat16 whose sum is off when each step rounds."""
    params = asc.LoadData2DParams(0, 8, 0)
    src = np.zeros(256, ml_dtypes.bfloat16)
    ct = np.repeat(np.float32([256, 1, 1, 1, 1, 1, 1, 1]), 256)
    ct = ct.astype(ml_dtypes.bfloat16)
    (got,) = jax.vjp(lambda s: asc.load_data(s, params), src)[1](ct)
    check_equal(got, np.full(256, 264, ml_dtypes.bfloat16))  # 263, to nearest even


def test_float8_e8m0_has_no_gradient_and_says_so():
    src = np.ones(512, ml_dtypes.float8_e8m0fnu)
    text = (
        "ascjax: dtype must have a zero and a sign to be differentiated, got "
        r"float8_e8m0fnu\. Differentiate a wider type, or stop the gradient before the "
        r"move\."
    )

    def loss(x):
        return asc.load_data(x, asc.LoadData2DParams(0, 1)).astype(jnp.float32).sum()

    assert loss(src) == 512
    with pytest.raises(asc.ParamError, match=text):
        jax.grad(loss)(src)
    with pytest.raises(asc.ParamError, match=text):
        jax.jvp(loss, (src,), (src,))
    stopped = jax.grad(lambda x: loss(jax.lax.stop_gradient(x)) + x[0].astype(float))
    assert stopped(src).dtype == src.dtype


def test_bool_and_opaque_bits_give_float0():
    for dtype, name in (("bool", "bool"), ("uint8", "hifloat8_t"), ("uint16", "half")):
        params = asc.LoadData2DParams(0, 1)
        src = np.ones(512, dtype)
        move = functools.partial(asc.load_data, params=params, dtype=name)
        _, back = jax.vjp(move, src)
        size = 4096 // asc.ascend_type(name).bits
        (ct,) = back(np.zeros(size, jax.dtypes.float0))
        assert (ct.dtype, ct.shape) == (jax.dtypes.float0, (512,))
