"""The compiled maps of a sweep are the nests', whatever their size and kind."""

import numpy as np
import pytest

import ascjax as asc
from ascjax import IndexMap, Loop, LoopNest
from ascjax.sweeps import _maps
from ascjax.sweeps._code import encode
from ascjax.sweeps._maps import maps
from ascjax.verify._samples import sample
from ascjax.verify._suite import combinations

KEEP, FILL = -1, -2


def nest_map(nest, dst_size):
    ((position, index),) = maps([encode(nest)], [dst_size])
    assert position == 0
    return index.tolist()


def padded(outside):
    loops = [Loop("r", 2, 5), Loop("c", 5, 1)]
    coords = [({"r": 1}, 3), ({"c": 1}, 1, -1, 3, outside)]
    return LoopNest.build(0, 0, loops, coords)


@pytest.mark.parametrize(
    ("nest", "expected"),
    [
        (LoopNest.strided(7, 1, ("i", 3, 2, 1)), [KEEP, 7, 9, 11]),
        (
            LoopNest.strided(8, 0, ("i", 2, -4, 1), ("j", 2, 1, 2)),
            [8, 4, 9, 5],
        ),
        (LoopNest.strided(0, 0, ("i", 3, 0, 1)), [0, 0, 0, KEEP]),
        (LoopNest.nop(), [KEEP, KEEP]),
        (padded("fill"), [FILL, 0, 1, 2, FILL, FILL, 3, 4, 5, FILL]),
        (padded("clamp"), [0, 0, 1, 2, 2, 3, 3, 4, 5, 5]),
    ],
    ids=["strided", "backwards", "repeated", "nop", "fill", "clamp"],
)
def test_a_map_worked_out_by_hand(nest, expected):
    assert nest_map(nest, len(expected)) == expected


def test_strides_that_meet_only_index_0_vanish():
    one = LoopNest.strided(0, 0, ("far", 1, 2**39, 2**39), ("i", 2, 1, 1))
    assert nest_map(one, 3) == [0, 1, KEEP]
    loops, coords = [Loop("x", 3, 1)], [({"x": 1}, 2**39, -1, 1, "fill")]
    inside_once = LoopNest.build(0, 0, loops, coords)
    assert nest_map(inside_once, 3) == [FILL, 0, FILL]


@pytest.mark.parametrize(
    ("nest", "text"),
    [
        (LoopNest.strided(2**31, 0, ("i", 2, 1, 1)), "fit int32"),
        (LoopNest.strided(0, 0, ("i", 2, -(2**31) - 1, 1)), "fit int32"),
        (LoopNest.strided(0, 0, ("i", 2**23, 1, 1)), "write at most 4194304"),
        (
            LoopNest.strided(0, 0, *((f"x{k}", 2, 1 << k, 1 << k) for k in range(9))),
            "at most 8 loops",
        ),
    ],
    ids=["start", "stride", "volume", "loops"],
)
def test_a_nest_that_does_not_fit_is_refused(nest, text):
    with pytest.raises(asc.BoundsError, match=text):
        encode(nest)


def test_a_destination_that_does_not_fit_is_refused():
    code = encode(LoopNest.strided(0, 0, ("i", 2, 1, 1)))
    with pytest.raises(asc.BoundsError, match="into at most 4194304"):
        next(maps([code], [2**23]))


def check_maps(moves):
    """Each move's nest interpreted is its index map; all come, of every size."""
    nests = [move.nests[0] for move in moves]
    sizes = [move.dst_size for move in moves]
    found = dict(maps(list(map(encode, nests)), sizes))
    assert sorted(found) == list(range(len(moves)))
    for k, nest in enumerate(nests):
        want = IndexMap.of_nest(nest, moves[k].src_size, sizes[k])
        np.testing.assert_array_equal(found[k], want.index)


def samples(count):
    rng = np.random.default_rng(7)
    for instruction, site in combinations()[:: 458 // count]:
        made = sample(instruction, site, lambda a, b: int(rng.integers(a, b + 1)))
        yield made.move(site)


def test_a_batch_of_all_sizes_and_instructions():
    check_maps(list(samples(150)))


def test_the_check_of_a_batch_goes_red(monkeypatch):
    right = encode

    def no_start(nest):
        code = right(nest)
        numbers = list(code.numbers)
        numbers[2] = 0  # src_start
        return code._replace(numbers=numbers)

    monkeypatch.setitem(globals(), "encode", no_start)
    with pytest.raises(AssertionError):
        check_maps(list(samples(20)))


def test_one_compilation_serves_all_nests_of_a_size():
    before = _maps.compiled.cache_info().misses
    for extent in range(1, 40):
        nest_map(LoopNest.strided(0, 0, ("i", extent, 3, 2)), 2 * extent)
    assert _maps.compiled.cache_info().misses - before <= 1
