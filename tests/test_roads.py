"""Roads from GM to L0: what `nn.CubeMatmul` issues lands where Mmad reads it."""

import dataclasses
import itertools

import numpy as np
import pytest

import ascjax as asc
from ascjax.nn.cube._landing import landing
from ascjax.nn.cube._roads import Road

A2 = "int4b_t int8_t half bfloat16_t float"
TYPES = {
    "atlas_a2": A2,
    "atlas_a3": A2,
    "atlas_350": "int8_t half bfloat16_t float fp8_e4m3fn_t fp8_e5m2_t",
}
SIZES = [(1, 1), (17, 65), (40, 70), (64, 64), (128, 64), (5, 200), (250, 33)]
EVERY = [(p, t) for p, types in TYPES.items() for t in types.split()]


def road_of(product, dtype, side, rows, k, turned, wider=0):
    columns = (rows if turned else k) + wider
    type = asc.ascend_type(dtype)
    pitch = columns + columns % 2 if type.bits == 4 else columns
    return Road(side, asc.product(product), type, rows, k, turned, pitch)


def pipeline_of(road, stages=None):
    size = road.padded[0] * road.padded[1]
    sizes = [road.window[0] * road.pitch, None, size]
    options = {"product": road.product, "dtype": road.type}
    return asc.nn.Pipeline(stages or road.stages(), sizes=sizes, **options)


def check_lands(road, pipeline):
    """Each element of the matrix stands at its address in the layout of L0."""
    index = pipeline.joined.index_map.index
    r, k = np.indices((road.rows, road.k))
    if road.side == "A":
        layout = asc.Layout(road.product.l0a_format, road.padded, road.type)
        at = layout.address(r, k)
    else:
        layout = asc.Layout("ZN", road.padded[::-1], road.type)
        at = layout.address(k, r)
    expected = k * road.pitch + r if road.turned else r * road.pitch + k
    np.testing.assert_array_equal(index[at], expected)


@pytest.mark.parametrize(("product", "dtype"), EVERY)
@pytest.mark.parametrize("side", ["A", "B"])
@pytest.mark.parametrize("turned", [False, True])
def test_the_matrix_lands_whole(product, dtype, side, turned):
    for (rows, k), wider in itertools.product(SIZES, (0, 6)):
        road = road_of(product, dtype, side, rows, k, turned, wider)
        if (side, dtype, turned) == ("A", "int4b_t", True):
            with pytest.raises(asc.SupportError, match="transpose_a must be False for"):
                road.stages()
            continue
        pipeline = pipeline_of(road)
        check_lands(road, pipeline)
        landing(pipeline, road, "a_road")  # agrees, or raises


def test_the_check_goes_red():
    road = road_of("atlas_a2", "half", "A", 40, 70, False)
    other = road_of("atlas_a2", "half", "A", 40, 70, True)
    for wrong in (other, dataclasses.replace(road, side="B")):
        with pytest.raises(AssertionError):
            check_lands(road, pipeline_of(wrong))
    lost = [(calls[:-1] or calls, path) for calls, path in road.stages()]
    with pytest.raises(AssertionError):
        check_lands(road, pipeline_of(road, lost))
    with pytest.raises(asc.ParamError, match=r"a_road must bring all of A to L0A"):
        landing(pipeline_of(road, lost), road, "a_road")


CHOICE = {
    ("atlas_a2", "half", "A", False): (3, "LoadData2DParams"),
    ("atlas_a2", "half", "B", False): (1, "LoadData2DParams"),
    ("atlas_a2", "bfloat16_t", "A", True): (1, "LoadData2DParams"),
    ("atlas_a2", "half", "B", True): (5, "LoadData2DParams"),
    ("atlas_a3", "int8_t", "A", True): (2, "LoadData2dTransposeParams"),
    ("atlas_a2", "int8_t", "B", True): (3, "LoadData2dTransposeParams"),
    ("atlas_a2", "int4b_t", "B", True): (2, "LoadData2dTransposeParams"),
    ("atlas_a2", "float", "A", True): (1, "LoadData3DParamsV2"),
    ("atlas_a2", "float", "B", True): (1, "LoadData3DParamsV2"),
    ("atlas_350", "int8_t", "A", True): (1, "LoadData2DParamsV2"),
    ("atlas_350", "float", "B", False): (1, "LoadData2DParamsV2"),
}


@pytest.mark.parametrize("case", CHOICE, ids=lambda case: "-".join(map(str, case)))
def test_the_load_is_the_one_that_the_product_has(case):
    product, dtype, side, turned = case
    rows = 40 if side == "A" else 50
    calls, _ = road_of(product, dtype, side, rows, 70, turned).stages()[1]
    assert (len(calls), type(calls[0].params).__name__) == CHOICE[case]


def test_the_fields_are_those_of_the_vendor_s_samples():
    """Scenario a2_05 at 40 x 50 x 70: 8 bits, both transposed."""
    a = road_of("atlas_a2", "int8_t", "A", 40, 70, True).stages()
    b = road_of("atlas_a2", "int8_t", "B", 50, 70, True).stages()
    assert a[0][0] == [asc.Call(asc.Nd2NzParams(1, 70, 40, 0, 40, 96, 1, 0))]
    row = asc.LoadData2dTransposeParams(0, 3, 1, 0, 2)
    assert a[1][0] == [asc.Call(row), asc.Call(row, 3072, 3072)]
    column = asc.LoadData2dTransposeParams(0, 2, 3, 1, 0)
    assert b[1][0] == [asc.Call(column, i * 1024, i * 2048) for i in range(3)]


@pytest.mark.parametrize("dtype", ["half", "int4b_t"])
def test_rows_too_far_apart_for_nd2nz_come_one_by_one(dtype):
    wide = 65536 * (2 if dtype == "int4b_t" else 1)
    road = road_of("atlas_a2", dtype, "A", 3, 20, False, wide - 20)
    assert [len(calls) for calls, _ in road.stages()] == [3, 1]
    check_lands(road, pipeline_of(road))
    near = dataclasses.replace(road, pitch=wide - 2)
    assert len(near.stages()[0][0]) == 1
