"""Three statements of each instruction agree: the engine's map, the oracle's, and the
golden one, which comes from a reference outside this project."""

import numpy as np
import pytest
from goldens import (
    CASES,
    FILL,
    INVALID,
    KEEP,
    SETS,
    SITES,
    golden_maps,
    move_of,
    oracle_map,
)

import ascjax as asc


def check_maps(case, golden):
    np.testing.assert_array_equal(move_of(case).index_map.index, golden)
    np.testing.assert_array_equal(oracle_map(case), golden)


@pytest.mark.parametrize("name", CASES)
def test_engine_oracle_and_golden_agree(name):
    check_maps(CASES[name], golden_maps()[name])


@pytest.mark.parametrize("name", SITES)
def test_call_sites_of_real_kernels_agree(name):
    check_maps(SITES[name], golden_maps()[name])


def test_no_case_is_lost():
    assert len(CASES) == 8 * 48
    counts = {
        name: [c["instruction"] for c in SITES.values()].count(name) for name in SETS
    }
    assert counts == {
        "load2d": 9,
        "load2dv2": 8,
        "load3dv2": 8,
        "ldwt_v1": 8,
        "ldwt_v2": 1,
        "nz2nd": 3,
        "nddma": 8,
        "nd2nz": 8,
    }
    assert {(c["instruction"], c["why"]) for c in INVALID} == BROKEN.keys()


# The rule that each input breaks: the class of the error, and the field it names.
BROKEN = {
    ("load2d", "repeatTimes above 255"): ("ParamError", "repeat_times"),
    ("load2d", "startIndex above 65535"): ("ParamError", "start_index"),
    ("load2d", "startIndex negative"): ("ParamError", "start_index"),
    ("load2d", "srcStride above 65535"): ("ParamError", "src_stride"),
    ("load2d", "dstGap above 65535"): ("ParamError", "dst_gap"),
    ("load2d", "transpose needs a 16-bit type"): ("ParamError", "if_transpose"),
    ("load2d", "no transpose on the way from GM"): ("SupportError", "if_transpose"),
    ("load2d", "dstGap is not supported on this product"): ("SupportError", "dst_gap"),
    ("load2d", "bfloat16_t is not supported on this product"): (
        "SupportError",
        "dtype",
    ),
    ("load2d", "float is not supported on this product"): ("SupportError", "dtype"),
    ("load2d", "instruction not supported on the vector core"): (
        "SupportError",
        "product",
    ),
    ("load2d", "path not supported on this product"): ("SupportError", "path"),
    ("load2d", "int4b_t only from A1 to A2 and B1 to B2"): ("SupportError", "dtype"),
    ("load2d", "reads past the end of the source"): ("BoundsError", "src"),
    ("load2d", "writes past the end of the destination"): ("BoundsError", "dst"),
    ("load2d", "decreasing addresses run below zero"): ("BoundsError", "src"),
    ("load2d", "destination offset not 512-byte aligned"): (
        "AlignmentError",
        "dst_offset",
    ),
    ("load2d", "source offset in L1 not 32-byte aligned"): (
        "AlignmentError",
        "src_offset",
    ),
    ("load2dv2", "only on this architecture's products: not on A2"): (
        "SupportError",
        "product",
    ),
    ("load2dv2", "mStep above 255"): ("ParamError", "m_step"),
    ("load2dv2", "8-bit transpose needs an even mStep"): ("ParamError", "m_step"),
    ("load2dv2", "4-bit transpose needs mStep a multiple of 4"): (
        "ParamError",
        "m_step",
    ),
    ("load2dv2", "32-bit transpose needs an even kStep"): ("ParamError", "k_step"),
    ("load2dv2", "no transpose on the way from GM"): ("SupportError", "if_transpose"),
    ("load2dv2", "dtype not supported"): ("SupportError", "dtype"),
    ("load2dv2", "destination fractals overlap"): ("OverlapError", "dst"),
    ("load3dv2", "channelSize not a multiple of C0"): ("ParamError", "channel_size"),
    ("load3dv2", "the window leaves the im2col matrix"): (
        "BoundsError",
        "m_extension",
    ),
    ("load3dv2", "8-bit data cannot go to L0B on this product"): (
        "SupportError",
        "dtype",
    ),
    ("load3dv2", "kStartPt not a multiple of C0"): ("ParamError", "k_start_pt"),
    ("load3dv2", "not supported on this product"): ("SupportError", "product"),
    ("ldwt_v1", "int4b_t is transposed only from B1 to B2"): ("SupportError", "dtype"),
    ("ldwt_v1", "this product has only the path B1 to B2"): ("SupportError", "path"),
    ("ldwt_v1", "not supported on this product"): ("SupportError", "product"),
    ("ldwt_v1", "destination fractals overlap"): ("OverlapError", "dst"),
    ("ldwt_v1", "uint16_t not among this product's types"): ("SupportError", "dtype"),
    ("ldwt_v2", "only on atlas_350"): ("SupportError", "product"),
    ("ldwt_v2", "repeatTimes above 255"): ("ParamError", "repeat_times"),
    ("nz2nd", "dValue not a multiple of 16"): ("ParamError", "d_value"),
    ("nz2nd", "nValue below 1"): ("ParamError", "n_value"),
    ("nz2nd", "nValue above 8192"): ("ParamError", "n_value"),
    ("nz2nd", "ndNum above 4095"): ("ParamError", "nd_num"),
    ("nz2nd", "srcNdMatrixStride above 512"): ("ParamError", "src_nd_matrix_stride"),
    ("nz2nd", "srcNStride above 4096"): ("ParamError", "src_n_stride"),
    ("nz2nd", "dstDStride below 1"): ("ParamError", "dst_d_stride"),
    ("nz2nd", "8-bit types not supported on this product"): ("SupportError", "dtype"),
    ("nz2nd", "not supported on this product"): ("SupportError", "product"),
    ("nz2nd", "CO2 to GM only on the inference AI Core"): ("SupportError", "path"),
    ("nz2nd", "destination rows overlap"): ("OverlapError", "dst"),
    ("nddma", "only on atlas_350"): ("SupportError", "product"),
    ("nddma", "more than five dimensions"): ("ParamError", "loop_src_stride"),
    ("nddma", "lists of different lengths"): ("ParamError", "loop_size"),
    ("nddma", "padding above 255"): ("ParamError", "loop_lp_size[0]"),
    ("nddma", "loopSize at or above 2^20"): ("ParamError", "loop_size[0]"),
    ("nddma", "loopDstStride at or above 2^20"): ("ParamError", "loop_dst_stride[1]"),
    ("nddma", "loopSrcStride at or above 2^40"): ("ParamError", "loop_src_stride[1]"),
    ("nddma", "64-bit types cannot use the nearest value"): (
        "ParamError",
        "is_nearest_value_mode",
    ),
    ("nddma", "64-bit types pad with 0 only"): ("ParamError", "constant_value"),
    ("nddma", "destination elements of two loops overlap"): (
        "OverlapError",
        "loop_dst_stride[1]",
    ),
    ("nddma", "ascending destination strides interleave"): (
        "OverlapError",
        "loop_dst_stride[1]",
    ),
    ("nd2nz", "nValue above 16384"): ("ParamError", "n_value"),
    ("nd2nz", "dstNzNStride below 1"): ("ParamError", "dst_nz_n_stride"),
    ("nd2nz", "destination offset in L1 not 32-byte aligned"): (
        "AlignmentError",
        "dst_offset",
    ),
}


@pytest.mark.parametrize(
    "case", INVALID, ids=lambda c: f"{c['instruction']}: {c['why']}"
)
def test_an_invalid_input_is_refused_by_the_rule_it_breaks(case):
    kind, field = BROKEN[case["instruction"], case["why"]]
    with pytest.raises(getattr(asc, kind)) as caught:
        move_of(case)
    error = caught.value
    assert (type(error).__name__, error.who, error.field) == (
        kind,
        case["instruction"],
        field,
    )
    assert str(error).startswith(f"{error.who}: {field} must {error.rule}, got ")


@pytest.mark.parametrize("wrong", ["rolled", "kept", "filled"])
def test_check_goes_red(wrong):
    golden = golden_maps()["nddma_003"]
    broken = {
        "rolled": np.roll(golden, 1),
        "kept": np.where(golden == FILL, KEEP, golden),
        "filled": np.where(np.arange(golden.size) == 4, FILL, golden),
    }[wrong]
    with pytest.raises(AssertionError, match="Arrays are not equal"):
        check_maps(CASES["nddma_003"], broken)
