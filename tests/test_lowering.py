"""Plans, compared as values: which steps a move becomes, where it needs an index."""

import re

import jax
import numpy as np
import pytest
from goldens import CASES, SITES, move_of

import ascjax as asc
from ascjax import LoopNest, Plan
from ascjax._ends import Read, ReadRows, Write
from ascjax._gather import Gather, Rows
from ascjax._lowering import lower_map, lower_nest
from ascjax._primitive import jitted
from ascjax._steps import Edge, Flip, Pad, Permute, Repeat, Split
from ascjax._window import Window


def plan_of(params, dtype="half", src_size=1 << 15, **rest):
    return asc.Move.of(params, dtype=dtype, src_size=src_size, **rest).plan


def read(start, *dims, size=1 << 15):
    return Read(Window(size, start, dims))


def blocks(start, loose, dims, size=1 << 15):
    return ReadRows(size, start, loose, dims)


def rows(start, *loose, run, size=1 << 15):
    return ReadRows(size, start, loose, ((run, 1),))


def write(size, *dims, start=0):
    return Write(Window(size, start, dims))


def info(*dims, lp=None, rp=None):
    """From (loop_size, loop_src_stride, loop_dst_stride) rows, index 0 first."""
    size, src, dst = zip(*dims, strict=True)
    return asc.NdDmaLoopInfo(src, dst, size, lp, rp)


PADDED = info((8, 1, 1), (2, 8, 16), lp=(3, 1), rp=(5, 1))

STRUCTURED = {
    "load2d, packed to packed, is one block": (
        plan_of(asc.LoadData2DParams(1, 5, 1)),
        [read(256, (1280, 1)), write(1280, (1280, 1))],
    ),
    "load2d, gaps on both sides": (
        plan_of(asc.LoadData2DParams(1, 5, 3, 0, 1), dst_offset=256),
        [
            rows(256, (5, 768), run=256),
            write(256 + 9 * 256, (5, 512), (256, 1), start=256),
        ],
    ),
    "load2d, backwards and transposed": (
        plan_of(asc.LoadData2DParams(20, 5, 3, 0, 0, True, 1)),
        [
            blocks(8 * 256, ((5, 768),), ((16, 16), (16, 1))),
            Flip((0,)),
            Permute((0, 2, 1)),
            write(1280, (5, 256), (16, 16), (16, 1)),
        ],
    ),
    "load2d, one fractal again and again": (
        plan_of(asc.LoadData2DParams(3, 5, 0)),
        [rows(768, (5, 0), run=256), write(1280, (5, 256), (256, 1))],
    ),
    "load2dv2, a window": (
        plan_of(asc.LoadData2DParamsV2(1, 2, 4, 2, -5, 6)),
        [rows(11 * 256, (2, -1280), run=1024), write(2560, (2, 1536), (1024, 1))],
    ),
    "load2dv2, transposed in squares of 32": (
        plan_of(asc.LoadData2DParamsV2(1, 2, 4, 2, 5, 6, True), "int8_t"),
        [
            blocks(11 * 512, ((2, 2560),), ((2, 1024), (32, 32), (32, 1))),
            Permute((1, 0, 3, 2)),
            write(5120, (2, 3072), (2, 1024), (32, 32), (32, 1)),
        ],
    ),
    "ldwt_v1, 4 bits, packed": (
        plan_of(asc.LoadData2dTransposeParams(0, 2, 1, 3), "int4b_t"),
        [
            read(0, (2, 4096), (64, 64), (64, 1)),
            Permute((0, 2, 1)),
            write(8192, (2, 4096), (64, 64), (64, 1)),
        ],
    ),
    "ldwt_v2, 32 bits, fractals apart": (
        plan_of(asc.LoadData2dTransposeParamsV2(0, 1, 0, 0, 0, 1), "float"),
        [
            blocks(0, ((2, 256),), ((2, 64), (8, 8), (8, 1))),
            Permute((1, 0, 3, 2)),
            write(256, (2, 128), (2, 64), (8, 8), (8, 1)),
        ],
    ),
    "nz2nd, two matrices side by side": (
        plan_of(asc.Nz2NdParamsFull(2, 4, 32, 1, 4, 144, 40)),
        [
            blocks(0, ((2, 256),), ((2, 64), (4, 16), (16, 1))),
            Permute((2, 0, 1, 3)),
            write(504, (4, 144), (2, 40), (2, 16), (16, 1)),
        ],
    ),
    "ldwt_v2, 32 bits, gathered where the last row is short": (
        plan_of(asc.LoadData2dTransposeParamsV2(0, 2, 4, 0, 1), "float", src_size=768),
        [
            blocks(0, ((2, 512),), ((2, 128), (2, 64), (8, 8), (8, 1)), size=768),
            Permute((2, 0, 1, 4, 3)),
            write(512, (2, 256), (2, 128), (2, 64), (8, 8), (8, 1)),
        ],
    ),
    "nddma, blocks below 128 bytes are sliced": (
        plan_of(asc.NdDmaParams(info((5, 3, 1), (3, 1, 5), (2, 32, 15))), "half"),
        [
            read(0, (2, 32), (5, 3), (3, 1)),
            Permute((0, 2, 1)),
            write(30, (2, 15), (3, 5), (5, 1)),
        ],
    ),
    "nddma, constant padding": (
        plan_of(asc.NdDmaParams(PADDED, 5.0), src_size=16),
        [
            read(0, (2, 8), (8, 1), size=16),
            Pad(((1, 1), (3, 5))),
            write(64, (4, 16), (16, 1)),
        ],
    ),
    "nddma, nearest padding": (
        plan_of(asc.NdDmaParams(PADDED, 0, asc.NdDmaConfig(True)), src_size=16),
        [
            read(0, (2, 8), (8, 1), size=16),
            Edge(((1, 1), (3, 5))),
            write(64, (4, 16), (16, 1)),
        ],
    ),
    "nddma, transposed": (
        plan_of(asc.NdDmaParams(info((3, 1, 8), (5, 3, 1)))),
        [read(0, (5, 3), (3, 1)), Permute((1, 0)), write(21, (3, 8), (5, 1))],
    ),
    "nddma, broadcast of a column": (
        plan_of(asc.NdDmaParams(info((16, 0, 1), (4, 1, 16)))),
        [read(0, (4, 1)), Repeat((1,), (4, 16)), write(64, (4, 16), (16, 1))],
    ),
    "nddma, one element": (
        plan_of(asc.NdDmaParams(info((1, 7, 7)))),
        [read(0), write(1)],
    ),
    "nddma, a padded broadcast": (
        plan_of(asc.NdDmaParams(info((3, 0, 1), lp=(1,), rp=(2,)))),
        [read(0), Repeat((0,), (3,)), Pad(((1, 2),)), write(6, (6, 1))],
    ),
    "a NOP": (plan_of(asc.LoadData2DParams(65535, 0), dst_size=9), []),
    "calls an equal step apart are one nest": (
        asc.Move.sequence(
            tuple(
                asc.Call(asc.LoadData2DParams(0, 2, 3), 128 * k, 256 * k)
                for k in range(3)
            ),
            dtype="float",
            src_size=768,
        ).plan,
        [
            rows(0, (3, 128), (2, 384), run=128, size=768),
            write(768, (3, 256), (2, 128), (128, 1)),
        ],
    ),
    "16 bits are transposed where the source is read whole": (
        asc.Move.sequence(
            tuple(
                asc.Call(asc.LoadData2DParams(0, 2, 3), 256 * k, 512 * k)
                for k in range(3)
            ),
            dtype="half",
            src_size=1536,
        ).plan,
        [
            read(0, (2, 768), (3, 256), (256, 1), size=1536),
            Permute((1, 0, 2)),
            write(1536, (3, 512), (2, 256), (256, 1)),
        ],
    ),
}


@pytest.mark.parametrize("plan, steps", STRUCTURED.values(), ids=STRUCTURED.keys())
def test_a_structured_move_is_views_without_an_index(plan, steps):
    assert plan.steps == tuple(steps)


def test_a_coordinate_over_two_loops_is_split():
    loops = [asc.Loop("b", 2, 8), asc.Loop("e", 4, 1)]
    nest = LoopNest.build(0, 0, loops, [({"b": 4, "e": 1}, 1, 0, 5, "fill")])
    assert lower_nest(nest, 5, 12).steps == (
        read(0, (5, 1), size=5),
        Pad(((0, 3),)),
        Split((8,), (2, 4)),
        write(12, (2, 8), (4, 1)),
    )


OVERLAPPING = asc.NdDmaParams(info((16, 1, 1), (4, 3, 16)))


def test_source_windows_that_overlap_are_gathered_by_their_starts():
    plan = plan_of(OVERLAPPING)
    assert plan.steps == (
        ReadRows(1 << 15, 0, ((4, 3),), ((16, 1),)),
        write(64, (4, 16), (16, 1)),
    )
    assert "gathered" in plan.why


def test_destinations_that_interleave_are_rows_by_an_index():
    plan = plan_of(asc.Nz2NdParamsFull(3, 2, 16, 1, 2, 64, 40))
    (step,) = plan.steps
    assert (step.row, step.index.data.size) == (8, 20)
    assert plan.why == "no box of strides: rows of 8 by an index"


def test_calls_that_overlap_are_fractals_by_an_index():
    p = asc.LoadData2DParams(0, 2, 1)
    calls = (asc.Call(p, 0, 0), asc.Call(p, 512, 256))
    move = asc.Move.sequence(calls, dtype="half", src_size=1 << 15)
    rows = Rows(np.array([0, 2, 3], np.int32))
    assert move.plan.steps == (Gather(rows, 256, 1 << 15, 768),)


@pytest.mark.parametrize(
    "index, row, rows",
    [
        ([4, 5, 6, 7, 0, 1, 2, 3], 4, [1, 0]),
        ([-1, -1, 2, 3, -2, -2], 2, [-1, 1, -2]),
        ([-1, -1, -1, -1, 6, 7], 2, [-1, -1, 3]),
        ([1, 2, 5, 6], 1, [1, 2, 5, 6]),
        ([0, 1, 2, 3, -1, -1], 4, [0]),  # kept to the end: no row
        ([-2, -2, -2, -3], 1, [-2, -2, -2, -3]),
        ([-2, -1, 0, 1], 1, [-2, -1, 0, 1]),
        ([-1, -1], None, None),
    ],
)
def test_a_map_becomes_the_longest_rows_it_allows(index, row, rows):
    plan = lower_map(asc.IndexMap(np.array(index), 8))
    if rows is None:
        assert plan.steps == ()
        return
    (step,) = plan.steps
    assert (step.row, step.index.data.tolist()) == (row, rows)


# Golden cases whose squares or columns interleave in the destination, so far.
INTERLEAVED = {
    *(f"ldwt_v1_{k:03}" for k in (0, 7, 8, 13, 28, 36, 40)),
    *("ldwt_v2_013", "ldwt_v2_027"),
    *("pfa-v-int8-ldwt-overlap", "fa-matmul-l0b-fp8-loop"),
}
# A last call of fewer rows: calls that differ are not one nest.
UNEQUAL_CALLS = {"easyasc-nd2zz-wide-float", "flatquant-nd2zz-tail-half"}


def test_no_other_golden_case_needs_an_index():
    needed = {
        name
        for name, case in {**CASES, **SITES}.items()
        if case["instruction"] != "load3dv2"  # whose runs are gathered
        and any(isinstance(step, Gather) for step in move_of(case).plan.steps)
    }
    assert needed <= INTERLEAVED | UNEQUAL_CALLS


# --- as values


def test_equal_moves_have_equal_plans():
    one, same = (plan_of(asc.LoadData2DParams(1, 5, 3)) for _ in range(2))
    assert one == same and hash(one) == hash(same)
    assert one == Plan(one.steps, one.src_size, one.dst_size, (0,), "another reason")
    assert one != plan_of(asc.LoadData2DParams(1, 5, 3), src_size=1 << 14)
    assert one != Plan(one.steps, one.src_size, one.dst_size, (1,))


def test_params_that_move_alike_have_one_plan():
    load = plan_of(asc.LoadData2DParams(2, 6, 1))
    assert load == plan_of(asc.LoadData2DParamsV2(2, 0, 6, 1))
    assert load == plan_of(asc.LoadData2DParams(2, 6, 1, 77))


def test_indexed_plans_compare_by_content():
    one, same, other = (
        Gather(Rows(np.array(rows, np.int32)), 2, 8, 4)
        for rows in ([1, 0], [1, 0], [0])
    )
    assert one == same and hash(one) == hash(same)
    assert one != other


def test_fills_are_bits():
    plus, minus = (plan_of(asc.NdDmaParams(PADDED, v), "float") for v in (0.0, -0.0))
    assert plus != minus
    assert (plus.fills, minus.fills) == ((0,), (1 << 31,))


def test_a_plan_prints_its_steps():
    plan = plan_of(asc.LoadData2DParams(20, 5, 3, 0, 1, True, 1), dst_size=4096)
    assert str(plan) == (
        "gather    windows of 256 from 2048, 5 every 768, each 16 every 16 x 16 every 1"
        "\n"
        "reverse   axes (0,)\n"
        "transpose (0, 2, 1)\n"
        "write     5 every 512 x 16 every 16 x 16 every 1 from 0 of dst, the rest kept"
    )
    assert str(plan_of(asc.LoadData2DParams())) == "nothing moves: dst as it is"
    printed = {
        "repeat    axes (1,) of 4 x 16": asc.NdDmaParams(info((16, 0, 1), (4, 1, 16))),
        "pad       1+1, 3+5 with the constant": asc.NdDmaParams(PADDED),
        "pad       1+1, 3+5 with the nearest element": asc.NdDmaParams(
            PADDED, 0, asc.NdDmaConfig(True)
        ),
        "gather    windows of 16 from 0, 4 every 3": OVERLAPPING,
        "gather    20 rows of 8 by an index": asc.Nz2NdParamsFull(
            3, 2, 16, 1, 2, 64, 40
        ),
    }
    for line, params in printed.items():
        assert line in str(plan_of(params)).splitlines()


# --- what is lowered


def constant_bytes(text):
    """The sizes of all constants of a StableHLO module that are not splats."""
    sizes = [0]
    for literal, shape, bits in re.findall(
        r"dense<([^>]*)> : tensor<((?:\d+x)*)[a-z]+(\d+)>", text
    ):
        if literal[0] in '["':
            dims = [int(n) for n in shape.split("x") if n]
            sizes.append(int(np.prod(dims)) * max(1, int(bits) // 8))
    return sizes


def lowered(move):
    """The move's op, lowered on abstract operands; nothing runs."""
    shape = jax.ShapeDtypeStruct((move.src_size,), move.type.carrier)
    return jax.jit(lambda src: asc.run_move(move, src)).lower(shape)


def test_a_large_structured_move_holds_no_constant_and_compiles():
    p = asc.Nz2NdParamsFull(512, 8192, 16, 512, 0, 8192, 16)
    shape = jax.ShapeDtypeStruct((8192 * 8192,), "float32")
    low = jax.jit(
        lambda src: asc.data_copy(src, p, product="910B", path="UB->GM")
    ).lower(shape)
    text = low.as_text()
    assert "tensor<8192x512x16xf32>" in text
    assert "elided" not in text
    assert max(constant_bytes(text)) < 1 << 20 and len(text) < 1 << 20
    compiled = low.compile()
    assert compiled.memory_analysis().output_size_in_bytes == 8192 * 8192 * 4


def test_constant_bytes_goes_red():
    move = move_of(CASES["ldwt_v1_000"])
    (step,) = move.plan.steps
    size = step.index.data.nbytes
    assert size == 4 * 14336
    assert max(constant_bytes(lowered(move).as_text())) == size


PADDED_ROWS = info((128, 1, 1), (128, 128, 140), lp=(3, 1))
IN_PLACE = {  # 64 KiB, no arithmetic: windows, gaps, padding, transposes, repeats
    "windows": (asc.LoadData2DParams(0, 64, 2), "float", 1 << 16),
    "gaps": (asc.LoadData2DParams(0, 64, 1, dst_gap=1), "float", 1 << 16),
    "constant": (asc.NdDmaParams(PADDED_ROWS), "float", 1 << 14),
    "transpose": (
        asc.LoadData2DParams(0, 128, 1, if_transpose=True),
        "bfloat16_t",
        1 << 15,
    ),
    "repeat": (asc.LoadData2DParams(0, 128, 0), "bfloat16_t", 256),
}


def arithmetic(params, dtype, src_size):
    """What XLA:CPU counts in a compiled move: from 1,000 on, another thread runs it."""
    move = asc.Move.of(params, dtype=dtype, src_size=src_size)
    form = jax.ShapeDtypeStruct((src_size,), move.type.carrier)
    return jitted(move.plan).lower(form).compile().cost_analysis().get("flops", 0)


@pytest.mark.parametrize("name", IN_PLACE)
def test_moves_do_no_arithmetic(name):
    assert arithmetic(*IN_PLACE[name]) < 1000


def test_arithmetic_is_counted():
    assert arithmetic(asc.LoadData2DParams(0, 64, 2), "bfloat16_t", 1 << 15) > 1000


# --- the way back


def way_back(move):
    """The primitives that bring a cotangent back to the source."""
    src = jax.ShapeDtypeStruct((move.src_size,), move.type.carrier)
    out = jax.ShapeDtypeStruct((move.dst_size,), move.type.carrier)
    run = jitted(move.plan)
    back = jax.jit(lambda src, out: jax.vjp(run, src)[1](out))
    return back.lower(src, out).as_text()


def test_an_injective_move_s_way_back_adds_nothing_up():
    """A third of the cases, and nd2nz_022, whose windows interleave."""
    checked = 0
    for name in {*list(CASES)[::3], "nd2nz_022"}:
        case = CASES[name]
        move = move_of(case)
        steps = move.plan.steps
        read = move.index_map.index
        read = read[read >= 0]
        floats = np.issubdtype(move.type.carrier, np.floating)
        indexed = any(isinstance(step, Gather) for step in steps)
        if floats and not indexed and len(np.unique(read)) == len(read):
            assert "scatter" not in way_back(move), name
            checked += 1
    assert checked > 30


def test_a_way_back_that_adds_up_shows():
    move = asc.Move.of(OVERLAPPING, dtype="float", src_size=25)
    assert "scatter" in way_back(move)
