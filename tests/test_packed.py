"""4-bit elements, two to a byte: the even one in the low nibble."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import Case
from helpers import KEEP, check_move, check_same, on_device, patterns

import ascjax as asc
from ascjax._packed import byte_plan, exchange, turned_plans
from ascjax._primitive import run

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
    check_same(run(*on_device(src, dst)), reference(case.move, src, dst))


def run_packed(case: Case):
    """`asc.run_move`: unlike the ops, it knows the odd sizes of the move."""
    return lambda src, dst=None: asc.run_move(case.move, src, dst)


# --- an instruction that counts bytes: ND2NZ

# Two rows of 35 bytes, the second from byte 40; each a whole block and 3 bytes of one.
ROWS = asc.Nd2NzParams(1, 2, 35, 0, 40, 2, 1, 0)


def rows_by_hand(src: np.ndarray) -> np.ndarray:
    """What ROWS leave of a source of 75 bytes: NZ of two rows, zero bits behind."""
    out = np.zeros(128, np.uint8)
    out[0:32], out[64:67] = src[0:32], src[32:35]
    out[32:64], out[96:99] = src[40:72], src[72:75]
    return out


def every_way_in(dtype):
    """{name: what takes packed bytes to packed bytes by ROWS}."""
    where = {"product": "950PR" if dtype[0] == "f" else "910B", "path": "GM->L1"}
    module = asc.nn.DataCopy(ROWS, dtype=dtype, src_size=75, **where)
    return {
        "op": lambda src: asc.data_copy(src, ROWS, dtype=dtype, **where),
        "module": module,
        "module from a dict": asc.nn.DataCopy.from_dict(module.to_dict()),
        "sequence": asc.sequence([ROWS], dtype=dtype, **where),
        "move": lambda src: asc.run_move(module.move, src),
        "chain": asc.chain([module]),
    }


@pytest.mark.parametrize("dtype", FOUR_BITS)
def test_rows_of_bytes_land_in_nz_every_way(dtype):
    src = np.arange(100, 175, dtype=np.uint8)
    for name, way in every_way_in(dtype).items():
        np.testing.assert_array_equal(way(src), rows_by_hand(src), name)
    move = asc.nn.DataCopy(ROWS, dtype=dtype, src_size=75).move
    assert (move.dst_size, move.type.c0) == (128, 32)
    assert str(move.type) == f"{dtype} pairs"


def test_elements_in_entries_of_their_own_are_no_bytes():
    text = "nd2nz: dtype must fit the array: int4b_t pairs is held by an array of uint8"
    with pytest.raises(asc.ParamError, match=text):
        asc.data_copy(jnp.zeros(150, "int4"), ROWS, dtype="int4b_t")
    move = asc.Move.of(ROWS, dtype="int4b_t", src_size=75)
    text = "nd2nz: src must hold int4b_t pairs: an array of uint8, got an array of int4"
    with pytest.raises(asc.ParamError, match=text):
        asc.run_move(move, jnp.zeros(150, "int4"))


def test_a_type_named_by_a_move_of_pairs_is_counted_as_each_instruction_does():
    pairs = asc.Move.of(ROWS, dtype="int4b_t", src_size=75).type
    other = asc.Move.of(_one, dtype=pairs, src_size=1024)
    assert other.type is asc.ascend_type("int4b_t") and other.dst_size == 1024
    again = asc.Move.of(ROWS, dtype=other.type, src_size=75)
    assert again.type == pairs


def test_calls_of_one_destination_count_alike():
    text = "load2d: calls must count int4b_t pairs, as the first call does, got int4b_t"
    with pytest.raises(asc.ParamError, match=text):
        asc.Move.sequence(
            (asc.Call(ROWS), asc.Call(_one)), dtype="int4b_t", src_size=75
        )


def test_bytes_and_elements_meet_in_a_chain():
    """GM to L1 by bytes, L1 to L0 by elements: 4 fractals, of which two are moved, and
    a square that is transposed, on whole and on part-filled columns."""
    for d_value in (64, 61):
        rows = asc.Nd2NzParams(1, 64, d_value, 0, 64, 64, 1, 0)
        to_l1 = asc.Move.of(rows, dtype="int4b_t", src_size=64 * 64)
        assert to_l1.dst_size == 4096
        src = patterns(1, (3, 64 * 64), "uint8")
        l1 = asc.run_move(to_l1, src)
        for params, op in (
            (asc.LoadData2DParams(1, 2, 2), asc.load_data),
            (asc.LoadData2dTransposeParams(1, 1), asc.load_data_with_transpose),
        ):
            to_l0 = asc.Move.of(params, dtype="int4b_t", src_size=8192)
            road = asc.chain([to_l1, to_l0])
            want = op(l1, params, dtype="int4b_t")
            check_same(road(src), want)
            old = patterns(2, (3, to_l0.dst_size // 2), "uint8")
            check_same(road(src, old), want)
            index = road.index_map.index
            assert road.plan.dst_size == index.size == to_l0.dst_size
            got = np.where(index >= 0, unpacked(src)[..., index], 0)
            check_same(packed(got), want)


def test_a_chain_of_elements_takes_packed_bytes():
    case = NIBBLES["odd_destination"]
    src, dst = held(case)
    road = asc.chain([case.move])
    check_same(road(src, dst), reference(case.move, src, dst))
    whole = BYTES["box"]
    check_same(asc.chain([whole.move])(held(whole)[0]), whole.run(held(whole)[0]))


def test_a_chain_compares_bits_where_units_differ():
    to_l1 = asc.Move.of(ROWS, dtype="int4b_t", src_size=75)
    to_l0 = asc.Move.of(asc.LoadData2DParams(), dtype="int4b_t", src_size=128)
    text = (
        r"must read 128 elements of int4b_t pairs, what the one before leaves, got 128"
    )
    with pytest.raises(asc.BoundsError, match=text):
        asc.chain([to_l1, to_l0])


# --- the checks themselves


def test_the_reference_packs_as_the_documents_do():
    assert packed(np.array([6, 7])).tolist() == [0x76]
    assert packed(np.array([1, 2, 3])).tolist() == [0x21, 0x03]
    assert unpacked(np.array([0x76], np.uint8)).tolist() == [6, 7]


def test_check_packed_goes_red_where_nibbles_are_swapped():
    case = ALL["nibbles_squares"]

    def swapped(src, dst):
        out = reference(case.move, *map(np.asarray, (src, dst)))
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


def turns(rng):
    """A random nest that walks neighbours along one loop and writes along another."""
    n, m, k = (2 * int(rng.integers(1, 5)) for _ in range(3))
    pitch, far = n + 2 * int(rng.integers(0, 3)), m + 2 * int(rng.integers(0, 3))
    starts = 2 * rng.integers(0, 4, 2)
    rows = [("a", n, 1, far), ("b", m, pitch, 1), ("k", k, m * pitch, n * far)]
    order = rng.permutation(len(rows))
    return asc.LoopNest.strided(*map(int, starts), *(rows[at] for at in order))


@pytest.mark.parametrize("seed", range(6))
def test_a_transpose_of_nibbles_is_two_moves_of_bytes(seed):
    rng = np.random.default_rng(seed)
    nest = turns(rng)
    sizes = [
        2 * -(-(ends[1] + 3) // 2) for ends in (nest.src_range(), nest.dst_range())
    ]
    src, dst = (rng.integers(0, 16, size).astype("uint8") for size in sizes)
    first, then = turned_plans(nest, sizes[0] // 2, sizes[1] // 2)
    apart = exchange(run(first, jnp.asarray(packed(src)), None))
    got = run(then, apart, jnp.asarray(packed(dst)))
    want = asc.IndexMap.of_nest(nest, *sizes).apply(src, dst)
    check_same(got, packed(want))


def test_other_moves_are_no_two_moves_of_bytes():
    turned = {
        name for name, case in NIBBLES.items() if turned_plans(case.move.nest, 1, 1)
    }
    assert turned == {"squares", "squares_apart", "window"}
    assert turned_plans(None, 1, 1) is None
    odd = asc.LoopNest.strided(0, 0, ("a", 4, 1, 5), ("b", 4, 4, 1))
    twice = asc.LoopNest.strided(0, 0, ("a", 4, 1, 2), ("b", 4, 4, 1))
    assert turned_plans(odd, 16, 16) is turned_plans(twice, 16, 16) is None


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
