"""`nn.CubeMatmul`: exactly A @ B on the roads that kernels take."""

import copy
import itertools
import json
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from goldens import load

import ascjax as asc
from ascjax.instr import params_class

pytestmark = pytest.mark.quick

SCENARIOS = {scenario["id"]: scenario for scenario in load("scenarios")}


def operand(shape, dtype, seed=0):
    """Values over all of an integer type, normal ones of a float type."""
    rng = np.random.default_rng(seed)
    if dtype in ("int4b_t", "int8_t"):
        half = 8 if dtype == "int4b_t" else 128
        return jnp.asarray(rng.integers(-half, half, shape), dtype[:4])
    return jnp.asarray(rng.standard_normal(shape), asc.ascend_type(dtype).jax)


def operands(mm, lead=()):
    """A and B as GM holds them."""
    a = (mm.k, mm.m) if mm.transpose_a else (mm.m, mm.k)
    b = (mm.n, mm.k) if mm.transpose_b else (mm.k, mm.n)
    return tuple(
        operand((*lead, *shape), mm.dtype.name, seed)
        for seed, shape in enumerate((a, b))
    )


def check_product(mm, a, b, out):
    """Integers exactly; floats within 2 k 2^-24 of the sum of magnitudes."""
    wide = [np.asarray(x).astype("float64") for x in (a, b)]
    turned = zip(wide, (mm.transpose_a, mm.transpose_b), strict=True)
    a, b = (x.swapaxes(-1, -2) if turn else x for x, turn in turned)
    out, expected = np.asarray(out), a @ b
    assert out.shape == expected.shape
    if mm.dtype.name in ("int4b_t", "int8_t"):
        assert out.dtype == np.int32
        np.testing.assert_array_equal(out, expected)
    else:
        assert out.dtype == np.float32
        bound = 2 * mm.k * 2.0**-24 * (abs(a) @ abs(b))
        assert (abs(out - expected) <= bound).all()


def test_the_check_goes_red():
    for dtype in ("int8_t", "half"):
        mm = asc.nn.CubeMatmul("910B", 3, 4, 5, dtype)
        a, b = operands(mm)
        out = mm(a, b)
        check_product(mm, a, b, out)
        with pytest.raises(AssertionError):
            check_product(mm, a, b, out.at[1, 2].add(out.dtype.type(0.01) or 1))
        with pytest.raises(AssertionError):
            check_product(mm, a, b, out.T)


# --- the vendor's samples


def stages_of(side):
    """The calls of one side of a scenario, as `Pipeline` takes them."""
    name = side["side"]
    return [
        (
            [
                asc.Call(
                    params_class(call["instruction"]).from_fields(call["fields"]),
                    call.get("src_offset", 0),
                    call.get("dst_offset", 0),
                )
                for call in side[part]
            ],
            path,
        )
        for part, path in (
            ("gm_to_l1", f"GM->{name}1"),
            ("l1_to_l0", f"{name}1->{name}2"),
        )
    ]


def scenario_of(name, **roads):
    scenario = SCENARIOS[name]
    sizes = [scenario[axis] for axis in "mnk"]
    turned = scenario["a"]["transpose"], not scenario["b"]["transpose"]
    return asc.nn.CubeMatmul(
        scenario["product"], *sizes, scenario["dtype"], *turned, **roads
    )


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_scenario_s_own_calls_give_the_product(name):
    """Fused at one size, one step at a time at the other."""
    sides = {f"{side}_road": stages_of(SCENARIOS[name][side]) for side in "ab"}
    mm = scenario_of(name, **sides)
    a, b = operands(mm)
    check_product(mm, a, b, mm(a, b, fused=name.endswith("40x50x70")))


@pytest.mark.parametrize("name", [n for n in SCENARIOS if n.endswith("40x50x70")])
def test_a_scenario_that_loses_a_call_is_refused(name):
    for side in "ab":
        (first, path), (calls, last) = stages_of(SCENARIOS[name][side])
        short = [(calls[:-1], last)] if len(calls) > 1 else [([calls[0]], last)]
        if len(calls) == 1:  # then to another place
            call = calls[0]
            step = (
                SCENARIOS[name]["k"] * 0
                + 512 * 8 // asc.ascend_type(SCENARIOS[name]["dtype"]).bits
            )
            short = [([asc.Call(call.params, call.src_offset, step)], last)]
        with pytest.raises(asc.ParamError, match=f"{side}_road must bring all of"):
            scenario_of(name, **{f"{side}_road": [(first, path), *short]})


def test_one_own_road_beside_a_chosen_one():
    """K of a 32-bit A is padded to 16, so Mmad reads B so too."""
    name = "a2_14_40x50x70"
    a_road = asc.nn.Pipeline(
        stages_of(SCENARIOS[name]["a"]), product="910B", dtype="float"
    )
    mm = asc.nn.CubeMatmul("910B", 40, 50, 70, "float", True, True, a_road=a_road)
    assert mm.job.params(mm.job.a[0], mm.job.b[0], True).k_direction_align
    check_product(mm, *operands(mm), mm(*operands(mm)))


# --- chosen roads


@pytest.mark.parametrize(
    "size",
    [
        pytest.param((17, 33, 65), marks=pytest.mark.optimised),
        (1, 1, 1),
        (128, 256, 64),
    ],
)
@pytest.mark.parametrize(
    ("product", "dtype", "turned"),
    [
        ("atlas_a2", "int4b_t", (False, True)),
        ("atlas_a3", "int4b_t", (False, False)),
        ("atlas_a2", "int8_t", (True, False)),
        ("atlas_a2", "bfloat16_t", (False, False)),
        ("atlas_a2", "float", (True, False)),
        ("atlas_350", "int8_t", (True, False)),
        ("atlas_350", "half", (False, True)),
        ("atlas_350", "float", (True, True)),
        ("atlas_350", "fp8_e4m3fn_t", (True, False)),
    ],
)
def test_the_product_at_every_size(product, dtype, turned, size):
    mm = asc.nn.CubeMatmul(product, *size, dtype, *turned)
    a, b = operands(mm)
    check_product(mm, a, b, mm(a, b))


@pytest.mark.parametrize(
    ("product", "dtype", "turned", "sizes", "tile"),
    [
        ("atlas_a2", "int8_t", (True, False), (50, 60, 70), (16, 24, 32)),
        ("atlas_a2", "int4b_t", (False, False), (20, 20, 71), (20, 10, 22)),
        ("atlas_a3", "float", (True, False), (20, 40, 50), (16, 40, 20)),
        ("atlas_350", "half", (True, True), (66, 20, 16), (33, 16, 16)),
    ],
)
def test_tiles_at_the_edges_are_smaller(product, dtype, turned, sizes, tile):
    mm = asc.nn.CubeMatmul(product, *sizes, dtype, *turned, tile=tile)
    a, b = operands(mm)
    check_product(mm, a, b, mm(a, b))


@pytest.mark.optimised
@pytest.mark.parametrize("dtype", ["int8_t", "float"])
def test_step_by_step_gives_the_same_bits(dtype):
    for tile in (None, (16, 20, 24)):
        mm = asc.nn.CubeMatmul("910B", 16, 20, 40, dtype, True, tile=tile)
        a, b = operands(mm)
        np.testing.assert_array_equal(mm(a, b), mm(a, b, fused=False))


def test_a_tile_as_large_as_the_product_is_one_tile():
    whole = asc.nn.CubeMatmul("910B", 20, 30, 40, "half", tile=(100, 30, 64))
    assert whole.job.tile == (20, 30, 40)
    assert whole.job == asc.nn.CubeMatmul("910B", 20, 30, 40, "half").job


@pytest.mark.optimised
def test_int32_sums_wrap_like_the_accumulator():
    sizes = 1, 1, 2048 * 66
    mm = asc.nn.CubeMatmul("910B", *sizes, "int8_t", False, True, tile=(1, 1, 2048))
    low = jnp.full((1, mm.k), -128, "int8")
    assert mm(low, low)[0, 0] == (mm.k * 128**2 + 2**31) % 2**32 - 2**31


def test_packed_rows_and_int4_arrays_give_the_same():
    """Rows of odd length end in a spare nibble, whatever it holds."""
    mm = asc.nn.CubeMatmul("910B", 5, 7, 9, "int4b_t")
    a, b = operands(mm)

    def packed(x, spare):
        raw = np.pad(np.asarray(x).astype("uint8") & 15, ((0, 0), (0, 1)))
        raw[:, -1] = spare
        return jnp.asarray(raw[:, 0::2] | raw[:, 1::2] << 4)

    check_product(mm, a, b, mm(a, b))
    for spare in (0, 13):
        out = mm(packed(a, spare), packed(b, spare))
        np.testing.assert_array_equal(out, mm(a, b))


def test_raw_bits_stand_for_their_type():
    mm = asc.nn.CubeMatmul("910B", 3, 4, 5, "half")
    a, b = operands(mm)
    out = mm(*(jax.lax.bitcast_convert_type(x, "uint16") for x in (a, b)))
    np.testing.assert_array_equal(out, mm(a, b))


def test_the_padding_of_k_takes_no_part():
    """NaN in the columns of GM that only lie beside the tile's."""
    mm = asc.nn.CubeMatmul("910B", 16, 16, 40, "half", tile=(16, 16, 24))
    a, b = operands(mm)
    out = mm(a.at[:, 24:].set(jnp.nan), b)
    assert np.isnan(out).all()
    one = asc.nn.CubeMatmul("910B", 16, 16, 24, "half")
    assert not np.isnan(one(a[:, :24], b[:24])).any()


# --- transforms


@pytest.mark.parametrize("tile", [None, (16, 16, 24)])
@pytest.mark.parametrize("fused", [True, False])
def test_the_gradient_is_that_of_the_product(tile, fused):
    mm = asc.nn.CubeMatmul("910B", 20, 30, 40, "float", True, tile=tile)
    a, b = operands(mm)
    weight = operand((20, 30), "float", 5)
    grads = jax.jit(
        jax.grad(lambda a, b: (mm(a, b, fused=fused) * weight).sum(), (0, 1))
    )(a, b)
    np.testing.assert_allclose(grads[0], b @ weight.T, rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(grads[1], a @ weight, rtol=1e-5, atol=1e-4)


def test_batches_broadcast_and_vmap_agrees():
    mm = asc.nn.CubeMatmul("910B", 5, 6, 7, "half", tile=(5, 6, 4))
    a, _ = operands(mm, (3,))
    _, b = operands(mm, (2, 1))
    out = jax.jit(mm)(a, b)
    check_product(mm, a, b, out)
    one = jax.vmap(lambda x: jax.vmap(mm, (0, None))(a, x[0]))(b)
    np.testing.assert_array_equal(out, one)
    assert jax.eval_shape(mm, a, b).shape == (2, 3, 5, 6)


# --- what it holds


@pytest.mark.parametrize(
    ("product", "dtype", "turned"),
    [("910B", "half", (False, True)), ("atlas_350", "int8_t", (True, False))],
)
def test_the_trace_shows_every_buffer(product, dtype, turned):
    mm = asc.nn.CubeMatmul(product, 40, 50, 70, dtype, *turned)
    a, b = operands(mm)
    held = mm(a, b, trace=True)
    assert list(held) == ["A", "L1", "L0A", "B", "L0B", "L0C", "C"]
    assert [each.buffer for each in held.values()] == [
        *("GM", "L1", "L0A", "GM", "L0B", "L0C", "GM")
    ]
    np.testing.assert_array_equal(held["C"].values.reshape(40, 50), mm(a, b))
    for each in held.values():
        assert each.written.shape == each.values.shape[-1:]
        assert not np.asarray(each.values)[~each.written].any()
    one, two = mm.job.a[0], mm.job.b[0]
    for name, side, matrix in (("L0A", one, a), ("L0B", two, b)):
        layout = asc.Layout(side.road.format, side.padded, dtype)
        rows = layout.unpack(held[name].values)[: side.road.rows, : side.road.k]
        expected = matrix.T if side.road.turned else matrix
        np.testing.assert_array_equal(rows, expected)
    start = one.l1_bytes * 8 // mm.dtype.bits  # B stands behind A
    l1 = held["L1"]
    assert l1.values.size == mm.b.sizes[1] and l1.written[start]
    np.testing.assert_array_equal(
        l1.values[:start], mm.a.trace(a.reshape(-1))[1].values
    )


@pytest.mark.parametrize(
    ("product", "dtype", "turned", "tile"),
    [
        ("910B", "half", (False, True), (20, 24, 32)),
        ("atlas_350", "int8_t", (True, False), (20, 16, 70)),
        ("910B", "int4b_t", (False, True), (16, 24, 70)),
    ],
)
def test_the_trace_of_several_tiles_shows_each(product, dtype, turned, tile):
    """L0A holds the tile, L0C the sum so far; the C of all tiles is the product."""
    mm = asc.nn.CubeMatmul(product, 20, 24, 70, dtype, *turned, tile=tile)
    a, b = (x if dtype[:3] == "int" else x.round() for x in operands(mm))
    every = mm(a, b, trace=True)
    counts = [-(-n // t) for n, t in zip((20, 24, 70), tile, strict=True)]
    assert list(every) == list(itertools.product(*map(range, counts)))
    left = a.T if turned[0] else a
    right = b.T if turned[1] else b
    left, right = (np.asarray(x).astype("float32") for x in (left, right))
    whole = np.zeros(20 * 24)
    for (i, j, p), held in every.items():
        rows, columns = slice(i * tile[0], (i + 1) * tile[0]), slice(j * tile[1], None)
        deep = slice(p * tile[2], (p + 1) * tile[2])
        high = left[rows].shape[0]
        wide = min(tile[1], 24 - j * tile[1])
        side = next(
            s for s in mm.job.a if (s.road.rows, s.road.k) == left[rows, deep].shape
        )
        if dtype != "int4b_t":  # which L0A holds packed
            layout = asc.Layout(side.road.format, side.padded, dtype)
            l0a = layout.unpack(held["L0A"].values)
            np.testing.assert_array_equal(l0a[:high, : side.road.k], left[rows, deep])
        so_far = left[rows, : deep.stop] @ right[: deep.stop, columns][:, :wide]
        columns_of_16 = np.split(np.asarray(held["L0C"].values), -(-wide // 16))
        l0c = np.concatenate([x.reshape(-1, 16) for x in columns_of_16], axis=1)
        np.testing.assert_array_equal(l0c[:high, :wide], so_far)
        assert ("C" in held) == (p == counts[2] - 1)
        if "C" in held:
            assert held["C"].written.sum() == high * wide
            whole += np.asarray(held["C"].values)
    np.testing.assert_array_equal(whole.reshape(20, 24), mm(a, b))


def test_the_trace_marks_what_is_not_written():
    mm = asc.nn.CubeMatmul("910B", 40, 50, 70, "half", False, True)
    held = mm(*operands(mm), trace=True)
    counts = {name: int(each.written.sum()) for name, each in held.items()}
    # L1: 40 rows of 80 and 50 of 80; L0C: 40 x 50 of 48 x 64
    assert counts == {
        "A": 2800,
        "L1": 90 * 80,
        "L0A": 48 * 80,
        "B": 3500,
        "L0B": 64 * 80,
        "L0C": 2000,
        "C": 2000,
    }


def test_to_dict_is_json_and_from_dict_brings_it_back():
    sides = {f"{s}_road": stages_of(SCENARIOS["950_07_40x50x70"][s]) for s in "ab"}
    for mm in (
        asc.nn.CubeMatmul("910B", 20, 30, 40, "half", True, tile=(16, 16, 16)),
        scenario_of("950_07_40x50x70", **sides),
    ):
        again = asc.nn.CubeMatmul.from_dict(json.loads(json.dumps(mm.to_dict())))
        assert again == mm and again.job == mm.job and hash(again) == hash(mm)


def test_it_can_be_copied_and_pickled_after_a_run():
    mm = asc.nn.CubeMatmul("910B", 3, 4, 5, "half")
    a, b = operands(mm)
    out = mm(a, b)
    for again in (copy.deepcopy(mm), pickle.loads(pickle.dumps(mm))):
        assert again == mm
        np.testing.assert_array_equal(again(a, b), out)
    assert jax.tree.leaves(mm) == []
