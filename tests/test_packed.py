"""4-bit elements, two to a byte: the even one in the low nibble."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import Case
from helpers import KEEP, check_move, check_same, patterns

import ascjax as asc
from ascjax._packed import byte_plan

FOUR_BITS = ["int4b_t", "fp4x2_e2m1_t", "fp4x2_e1m2_t"]
_one = asc.LoadData2DParams(repeat_times=1)


def unpacked(x: np.ndarray) -> np.ndarray:
    """Bytes to nibbles, the low one first."""
    return np.stack([x % 16, x // 16], -1).reshape(*x.shape[:-1], -1)


def packed(x: np.ndarray) -> np.ndarray:
    """Nibbles to bytes; an odd one gets a spare nibble of 0."""
    x = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, x.shape[-1] % 2)])
    return (x[..., 0::2] + 16 * x[..., 1::2]).astype(np.uint8)


def reference(move: asc.Move, src: np.ndarray, dst: np.ndarray | None) -> np.ndarray:
    """Packed bytes moved one nibble at a time, by the index map."""
    index = move.index_map.index
    nibbles = unpacked(src)
    old = np.zeros((*src.shape[:-1], move.dst_size), np.uint8)
    if dst is not None:
        old = np.broadcast_to(unpacked(dst)[..., : move.dst_size], old.shape).copy()
    read = index >= 0
    old[..., read] = nibbles[..., index[read]]
    assert not (index < KEEP).any()
    return packed(old)


# A fractal has 1,024 elements, 512 bytes; a square has four fractals.
BYTES = {
    "box": Case((asc.Call(asc.LoadData2DParams(0, 2, 1)),), "int4b_t", 2048),
    "gap": Case(
        (asc.Call(asc.LoadData2DParams(0, 2, 2, dst_gap=1), 2, 6),),
        "int4b_t",
        3080,
        3092,
    ),
    "decrease": Case(
        (asc.Call(asc.LoadData2DParams(1, 2, 1, addr_mode=1)),), "int4b_t", 2048
    ),
    "window": Case(
        (asc.Call(asc.LoadData2DParamsV2(0, 0, 1, 2, 3, 2)),), "fp4x2_e1m2_t", 4098
    ),
    "sequence": Case(
        tuple(asc.Call(_one, 1024 * k, 2048 * k) for k in range(2)), "int4b_t", 2048
    ),
}
NIBBLES = {
    "squares": Case((asc.Call(asc.LoadData2dTransposeParams(0, 1)),), "int4b_t", 4096),
    "squares_apart": Case(
        (asc.Call(asc.LoadData2dTransposeParams(0, 1, dst_frac_gap=1)),),
        "int4b_t",
        4099,
        7175,
    ),
    "window": Case(
        (asc.Call(asc.LoadData2DParamsV2(0, 0, 4, 1, 4, 1, if_transpose=True)),),
        "fp4x2_e2m1_t",
        4096,
    ),
    "odd_source": Case((asc.Call(_one, 1, 0),), "int4b_t", 1025),
    "odd_destination": Case((asc.Call(_one, 0, 3),), "int4b_t", 1024, 1031),
    "irregular": Case(
        tuple(asc.Call(_one, *at) for at in ((0, 0), (5, 1100), (2, 150))),
        "int4b_t",
        1031,
        2131,
    ),
}
ALL = {
    **{f"bytes_{name}": case for name, case in BYTES.items()},
    **{f"nibbles_{name}": case for name, case in NIBBLES.items()},
}


def held(case: Case, lead: tuple[int, ...] = ()) -> tuple[np.ndarray, np.ndarray]:
    """Random packed buffers, the spare nibble of an odd one 0."""
    return tuple(
        packed(patterns(seed, (*lead, size), "uint8") % 16)
        for seed, size in ((1, case.move.src_size), (2, case.move.dst_size))
    )


def check_packed(case: Case, run, lead: tuple[int, ...] = ()) -> None:
    src, dst = held(case, lead)
    check_same(run(src, dst), reference(case.move, src, dst))


def run_packed(case: Case):
    """`asc.run_move`: unlike the ops, it knows the odd sizes of the move."""
    return lambda src, dst=None: asc.run_move(case.move, src, dst)


# --- the checks themselves


def test_the_reference_packs_as_the_documents_do():
    assert packed(np.array([6, 7])).tolist() == [0x76]
    assert packed(np.array([1, 2, 3])).tolist() == [0x21, 0x03]
    assert unpacked(np.array([0x76], np.uint8)).tolist() == [6, 7]


def test_check_packed_goes_red_where_nibbles_are_swapped():
    case = ALL["nibbles_squares"]

    def swapped(src, dst):
        out = reference(case.move, src, dst)
        return (out % 16 * 16 + out // 16).astype(np.uint8)

    with pytest.raises(AssertionError):
        check_packed(case, swapped)


# --- moves


@pytest.mark.parametrize("name", ALL)
def test_packed_moves_are_the_reference_s(name):
    check_packed(ALL[name], run_packed(ALL[name]), (2,))


@pytest.mark.parametrize("name", ["bytes_gap", "nibbles_irregular"])
def test_without_a_destination_the_rest_is_zero(name):
    case = ALL[name]
    src, _ = held(case)
    check_same(run_packed(case)(src), reference(case.move, src, None))


@pytest.mark.parametrize("name", ALL)
def test_a_move_without_a_transpose_moves_bytes(name):
    move = ALL[name].move
    sizes = -(-move.src_size // 2), -(-move.dst_size // 2)
    assert (byte_plan(move.nest, *sizes) is not None) == name.startswith("bytes")


@pytest.mark.parametrize("dtype", FOUR_BITS)
@pytest.mark.parametrize("name", ["bytes_gap", "nibbles_squares"])
def test_ops_take_packed_bytes_by_the_type_s_name(name, dtype):
    case = ALL[name]
    src, dst = held(case)
    want = reference(case.move, src, dst)
    check_same(case.run(src, dst, dtype), want)
    check_same(jax.jit(lambda s, d: case.run(s, d, dtype))(src, dst), want)


def test_packed_and_unpacked_arrays_move_alike():
    case = ALL["nibbles_squares"]
    src, dst = held(case)
    out = unpacked(np.asarray(case.run(src, dst, "int4b_t")))
    for dtype, name in (("uint4", "int4b_t"), ("float4_e2m1fn", "fp4x2_e2m1_t")):
        dtype = jnp.dtype(dtype)
        nibbles = (unpacked(x).view(dtype) for x in (src, dst))
        got = np.asarray(case.run(*nibbles, name))
        np.testing.assert_array_equal(got.view(np.uint8) & 15, out)


def test_bytes_of_uint8_t_are_no_nibbles():
    src, _ = held(ALL["bytes_box"])
    params = asc.LoadData2DParams(0, 2, 1)
    check_same(asc.load_data(src, params), src)
    assert asc.load_data(src, params, dtype="int4b_t").shape == (1024,)
    text = r"load2d: src must hold elements \[0, 1024\).* got 512 elements"
    with pytest.raises(asc.BoundsError, match=text):
        asc.load_data(src[:256], asc.LoadData2DParams(0, 1), dtype="int4b_t")


def test_odd_sizes_are_named_by_dst_size():
    src = held(ALL["bytes_box"])[0]
    at = {"dst_offset": 3, "dtype": "int4b_t"}
    out = asc.load_data(src, _one, dst_size=1031, **at)
    move = ALL["nibbles_odd_destination"].move
    check_same(out, reference(move, src, None))
    assert out.shape == (516,) and int(out[-1]) < 16, "the spare nibble is 0"
    dst = np.full(516, 0x0A, np.uint8)
    kept = asc.load_data(src, _one, dst=dst, dst_size=1031, **at)
    check_same(kept, reference(move, src, dst))
    span = asc.load_data(src, _one, **at)
    assert span.shape == (514,) and int(span[-1]) < 16
    text = "load2d: dst_size must be the size of dst, 1032 elements, where dst is given"
    for size in (1030, 1033):
        with pytest.raises(asc.BoundsError, match=text):
            asc.load_data(src, _one, dst=dst, dst_size=size, **at)


def test_every_byte_arrives_and_is_kept():
    for name in ("bytes_gap", "nibbles_squares_apart"):
        case = ALL[name]
        rows = np.arange(256, dtype=np.uint8)[:, None]
        src = (rows + np.arange(-(-case.move.src_size // 2))).astype(np.uint8)
        dst = (rows - np.arange(-(-case.move.dst_size // 2))).astype(np.uint8)
        src[:, -1] %= 16
        dst[:, -1] %= 16
        check_same(run_packed(case)(src, dst), reference(case.move, src, dst))


@pytest.mark.parametrize("name", ["bytes_decrease", "nibbles_odd_source"])
def test_packed_moves_under_vmap_scan_and_grad(name):
    case = ALL[name]
    src, dst = held(case, (3,))
    run = run_packed(case)

    @jax.jit
    def results(src, dst):
        last, _ = jax.lax.scan(lambda d, s: (run(s, d), None), dst[0], src)
        inner = jax.vmap(run, 1, 1)(src.T, dst.T).T
        return jax.vmap(run, (0, None))(src, dst[0]), inner, last

    one, inner, last = results(src, dst)
    check_same(one, reference(case.move, src, dst[0]))
    check_same(inner, reference(case.move, src, dst))
    check_same(last, reference(case.move, src[2], dst[0]))
    _, back = jax.vjp(run, src, dst)
    for ct, like in zip(
        back(np.zeros(dst.shape, jax.dtypes.float0)), (src, dst), strict=True
    ):
        assert (ct.dtype, ct.shape) == (jax.dtypes.float0, like.shape)


def test_sizes_other_than_the_move_s_are_refused():
    case = ALL["nibbles_odd_source"]
    src, dst = held(case)
    text = r"load2d: src must hold 513 \(bytes, two elements each\) in its last axis"
    with pytest.raises(asc.BoundsError, match=text):
        asc.run_move(case.move, src[:-1], dst)
    text = r"load2d: dst must hold 512 \(bytes, two elements each\) in its last axis"
    with pytest.raises(asc.BoundsError, match=text):
        asc.run_move(case.move, src, dst[:-1])


def test_a_plain_case_still_checks():
    """The unpacked form of a packed case, by the checks of every other type."""
    case = ALL["nibbles_odd_destination"]
    src, dst = (
        patterns(k, (size,), jnp.dtype("int4"))
        for k, size in ((1, case.move.src_size), (2, case.move.dst_size))
    )
    check_move(case.move, case.run, src, dst)
