"""Laws of nests, maps, plans and params, at every point of drawn examples."""

import dataclasses

import numpy as np
import pytest
from brute import FILL, KEEP, index_of, plan_index, writes
from helpers import check_same, moved
from hypothesis import example, given, settings
from hypothesis import strategies as st

import ascjax as asc
from ascjax import Coord, IndexMap, Loop, LoopNest, _overlap
from ascjax._lowering import lower_map, lower_nest
from ascjax._overlap import Unproved, first_clash
from ascjax._packed import byte_nest
from ascjax._primitive import jitted
from ascjax._stack import stack

LAW = settings(max_examples=50)
FEW = settings(max_examples=12)  # each of these compiles


# --- nests


@st.composite
def nests(draw, padded=True, most=4):
    """A nest that reads and writes from 0 or later on; coordinates share no loops.

    Strides are arbitrary, so writes may meet, and boxes may overlap or interleave.
    """
    count = draw(st.integers(0, most))
    extents = draw(st.lists(st.integers(1, 4), min_size=count, max_size=count))
    loops = [
        Loop(f"x{k}", extent, draw(st.integers(-20, 40)))
        for k, extent in enumerate(extents)
    ]
    coords, free = [], list(range(count))
    while free:
        taken = [free.pop(0)]
        kind = draw(
            st.sampled_from(["none", "none", "fill", "clamp"] if padded else ["none"])
        )
        if kind != "none" and free and draw(st.booleans()):
            taken.append(free.pop(0))
        terms = [0] * count
        for k in taken:
            terms[k] = draw(st.sampled_from([1, 1, 2, -1, 3]))
        if len(taken) == 2 and draw(st.booleans()):  # a dense counter over two loops
            terms[taken[1]], terms[taken[0]] = 1, extents[taken[1]]
        stride = draw(st.integers(-9, 30))
        bound = () if kind == "none" else (draw(st.integers(1, 6)), kind)
        coords.append(Coord(tuple(terms), stride, draw(st.integers(-3, 3)), *bound))
    nest = LoopNest(tuple(loops), tuple(coords))
    far = 10**6  # so that no source looks like a code
    made = writes(nest.shift(far, 0))
    src = min([src for _, src in made if src != FILL], default=far) - far
    dst = min(dst for dst, _ in made)
    start = st.integers(0, 5)
    return nest.shift(draw(start) - src, draw(start) - dst)


def sizes(nest, slack=0):
    """Buffer sizes that just fit, and `slack` more."""
    made = writes(nest)
    read = max([src for _, src in made if src != FILL], default=-1)
    return read + 1 + slack, max(dst for dst, _ in made) + 1 + slack


@LAW
@given(nests())
def test_addresses_are_those_of_the_loops(nest):
    dst, src = nest.addresses()
    assert list(zip(dst.tolist(), src.tolist(), strict=True)) == writes(nest)
    assert nest.volume == len(writes(nest))


@LAW
@given(nests())
def test_ranges_are_exact(nest):
    made = writes(nest)
    targets = [dst for dst, _ in made]
    assert nest.dst_range() == (min(targets), max(targets))
    read = [src for _, src in made if src != FILL]
    assert nest.src_range() == ((min(read), max(read)) if read else None)


@LAW
@given(nests(), st.integers(0, 3))
def test_the_index_map_is_what_the_loops_leave(nest, slack):
    src_size, dst_size = sizes(nest, slack)
    made = IndexMap.of_nest(nest, src_size, dst_size)
    assert made.index.tolist() == index_of(nest, dst_size)


@LAW
@given(nests())
def test_buffers_one_element_short_are_refused(nest):
    src_size, dst_size = sizes(nest)
    with pytest.raises(asc.BoundsError, match="IndexMap: dst must hold elements"):
        IndexMap.of_nest(nest, src_size, dst_size - 1)
    if src_size:
        with pytest.raises(asc.BoundsError, match="IndexMap: src must hold elements"):
            IndexMap.of_nest(nest, src_size - 1, dst_size)
    for shift in ((-sizes(nest)[0], 0), (0, -dst_size)):
        if nest.src_range() is not None or shift[1]:
            with pytest.raises(asc.BoundsError, match="must hold elements"):
                IndexMap.of_nest(nest.shift(*shift), src_size, dst_size)


@LAW
@given(nests(), st.integers(1, 4), st.integers(0, 30), st.integers(-10, 30))
def test_stack_runs_nests_one_after_another(nest, count, src, dst):
    calls = [nest.shift(src * k, dst * k) for k in range(count)]
    stacked = stack(calls)
    assert writes(stacked) == [write for call in calls for write in writes(call)]


@LAW
@given(nests(), st.sampled_from([1 << 24, 20, 1]))
@example(LoopNest.strided(0, 0, ("a", 3, 1, 4), ("b", 4, 1, 3)), 1)
def test_a_clash_is_found_just_where_there_is_one(nest, limit):
    targets = [dst for dst, _ in writes(nest)]
    twice = {dst for dst in targets if targets.count(dst) > 1}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_overlap, "EXACT_LIMIT", limit)
        try:
            clash = first_clash(nest)
        except Unproved:
            assert limit < nest.volume
            return
    assert (clash in twice) if twice else (clash is None)


# --- plans


@LAW
@given(nests())
def test_a_plan_of_a_nest_means_the_nest(nest):
    src_size, dst_size = sizes(nest, 2)
    plan = lower_nest(nest, src_size, dst_size)
    assert plan_index(plan) == index_of(nest, dst_size)


@LAW
@given(nests())
def test_a_plan_of_a_map_means_the_map(nest):
    src_size, dst_size = sizes(nest)
    made = IndexMap.of_nest(nest, src_size, dst_size)
    assert plan_index(lower_map(made)) == made.index.tolist()


@FEW
@given(nests(), st.booleans())
def test_a_plan_through_jax_does_what_the_loops_do(nest, kept):
    src_size, dst_size = sizes(nest, 1)
    plan = lower_nest(nest, src_size, dst_size, (77,))
    src = np.arange(src_size, dtype=np.int32) + 1000
    dst = np.arange(dst_size, dtype=np.int32) - 1000 if kept else None
    made = IndexMap.of_nest(nest, src_size, dst_size)
    check_same(jitted(plan)(src, dst), made.apply(src, dst, fill=77))


def check_bytes(nest, whole):
    """`whole` moves, as bytes, what `nest` moves as nibbles."""
    dst_size = 2 * sizes(whole)[1]
    nibbles = [-1] * dst_size
    for k, byte in enumerate(index_of(whole, dst_size // 2)):
        if byte != KEEP:
            nibbles[2 * k : 2 * k + 2] = 2 * byte, 2 * byte + 1
    assert nibbles == index_of(nest, dst_size)


@LAW
@given(nests(padded=False))
def test_a_byte_nest_moves_the_same_nibbles(nest):
    whole = byte_nest(nest)
    if whole is not None:
        check_bytes(nest, whole)


@LAW
@given(st.data())
def test_rows_of_an_even_length_move_as_bytes(data):
    """Even steps around a row of even length: a byte nest there must be."""
    outer = data.draw(nests(padded=False, most=3))
    loops = [dataclasses.replace(x, dst_stride=2 * x.dst_stride) for x in outer.loops]
    coords = [
        dataclasses.replace(c, stride=2 * c.stride, terms=(*c.terms, 0))
        for c in outer.coords
    ]
    loops.append(Loop("e", 2 * data.draw(st.integers(1, 3)), 1))
    coords.append(Coord((0,) * len(outer.loops) + (1,), 1))
    nest = LoopNest(tuple(loops), tuple(coords))
    src, dst = nest.src_range()[0], nest.dst_range()[0]
    even = nest.shift(-src, -dst)
    check_bytes(even, byte_nest(even))
    assert byte_nest(even.shift(1, 0)) is None
    assert byte_nest(even.shift(0, 1)) is None


# --- maps


def maps(src_size, dst_size):
    codes = st.sampled_from([KEEP, FILL, FILL - 1])
    cells = codes | st.integers(0, src_size - 1) if src_size else codes
    index = st.lists(cells, min_size=dst_size, max_size=dst_size)
    return index.map(lambda cells: IndexMap(np.array(cells, np.int32), src_size))


def buffers(src_size, dst_size):
    return np.arange(src_size) + 100, np.arange(dst_size) + 200


@LAW
@given(st.lists(maps(5, 7), min_size=1, max_size=4))
def test_a_sequence_is_one_after_another_on_one_destination(calls):
    src, dst = buffers(5, 7)
    want = dst
    for call in calls:
        want = call.apply(src, want, fill=(-7, -8))
    together = calls[0].sequence(*calls[1:])
    assert together.apply(src, dst, fill=(-7, -8)).tolist() == want.tolist()
    by_two = calls[0]
    for call in calls[1:]:
        by_two = by_two.sequence(call)
    assert by_two == together


@LAW
@given(maps(5, 6), maps(6, 7), maps(7, 4))
def test_a_chain_is_one_move_after_another(first, second, third):
    src, dst = buffers(5, 7)
    between = first.apply(src)  # padding and what is not written are zeros
    chained = first.chain(second)
    want = second.apply(between, dst, fill=(0, 0))
    assert chained.apply(src, dst, fill=(0, 0)).tolist() == want.tolist()
    assert chained.chain(third) == first.chain(second.chain(third))


@LAW
@given(st.permutations(range(9)), st.integers(0, 9), st.integers(0, 511))
def test_an_inverse_brings_back_every_copied_element(order, count, kept):
    index = [KEEP if kept >> d & 1 else s for d, s in enumerate(order[:count])]
    made = IndexMap(np.array(index, np.int32), 9)
    back = made.invert()
    assert (back.src_size, back.dst_size) == (made.dst_size, made.src_size)
    for dst, src in enumerate(index):
        if src >= 0:
            assert back.index[src] == dst
    assert set(back.index.tolist()) - {KEEP} == {
        d for d, s in enumerate(index) if s >= 0
    }
    assert back.invert() == made


# --- instructions: any small fields, legal or not


def small(instruction):
    """Fields of small values, many of them illegal together."""
    n = st.integers(0, 3)
    if instruction == "nddma":
        dims = st.integers(1, 3)
        lists = dims.flatmap(
            lambda count: st.fixed_dictionaries(
                {
                    name: st.lists(values, min_size=count, max_size=count)
                    for name, values in (
                        ("loopSrcStride", st.integers(0, 9)),
                        ("loopDstStride", st.integers(0, 9)),
                        ("loopSize", n),
                        ("loopLpSize", n),
                        ("loopRpSize", n),
                    )
                }
            )
        )
        return st.builds(
            lambda fields, nearest: {**fields, "isNearestValueMode": nearest},
            lists,
            st.booleans(),
        )
    flag = st.integers(0, 1)
    own = {
        "addrMode": flag,
        "ifTranspose": flag,
        "nValue": st.integers(1, 4),
        "dValue": st.sampled_from([16, 32, 48]),
        "srcNdMatrixStride": st.integers(1, 2),
        "dstDStride": st.integers(1, 60),
        "dstNdMatrixStride": st.integers(1, 60),
        "srcStride": st.integers(-2, 3) if instruction == "load2dv2" else n,
        "mStep": st.sampled_from([0, 1, 2, 4]),
        "kStep": st.sampled_from([0, 1, 2, 4]),
    }
    names = asc.Params.from_dict(
        {"instruction": instruction, "fields": BASE.get(instruction, {})}
    )
    return st.fixed_dictionaries({name: own.get(name, n) for name in names.to_fields()})


BASE = {"nz2nd": {"ndNum": 0, "nValue": 1, "dValue": 16}}
# NDDMA's rules on interleaving and on 64 bits are no part of the oracle's formula.
BEYOND_THE_ORACLE = ("loop_dst_stride", "is_nearest_value_mode")
WIDTHS = {4: "int4b_t", 8: "int8_t", 16: "half", 32: "float", 64: "double"}


@pytest.mark.parametrize("overlap", ["error", "last"])
@pytest.mark.parametrize(
    "instruction", ["load2d", "load2dv2", "ldwt_v1", "ldwt_v2", "nz2nd", "nddma"]
)
@LAW
@given(data=st.data())
def test_engine_and_oracle_refuse_alike_and_move_alike(instruction, overlap, data):
    params = asc.Params.from_dict(
        {"instruction": instruction, "fields": data.draw(small(instruction))}
    )
    widths = sorted(
        {asc.ascend_type(t).bits for types in params.paths().values() for t in types}
    )
    bits = data.draw(st.sampled_from(widths))
    offsets = data.draw(st.tuples(st.integers(0, 3), st.integers(0, 3)))
    size = 1 << data.draw(st.sampled_from([4, 11, 13]))
    where = {"src_offset": offsets[0], "dst_offset": offsets[1], "overlap": overlap}
    refused = asc.BoundsError, asc.OverlapError, asc.ParamError
    try:
        want = asc.oracle.run(
            instruction,
            params.to_fields(),
            bits,
            np.arange(size, dtype=np.int32),
            np.full(size, KEEP, np.int32),
            pad=FILL,
            **where,
        )
    except refused as error:
        want = type(error)
    try:
        move = asc.Move.of(
            params, dtype=WIDTHS[bits], src_size=size, dst_size=size, **where
        )
        got = move.index_map.index
    except refused as error:
        if error.field.startswith(BEYOND_THE_ORACLE):
            return
        got = type(error)
    if isinstance(want, type) or isinstance(got, type):
        both = {asc.BoundsError, asc.OverlapError}
        assert got is want or {got, want} <= both
        return
    np.testing.assert_array_equal(got, want)
    assert plan_index(move.plan) == want.tolist()


@FEW
@given(data=st.data())
def test_an_op_moves_as_its_map_says(data):
    instruction = data.draw(st.sampled_from(["load2d", "ldwt_v2", "nz2nd", "nddma"]))
    params = asc.Params.from_dict(
        {"instruction": instruction, "fields": data.draw(small(instruction))}
    )
    site = {"dtype": "half", "overlap": "last"}
    size = 1 << 13
    try:
        move = asc.Move.of(params, src_size=size, dst_size=size, **site)
    except asc.AscendError:
        return
    src = np.arange(size, dtype=np.uint16).view(np.float16)
    dst = src[::-1].copy()
    check_same(
        getattr(asc, params.op)(src, params, dst=dst, **site), moved(move, src, dst)
    )
