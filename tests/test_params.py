"""Params: the C structs' fields and order, round trips, equality, and constants."""

import dataclasses
import json
import math
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from goldens import CASES

import ascjax as asc
from ascjax.instr import REGISTRY, params_class
from ascjax.instr._params import OPS

# Each struct's fields in the C order: instructions.md, sections 1 to 6 and 9.
STRUCTS = {
    "load2d": (
        asc.LoadData2DParams,
        "startIndex repeatTimes srcStride sid dstGap ifTranspose addrMode",
    ),
    "load2dv2": (
        asc.LoadData2DParamsV2,
        "mStartPosition kStartPosition mStep kStep srcStride dstStride ifTranspose sid",
    ),
    "ldwt_v1": (
        asc.LoadData2dTransposeParams,
        "startIndex repeatTimes srcStride dstGap dstFracGap addrMode",
    ),
    "ldwt_v2": (
        asc.LoadData2dTransposeParamsV2,
        "startIndex repeatTimes srcStride dstGap dstFracGap srcFracGap addrMode",
    ),
    "nz2nd": (
        asc.Nz2NdParamsFull,
        "ndNum nValue dValue srcNdMatrixStride srcNStride dstDStride dstNdMatrixStride",
    ),
    "nd2nz": (
        asc.Nd2NzParams,
        "ndNum nValue dValue srcNdMatrixStride srcDValue dstNzC0Stride dstNzNStride "
        "dstNzMatrixStride",
    ),
    "data_copy": (asc.DataCopyParams, "blockCount blockLen srcGap dstGap"),
}
INFO = asc.NdDmaLoopInfo((1, 8), (1, 16), (8, 2), (3, 1), (5, 1))


def made(fields):
    """A value for each field, no two alike where the ranges allow it."""
    return {name: 1 if name in ("ifTranspose", "addrMode") else 16 * (k + 1)
            for k, name in enumerate(fields.split())}  # fmt: skip


@pytest.mark.parametrize("cls, fields", STRUCTS.values(), ids=STRUCTS.keys())
def test_fields_stand_in_the_c_order(cls, fields):
    values = made(fields)
    params = cls(*values.values())
    assert params.to_fields() == values
    assert params == cls.from_fields(values)
    with pytest.raises(TypeError, match="positional argument"):
        cls(*values.values(), 0)


@pytest.mark.parametrize("cls, fields", STRUCTS.values(), ids=STRUCTS.keys())
def test_a_field_is_the_c_name_in_snake_case(cls, fields):
    for field, name in zip(dataclasses.fields(cls), fields.split(), strict=True):
        snake = "".join("_" + c.lower() if c.isupper() else c for c in name)
        assert field.name == snake


def test_absent_fields_are_zero():
    for cls, fields in list(STRUCTS.values())[:4]:
        assert set(cls().to_fields().values()) == {0}
        assert cls.from_fields({}) == cls()
        assert set(cls().to_fields()) == set(fields.split())


def test_nddma_lists_stand_in_the_c_order():
    fields = asc.NdDmaParams(INFO, 5, asc.NdDmaConfig(True, 1, 2, True)).to_fields()
    assert fields == {
        "loopSrcStride": [1, 8],
        "loopDstStride": [1, 16],
        "loopSize": [8, 2],
        "loopLpSize": [3, 1],
        "loopRpSize": [5, 1],
        "constantValue": 5,
        "config": {
            "isNearestValueMode": True,
            "loopLpSize": 1,
            "loopRpSize": 2,
            "ascOptimize": True,
        },
    }


def test_nddma_config_may_stand_beside_the_lists():
    lists = {"loopSrcStride": [1], "loopDstStride": [1], "loopSize": [4]}
    beside = asc.NdDmaParams.from_fields({**lists, "isNearestValueMode": True})
    nested = {**lists, "config": {"isNearestValueMode": True}}
    assert beside == asc.NdDmaParams.from_fields(nested)
    assert beside.config == asc.NdDmaConfig(True)
    assert beside.loop_info.loop_lp_size == (0,)


def test_lists_of_any_kind_become_tuples():
    one = asc.NdDmaLoopInfo(np.array([1, 8]), range(1, 3), [jnp.int32(4), np.uint8(2)])
    assert one == asc.NdDmaLoopInfo((1, 8), (1, 2), (4, 2), (0, 0), (0, 0))
    assert all(type(item) is int for item in one.loop_size)


# --- round trips


SAMPLES = [
    *(cls(*made(fields).values()) for cls, fields in STRUCTS.values()),
    asc.DataCopyExtParams(3, 40, 8, 1),
    asc.DataCopyExtParams(
        3, 40, 8, 1, 5, asc.DataCopyPadExtParams(True, 2, 1, np.float16(0.1))
    ),
    asc.LoadData3DParamsV2((1, 2, 3, 4), *range(1, 14), pad_value=-0.0),
    asc.LoadData3DParamsV2(repeat=asc.LoadDataRepeatParam(1, 2, 1, 4)),
    asc.NdDmaParams(INFO),
    asc.NdDmaParams(INFO, -0.0, asc.NdDmaConfig(False, 3, 0xFFFF)),
    asc.NdDmaParams(INFO, 1.5 + 2j),
    asc.NdDmaParams(INFO, np.float16(0.1)),
    asc.NdDmaParams(INFO, math.nan),
    asc.NdDmaParams(INFO, -math.inf),
    asc.NdDmaParams(INFO, 2**31 - 1),
]


@pytest.mark.parametrize("params", SAMPLES, ids=repr)
def test_json_brings_params_back(params):
    data = json.loads(json.dumps(params.to_dict(), allow_nan=False))
    assert data["instruction"] == params.instruction
    assert asc.Params.from_dict(data) == params
    assert type(params).from_fields(data["fields"]) == params


@pytest.mark.parametrize("params", SAMPLES, ids=repr)
def test_pickle_and_replace_bring_params_back(params):
    assert pickle.loads(pickle.dumps(params)) == params
    assert dataclasses.replace(params) == params


def test_every_golden_case_comes_back():
    for case in CASES.values():
        params = params_class(case["instruction"]).from_fields(case["fields"])
        assert asc.Params.from_dict(params.to_dict()) == params
        if case["instruction"] != "nddma":
            assert params.to_fields() == case["fields"]


def test_every_instruction_is_registered_under_its_name():
    assert [*STRUCTS, "nddma"] == sorted(
        set(REGISTRY) & {*STRUCTS, "nddma"}, key=[*STRUCTS, "nddma"].index
    )
    for name, (cls, _) in STRUCTS.items():
        assert params_class(name) is cls and cls.instruction == name
    ops = {cls.op for cls in REGISTRY.values()}
    assert ops == {*OPS}


# --- values


@pytest.mark.parametrize("cls, fields", STRUCTS.values(), ids=STRUCTS.keys())
def test_params_are_values(cls, fields):
    values = made(fields)
    one, same = cls.from_fields(values), cls.from_fields(values)
    assert one == same and hash(one) == hash(same)
    for name, value in values.items():
        other = cls.from_fields({**values, name: value - 1})
        assert other != one
        assert len({one, other}) == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.addr_mode = 1


def test_params_of_two_structs_are_never_equal():
    assert asc.LoadData2dTransposeParams() != asc.LoadData2dTransposeParamsV2()
    assert asc.LoadData2DParams() != asc.LoadData2DParamsV2()


def test_equal_params_trace_once():
    traces = []

    @jax.jit
    def once(src):
        traces.append(1)
        return src

    step = jax.jit(lambda src, p: asc.load_data(once(src), p), static_argnums=1)
    src = jnp.zeros(256, "float16")
    step(src, asc.LoadData2DParams(0, 1))
    step(src, asc.LoadData2DParams(0, 1))
    assert len(traces) == 1


def test_a_constant_is_equal_by_type_and_bits():
    def params(value):
        return asc.NdDmaParams(INFO, value)

    assert params(0.0) != params(-0.0)
    assert params(math.nan) == params(math.nan)
    assert params(1) != params(1.0)
    assert params(np.float16(1)) != params(np.float32(1))
    assert (
        params(np.float16(1)) == params(jnp.float16(1)) == params(np.array(1, "half"))
    )
    assert params(True) == params(1)
    assert len({params(v) for v in (0, 0.0, -0.0, np.float32(0), 0j)}) == 5


# --- the constant as bits of each type


BITS = {
    "bool": [(0, 0), (1, 1), (True, 1), (1.0, 1), (np.bool_(True), 1)],
    "int8_t": [(-1, 0xFF), (-128, 0x80), (127, 0x7F), (3.0, 3), (np.int64(-2), 0xFE)],
    "uint8_t": [(255, 0xFF), (np.int8(7), 7)],
    "int16_t": [(-2, 0xFFFE), (-(2**15), 0x8000)],
    "uint16_t": [(65535, 0xFFFF)],
    "half": [
        (1, 0x3C00),
        (-0.0, 0x8000),
        (65504, 0x7BFF),
        (65519.99, 0x7BFF),  # rounds down, so it is finite
        (2049, 0x6800),  # halfway: to the even one
        (2051, 0x6802),
        (1 + 2**-11 + 2**-40, 0x3C01),  # just above halfway
        (2**-25, 0x0000),
        (2**-24, 0x0001),
        (math.inf, 0x7C00),
        (-math.inf, 0xFC00),
        (np.float16(0.1), 0x2E66),
        (np.uint16(0x7D01).view("half"), 0x7D01),  # a signalling NaN keeps its bits
    ],
    "bfloat16_t": [
        (1, 0x3F80),
        (-2.5, 0xC020),
        (1 + 2**-8, 0x3F80),
        (1 + 3 * 2**-8, 0x3F82),
        (1 + 2**-8 + 2**-40, 0x3F81),  # just above halfway
        (jnp.bfloat16(0.1), 0x3DCD),
    ],
    "int32_t": [(-1, 0xFFFFFFFF), (-(2**31), 0x80000000)],
    "uint32_t": [(2**32 - 1, 0xFFFFFFFF)],
    "float": [
        (1, 0x3F800000),
        (-0.0, 0x80000000),
        (0.1, 0x3DCCCCCD),
        (2**24 + 1, 0x4B800000),
        (np.uint32(0x7FA12345).view("float32"), 0x7FA12345),
        (np.float64(0.1), 0x3DCCCCCD),
    ],
    "complex32": [
        (0, 0),
        (1, 0x3C00),
        (1 + 2j, 0x40003C00),
        (complex(0.0, -0.0), 0x80000000),
        (-0.0, 0x8000),
        (np.complex64(2j), 0x40000000),
    ],
    "int64_t": [(0, 0), (0.0, 0), (False, 0)],
    "uint64_t": [(0, 0)],
    "double": [(0, 0), (np.float64(0), 0)],
    "complex64": [(0, 0), (0j, 0)],
    # not among NDDMA's types on any product, but moved where none is named
    "fp8_e4m3fn_t": [(1, 0x38), (448, 0x7E), (-0.0, 0x80)],
    "fp8_e5m2_t": [(1, 0x3C), (57344, 0x7B), (math.inf, 0x7C)],
    "fp8_e8m0_t": [(1, 0x7F), (0, 0), (2, 0x80)],
    "hifloat8_t": [(0, 0), (0.0, 0)],
}


@pytest.mark.parametrize(
    "dtype, value, bits",
    [(name, value, bits) for name, rows in BITS.items() for value, bits in rows],
    ids=lambda value: str(value)[:24],
)
def test_a_constant_is_the_bits_of_the_type(dtype, value, bits):
    t = asc.ascend_type(dtype)
    assert asc.NdDmaParams(INFO, value).fill_bits(t) == bits
    assert asc.Move.of(asc.NdDmaParams(INFO, value), dtype=t, src_size=16).fills == (
        bits,
    )


def test_every_type_that_nddma_moves_has_its_bits_pinned():
    assert set(asc.NdDmaParams.paths()["GM->VECIN"]) <= BITS.keys()


@pytest.mark.parametrize(
    "dtype", ["half", "bfloat16_t", "float", "fp8_e4m3fn_t", "fp8_e5m2_t"]
)
def test_a_nan_stays_a_nan(dtype):
    t = asc.ascend_type(dtype)
    bits = asc.NdDmaParams(INFO, math.nan).fill_bits(t)
    value = np.asarray(bits, f"uint{t.bits}").view(jnp.dtype(t.jax))
    assert np.isnan(value.astype(np.float32))


@pytest.mark.parametrize(
    "dtype, value, rule",
    [
        ("fp8_e4m3fn_t", 1000, "be finite in fp8_e4m3fn_t (8 bits)"),
        ("fp8_e4m3fn_t", math.inf, "be finite in fp8_e4m3fn_t (8 bits)"),
        ("fp8_e5m2_t", 1e6, "be finite in fp8_e5m2_t (8 bits)"),
        ("hifloat8_t", 1, "be 0 for hifloat8_t, which has no values in JAX"),
    ],
)
def test_a_constant_that_a_narrow_float_lacks_is_refused(dtype, value, rule):
    with pytest.raises(asc.ParamError) as caught:
        asc.NdDmaParams(INFO, value).fill_bits(asc.ascend_type(dtype))
    assert f"constant_value must {rule}, got {value}." in str(caught.value)


def test_other_instructions_pad_with_zero_bits():
    for cls, fields in STRUCTS.values():
        ones = cls(*[1] * len(fields.split()))
        assert ones.fill_bits(asc.ascend_type("half")) == 0
