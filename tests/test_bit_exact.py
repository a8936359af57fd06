"""A move moves bits: every pattern of every narrow float, in source and kept cells.

NaN payloads, signalling NaNs, denormals and -0.0 included, compared as integers.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import Case, nddma
from helpers import FILL, KEEP, bits, check_same, moved, of_bits, on_device

import ascjax as asc

T = asc.LoadData2dTransposeParams
_one = asc.LoadData2DParams(repeat_times=1)

# A move of each kind of plan, for types of 8 and 16 bits alike: calls of
# (params, src_offset, dst_offset).
PLANS = {
    "box": [(asc.LoadData2DParams(1, 2, 1), 0, 0)],
    "gap": [(asc.LoadData2DParams(0, 2, 2, dst_gap=1), 3, 1)],
    "transpose": [(T(0, 2, 1, dst_gap=1), 0, 0)],
    "transpose_dense": [(T(0, 1), 0, 0)],
    "transpose_v2": [
        (asc.LoadData2dTransposeParamsV2(1, 2, 2, dst_gap=2, dst_frac_gap=1), 0, 0)
    ],
    "decrease": [(asc.LoadData2DParams(2, 3, 1, dst_gap=1, addr_mode=1), 0, 0)],
    "repeat": [(asc.LoadData2DParams(0, 3, 0), 0, 0)],
    "window": [(asc.LoadData2DParamsV2(0, 0, 2, 2, 3, 2, if_transpose=True), 0, 0)],
    "windows_overlap": [(asc.LoadData2DParamsV2(0, 0, 2, 3, 1, 2), 0, 0)],
    "interleave": [(asc.Nz2NdParamsFull(4, 2, 16, 1, 0, 100, 40), 0, 0)],
    "nz2nd": [(asc.Nz2NdParamsFull(1, 5, 32, 1, 7, 37, 1), 0, 0)],
    "nz2nd_overlap": [(asc.Nz2NdParamsFull(2, 3, 32, 1, 15, 40, 120), 0, 0)],
    "copy": [(nddma((1, 9), (12, 1), (9, 8)), 0, 0)],
    "padding": [(nddma((1, 9), (1, 16), (8, 9), (3, 1), (2, 2), 1), 0, 0)],
    "nearest": [
        (
            nddma((1, 9), (1, 16), (8, 9), (3, 1), (2, 0), is_nearest_value_mode=True),
            0,
            0,
        )
    ],
    "broadcast": [(nddma((1, 0), (1, 99), (80, 3), (0, 1), (1, 0), 1), 0, 0)],
    "irregular": [(_one, 0, 0), (_one, 50, 531), (_one, 20, 1200)],
    "later_wins": [(_one, 0, 0), (_one, 64, 96), (_one, 128, 32)],
    "two_paddings": [
        (nddma((1,), (1,), (40,), (1,), (2,), 2), 0, 1),
        (nddma((1,), (2,), (40,), (2,), (1,), 1), 40, 50),
    ],
    "nop": [(asc.LoadData2DParams(0, 0), 0, 0)],
}
NARROW = ("half", "bfloat16_t", "fp8_e4m3fn_t", "fp8_e5m2_t", "fp8_e8m0_t")


def case_of(plan: str, dtype: str, plans: dict = PLANS) -> Case:
    """The plan's calls on a type, with buffers that reach 256 elements further."""
    calls = tuple(asc.Call(*row) for row in plans[plan])
    index = asc.Move.sequence(calls, src_size=10**5, dtype=dtype).index_map.index
    return Case(calls, dtype, int(index.max(initial=0)) + 257, index.size + 256)


def groups(case: Case) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Source elements that are read; destination elements between what is written and
    behind it, which plans keep in different ways."""
    index = case.move.index_map.index
    kept = np.flatnonzero(index == KEEP)
    end = np.flatnonzero(index != KEEP).max(initial=-1)
    return [np.unique(index[index >= 0])], [kept[kept < end], kept[kept > end]]


def filled(cells: list[np.ndarray], rows: int, size: int, width: int) -> np.ndarray:
    """Rows in which each group of cells holds all patterns, were there rows enough."""
    out = np.zeros((rows, size), np.int64)
    for group in cells:
        count = rows * group.size
        out[:, group] = np.arange(count).reshape(rows, -1) % (1 << width)
    return out


def every_pattern(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """Batches of sources and destinations that hold every bit pattern of the type."""
    t, (read, kept) = case.move.type, groups(case)
    smallest = min(group.size for group in (*read, *kept) if group.size)
    rows = -(-(1 << t.bits) // smallest)
    return tuple(
        of_bits(filled(cells, rows, size, t.bits), t.jax)
        for cells, size in ((read, case.src_size), (kept, case.dst_size))
    )


def check_every_pattern(case: Case, run) -> None:
    """`run` brings all patterns of the source, and keeps all in each group of cells."""
    src, dst = every_pattern(case)
    got = run(*on_device(src, dst))
    check_same(got, moved(case.move, src, dst))
    index, raw = case.move.index_map.index, bits(got)
    for cells in (np.flatnonzero(index >= 0), *groups(case)[1]):
        seen = np.count_nonzero(np.bincount(raw[:, cells].ravel()))
        assert seen in (0, 1 << case.move.type.bits)


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("plan", PLANS)
def test_every_pattern_arrives_and_is_kept(plan, dtype):
    case = case_of(plan, dtype)
    check_every_pattern(case, case.run)


def quieted(case: Case):
    """A move through arithmetic, as a careless lowering would make it."""

    def run(src, dst):
        out = moved(case.move, src, dst)
        if out.dtype == np.float16:
            return out.astype(np.float32).astype(np.float16) + np.float16(0)
        return (out.astype(np.float32) + 0).astype(out.dtype)

    return run


@pytest.mark.parametrize("dtype", ["half", "bfloat16_t", "fp8_e5m2_t"])
def test_the_check_goes_red_where_bits_pass_through_arithmetic(dtype):
    case = case_of("gap", dtype)
    with np.errstate(all="ignore"), pytest.raises(AssertionError):
        check_every_pattern(case, quieted(case))


def test_every_pattern_is_every_pattern():
    case = case_of("gap", "half")
    src, dst = every_pattern(case)
    read, kept = groups(case)
    for array, group in ((src, read[0]), (dst, kept[0]), (dst, kept[1])):
        assert np.unique(bits(array)[:, group]).size == 1 << 16


@pytest.mark.parametrize(
    "plan, dtype",
    [
        *((plan, "bfloat16_t") for plan in PLANS),
        *((plan, "fp8_e8m0_t") for plan in ("gap", "irregular", "padding", "nop")),
    ],
)
def test_without_a_destination_the_rest_is_zero_bits(plan, dtype):
    case = case_of(plan, dtype)
    src = every_pattern(case)[0]
    check_same(case.run(*on_device(src)), moved(case.move, src))


SPECIAL = {
    "uint16": [0x7C01, 0xFE55, 0x7F81, 0xFFA5, 0x8000, 0x0001, 0x83FF],
    "uint32": [0x7F800001, 0xFFBFFFFF, 0x7FC12345, 0x80000000, 1, 0x807FFFFF],
    "uint64": [
        0x7FF0000000000001,
        0xFFF7FFFFFFFFFFFF,
        0x7FF8000000012345,
        1 << 63,
        1,
        0x7F8000017FA00000,  # signalling NaNs in both halves of a complex64
    ],
}


def special(seed: int, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Signalling and quiet NaNs with payloads, -0.0 and denormals, in random order."""
    raw = f"uint{8 * np.dtype(dtype).itemsize}"
    values = np.array(SPECIAL[raw], raw)
    return np.random.default_rng(seed).choice(values, shape).view(dtype)


def check_special(case: Case) -> None:
    """One buffer, no batch: loops that the batches above do not have."""
    dtype = case.move.type.jax
    src = special(1, (case.src_size,), dtype)
    dst = special(2, (case.dst_size,), dtype)
    check_same(case.run(*on_device(src, dst)), moved(case.move, src, dst))


# A fractal of 32-bit elements is smaller, so some calls need other distances.
PLANS_32 = {
    **PLANS,
    "window": [(asc.LoadData2DParamsV2(0, 0, 2, 2, 3, 4, if_transpose=True), 0, 0)],
    "irregular": [(_one, 0, 0), (_one, 50, 131), (_one, 20, 300)],
}


@pytest.mark.parametrize("plan", PLANS)
def test_signalling_nans_of_bfloat16(plan):
    check_special(case_of(plan, "bfloat16_t"))


@pytest.mark.parametrize("plan", PLANS_32)
def test_signalling_nans_of_float(plan):
    check_special(case_of(plan, "float", PLANS_32))


# What moves 64 bits: no fractals, and no padding but 0.
PLANS_64 = {
    **{name: PLANS[name] for name in ("interleave", "nz2nd", "nz2nd_overlap", "copy")},
    "padding": [(nddma((1, 9), (1, 16), (8, 9), (3, 1), (2, 2)), 0, 0)],
    "broadcast": [(nddma((1, 0), (1, 99), (80, 3), (0, 1), (1, 0)), 0, 0)],
}


@pytest.mark.parametrize("plan", PLANS_64)
def test_signalling_nans_of_complex64(plan):
    check_special(case_of(plan, "complex64", PLANS_64))


@pytest.mark.parametrize("plan", PLANS_64)
def test_signalling_nans_of_double(plan):
    with jax.enable_x64(True):
        check_special(case_of(plan, "double", PLANS_64))


@pytest.mark.parametrize("dtype", ["half", "bfloat16_t", "fp8_e4m3fn_t", "fp8_e5m2_t"])
@pytest.mark.parametrize(
    "plan", ["gap", "transpose", "decrease", "interleave", "copy", "padding"]
)
def test_cotangents_that_need_no_sum_come_back_bit_for_bit(plan, dtype):
    case = case_of(plan, dtype)
    index, t = case.move.index_map.index, case.move.type
    written = np.flatnonzero(index >= 0)
    assert np.unique(index[written]).size == written.size
    groups_of_ct = [written, *groups(case)[1]]
    rows = -(-(1 << t.bits) // min(group.size for group in groups_of_ct if group.size))
    ct = of_bits(filled(groups_of_ct, rows, case.dst_size, t.bits), t.jax)
    zero = np.zeros((rows, case.src_size), t.jax), np.zeros_like(ct)
    to_src, to_dst = jax.jit(lambda ct: jax.vjp(case.run, *zero)[1](ct))(ct)
    want = np.zeros((rows, case.src_size), f"uint{t.bits}")
    want[:, index[written]] = bits(ct)[:, written]
    check_same(to_src, of_bits(want, t.jax))
    check_same(to_dst, of_bits(np.where(index == KEEP, bits(ct), 0), t.jax))


# --- padding constants


CONSTANTS = {
    "half": [0x8000, 0x0001, 0x83FF, 0x7C01, 0xFE55, 0x7C00],
    "bfloat16_t": [0x8000, 0x0001, 0x807F, 0x7F81, 0xFFA5],
    "float": [0x80000000, 0x00000001, 0x7F800001, 0xFFC12345],
}


@pytest.mark.parametrize(
    "dtype, value",
    [(dtype, value) for dtype, values in CONSTANTS.items() for value in values],
)
def test_a_padding_constant_is_a_bit_pattern(dtype, value):
    """Given as a NumPy scalar of the type; padded in place, and by an index."""
    fill = of_bits(value, asc.ascend_type(dtype).jax)[()]
    one = nddma((1,), (1,), (5,), (2,), (1,), fill)
    two = nddma((1,), (2,), (3,), (1,), (1,), 0.0)
    for calls in ([(one, 0, 1)], [(one, 0, 1), (two, 1, 10)]):
        calls = tuple(asc.Call(*row) for row in calls)
        case = Case(calls, dtype, 6, 23)
        assert case.move.fills[0] == value
        src, dst = (np.ones(n, fill.dtype) for n in (6, 23))
        got = case.run(*on_device(src, dst))
        assert (bits(got)[case.move.index_map.index == FILL] == value).all()
        check_same(got, moved(case.move, src, dst))


@pytest.mark.parametrize(
    "fill, dtype, value",
    [
        (-0.0, "half", 0x8000),
        (0.0, "half", 0),
        (6e-8, "half", 1),
        (float("-inf"), "bfloat16_t", 0xFF80),
        (1e-45, "float", 1),
        (np.float32(-0.0), "bfloat16_t", 0x8000),
        (-1, "int16_t", 0xFFFF),
        (True, "uint8_t", 1),
        (jnp.float16(-0.0), "half", 0x8000),
    ],
)
def test_python_and_other_scalars_become_the_type_s_bits(fill, dtype, value):
    t = asc.ascend_type(dtype)
    params = nddma((1,), (1,), (3,), (1,), (1,), fill)
    got = bits(asc.data_copy(np.ones(3, t.jax), params))
    assert got.tolist()[::4] == [value, value]
