"""Load3DV2: figures by hand, every restriction, the repeat register, joined moves."""

import itertools
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from refusals import check_refused

import ascjax as asc
from ascjax import FILL, KEEP, oracle
from ascjax.cli import main

pytestmark = pytest.mark.quick

A2 = {"product": "atlas_a2", "path": "A1->A2"}
TO_B = {"product": "atlas_a2", "path": "B1->B2"}
NEW = {"product": "atlas_350", "path": "A1->A2"}


def load(m, k, l1_h=4, l1_w=4, channel_size=16, **fields):
    known = {"l1_h": l1_h, "l1_w": l1_w, "channel_size": channel_size}
    return asc.LoadData3DParamsV2(m_extension=m, k_extension=k, **known, **fields)


def plain(rows, columns, **fields):
    """A 1x1 filter: an NZ matrix as it is."""
    return load(rows, columns, 1, rows, columns, **fields)


def once(dst_stride, **fields):
    return asc.LoadDataRepeatParam(dst_stride=dst_stride, **fields)


def index(params, dtype="half", src_size=1 << 13, **given):
    move = asc.Move.of(params, dtype=dtype, src_size=src_size, **{**A2, **given})
    return move.index_map.index


def refused(kind, text, params, dtype="half", src_size=1 << 13, **site):
    site = {**A2, **site}
    text = f"load3dv2: {text}"
    check_refused(
        kind, text, asc.Move.of, params, dtype=dtype, src_size=src_size, **site
    )


# --- figures by hand


def test_a_filter_two_wide_reads_a_place_and_its_left_neighbour():
    # one row of four places, one of padding on the left: columns are (left, own)
    params = load(4, 32, 1, 4, filter_w=2, pad_list=(1, 0, 0, 0))
    figure = index(params, dst_size=512).reshape(2, 16, 16)
    assert figure[:, :4, 0].tolist() == [[FILL, 0, 16, 32], [0, 16, 32, 48]]
    assert (figure[:, 4:] == KEEP).all()


def test_rows_of_places_step_by_the_stride_and_taps_by_the_dilation():
    # a 5 x 6 map, taps (0, 0), (0, 2), (3, 0), (3, 2), strides 1 down and 2 across
    params = load(
        4, 64, 5, 6, stride_w=2, filter_w=2, filter_h=2,
        dilation_filter_w=2, dilation_filter_h=3,
    )  # fmt: skip
    figure = index(params, dst_size=1024).reshape(4, 16, 16)[:, :4, 0].T // 16
    assert figure.tolist() == [
        [0, 2, 18, 20],
        [2, 4, 20, 22],
        [6, 8, 24, 26],
        [8, 10, 26, 28],
    ]


@pytest.mark.parametrize(
    ("dtype", "site", "turn", "fractal_of_column_20"),
    [
        # ZZ: the second column of fractals, of three in a row
        ("half", A2, False, 1),
        # transposed, W has 48 rows and 32 columns: column 20 is its row 20
        ("half", A2, True, 2),
        ("half", TO_B, False, 1),
        # 32 bits: blocks of 8 columns
        ("float", A2, False, 2),
        # squares of two fractals: row 20 of W in the second row of 2 * ceil(32 / 16)
        ("float", A2, True, 4),
        ("float", TO_B, True, 1),
    ],
)
def test_fractals_stand_as_the_destination_has_them(
    dtype, site, turn, fractal_of_column_20
):
    c0 = asc.ascend_type(dtype).c0
    made = index(plain(32, 48, en_transpose=turn), dtype, **site)
    # row 1, column 20 of an NZ matrix of 32 rows
    place = int(np.flatnonzero(made == (20 // c0 * 32 + 1) * c0 + 20 % c0)[0])
    turned = turn or site is TO_B
    inside = 4 * c0 + 1 if turned else c0 + 20 % c0
    assert place == fractal_of_column_20 * 16 * c0 + inside


def test_atlas_350_puts_columns_of_fractals_dst_stride_apart():
    for path in ("A1->A2", "B1->B2"):
        made = index(plain(16, 32, repeat=once(3)), **{**NEW, "path": path})
        written = np.flatnonzero(made.reshape(-1, 256)[:, 0] != KEEP)
        assert written.tolist() == ([0, 3] if path == "A1->A2" else [0, 1])
    wide = index(plain(32, 16, repeat=once(3)), **{**NEW, "path": "B1->B2"})
    assert np.flatnonzero(wide.reshape(-1, 256)[:, 0] != KEEP).tolist() == [0, 3]


def test_eight_bits_are_transposed_to_l0a_on_atlas_350():
    made = index(plain(32, 32, en_transpose=True, repeat=once(2)), "int8_t", **NEW)
    want = np.arange(1024).reshape(32, 32).T.ravel()
    np.testing.assert_array_equal(made, want)


# --- what is a NOP, and what is refused


@pytest.mark.parametrize(
    "field",
    ["l1_h", "l1_w", "channel_size", "k_extension", "m_extension", "filter_w"],
)
def test_a_count_of_zero_makes_a_nop(field):
    fields = {"l1_h": 4, "l1_w": 4, "channel_size": 16, "filter_w": 1}
    fields |= {"k_extension": 7, "m_extension": 5, "stride_w": 0}
    params = asc.LoadData3DParamsV2(**{**fields, field: 0})
    assert asc.Move.of(params, dtype="half", src_size=0, **A2).dst_size == 0
    dst = jnp.arange(5, dtype="float16")
    assert asc.load_data(dst, params, dst=dst, **A2).tolist() == dst.tolist()


def test_filter_size_stands_for_256():
    big = {"filter_size_w": True, "dilation_filter_w": 0}
    params = load(4, 16, 1, 4, k_start_pt=255 * 16, filter_w=0, **big)
    assert index(params)[::16].tolist() == [0, 16, 32, 48]


ROOM = "must have room for the filter, with the padding:"
WHOLE = "must be a multiple of"
BROKEN = {
    f"channel_size {WHOLE} C0, 16": (load(16, 16, 4, 4, 20), "half"),
    f"k_start_pt {WHOLE} C0, 32": (load(1, 1, 4, 4, 32, k_start_pt=16), "int8_t"),
    f"k_extension {WHOLE} 16 (columns), or": (load(16, 8, 4, 4, 32), "half"),
    f"k_extension {WHOLE} 8 (columns), or": (load(16, 4, 4, 4, 16), "float"),
    f"m_extension {WHOLE} 16 (rows), or": (load(8, 16, 8, 8), "half"),
    f"l1_h {ROOM} ho at least 1, got 4, ho 0": (load(16, 16, filter_h=5), "half"),
    f"l1_w {ROOM} wo at least 1, got 4, wo 0": (
        load(16, 16, filter_w=6, pad_list=(1, 0, 0, 0)),
        "half",
    ),
    "stride_h must be at least 1": (load(16, 16, stride_h=0), "half"),
    "en_transpose must be False for 8-bit": (
        load(16, 32, 4, 4, 32, en_transpose=True),
        "int8_t",
    ),
    "pad_value must be an integer in [-128, 127]": (
        load(16, 32, 4, 4, 32, pad_value=200),
        "int8_t",
    ),
}


@pytest.mark.parametrize("text", BROKEN)
def test_a_broken_restriction_is_named(text):
    refused(asc.ParamError, text, *BROKEN[text])


@pytest.mark.parametrize(
    ("field", "most", "params"),
    [
        ("m_extension", 16, load(32, 16)),
        ("m_extension", 8, load(16, 16, m_start_pt=8)),
        ("k_extension", 0, load(16, 16, k_start_pt=16)),
    ],
)
def test_a_window_past_the_matrix_is_refused(field, most, params):
    text = f"{field} must end inside the im2col matrix, at most {most} "
    refused(asc.BoundsError, text, params)


def test_a_window_may_end_anywhere_in_the_last_fractal():
    for m, k in itertools.product((1, 7, 16), (1, 5, 16)):
        written = index(load(m, k))
        assert (written != KEEP).sum() == m * k
    assert (
        index(load(9, 16, 8, 8, 16), "float") != KEEP
    ).any()  # rows: any for 32 bits


@pytest.mark.parametrize("missing", ["product", "path"])
def test_product_and_path_must_be_given(missing):
    site = {missing: None}
    refused(asc.ParamError, f"{missing} must be given", load(16, 16), **site)
    refused(asc.ParamError, f"{missing} must be given", load(0, 16), **site)
    with pytest.raises(asc.ParamError, match="must be given"):
        load(16, 16).explain("half")
    fields = {**load(16, 16).to_fields()}
    ids = np.arange(256)
    with pytest.raises(asc.ParamError, match=f"{missing} must be given"):
        oracle.run("load3dv2", fields, 16, ids, ids, **{**A2, **site})


def test_only_what_the_window_reads_must_be_there():
    params = load(16, 16, 4, 4, 32, k_start_pt=16)
    assert index(params, src_size=512).max() == 511
    refused(asc.BoundsError, "src must hold elements [0, 512)", params, src_size=511)
    assert index(load(16, 16, 4, 4, 32), src_size=256).max() == 255


# --- the repeat register


def test_the_repeat_register():
    refused(asc.ParamError, "repeat must give the distance", plain(16, 16), **NEW)
    twice = plain(16, 16, repeat=once(1, repeat_time=2))
    refused(asc.SupportError, "repeat.repeat_time must be 1, got 2", twice, **NEW)
    refused(
        asc.SupportError,
        "repeat.dst_stride must be 0 on",
        plain(16, 16, repeat=once(1)),
    )
    assert (index(plain(16, 16, repeat=once(0, repeat_stride=9))) != KEEP).all()
    close = plain(32, 32, repeat=once(1))
    refused(asc.OverlapError, "dst must be written at most once", close, **NEW)
    assert index(close, overlap="last", **NEW)[256] == 256  # row 16, the later
    text = r"repeat.dst_stride must be in \[0, 65535\]"
    with pytest.raises(asc.ParamError, match=text):
        once(65536)
    with pytest.raises(asc.ParamError, match="repeat must be made with LoadDataRep"):
        plain(16, 16, repeat=3)


def test_the_register_stands_in_fields_as_repeat():
    params = plain(16, 16, repeat=once(7, repeat_mode=1))
    fields = json.loads(json.dumps(params.to_fields()))
    repeat = {"repeatStride": 0, "repeatTime": 1, "repeatMode": 1, "dstStride": 7}
    assert fields["repeat"] == repeat and fields["padList"] == [0, 0, 0, 0]
    assert type(params).from_fields(fields) == params
    assert asc.Params.from_dict(params.to_dict()) == params
    assert "repeat" not in plain(16, 16).to_fields()
    with pytest.raises(asc.ParamError, match="repeat must be among repeatStride"):
        type(params).from_fields({"repeat": {"dstGap": 1}})


@pytest.mark.parametrize("value", [(1, 2, 3), 5, "1234", None, (0, 0, 0, 256)])
def test_pad_list_is_four_integers(value):
    with pytest.raises(asc.ParamError, match=r"pad_list(\[3\])? must be"):
        asc.LoadData3DParamsV2(pad_list=value)
    assert asc.LoadData3DParamsV2(pad_list=[1, 2, 3, 4]).pad_list == (1, 2, 3, 4)


def test_absent_fields_mean_one_to_engine_and_oracle():
    fields = {"l1H": 4, "l1W": 4, "channelSize": 16, "kExtension": 16, "mExtension": 16}
    made = index(asc.LoadData3DParamsV2.from_fields(fields), src_size=256)
    ids = np.arange(256)
    want = oracle.run("load3dv2", fields, 16, ids, np.full(256, KEEP), **A2)
    np.testing.assert_array_equal(made, want)


# --- joined, differentiated, packed


def test_a_plain_matrix_is_a_nest_and_composes():
    to_l0 = asc.Move.of(plain(64, 48), dtype="half", src_size=64 * 48, **A2)
    assert to_l0.nest is not None
    back = asc.LoadData2DParams(repeat_times=12, src_stride=1)
    then = asc.Move.of(back, dtype="half", src_size=64 * 48)
    road = asc.chain([to_l0, then])
    assert road.nest is not None
    assert road.index_map == to_l0.index_map


def test_a_filter_chains_and_joins_by_maps():
    params = load(16, 64, filter_w=2, filter_h=2, pad_list=(1, 0, 1, 0), pad_value=1.5)
    move = asc.Move.of(params, dtype="half", src_size=256, **A2)
    first = asc.Move.of(asc.LoadData2DParams(0, 1), dtype="half", src_size=256)
    src = jnp.arange(256, dtype="float16")
    alone = asc.run_move(move, src)
    assert (asc.chain([first, move])(src) == alone).all() and (alone == 1.5).any()
    both = asc.sequence([(params, 0, 0), (params, 0, 1024)], **A2)
    assert (both(src) == jnp.concatenate([alone, alone])).all()
    batch = jnp.stack([src, 2 * src])
    assert (jax.vmap(both)(batch) == both(batch)).all()


def test_the_gradient_counts_how_often_an_element_is_read():
    params = load(16, 16 * 9, filter_w=3, filter_h=3, pad_list=(1, 1, 1, 1))
    run = jax.jit(lambda x: asc.load_data(x, params, **A2).sum())
    # inside a 4 x 4 map all nine taps read an element, at an edge six, in a corner four
    found = jax.grad(run)(jnp.ones(256, "float32").astype("float16"))
    edge = np.array([2, 3, 3, 2])
    assert found.reshape(4, 4, 16)[..., 0].tolist() == np.outer(edge, edge).tolist()


@pytest.mark.parametrize("filter_w", [1, 2])
def test_packed_bytes_move_as_their_nibbles_do(filter_w):
    fields = {"filter_w": filter_w, "pad_list": (filter_w - 1, 0, 0, 0), "pad_value": 5}
    params = load(16, 64 * filter_w, 4, 4, 64, **fields)
    rng = np.random.default_rng(3)
    packed = jnp.asarray(rng.integers(0, 256, 512), "uint8")
    nibbles = jnp.stack([packed & 15, packed >> 4], -1).reshape(-1)
    want = asc.load_data(nibbles.astype("int4"), params, dtype="int4b_t", **A2)
    got = asc.load_data(packed, params, dtype="int4b_t", **A2)
    pairs = np.asarray(want).astype("int8").astype("uint8").reshape(-1, 2) & 15
    np.testing.assert_array_equal(got, pairs[:, 0] | pairs[:, 1] << 4)


def test_show_tells_formula_loops_and_padding(capsys):
    words = "show load3dv2 --l1-h 1 --l1-w 4 --channel-size 16 --filter-w 2 --pad-list"
    words += " 1,0,0,0 --m-extension 4 --k-extension 32 --product 910B --path A1->A2"
    assert main([*words.split(), "--why", "0"]) == 0
    out = capsys.readouterr().out
    assert "h, w = y, x + (f%2) - 1" in out.replace("y + (f//2)", "y")
    assert "as padding" in out and "r = 0, b = 0, e = 0" in out and "by a table" in out
    assert main(["show", "load3dv2", "--help"]) == 0
    out = capsys.readouterr().out
    assert "--repeat-dst-stride" in out and "--pad-list" in out


@pytest.mark.parametrize("width", [1, 2, 3, 5])
def test_what_leads_beyond_a_buffer_is_told_though_half_a_map_has_no_place(width):
    """A map of half the width has no room for the filter: no warning, no division."""
    shape = {"l1_h": 2, "l1_w": width + 1, "filter_w": width, "channel_size": 16}
    params = asc.LoadData3DParamsV2(**shape, k_extension=16, m_extension=1)
    with pytest.raises(asc.BoundsError, match="src must hold elements"):
        asc.Move.of(params, src_size=4, dtype="half", product="910B", path="A1->A2")
