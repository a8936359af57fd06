"""`LoopNest`: addresses, ranges, print; and each instruction's nest, as it prints."""

import numpy as np
import pytest

import ascjax as asc
from ascjax import Coord, Loop, LoopNest
from ascjax._stack import stack

FILL = -2


def addresses(nest):
    """Destination and source of every iteration, as lists."""
    dst, src = nest.addresses()
    return dst.tolist(), src.tolist()


def padded(outside, *, offset=-1, extent=2, width=4):
    """`width` iterations over a coordinate of `extent` elements, from `offset` on."""
    return LoopNest.build(
        10, 20, [Loop("x", width, 1)], [({"x": 1}, 3, offset, extent, outside)]
    )


# --- addresses


def test_addresses_run_in_the_order_of_the_loops():
    nest = LoopNest.strided(5, 7, ("r", 2, 100, 10), ("c", 3, 1, 2))
    assert addresses(nest) == (
        [7, 9, 11, 17, 19, 21],
        [5, 6, 7, 105, 106, 107],
    )
    assert [array.dtype for array in nest.addresses()] == [np.int64, np.int64]


def test_outside_its_extent_a_coordinate_fills():
    assert addresses(padded("fill")) == ([20, 21, 22, 23], [FILL, 10, 13, FILL])


def test_outside_its_extent_a_coordinate_clamps():
    assert addresses(padded("clamp")) == ([20, 21, 22, 23], [10, 10, 13, 13])


def test_padding_in_one_of_two_coordinates_fills():
    loops = [Loop("y", 2, 3), Loop("x", 3, 1)]
    coords = [({"y": 1}, 8, 0, 1, "fill"), ({"x": 1}, 1, -1, 9, "fill")]
    assert addresses(LoopNest.build(0, 0, loops, coords)) == (
        [0, 1, 2, 3, 4, 5],
        [FILL, 0, 1, FILL, FILL, FILL],
    )


def test_a_coordinate_counts_over_several_loops():
    loops = [Loop("b", 2, 4), Loop("e", 4, 1)]
    nest = LoopNest.build(0, 0, loops, [({"b": 4, "e": 1}, 1, 0, 5, "fill")])
    assert addresses(nest)[1] == [0, 1, 2, 3, 4, FILL, FILL, FILL]


def test_a_loop_may_stand_still_on_either_side():
    nest = LoopNest.strided(3, 0, ("copy", 2, 0, 4), ("c", 2, 1, 1))
    assert addresses(nest) == ([0, 1, 4, 5], [3, 4, 3, 4])


def test_numbers_beyond_32_bits_are_exact():
    nest = LoopNest.strided(2**40, 2**41, ("r", 2, 2**42, 2**43))
    assert addresses(nest) == ([2**41, 2**41 + 2**43], [2**40, 2**40 + 2**42])
    assert nest.src_range() == (2**40, 2**40 + 2**42)


def test_a_zero_count_writes_nothing():
    for nest in (
        LoopNest.nop(),
        LoopNest.strided(9, 9, ("r", 4, 1, 1), ("c", 0, 1, 1)),
    ):
        assert nest.volume == 0
        assert addresses(nest) == ([], [])


# --- ranges


def test_ranges_follow_negative_strides():
    nest = LoopNest.strided(100, 50, ("r", 3, -10, -4), ("c", 2, 1, 1))
    assert nest.src_range() == (80, 101)
    assert nest.dst_range() == (42, 51)


def test_a_filled_nest_reads_only_what_is_inside():
    assert padded("fill").src_range() == (10, 13)
    assert padded("fill", offset=1).src_range() == (13, 13)
    assert padded("fill", offset=2).src_range() is None
    assert padded("fill", offset=-9).src_range() is None


def test_a_clamped_nest_reads_at_least_one_element():
    assert padded("clamp", offset=5).src_range() == (13, 13)
    assert padded("clamp", offset=-9).src_range() == (10, 10)


def test_steps_over_the_inside_read_nothing():
    loops = [Loop("x", 3, 1)]
    coord = ({"x": 4}, 1, -2, 2, "fill")  # -2, 2, 6: none in [0, 2)
    assert LoopNest.build(0, 0, loops, [coord]).src_range() is None


def test_two_bounded_coordinates_must_not_share_a_loop():
    coord = Coord((1,), 1, 0, 4, "fill")
    with pytest.raises(
        NotImplementedError, match="two bounded coordinates share a loop"
    ):
        LoopNest((Loop("x", 4, 1),), (coord, coord))


# --- shift and stack


def test_shift_moves_both_starts():
    nest = padded("fill").shift(100, 1000)
    assert addresses(nest) == ([1020, 1021, 1022, 1023], [FILL, 110, 113, FILL])


def test_stack_joins_calls_an_equal_step_apart():
    one = padded("clamp")
    nests = [one.shift(4 * k, -5 * k) for k in range(3)]
    stacked = stack(nests)
    assert stacked is not None and len(stacked.loops) == 2
    for side, both in enumerate(stacked.addresses()):
        each = [nest.addresses()[side] for nest in nests]
        np.testing.assert_array_equal(both, np.concatenate(each))


def test_stack_refuses_unequal_steps_and_unequal_nests():
    one = LoopNest.strided(0, 0, ("r", 4, 2, 1))
    assert stack([one, one.shift(4, 4), one.shift(9, 8)]) is None
    assert stack([one, LoopNest.strided(4, 4, ("r", 3, 2, 1))]) is None
    assert stack([one, one.shift(4, 4), LoopNest.nop()]) is None
    assert stack([one]) is one


def test_stacks_of_stacks_keep_their_loops_apart():
    one = LoopNest.strided(0, 0, ("r", 2, 1, 1))
    row = stack([one.shift(2 * k, 2 * k) for k in range(2)])
    both = stack([row.shift(8 * k, 8 * k) for k in range(2)])
    names = [loop.name for loop in both.loops]
    assert len(set(names)) == 3
    assert addresses(both)[0] == [0, 1, 2, 3, 8, 9, 10, 11]


# --- print


def test_print_is_the_formula():
    nest = LoopNest.strided(7, 3, ("r", 2, -5, 4), ("c", 3, 1, 0))
    assert str(nest) == "for r < 2, c < 3:\n    dst[3 + 4*r] = src[7 - 5*r + c]"


def test_print_of_an_empty_nest_says_so():
    assert str(LoopNest.nop()) == "nothing moves: a count is zero (NOP)"


def test_print_means_what_addresses_do():
    loops = [Loop("y", 3, 7), Loop("x", 4, 1)]
    for outside in ("fill", "clamp"):
        coords = [({"y": 1}, 9, -1, 2, outside), ({"x": 1}, 2, 1, 3, outside)]
        nest = LoopNest.build(4, 2, loops, coords)
        assert addresses(nest) == run_print(nest)


def run_print(nest):
    """The addresses that the printed form gives, by evaluating it."""
    line = str(nest).split("dst[")[1]
    dst_text, rest = line.split("] = src[")
    src_text, _, condition = rest.partition("]")
    condition = condition.removeprefix(" if ").removesuffix(" else padding") or "True"
    names = {"clip": lambda v, low, high: min(max(v, low), high)}
    dst, src = [], []
    for index in np.ndindex(*(loop.extent for loop in nest.loops)):
        for loop, value in zip(nest.loops, index, strict=True):
            names[loop.name] = value
        dst.append(eval(dst_text, names))
        src.append(eval(src_text, names) if eval(condition, names) else FILL)
    return dst, src


# --- the instructions, as they print; each line can be held against instructions.md

PRINTED = {
    "load2d, the gap counts from the end": (
        asc.LoadData2DParams(1, 2, 3, 0, 1),
        {
            "int4b_t": """\
for i < 2, r < 16, c < 64:
    dst[2048*i + 64*r + c] = src[1024 + 3072*i + 64*r + c]""",
            "int8_t": """\
for i < 2, r < 16, c < 32:
    dst[1024*i + 32*r + c] = src[512 + 1536*i + 32*r + c]""",
            "float": """\
for i < 2, r < 16, c < 8:
    dst[256*i + 8*r + c] = src[128 + 384*i + 8*r + c]""",
        },
    ),
    "load2d, transposed and backwards": (
        asc.LoadData2DParams(9, 3, 2, 0, 1, True, 1),
        {
            "half": """\
for i < 3, r < 16, c < 16:
    dst[512*i + 16*r + c] = src[2304 - 512*i + r + 16*c]""",
        },
    ),
    "load2dv2, kStart counts |srcStride| fractals": (
        asc.LoadData2DParamsV2(1, 2, 4, 2, -5, 6),
        {
            "half": """\
for j < 2, i < 4, e < 256:
    dst[1536*j + 256*i + e] = src[2816 - 1280*j + 256*i + e]""",
            "float": """\
for j < 2, i < 4, e < 128:
    dst[768*j + 128*i + e] = src[1408 - 640*j + 128*i + e]""",
        },
    ),
    "ldwt_v1, counts squares": (
        asc.LoadData2dTransposeParams(2, 2, 3, 7, 1, 1),
        {
            "int8_t": """\
for i < 2, h < 2, r < 16, f < 2, c < 16:
    dst[4096*i + 1024*h + 32*r + 16*f + c] = src[2048 - 3072*i + 16*h + r + 512*f + 32*c]""",  # noqa: E501
            "half": """\
for i < 2, h < 1, r < 16, f < 1, c < 16:
    dst[2048*i + 512*h + 16*r + 16*f + c] = src[512 - 768*i + 16*h + r + 256*f + 16*c]""",  # noqa: E501
        },
    ),
    "ldwt_v2, counts fractals": (
        asc.LoadData2dTransposeParamsV2(2, 2, 3, 7, 1, 2, 0),
        {
            "int8_t": """\
for i < 2, h < 2, r < 16, f < 2, c < 16:
    dst[4096*i + 1024*h + 32*r + 16*f + c] = src[1024 + 1536*i + 16*h + r + 1536*f + 32*c]""",  # noqa: E501
            "float": """\
for i < 2, h < 2, f < 2, r < 8, c < 8:
    dst[1024*i + 256*h + 64*f + 8*r + c] = src[256 + 384*i + 64*h + 384*f + r + 8*c]""",
        },
    ),
    "nz2nd, columns of 16 elements for every type": (
        asc.Nz2NdParamsFull(2, 4, 32, 1, 4, 144, 40),
        dict.fromkeys(
            ("int8_t", "half", "float", "int64_t"),
            """\
for nd < 2, r < 4, b < 2, c < 16:
    dst[40*nd + 144*r + 16*b + c] = src[256*nd + 16*r + 64*b + c]""",
        ),
    ),
    "nddma, nothing to pad": (
        asc.NdDmaParams(asc.NdDmaLoopInfo((2, 0), (3, 16), (4, 2))),
        {
            "half": """\
for x1 < 2, x0 < 4:
    dst[16*x1 + 3*x0] = src[2*x0]"""
        },
    ),
}


@pytest.mark.parametrize("params, printed", PRINTED.values(), ids=PRINTED.keys())
def test_an_instruction_prints_its_formula(params, printed):
    for dtype, text in printed.items():
        assert params.explain(dtype) == text


@pytest.mark.parametrize("nearest", [False, True])
def test_nddma_prints_its_padding(nearest):
    info = asc.NdDmaLoopInfo((1, 8), (1, 16), (8, 2), (3, 1), (5, 1))
    params = asc.NdDmaParams(info, 0, asc.NdDmaConfig(nearest))
    text = params.explain("float")
    assert ("clip(" in text, "else padding" in text) == (nearest, not nearest)
    nest = asc.Move.of(params, dtype="float", src_size=16).nest
    assert str(nest) == text
    assert run_print(nest) == addresses(nest)


@pytest.mark.parametrize(
    "params, dtype",
    [
        (asc.LoadData2DParamsV2(0, 0, 4, 4, 4, 4, True), "int64_t"),
        (asc.LoadData2dTransposeParams(0, 1), "double"),
        (asc.Nz2NdParamsFull(1, 32, 32, 1, 32, 32, 1), "int4b_t"),
    ],
)
def test_explain_refuses_a_width_that_is_not_moved(params, dtype):
    with pytest.raises(asc.ParamError, match=r"dtype must be .* bits wide"):
        params.explain(dtype)


# --- figures pinned by hand: (destination, source) elements from the documents' text

PINNED = {
    "load2d: fractal 3 of row 1 of fractals": (
        asc.LoadData2DParams(3, 2, 4), "half", {0: 768, 255: 1023, 256: 1792},
    ),
    "load2d transposed: column 0 becomes row 0": (
        asc.LoadData2DParams(0, 1, 0, 0, 0, True), "half", {1: 16, 16: 1, 255: 255},
    ),
    "load2dv2: the thirteenth fractal comes first": (
        asc.LoadData2DParamsV2(2, 2, 2, 3, 5, 3), "half", {0: 12 * 256, 768: 17 * 256},
    ),
    "ldwt_v1, 8 bits: row 1 of a 32x32 square is its column 1": (
        asc.LoadData2dTransposeParams(0, 1), "int8_t", {1: 32, 16: 512, 32: 1},
    ),
    "ldwt_v1, 4 bits: a square is 64x64": (
        asc.LoadData2dTransposeParams(0, 1), "int4b_t", {1: 64, 63: 63 * 64, 64: 1},
    ),
    "ldwt_v1, 32 bits: two fractals side by side": (
        asc.LoadData2dTransposeParams(0, 1),
        "float",
        {1: 8, 8: 1, 64: 128, 128: 64, 255: 255},
    ),
    "nz2nd: the second column of 16 follows in the row": (
        asc.Nz2NdParamsFull(1, 32, 32, 1, 32, 32, 1), "half", {16: 512, 32: 16},
    ),
    "nddma: 2 x 8 in the middle of 4 x 16": (
        asc.NdDmaParams(asc.NdDmaLoopInfo((1, 8), (1, 16), (8, 2), (3, 1), (5, 1))),
        "float",
        {0: FILL, 18: FILL, 19: 0, 26: 7, 27: FILL, 35: 8, 63: FILL},
    ),
}  # fmt: skip


@pytest.mark.parametrize("params, dtype, figure", PINNED.values(), ids=PINNED.keys())
def test_a_figure_of_the_documents_holds(params, dtype, figure):
    nest = asc.Move.of(params, dtype=dtype, src_size=1 << 13).nest
    where = dict(zip(*addresses(nest), strict=True))
    assert {dst: where[dst] for dst in figure} == figure
