"""Costs are the published figures, put together as they are said to be."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ascjax as asc
from ascjax.cost._rates import rows_of

GIB = 2**30 / 1.85e9  # bytes a cycle of one GiB/s at 1.85 GHz


def speed(params, product, path, dtype="half", size=1 << 16):
    move = asc.Move.of(params, src_size=size, product=product, path=path, dtype=dtype)
    (part,) = asc.cost.of(move).parts
    assert part.cycles == pytest.approx(part.bytes / part.bytes_per_cycle)
    return part.bytes_per_cycle, part.source


LOAD = asc.LoadData2DParams(0, 4, 1)
WINDOW = asc.LoadData2DParamsV2(0, 0, 2, 2, 2, 2)
SQUARE = asc.LoadData2dTransposeParams(0, 2, 1)


@pytest.mark.parametrize(
    "params, product, path, dtype, published",
    [
        (LOAD, "910B", "L1->L0A", "half", (256, "V")),
        (LOAD, "910B", "L1->L0B", "half", (128, "V")),
        (LOAD, "atlas_a3", "L1->L0B", "half", (128, "V")),
        (LOAD, "atlas_350", "L1->L0B", "half", (256, "V")),
        (WINDOW, "atlas_350", "L1->L0A", "half", (256, "V")),
        (WINDOW, "atlas_350", "L1->L0B", "half", (256, "V")),
        (SQUARE, "910B", "A1->A2", "half", (256, "V")),
        (SQUARE, "910B", "B1->B2", "half", (128, "V")),
        (SQUARE, "atlas_350", "B1->B2", "half", (128, "V")),
        (
            asc.LoadData2dTransposeParamsV2(0, 2, 1),
            "atlas_350",
            "B1->B2",
            "half",
            (128, "V"),
        ),
        (asc.Nd2NzParams(1, 16, 16, 0, 16, 16, 1, 0), "910B", "GM->A1", "half",
         (135.0 * GIB, "P")),
        (asc.DataCopyParams(1, 4, 0, 0), "910B", "GM->VECIN", "half",
         (100.9 * GIB, "P")),
        (asc.DataCopyParams(1, 4, 0, 0), "910B", "VECOUT->GM", "half",
         (188.5 * GIB, "P")),
        (asc.FixpipeParams(16, 16, 16, 16), "910B", "CO1->GM", "float",
         (70.0 * GIB, "P")),
    ],
)  # fmt: skip
def test_each_way_has_the_figure_that_is_published_of_it(
    params, product, path, dtype, published
):
    value, source = speed(params, product, path, dtype)
    assert (value, source) == (pytest.approx(published[0]), published[1])


def conv(**fields):
    usual = {"pad_list": (0, 0, 0, 0), "l1_h": 40, "l1_w": 40, "channel_size": 16}
    return asc.LoadData3DParamsV2(
        **{**usual, "k_extension": 16, "m_extension": 16, **fields}
    )


@pytest.mark.parametrize(
    "width, stride, rows, l0a, l0b, l0b_350",
    [
        (16, 1, 1, 256, 128, 256),
        (8, 1, 2, 512 / 4, 512 / 6, 512 / 4),
        (1, 1, 16, 32, 512 / 18, 32),
        (31, 2, 1, 512 / 4, 512 / 6, 512 / 4),
        (15, 2, 2, 512 / 6, 512 / 8, 512 / 6),
        (61, 4, 1, 512 / 8, 512 / 10, 512 / 8),
        (121, 8, 1, 32, 512 / 18, 32),
        (46, 3, 1, 32, 512 / 18, 32),
    ],
)
def test_im2col_is_slower_by_rows_and_strides(width, stride, rows, l0a, l0b, l0b_350):
    p = conv(l1_w=width, stride_w=stride)
    assert rows_of(p) == rows
    for path, product, published in (
        ("L1->L0A", "910B", l0a),
        ("L1->L0B", "910B", l0b),
        ("L1->L0B", "atlas_350", l0b_350),
    ):
        given = p
        if product == "atlas_350":
            repeat = asc.LoadDataRepeatParam(dst_stride=1)
            given = conv(l1_w=width, stride_w=stride, repeat=repeat)
        assert speed(given, product, path)[0] == pytest.approx(published)


@pytest.mark.parametrize(
    "dtype, product, hf32, cycles",
    [
        ("int4b_t", "910B", False, 8 * 8 * 2),
        ("int8_t", "910B", False, 8 * 8 * 4),
        ("half", "910B", False, 8 * 8 * 8),
        ("bfloat16_t", "atlas_350", False, 8 * 8 * 8),
        ("float", "910B", False, 8 * 8 * 32),
        ("float", "atlas_350", False, 8 * 8 * 128),
        ("float", "atlas_350", True, 8 * 8 * 16),
    ],
)
def test_mmad_is_blocks_of_16_by_16_and_of_the_cube_s_depth(
    dtype, product, hf32, cycles
):
    how = {"dtype": dtype, "product": product, "hf32": hf32}
    assert asc.cost.mmad(128, 128, 128, **how) == cycles
    assert asc.cost.mmad(127, 113, 128, **how, head=7) == cycles + 7


def test_padding_is_multiplied_too():
    how = {"dtype": "half", "product": "910B"}
    assert asc.cost.mmad(1, 1, 1, **how) == asc.cost.mmad(16, 16, 16, **how) == 1
    assert asc.cost.mmad(17, 1, 1, **how) == 2


def test_overhead_is_of_each_call():
    road = asc.nn.Pipeline(
        [(asc.LoadData2DParams(0, 4, 1), "GM->A1"), (LOAD, "A1->A2")],
        product="910B",
        dtype="half",
    )
    plain, more = asc.cost.of(road), asc.cost.of(road, overhead=10)
    assert more.cycles == plain.cycles + 20
    move = asc.Move.sequence(
        (asc.Call(LOAD, 0, 0), asc.Call(LOAD, 0, 1024)),
        src_size=1024, product="910B", path="L1->L0A", dtype="half",
    )  # fmt: skip
    (part,) = asc.cost.of(move, overhead=10).parts
    assert (part.calls, part.bytes, part.cycles) == (2, 4096, 36.0)


def test_padding_is_told():
    p = asc.Nd2NzParams(1, 5, 20, 0, 20, 16, 1, 0)
    move = asc.Move.of(p, src_size=100, product="910B", path="GM->A1", dtype="half")
    cost = asc.cost.of(move)
    assert (cost.parts[0].bytes, cost.parts[0].padding) == (5 * 32 * 2, 5 * 12 * 2)
    assert cost.waste == 12 / 32


SIZES = [(128, 128, 128), (40, 50, 70), (96, 80, 33)]
TILES = [(16, 16, 16), (32, 48, 16), (64, 16, 64), (48, 48, 40), (128, 128, 128)]


@pytest.mark.parametrize("product", ["910B", "atlas_350"])
def test_a_tiling_costs_what_the_product_made_so_costs(product):
    for (m, n, k), tile in itertools.product(SIZES, TILES):
        made = asc.nn.CubeMatmul(product, m, n, k, "half", False, True, tile)
        cost = asc.cost.of(made, overhead=3, unpublished="leave out")
        tiling = asc.cost.matmul(
            m, n, k, *tile, dtype="half", product=product, overhead=3
        )
        by = {part.step.split()[-1]: part for part in cost.parts}
        for name, step in (
            ("gm_to_l1", "L1"),
            ("l1_to_l0a", "L0A"),
            ("l1_to_l0b", "L0B"),
            ("mmad", "mmad"),
            ("l0c_to_gm", "GM"),
        ):
            got, want = getattr(tiling, name), by[step].cycles
            if want is None:
                assert np.isnan(got)
            else:
                assert got == pytest.approx(want, rel=1e-12), (name, m, n, k, tile)
        assert tiling.total == pytest.approx(cost.cycles, rel=1e-12)
        assert tiling.longest == pytest.approx(cost.longest, rel=1e-12)
        assert tiling.calls == sum(part.calls for part in cost.parts)
        uses = {use.buffer.lower(): use.bytes for use in asc.cost.capacity(made)}
        held = {name: getattr(tiling, name) for name in uses}
        assert held == uses


def test_a_sweep_of_traced_tiles_is_the_loop_over_them():
    how = {"dtype": "int8_t", "product": "910B", "overhead": 5.0}
    tiles = np.array([*itertools.product((16, 40, 128), (32, 64), (32, 256))])

    def cost(tile):
        return asc.cost.matmul(500, 300, 700, *tile, **how)

    swept = jax.jit(jax.vmap(cost))(jnp.asarray(tiles))
    for k, tile in enumerate(tiles.tolist()):
        for name, value in zip(swept._fields, cost(tile), strict=True):
            got = getattr(swept, name)[k]
            np.testing.assert_allclose(got, value, rtol=1e-5, err_msg=name)


def test_a_traced_sweep_does_not_overflow():
    how = {"dtype": "half", "product": "910B"}
    n, tile = 1 << 15, 16
    swept = asc.cost.matmul(n, n, n, *[jnp.asarray(tile)] * 3, **how)
    exact = asc.cost.matmul(n, n, n, tile, tile, tile, **how)
    np.testing.assert_allclose(swept.total, exact.total, rtol=1e-5)
    np.testing.assert_allclose(swept.calls, exact.calls, rtol=1e-5)


def test_no_figure_of_a_traced_sweep_overflows():
    how = {"dtype": "half", "product": "910B"}
    for tile, l1 in (((64, 64, 64), 8192), ((32768, 32768, 64), 32768)):

        def cost(side, tile=tile):
            big = (side, side, side)
            return asc.cost.matmul(*[32768] * 3, *tile, l1_tile=big, **how)

        exact, traced = cost(l1), jax.jit(cost)(jnp.int32(l1))
        for name, value in exact._asdict().items():
            np.testing.assert_allclose(getattr(traced, name), value, rtol=1e-5)
        assert not exact.fits and not traced.fits


def test_what_one_mmad_cannot_take_does_not_fit():
    for dtype, k in (("int8_t", 4096), ("int4b_t", 8192), ("half", 2048)):
        tile = (16, 16, k)
        cost = asc.cost.matmul(*tile, *tile, dtype=dtype, product="910B")
        try:
            asc.nn.CubeMatmul("910B", *tile, dtype, False, True, tile)
        except asc.BoundsError:
            assert not cost.fits
        else:
            assert cost.fits
    assert k == 2048 and cost.fits


def test_a_tile_of_l1_saves_reads_of_memory():
    how = {"dtype": "half", "product": "910B"}
    plain = asc.cost.matmul(512, 512, 512, 64, 64, 64, **how)
    kept = asc.cost.matmul(512, 512, 512, 64, 64, 64, l1_tile=(256, 256, 64), **how)
    assert kept.gm_to_l1 == pytest.approx(plain.gm_to_l1 / 4)
    assert kept.l1_to_l0a == plain.l1_to_l0a
    assert (plain.l1, kept.l1) == (2 * 64 * 64 * 2, 2 * 256 * 64 * 2)


def test_fits_is_what_the_module_takes():
    how = {"dtype": "half", "product": "910B"}
    for tile in ((128, 256, 64), (128, 256, 256), (256, 256, 64), (256, 128, 128)):
        m, n, k = tile
        fits = asc.cost.matmul(m, n, k, *tile, **how).fits
        try:
            asc.nn.CubeMatmul("910B", m, n, k, "half", False, True, tile)
        except asc.BoundsError:
            assert not fits, tile
        else:
            assert fits, tile
    double = {"buffers": 2, **how}
    assert asc.cost.matmul(128, 128, 128, 128, 128, 128, **double).fits
    assert not asc.cost.matmul(128, 128, 256, 128, 128, 256, **double).fits


def test_a_pipeline_s_buffers_and_their_room():
    road = asc.nn.Pipeline([(LOAD, "A1->A2")], product="910B", dtype="half")
    uses = asc.cost.capacity(road)
    assert [(u.buffer, u.bytes, u.room) for u in uses] == [
        ("L1", 2048, 512 * 1024),
        ("L0A", 2048, 64 * 1024),
    ]
    assert uses[1].share == 2048 / 65536 and uses[1].fits


def test_bank_groups_follow_the_bits_of_the_address():
    banks = asc.cost.bank_groups(range(0, 1 << 19), product="910B")
    assert (banks.rows == 1024).all() and banks.evenness == 1
    one = asc.cost.bank_groups(range(32, 64), product="910B")
    assert one.rows.sum() == one.rows[1, 0] == 1
    high = asc.cost.bank_groups(range(0, 32), product="910B", start=1 << 18)
    assert high.rows[0, 1] == high.rows.sum() == 1


def test_a_move_touches_the_rows_that_it_reads():
    every = asc.LoadData2DParams(0, 4, 2)
    move = asc.Move.of(
        every, src_size=4096, product="910B", path="L1->L0A", dtype="half"
    )
    banks = asc.cost.bank_groups(move)
    assert banks.rows.sum() == 4 * 16 and banks.groups == 8
    column = asc.DataCopyParams(16, 1, 0, 7)  # one block of 32 bytes in eight
    move = asc.Move.of(
        column, src_size=16 * 128, product="910B", path="GM->A1", dtype="half"
    )
    banks = asc.cost.bank_groups(move)
    assert (banks.groups, banks.evenness) == (1, 1 / 8)


ROAD = asc.nn.Pipeline([(LOAD, "A1->A2")], product="910B", dtype="half")


@pytest.mark.parametrize(
    "wrong, text",
    [
        (lambda: asc.cost.of(LOAD), "what must be a Move, a Pipeline or a CubeMatmul"),
        (
            lambda: asc.cost.of(asc.Move.of(LOAD, src_size=1024, dtype="half")),
            "must have a product and a path, got none",
        ),
        (
            lambda: speed(LOAD, "910", "L1->L0A"),
            "product must be one whose figures are published, got atlas_training",
        ),
        (
            lambda: speed(asc.DataCopyParams(1, 4), "atlas_350", "GM->VECIN"),
            "no figure for data_copy from GM to UB on atlas_350",
        ),
        (
            lambda: asc.cost.mmad(1, 1, 1, dtype="half", product="910"),
            "NPU_ARCH 2201 or 3510",
        ),
        (
            lambda: asc.cost.mmad(1, 1, 1, dtype="half", product="910B", hf32=True),
            "hf32 must be False",
        ),
        (
            lambda: asc.cost.mmad(1, 1, 1, dtype="double", product="910B"),
            "dtype must be 4 to 32 bits wide",
        ),
        (lambda: asc.cost.capacity(LOAD), "what must be a Pipeline or a CubeMatmul"),
        (lambda: asc.cost.bank_groups(range(4)), "product must be given"),
        (
            lambda: asc.cost.bank_groups(range(4), product="910"),
            "must have 512 KiB of L1, got atlas_training, 1024 KiB",
        ),
        (
            lambda: asc.cost.bank_groups(range(4), product="910B", start=1 << 19),
            "must be bytes of L1",
        ),
        (lambda: asc.cost.of(LOAD, unpublished="x"), "'refuse' or 'leave out'"),
        (
            lambda: asc.cost.matmul(9, 9, 9, 0, 9, 9, dtype="half", product="910B"),
            "tile_m must be at least 1",
        ),
        *(
            (lambda x=x: asc.cost.of(ROAD, overhead=x), "overhead must be a number")
            for x in (-1, float("nan"), float("inf"), "x")
        ),
        (
            lambda: asc.cost.matmul(
                9, 9, 9, 9, 9, 9, dtype="half", product="910B", overhead=-1
            ),
            "overhead must be a number of cycles, at least 0, got -1",
        ),
    ],
)
def test_what_has_no_figure_is_refused(wrong, text):
    with pytest.raises(asc.AscendError, match=text.replace("(", r"\(")):
        wrong()


@pytest.mark.parametrize("field", ["l1_h", "filter_w", "stride_w", "m_extension"])
def test_a_nop_of_im2col_costs_nothing_but_its_call(field):
    fields = {"l1_h": 4, "l1_w": 8, "channel_size": 16, "k_extension": 16}
    fields |= {"filter_w": 1, "filter_h": 1, "m_extension": 16, field: 0}
    if field == "stride_w":
        fields["l1_h"] = 0
    nop = asc.LoadData3DParamsV2(**fields)
    move = asc.Move.of(
        nop, src_size=512, product="atlas_a2", path="A1->A2", dtype="half"
    )
    assert not move.nests[0].volume
    cost = asc.cost.of(move, overhead=7)
    assert (cost.cycles, cost.bytes) == (7.0, 0)
