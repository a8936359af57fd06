"""Runs: their ranges, addresses and clashes, one element at a time, and as loops."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ascjax as asc
from ascjax import FILL, KEEP, IndexMap, LoopNest, Runs
from ascjax._overlap import first_clash
from ascjax.verify._why import Origin, origin, reader


def runs_of(dst, src, length=1, step=1, **rest):
    return Runs((("k", len(dst)),), np.array(dst), np.array(src), length, step, **rest)


def writes(runs):
    """(destination, source or FILL) of every iteration, in order."""
    return [
        (
            runs.dst_start + int(to) + e * runs.dst_step,
            FILL if at == FILL else runs.src_start + int(at) + e,
        )
        for to, at in zip(runs.dst, runs.src, strict=True)
        for e in range(runs.length)
    ]


some = st.builds(
    lambda rows, length, step, starts: runs_of(
        [to for to, _ in rows],
        [at for _, at in rows],
        length,
        step,
        src_start=starts[0],
        dst_start=starts[1],
    ),
    st.lists(
        st.tuples(st.integers(0, 40), st.one_of(st.just(FILL), st.integers(0, 30))),
        min_size=1,
        max_size=9,
    ),
    st.integers(1, 4),
    st.integers(1, 5),
    st.tuples(st.integers(0, 3), st.integers(0, 3)),
)


@given(some)
def test_all_that_runs_say_of_themselves_is_what_they_write(runs):
    all_of = writes(runs)
    to, at = ([int(x) for x in side] for side in runs.addresses())
    assert list(zip(to, at, strict=True)) == all_of
    assert runs.volume == len(all_of)
    assert runs.dst_range() == (min(to), max(to))
    read = [x for x in at if x != FILL]
    assert runs.src_range() == ((min(read), max(read)) if read else None)
    clash = first_clash(runs)
    assert (clash is None) == (len(set(to)) == len(to))
    assert clash is None or to.count(clash) > 1


@given(some)
def test_the_map_has_the_last_write_and_origin_tells_it(runs):
    size = runs.dst_range()[1] + 3
    want = [KEEP] * size
    for to, at in writes(runs):
        want[to] = at
    made = IndexMap.of_nest(runs, (runs.src_range() or (0, 0))[1] + 1, size)
    assert made.index.tolist() == want
    assert [origin(runs, to).source for to in range(size)] == want
    for to in range(size):
        loops = origin(runs, to).loops
        again = writes(runs)[loops["k"] * runs.length + loops["e"]] if loops else None
        assert again == ((to, want[to]) if loops else None)


@given(some, st.integers(0, 9), st.integers(0, 9))
def test_shifted_runs_write_later_on_both_sides(runs, src, dst):
    moved = [(to + dst, at if at == FILL else at + src) for to, at in writes(runs)]
    assert writes(runs.shift(src, dst)) == moved


def test_shifts_are_exact_integers():
    far = runs_of([0, 4], [1, FILL], 3).shift(2**100, 2**99)
    assert far.src_range() == (2**100 + 1, 2**100 + 3)
    assert far.dst_range() == (2**99, 2**99 + 6)


@given(
    st.tuples(st.integers(1, 4), st.integers(0, 40), st.integers(0, 40)),
    st.tuples(st.integers(1, 4), st.integers(0, 40), st.integers(0, 40)),
    st.tuples(st.integers(1, 4), st.integers(1, 5)),
)
def test_even_runs_are_a_nest_that_writes_the_same(outer, inner, run):
    index = np.indices((outer[0], inner[0])).reshape(2, -1)
    src = index[0] * outer[1] + index[1] * inner[1]
    dst = index[0] * outer[2] + index[1] * inner[2]
    runs = Runs((("r", outer[0]), ("b", inner[0])), dst, src, *run, 7, 9)
    nest = runs.as_nest()
    assert isinstance(nest, LoopNest)
    for one, two in zip(nest.addresses(), runs.addresses(), strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(
    "runs",
    [
        runs_of([0, 4, 8], [0, 4, 9]),
        runs_of([0, 4, 8], [0, FILL, 8]),
        runs_of([0, 4, 9, 20], [0, 4, 20, 24]),
        runs_of([0, 4, 8, 12, 17], [0, 4, 8, 12, 16]),
    ],
)
def test_uneven_runs_are_no_nest(runs):
    assert runs.as_nest() is None


def test_runs_compare_by_content_and_cannot_be_written_to():
    one = runs_of([0, 4], [1, FILL], 3, formula="said")
    assert one == dataclasses.replace(one, formula="otherwise")
    assert hash(one) == hash(dataclasses.replace(one, formula="otherwise"))
    for change in ({"length": 2}, {"dst_start": 1}, {"src": np.array([1, 2])}):
        assert one != dataclasses.replace(one, **change)
    with pytest.raises(ValueError, match="read-only"):
        one.src[0] = 5


def test_one_element_is_told_by_its_loops():
    runs = Runs((("r", 2), ("b", 2)), [0, 8, 4, 12], [5, FILL, 20, 9], 2, 2)
    assert origin(runs, 6) == Origin(21, {"r": 1, "b": 0, "e": 1})
    assert origin(runs, 10).source == FILL and "outside" in origin(runs, 10).outside
    assert origin(runs, 1) == Origin(KEEP, {})
    assert reader(runs, 10) == {"r": 1, "b": 1, "e": 1}
    assert reader(runs, 7) == {}


def test_bounds_of_runs_are_checked():
    with pytest.raises(asc.BoundsError, match=r"src must hold elements \[0, 7\)"):
        IndexMap.of_nest(runs_of([0], [4], 3), 6, 9)
    with pytest.raises(asc.BoundsError, match=r"dst must hold elements \[0, 8\)"):
        IndexMap.of_nest(runs_of([5], [0], 3), 6, 7)
