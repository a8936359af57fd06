"""Double writes: found exactly, or refused as unproved, never passed."""

import numpy as np
import pytest

import ascjax as asc
from ascjax import LoopNest, _overlap
from ascjax._overlap import Unproved, first_clash

HALF = {"dtype": "half", "src_size": 1 << 14}


def nest_of(*dims, dst_start=0):
    """A nest from (extent, dst_stride) rows."""
    rows = [(f"x{k}", n, 1, s) for k, (n, s) in enumerate(dims)]
    return LoopNest.strided(0, dst_start, *rows)


def written_twice(nest):
    values, counts = np.unique(nest.addresses()[0], return_counts=True)
    return set(values[counts > 1].tolist())


DISTINCT = {
    "packed": ((4, 3), (3, 1)),
    "gaps": ((4, 10), (3, 2)),
    "transposed": ((3, 1), (4, 3)),
    "interleaved": ((4, 2), (2, 1)),
    "interleaved, coarse loops between": ((4, 3), (3, 4)),
    "backwards": ((4, -3), (3, 1)),
    "both backwards": ((4, -3), (3, -1)),
    "no trip": ((0, 0), (3, 1)),
    "one trip stands still": ((1, 0), (3, 1)),
    "no loops": (),
}
CLASHES = {
    "overlap": ((4, 2), (3, 1)),
    "stands still": ((2, 0), (3, 1)),
    "common multiple": ((3, 2), (3, 4)),
    "backwards": ((4, -2), (3, 1)),
    "three loops": ((2, 6), (2, 3), (4, 1)),
    "far apart": ((5, 3), (2, 12), (3, 1)),
}


@pytest.mark.parametrize("dims", DISTINCT.values(), ids=DISTINCT.keys())
def test_distinct_writes_pass(dims):
    nest = nest_of(*dims, dst_start=40)
    assert first_clash(nest) is None
    assert not written_twice(nest)


@pytest.mark.parametrize("dims", CLASHES.values(), ids=CLASHES.keys())
def test_a_double_write_is_found_where_it_is(dims):
    nest = nest_of(*dims, dst_start=40)
    assert first_clash(nest) in written_twice(nest)


def test_strides_that_clear_each_other_need_no_count(monkeypatch):
    monkeypatch.setattr(_overlap, "EXACT_LIMIT", 0)
    assert first_clash(nest_of((65535, 2**32), (65535, 65536), (65535, 1))) is None


def test_too_much_to_count_is_unproved_not_passed(monkeypatch):
    interleaved = nest_of((64, 3), (3, 64))
    assert first_clash(interleaved) is None
    monkeypatch.setattr(_overlap, "EXACT_LIMIT", 100)
    with pytest.raises(Unproved):
        first_clash(interleaved)


def test_unproved_is_refused_with_the_way_out(monkeypatch):
    monkeypatch.setattr(_overlap, "EXACT_LIMIT", 1)
    p = asc.Nz2NdParamsFull(3, 2, 16, 1, 2, 64, 40)
    assert not written_twice(asc.Move.of(p, **HALF, overlap="last").nest)
    with pytest.raises(
        asc.OverlapError,
        match=r"nz2nd: dst must be written at most once an element by one instruction, "
        r"got strides for which this cannot be proved\. .* pass overlap='last'",
    ):
        asc.Move.of(p, **HALF)


# --- the instructions


@pytest.mark.parametrize(
    "params, dtype, legal",
    [
        (asc.LoadData2DParamsV2(0, 0, 3, 2, 3, 3), "half", True),
        (asc.LoadData2DParamsV2(0, 0, 3, 2, 3, 2), "half", False),
        (asc.LoadData2DParamsV2(0, 0, 3, 1, 3, 0), "half", True),
        # transposed, a destination column takes as many fractals as kStep gives
        (asc.LoadData2DParamsV2(0, 0, 2, 3, 2, 3, True), "half", True),
        (asc.LoadData2DParamsV2(0, 0, 2, 3, 2, 2, True), "half", False),
        (asc.LoadData2DParamsV2(0, 0, 2, 3, 2, 6, True), "int8_t", True),
        (asc.LoadData2DParamsV2(0, 0, 4, 3, 4, 5, True), "int8_t", False),
        # packed squares: dstGap 0, 1, 1 and 3 (errata H5)
        (asc.LoadData2dTransposeParams(0, 2, 1, 0), "half", True),
        (asc.LoadData2dTransposeParams(0, 2, 1, 0, 65535), "half", True),
        (asc.LoadData2dTransposeParams(0, 2, 1, 0), "int8_t", False),
        (asc.LoadData2dTransposeParams(0, 2, 1, 1), "int8_t", True),
        (asc.LoadData2dTransposeParams(0, 2, 1, 0), "float", False),
        (asc.LoadData2dTransposeParams(0, 2, 1, 1), "float", True),
        (asc.LoadData2dTransposeParams(0, 2, 1, 2), "int4b_t", False),
        (asc.LoadData2dTransposeParams(0, 2, 1, 3), "int4b_t", True),
        # squares that interleave: fractals 0, 2 and 1, 3
        (asc.LoadData2dTransposeParams(0, 2, 1, 0, 1), "int8_t", True),
        (asc.LoadData2dTransposeParamsV2(0, 3, 2, 0, 1), "int8_t", False),
        (asc.LoadData2dTransposeParamsV2(0, 3, 2, 0, 2), "int8_t", True),
        # matrices beside each other in each row of 144 (a figure of the documents)
        (asc.Nz2NdParamsFull(2, 4, 32, 1, 4, 144, 40), "half", True),
        (asc.Nz2NdParamsFull(2, 4, 32, 1, 4, 144, 16), "half", False),
        (asc.Nz2NdParamsFull(1, 4, 32, 1, 4, 31, 1), "half", False),
    ],
)
def test_an_instruction_may_write_an_element_once(params, dtype, legal):
    site = {"dtype": dtype, "src_size": 1 << 15}
    last = asc.Move.of(params, **site, overlap="last")
    assert bool(written_twice(last.nest)) != legal
    if legal:
        asc.Move.of(params, **site)
        return
    with pytest.raises(
        asc.OverlapError, match=r"got a second write to destination element (\d+)"
    ) as caught:
        asc.Move.of(params, **site)
    assert int(str(caught.value.got).split()[-1]) in written_twice(last.nest)


def nddma(*dims, lp=0, rp=0):
    """NDDMA from (loop_size, loop_dst_stride) rows, index 0 first."""
    size, stride = zip(*dims, strict=True)
    info = asc.NdDmaLoopInfo((0,) * len(dims), stride, size, (lp,) * len(dims))
    config = asc.NdDmaConfig(loop_rp_size=rp)
    return asc.NdDmaParams(info, 0, config)


@pytest.mark.parametrize(
    "params, least",
    [
        (nddma((8, 1), (2, 7)), ("[1]", 8)),
        (nddma((2, 2), (2, 3)), ("[1]", 4)),
        (nddma((6, 1), (2, 9), lp=3, rp=1), ("[1]", 10)),
        (nddma((4, 1), (3, 4), (2, 11)), ("[2]", 12)),
        (nddma((1, 5), (4, 1), (2, 3)), ("[2]", 4)),  # one element: not counted
        (nddma((2, 0)), ("[0]", 1)),
    ],
)
def test_ascending_nddma_strides_must_clear_the_loops_below(params, least):
    where, room = least
    text = rf"loop_dst_stride\{where[:-1]}\] must be at least {room} \(elements\)"
    with pytest.raises(asc.OverlapError, match=text):
        asc.Move.of(params, dtype="half", src_size=1)
    asc.Move.of(params, dtype="half", src_size=1, overlap="last")


@pytest.mark.parametrize(
    "params",
    [
        nddma((8, 1), (2, 8)),
        nddma((6, 1), (2, 10), lp=3, rp=1),
        nddma((4, 10), (5, 1)),  # descending: only a double write is refused
        nddma((3, 2), (2, 1)),  # descending and interleaved
        nddma((2, 9), (1, 3), (3, 1)),
        nddma((8, 1), (1, 0), (2, 8)),  # one element: its stride is free
    ],
)
def test_other_nddma_strides_pass(params):
    assert not written_twice(asc.Move.of(params, dtype="half", src_size=1).nest)


def test_descending_nddma_strides_may_not_write_twice():
    with pytest.raises(asc.OverlapError, match=r"got a second write to destination"):
        asc.Move.of(nddma((3, 2), (3, 1)), dtype="half", src_size=1)


def test_overlap_last_lets_the_later_write_win():
    p = asc.LoadData2DParamsV2(0, 0, 2, 2, 2, 1)
    index = asc.Move.of(p, overlap="last", **HALF).index_map.index
    assert index[::256].tolist() == [0, 512, 768]


def test_calls_of_a_sequence_may_overlap():
    p = asc.LoadData2DParams(0, 2, 1)
    calls = (asc.Call(p, 0, 0), asc.Call(p, 512, 256))
    index = asc.Move.sequence(calls, **HALF).index_map.index
    assert index[::256].tolist() == [0, 512, 768]
