"""`IndexMap`: made from nests, composed, compared and applied, all in NumPy."""

import tracemalloc

import numpy as np
import pytest

import ascjax as asc
from ascjax import IndexMap, LoopNest

KEEP, FILL = -1, -2


def map_of(index, src_size):
    return IndexMap(np.array(index), src_size)


# --- made


def test_of_nest_keeps_what_the_nest_does_not_write():
    nest = LoopNest.strided(1, 2, ("r", 2, 4, 3), ("c", 2, 1, 1))
    made = IndexMap.of_nest(nest, 7, 8)
    assert made.index.tolist() == [KEEP, KEEP, 1, 2, KEEP, 5, 6, KEEP]
    assert (made.src_size, made.dst_size, made.index.dtype) == (7, 8, np.int32)


def test_of_nest_lets_the_later_iteration_win():
    made = IndexMap.of_nest(LoopNest.strided(0, 0, ("r", 3, 1, 0)), 3, 1)
    assert made.index.tolist() == [2]


def test_of_nest_of_a_nop_keeps_all():
    made = IndexMap.of_nest(LoopNest.nop().shift(9, 9), 0, 3)
    assert made.index.tolist() == [KEEP] * 3


@pytest.mark.parametrize(
    "nest, text",
    [
        (
            LoopNest.strided(0, 0, ("r", 5, 1, 1)),
            r"src must hold elements \[0, 5\), which the move reads, got 4 elements, "
            r"\[0, 4\)\. Give a longer src",
        ),
        (
            LoopNest.strided(-1, 0, ("r", 2, 1, 1)),
            r"src must hold elements \[-1, 1\), .* Start later in src, or correct",
        ),
        (
            LoopNest.strided(0, 3, ("r", 4, 1, 1)),
            r"dst must hold elements \[0, 7\), which the move writes, got 6 elements",
        ),
        (
            LoopNest.strided(0, 1, ("r", 3, 1, -1)),
            r"dst must hold elements \[-1, 2\), .* Start later in dst, or correct",
        ),
    ],
)
def test_of_nest_stays_inside(nest, text):
    with pytest.raises(asc.BoundsError, match=text):
        IndexMap.of_nest(nest, 4, 6)


def test_the_index_is_read_only_and_a_copy_is_not():
    made = map_of([0, 1], 2)
    with pytest.raises(ValueError, match="read-only"):
        made.index[0] = 1
    assert made.index.copy().flags.writeable


def test_the_caller_s_array_stays_writable():
    mine = np.array([0, 1], np.int32)
    made = IndexMap(mine, 2)
    mine[0] = 1
    assert (mine[0], made.index[0]) == (1, 0)


# --- compared and printed


def test_maps_are_equal_by_content():
    one, same = map_of([0, FILL], 2), map_of([0, FILL], 2)
    assert one == same and hash(one) == hash(same) and len({one, same}) == 1
    assert one != map_of([0, KEEP], 2)
    assert one != map_of([0, FILL], 3)
    assert one != [0, FILL]


def test_repr_counts_elements():
    assert repr(map_of([3, FILL, FILL - 1, KEEP, KEEP, KEEP], 9)) == (
        "IndexMap(6 <- 9: 1 copied, 2 filled, 3 kept)"
    )


# --- composed


def test_sequence_lets_the_later_call_win():
    first, second = map_of([0, 1, FILL, KEEP], 4), map_of([KEEP, 3, 2, FILL], 4)
    assert first.sequence(second).index.tolist() == [0, 3, 2, FILL]
    assert second.sequence(first).index.tolist() == [0, 1, FILL, FILL]
    assert first.sequence() == first


@pytest.mark.parametrize("other", [map_of([0, 1], 5), map_of([0, 1, 2], 4)])
def test_sequence_needs_the_same_buffers(other):
    text = r"IndexMap\.sequence: later must be a map 2 <- 4 \(elements\), got"
    with pytest.raises(asc.BoundsError, match=text):
        map_of([0, 1], 4).sequence(other)


def test_chain_follows_two_moves():
    first, second = map_of([7, KEEP, FILL, 5], 8), map_of([3, 2, 1, 0, KEEP, FILL], 4)
    chained = first.chain(second)
    assert chained.index.tolist() == [5, FILL, FILL, 7, KEEP, FILL]
    assert chained.src_size == 8


def test_chain_needs_sizes_that_fit():
    with pytest.raises(
        asc.BoundsError, match=r"chain: then must read a source of 2 el"
    ):
        map_of([0, 1], 2).chain(map_of([0], 3))


def test_invert_brings_every_copied_element_back():
    made = map_of([KEEP, 4, 0, FILL], 5)
    assert made.invert().index.tolist() == [2, KEEP, KEEP, KEEP, 1]
    assert made.invert().src_size == 4
    assert made.invert().invert().index.tolist() == [KEEP, 4, 0, KEEP]


def test_invert_refuses_repeats():
    text = r"invert: index must take each source element at most once"
    with pytest.raises(asc.OverlapError, match=text):
        map_of([3, 3], 4).invert()


# --- applied


def test_apply_moves_keeps_and_fills():
    made = map_of([2, KEEP, FILL, FILL - 1], 3)
    src, dst = np.array([10, 11, 12]), np.array([1, 2, 3, 4])
    assert made.apply(src, dst, fill=(-7, -8)).tolist() == [12, 2, -7, -8]
    assert made.apply(src).tolist() == [12, 0, 0, 0]
    assert dst.tolist() == [1, 2, 3, 4]


def test_apply_takes_a_batch():
    src = np.arange(6).reshape(2, 3)
    assert map_of([2, 0], 3).apply(src).tolist() == [[2, 0], [5, 3]]
    assert map_of([KEEP, 0], 3).apply(src, [8, 9]).tolist() == [[8, 0], [8, 3]]


def test_apply_takes_the_source_it_was_made_for():
    with pytest.raises(asc.BoundsError, match=r"src must hold 3 elements"):
        map_of([2, 0], 3).apply(np.arange(4))


def test_apply_needs_a_value_for_every_padding():
    with pytest.raises(asc.ParamError, match=r"fill must "):
        map_of([0, FILL, FILL - 1], 1).apply(np.arange(1), fill=(7,))


# --- of moves


def test_two_paddings_of_a_sequence_keep_apart():
    info = asc.NdDmaLoopInfo((1,), (1,), (1,), (1,), (1,))
    pads = [asc.NdDmaParams(info, value) for value in (0.0, -0.0, 0.0)]
    calls = tuple(asc.Call(p, 0, 3 * k) for k, p in enumerate(pads))
    move = asc.Move.sequence(calls, dtype="float", src_size=1)
    assert move.fills == (0, 0x80000000)
    assert move.index_map.index.tolist() == [-2, 0, -2, -3, 0, -3, -2, 0, -2]


@pytest.mark.parametrize("dtype", ["half", "float"])
def test_nz2nd_and_its_inverse_bring_the_matrix_back(dtype):
    params = asc.Nz2NdParamsFull(2, 16, 32, 2, 16, 32, 512)
    made = asc.Move.of(params, dtype=dtype, src_size=1024).index_map
    assert made.chain(made.invert()).index.tolist() == list(range(1024))
    assert made.invert().chain(made).index.tolist() == list(range(1024))


def test_transposing_twice_changes_nothing():
    params = asc.LoadData2DParams(0, 3, 1, 0, 0, True)
    made = asc.Move.of(params, dtype="half", src_size=768).index_map
    assert made.chain(made).index.tolist() == list(range(768))


def test_a_map_is_refused_where_int32_cannot_address():
    p = asc.Nz2NdParamsFull(1, 1, 16, 0, 0, 0, 0)
    move = asc.Move.of(p, dtype="half", src_size=2**31, dst_size=16)
    with pytest.raises(asc.BoundsError, match=r"src must hold at most 2147483647 elem"):
        move.index_map  # noqa: B018


def test_a_map_of_many_calls_takes_the_memory_of_one():
    one = asc.LoadData2DParams(repeat_times=1)
    gap = asc.LoadData2DParams(repeat_times=2, src_stride=2, dst_gap=1)  # no one nest
    calls = [asc.Call((one, gap)[k % 2], 256 * k, 512 * k) for k in range(256)]
    sizes = {"src_size": 1 << 17, "dst_size": 1 << 18}
    move = asc.Move.sequence(tuple(calls), dtype="half", **sizes)
    tracemalloc.start()
    index = move.index_map.index
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * index.nbytes
    apart = [
        asc.Move.of(
            c.params,
            dtype="half",
            src_offset=c.src_offset,
            dst_offset=c.dst_offset,
            **sizes,
        )
        for c in calls[:4]
    ]
    first = apart[0].index_map.sequence(*(other.index_map for other in apart[1:]))
    assert (first.index[:2048] == index[:2048]).all()
