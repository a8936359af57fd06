"""ND2NZ, DataCopy and DataCopyPad: figures made by hand, and what is refused.

Numbers of elements in a source that counts up; `.` is kept, `#` is padding.
"""

import re

import jax.numpy as jnp
import numpy as np
import pytest

import ascjax as asc
from ascjax import oracle
from ascjax.cli import main

KEEP, FILL = -1, -2


def runs(size, *rows):
    """A map of (destination, source or code, count) rows; the rest is kept."""
    index = np.full(size, KEEP)
    for dst, src, count in rows:
        index[dst : dst + count] = src if src < 0 else np.arange(src, src + count)
    return index


def pad(*args):
    return asc.DataCopyPadExtParams(*args)


# {name: (params, type, path, source size, the map)}
FIGURES = {
    # 2 matrices of 3 rows and 10 columns, rows 12 apart, matrices 40; blocks of 8
    "nd2nz": (
        asc.Nd2NzParams(2, 3, 10, 40, 12, 4, 1, 64),
        "float",
        "GM->A1",
        74,
        runs(
            64 + 56,
            *((64 * m + 8 * r, 40 * m + 12 * r, 8) for m in range(2) for r in range(3)),
            *(
                (64 * m + 32 + 8 * r, 40 * m + 12 * r + 8, 2)
                for m in range(2)
                for r in range(3)
            ),
            *((64 * m + 34 + 8 * r, FILL, 6) for m in range(2) for r in range(3)),
        ),
    ),
    # Rows two blocks apart, so that a second matrix would fit between
    "nd2nz rows apart": (
        asc.Nd2NzParams(1, 2, 16, 0, 16, 9, 2, 0),
        "half",
        "GM->B1",
        32,
        runs(48, (0, 0, 16), (32, 16, 16)),
    ),
    # 2 runs of 2 blocks of 8; a block skipped in the source, three in the destination
    "data_copy": (
        asc.DataCopyParams(2, 2, 1, 3),
        "float",
        "VECOUT->GM",
        40,
        runs(56, (0, 0, 16), (40, 24, 16)),
    ),
    "data_copy 4 bits": (
        asc.DataCopyParams(2, 1, 0, 1),
        "int4b_t",
        "GM->A1",
        128,
        runs(192, (0, 0, 64), (128, 64, 64)),
    ),
    # Runs of 5 floats, 3 apart; in UB 1 + 5 + 1 in a block, and a block between
    "pad both sides": (
        asc.DataCopyExtParams(2, 20, 12, 1, pad_params=pad(True, 1, 1, 3)),
        "float",
        "GM->VECIN",
        13,
        runs(
            23,
            (0, FILL, 1), (1, 0, 5), (6, FILL, 1),
            (16, FILL, 1), (17, 8, 5), (22, FILL, 1),
        ),
    ),
    # 5 + 4 do not fit one block: each run takes two
    "pad over a block's end": (
        asc.DataCopyExtParams(2, 20, 0, 0, pad_params=pad(True, 0, 4, 3)),
        "float",
        "GM->VECIN",
        10,
        runs(25, (0, 0, 5), (5, FILL, 4), (16, 5, 5), (21, FILL, 4)),
    ),
    "not padded": (
        asc.DataCopyExtParams(2, 20, 0, 0, pad_params=pad(False, 3, 3, 3)),
        "float",
        "GM->VECIN",
        10,
        runs(13, (0, 0, 5), (8, 5, 5)),
    ),
    # From UB: each run from a block of its own, one block skipped; 2 floats apart in GM
    "out": (
        asc.DataCopyExtParams(2, 36, 1, 8),
        "float",
        "VECOUT->GM",
        33,
        runs(20, (0, 0, 9), (11, 24, 9)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_made_by_hand(name):
    params, dtype, path, src_size, want = FIGURES[name]
    where = {"product": asc.ATLAS_A2, "path": path, "dtype": dtype}
    move = asc.Move.of(params, src_size=src_size, **where)
    np.testing.assert_array_equal(move.index_map.index, want)
    by_oracle = oracle.run(
        params.instruction,
        params.to_fields(),
        move.type.bits,
        np.arange(src_size),
        np.full(want.size, KEEP),
        pad=FILL,
    )
    np.testing.assert_array_equal(by_oracle, want)
    with pytest.raises(asc.BoundsError, match=r"src must hold elements \[0, "):
        asc.Move.of(params, src_size=src_size - 1, **where)


def test_a_figure_goes_red():
    params, dtype, _, _, want = FIGURES["pad both sides"]
    other = asc.DataCopyExtParams(2, 20, 12, 2, pad_params=params.pad_params)
    for wrong in (other, asc.DataCopyExtParams(2, 20, 1, 12)):
        move = asc.Move.of(wrong, dtype=dtype, src_size=64)
        assert not np.array_equal(move.index_map.index, want)


def test_padding_has_its_value_and_the_tail_is_zero():
    params = FIGURES["pad both sides"][0]
    out = asc.data_copy_pad(jnp.arange(13.0), params, path="GM->UB", product="910B")
    assert out[:8].tolist() == [3, 0, 1, 2, 3, 4, 3, 0]
    rows = asc.Nd2NzParams(1, 1, 3, 0, 0, 0, 0, 0)
    out = asc.data_copy(-jnp.ones(3), rows, dst=jnp.ones(9))
    assert out.tolist() == [-1, -1, -1, 0, 0, 0, 0, 0, 1]


NOPS = [
    asc.Nd2NzParams(0, 3, 3, 9, 9, 9, 9, 9),
    asc.Nd2NzParams(3, 0, 3, 9, 0, 9, 0, 9),
    asc.Nd2NzParams(3, 3, 0, 9, 9, 0, 9, 9),
    asc.DataCopyParams(0, 9),
    asc.DataCopyParams(9, 0, 9, 9),
    asc.DataCopyExtParams(0, 40),
    asc.DataCopyExtParams(9, 0, pad_params=pad(True, 1, 1)),
]


@pytest.mark.parametrize("params", NOPS, ids=repr)
def test_a_count_of_zero_moves_nothing(params):
    dst = jnp.arange(5.0)
    out = getattr(asc, params.op)(jnp.zeros(0), params, dst=dst)
    assert out.tolist() == dst.tolist()
    assert not list(oracle.INSTRUCTIONS[params.instruction](params.to_fields(), 32))


def test_a_stride_that_only_meets_index_0_may_be_0():
    one = asc.Nd2NzParams(1, 1, 8, 0, 0, 0, 0, 0)
    assert asc.data_copy(jnp.arange(8.0), one).tolist() == list(range(8))
    for field, at in (("src_d_value", 4), ("dst_nz_n_stride", 6)):
        values = [1, 2, 9, 0, 9, 4, 1, 0]
        values[at] = 0
        with pytest.raises(asc.ParamError, match=rf"{field} must be in \[1, "):
            asc.Nd2NzParams(*values)
    wide = asc.Nd2NzParams(1, 1, 9, 0, 0, 0, 0, 0)
    text = (
        "dst_nz_c0_stride must be in [1, 16384] (blocks of 32 bytes, start to start) "
    )
    text += "where d_value is more than C0, 8, got 0"
    with pytest.raises(asc.ParamError, match=re.escape(text)):
        asc.data_copy(jnp.zeros(9), wide)
    assert asc.data_copy(jnp.zeros(9, "float16"), wide).shape == (16,)


def test_matrices_that_overlap_are_refused():
    over = asc.Nd2NzParams(2, 2, 8, 16, 8, 2, 1, 8)
    with pytest.raises(
        asc.OverlapError, match="nd2nz: dst must be written at most once"
    ):
        asc.data_copy(jnp.zeros(32), over)
    later = asc.data_copy(jnp.arange(32.0), over, overlap="last")
    assert later[8:16].tolist() == list(range(16, 24)), "the second matrix's first row"


ONE = asc.DataCopyExtParams
REFUSED = {
    "half an element": (ONE(1, 21), "float", None, "block_len must be a multiple of 4"),
    "half a gap in": (
        ONE(1, 20, 6, 0, pad_params=pad()), "float", None,
        "src_stride must be a multiple of 4 (bytes), the size of float",
    ),
    "half a gap out": (
        ONE(1, 20, 0, 6), "float", None, "dst_stride must be a multiple of 4",
    ),
    "too wide": (
        ONE(1, 20, pad_params=pad(True, 9)), "float", None,
        "pad_params.left_padding must be at most 8 (elements of float), 32 bytes",
    ),
    "a value": (
        ONE(1, 20, pad_params=pad(True, 1, 0, 300)), "int8_t", None,
        "pad_params.padding_value must be an integer in [-128, 127] for int8_t",
    ),
    "64 bits": (
        ONE(1, 24, pad_params=pad(True, 1, 0, 1)), "int64_t", None,
        "pad_params.padding_value must be 0 for 64-bit types",
    ),
    "4 bits": (ONE(1, 20), "int4b_t", None, "dtype must be 8, 16, 32, 64 bits wide"),
    "padding on the way out": (
        ONE(1, 20, pad_params=pad()), "float", "UB->GM",
        "pad_params must be None from UB to GM",
    ),
    "none on the way in": (
        ONE(1, 20), "float", "GM->UB", "pad_params must be given from GM to UB",
    ),
    "a path": (ONE(1, 20), "float", "GM->A1", "path must be one of GM->VECIN"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_data_copy_pad_refuses(name):
    params, dtype, path, text = REFUSED[name]
    with pytest.raises(asc.AscendError, match=re.escape(f"data_copy_pad: {text}")):
        asc.Move.of(params, dtype=dtype, path=path, src_size=99)


@pytest.mark.parametrize(
    "make, text",
    [
        (lambda: pad(2), "pad_params.is_pad must be in [0, 1]"),
        (
            lambda: pad(True, 33),
            "pad_params.left_padding must be in [0, 32] (elements, at most 32 bytes)",
        ),
        (lambda: pad(True, 0, -1), "pad_params.right_padding must be in [0, 32]"),
        (lambda: pad(True, 0, 0, "x"), "pad_params.padding_value must be a number"),
        (lambda: ONE(4096), "block_count must be in [0, 4095] (runs)"),
        (lambda: ONE(1, 2097152), "block_len must be in [0, 2097151] (bytes)"),
        (
            lambda: ONE(1, 1, pad_params=3),
            "pad_params must be made with DataCopyPadExtParams",
        ),
        (
            lambda: ONE.from_fields({"padParams": {"isPadded": 1}}),
            "pad_params must be among isPad, leftPadding, rightPadding, paddingValue",
        ),
    ],
)
def test_fields_of_data_copy_pad_are_checked_when_they_are_made(make, text):
    with pytest.raises(asc.ParamError, match=re.escape(f"data_copy_pad: {text}")):
        make()


def test_absent_fields_mean_the_same_to_engine_and_oracle():
    fields = {"blockLen": 1}
    assert asc.DataCopyParams.from_fields(fields) == asc.DataCopyParams(1, 1)
    src, dst = np.arange(8), np.full(8, KEEP)
    assert oracle.run("data_copy", fields, 32, src, dst).tolist() == list(range(8))


def test_show_prints_them(capsys):
    words = "--n-value 2 --d-value 35 --nd-num 1 --src-d-value 40 --dst-nz-c0-stride 2"
    words += " --dst-nz-n-stride 1 --dtype int4b_t --why 99"
    assert main(["show", "nd2nz", *words.split()]) == 0
    out = capsys.readouterr().out
    assert "nd2nz on int4b_t pairs" in out and "as padding, bits 0x0" in out
    words = "--block-len 20 --pad-params-is-pad true --pad-params-left-padding 2"
    assert main(["show", "DataCopyPad", *words.split(), "--dtype", "float"]) == 0
    assert "0 <= x - 2 < 5 else padding" in capsys.readouterr().out
    assert main(["show", "data_copy_pad", "--help"]) == 0
    assert "--pad-params-padding-value" in capsys.readouterr().out
