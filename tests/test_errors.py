"""What params refuse, and in which words: every range, unit and rule."""

import jax.numpy as jnp
import numpy as np
import pytest
from refusals import check_refused, info, move

import ascjax as asc

# --- ranges: (field, lowest, highest, unit), as instructions.md has them

FRACTALS = "fractals of 512 bytes"
START = "fractals of 512 bytes, start to start"
GAP = "fractals of 512 bytes, end to start"
WAY = "0 increments, 1 decrements"
RANGES = {
    asc.LoadData2DParams: (
        "Load2D, Table 3",
        ("start_index", 0, 65535, FRACTALS),
        ("repeat_times", 0, 255, FRACTALS),
        ("src_stride", 0, 65535, START),
        ("dst_gap", 0, 65535, GAP),
        ("if_transpose", 0, 1, "a flag"),
        ("addr_mode", 0, 1, WAY),
    ),
    asc.LoadData2DParamsV2: (
        "Load2D, Table 4",
        ("m_start_position", 0, 2**32 - 1, "units of 16 elements"),
        ("k_start_position", 0, 2**32 - 1, "units of 32 bytes"),
        ("m_step", 0, 255, "units of 16 elements"),
        ("k_step", 0, 255, "units of 32 bytes"),
        ("src_stride", -(2**31), 2**31 - 1, FRACTALS),
        ("dst_stride", 0, 65535, START),
        ("if_transpose", 0, 1, "a flag"),
    ),
    asc.LoadData2dTransposeParams: (
        "LoadDataWithTranspose, Table 3",
        ("start_index", 0, 65535, "squares"),
        ("repeat_times", 0, 255, "squares"),
        ("src_stride", 0, 65535, "squares, start to start"),
        ("dst_gap", 0, 65535, GAP),
        ("dst_frac_gap", 0, 65535, GAP),
        ("addr_mode", 0, 1, WAY),
    ),
    asc.LoadData2dTransposeParamsV2: (
        "LoadDataWithTranspose, Table 4",
        ("start_index", 0, 65535, FRACTALS),
        ("repeat_times", 0, 255, "squares"),
        ("src_stride", 0, 65535, START),
        ("dst_gap", 0, 65535, GAP),
        ("dst_frac_gap", 0, 65535, GAP),
        ("src_frac_gap", 0, 65535, GAP),
        ("addr_mode", 0, 1, WAY),
    ),
    asc.Nz2NdParamsFull: (
        "NZ2ND, Table 3",
        ("nd_num", 0, 4095, "matrices"),
        ("n_value", 1, 8192, "rows"),
        ("d_value", 1, 8192, "columns"),
        ("src_nd_matrix_stride", 1, 512, "units of 256 elements, start to start"),
        ("src_n_stride", 0, 4096, "units of 16 elements, start to start"),
        ("dst_d_stride", 1, 65535, "elements, start to start"),
        ("dst_nd_matrix_stride", 1, 65535, "elements, start to start"),
    ),
}
MATRICES = {
    "nd_num": 2,
    "n_value": 2,
    "d_value": 16,
    "src_nd_matrix_stride": 1,
    "dst_d_stride": 32,
    "dst_nd_matrix_stride": 16,
}
FIELDS = [
    pytest.param(cls, source, *row, id=f"{cls.instruction}-{row[0]}")
    for cls, (source, *rows) in RANGES.items()
    for row in rows
]


def base_of(cls):
    return MATRICES if cls is asc.Nz2NdParamsFull else {}


@pytest.mark.parametrize("cls, source, field, low, high, unit", FIELDS)
def test_a_field_has_its_range_and_unit(cls, source, field, low, high, unit):
    base = base_of(cls)
    for value in (low, high):
        assert getattr(cls(**{**base, field: value}), field) == value
    for value in (low - 1, high + 1):
        error = check_refused(
            asc.ParamError,
            f"{cls.instruction}: {field} must be in [{low}, {high}] ({unit}), got "
            f"{value}. ",
            cls,
            **{**base, field: value},
        )
        assert error.source == source and str(error).endswith(f" [{source}]")


def test_every_field_is_in_the_table_of_ranges():
    for cls, (_, *rows) in RANGES.items():
        fields = set(cls.__dataclass_fields__) - {"sid"}
        assert fields == {row[0] for row in rows}


@pytest.mark.parametrize("cls, source, field, low, high, unit", FIELDS)
@pytest.mark.parametrize("value", [1.0, "1", None, [1], np.float32(1)], ids=repr)
def test_a_field_takes_integers_only(cls, source, field, low, high, unit, value):
    check_refused(
        asc.ParamError,
        f"{cls.instruction}: {field} must be in [{low}, {high}] ({unit}), got "
        f"{value!r}. Pass an integer. [{source}]",
        cls,
        **{**base_of(cls), field: value},
    )


@pytest.mark.parametrize("cls", [asc.LoadData2DParams, asc.LoadData2DParamsV2])
def test_sid_is_ignored_but_an_integer(cls):
    assert cls(sid=-(10**12)) == cls(sid=-(10**12))
    check_refused(
        asc.ParamError,
        f"{cls.instruction}: sid must be an integer, got 0.5",
        cls,
        sid=0.5,
    )


def test_whole_numbers_of_other_kinds_are_taken():
    for value in (np.int8(3), np.uint64(3), jnp.int32(3)):
        params = asc.LoadData2DParams(value, value)
        assert params == asc.LoadData2DParams(3, 3)
        assert type(params.start_index) is int
    assert asc.LoadData2DParams(if_transpose=1).if_transpose is True
    assert asc.LoadData2DParams(if_transpose=np.bool_(True)).if_transpose is True


# --- a stride that only index 0 meets may be 0


@pytest.mark.parametrize(
    "field, count, unit",
    [
        ("src_nd_matrix_stride", "nd_num", "units of 256 elements, start to start"),
        ("dst_nd_matrix_stride", "nd_num", "elements, start to start"),
        ("dst_d_stride", "n_value", "elements, start to start"),
    ],
)
def test_a_stride_may_be_zero_where_its_count_is_at_most_one(field, count, unit):
    for few in (0, 1)[count == "n_value" :]:
        params = asc.Nz2NdParamsFull(**{**MATRICES, field: 0, count: few})
        assert getattr(params, field) == 0
        move(params)
        high = 512 if field[0] == "s" else 65535
        for value in (-1, high + 1):
            check_refused(
                asc.ParamError,
                f"nz2nd: {field} must be in [1, {high}] ({unit}), got {value}. ",
                asc.Nz2NdParamsFull,
                **{**MATRICES, field: value, count: few},
            )
    check_refused(
        asc.ParamError,
        f"nz2nd: {field} must be in [1, ",
        asc.Nz2NdParamsFull,
        **{**MATRICES, field: 0, count: 2},
    )


# --- NDDMA: lists, padding, config, spans, the constant

LISTS = {
    "loop_src_stride": (2**40 - 1, "elements"),
    "loop_dst_stride": (2**20 - 1, "elements"),
    "loop_size": (2**20 - 1, "elements"),
    "loop_lp_size": (255, "padding elements on the left"),
    "loop_rp_size": (255, "padding elements on the right"),
}


@pytest.mark.parametrize("field", LISTS)
def test_an_nddma_list_has_its_range_in_every_dimension(field):
    high, unit = LISTS[field]
    base = dict.fromkeys(LISTS, (1, 1))
    for value in (0, high):
        asc.NdDmaLoopInfo(**{**base, field: (value, value)})
    for k, value in ((0, -1), (1, high + 1), (1, 1.5)):
        values = [1, 1]
        values[k] = value
        error = check_refused(
            asc.ParamError,
            f"nddma: {field}[{k}] must be in [0, {high}] ({unit}), got {value}. ",
            asc.NdDmaLoopInfo,
            **{**base, field: values},
        )
        assert error.source == "NDDMA, Table 5"
    check_refused(
        asc.ParamError,
        f"nddma: {field} must be a list of integers in [0, {high}] ({unit}), got 3. ",
        asc.NdDmaLoopInfo,
        **{**base, field: 3},
    )


@pytest.mark.parametrize("field", LISTS)
@pytest.mark.parametrize("count", [1, 3])
def test_nddma_lists_have_one_length(field, count):
    lists = dict.fromkeys(LISTS, (1, 1)) | {field: (1,) * count}
    first = "loop_src_stride"
    odd, got = ("loop_dst_stride", 2) if field == first else (field, count)
    check_refused(
        asc.ParamError,
        f"nddma: {odd} must have one value a dimension, 1 to 5 in every list, got "
        f"{got} values where {first} has {len(lists[first])}. ",
        asc.NdDmaLoopInfo,
        **lists,
    )


@pytest.mark.parametrize("count", [0, 6])
def test_nddma_has_one_to_five_dimensions(count):
    text = (
        "nddma: loop_src_stride must have one value a dimension, 1 to 5 in every list, "
        f"got {count} values"
    )
    check_refused(asc.ParamError, text, asc.NdDmaLoopInfo, *([1] * count,) * 3)
    for dims in (1, 5):
        assert asc.NdDmaLoopInfo(*([1] * dims,) * 3).dim == dims


@pytest.mark.parametrize("field", ["loop_lp_size", "loop_rp_size"])
def test_the_config_s_padding_has_its_range_or_is_unset(field):
    for value in (0, 255, 0xFFFF):
        assert getattr(asc.NdDmaConfig(**{field: value}), field) == value
    for value in (-1, 256, 0xFFFE, 0x10000):
        check_refused(
            asc.ParamError,
            f"nddma: {field} must be in [0, 255] (padding elements, or 0xFFFF to leave "
            f"it unset), got {value}. ",
            asc.NdDmaConfig,
            **{field: value},
        )


@pytest.mark.parametrize("field", ["is_nearest_value_mode", "asc_optimize"])
@pytest.mark.parametrize("value", [-1, 2, 1.5, "1", None], ids=repr)
def test_the_config_s_flags_are_flags(field, value):
    check_refused(
        asc.ParamError,
        f"nddma: {field} must be in [0, 1] (a flag), got {value!r}. ",
        asc.NdDmaConfig,
        **{field: value},
    )


def test_nddma_takes_its_own_classes():
    good = info((1, 1, 1))
    for field, kind, args, got in (
        ("loop_info", "NdDmaLoopInfo", ([1],), [1]),
        ("config", "NdDmaConfig", (good, 0, True), True),
    ):
        check_refused(
            asc.ParamError,
            f"nddma: {field} must be made with {kind}(...), got {got}. Write {field}="
            f"{kind}(...). [NDDMA, Table 4]",
            asc.NdDmaParams,
            *args,
        )
    for value in ("1", None, [1], np.zeros(2)):
        check_refused(
            asc.ParamError,
            f"nddma: constant_value must be a number, known while tracing, got "
            f"{value!r}",
            asc.NdDmaParams,
            good,
            value,
        )


@pytest.mark.parametrize(
    "loops, field, span",
    [
        (info((2, 2**40 - 1, 1)), "loop_src_stride", 2**40),
        (info((2, 2**39, 1), (2, 2**39, 2)), "loop_src_stride", 2**40 + 1),
        (
            info((2**20 - 2, 0, 2**20 - 1), lp=(2,), rp=(3,)),  # padding is written too
            "loop_dst_stride",
            1 + (2**20 + 2) * (2**20 - 1),
        ),
    ],
)
def test_an_nddma_span_stays_below_2_to_the_40(loops, field, span):
    error = check_refused(
        asc.ParamError,
        f"nddma: {field} must span less than 2^40 elements, 1 + sum((n - 1) * stride), "
        f"got a span of {span}. ",
        move,
        asc.NdDmaParams(loops),
    )
    assert error.source == "NDDMA, Restrictions"


@pytest.mark.parametrize(
    "loops",
    [
        info((1, 2**40 - 1, 2**20 - 1)),
        info((2, 2**40 - 2, 1), lp=(9,)),  # padding is not read
        info((2**20 - 1, 1, 2**20 - 1)),
    ],
)
def test_an_nddma_span_just_below_is_legal(loops):
    assert move(asc.NdDmaParams(loops), src_size=2**40).nest.volume > 0


@pytest.mark.parametrize("dtype", ["int64_t", "uint64_t", "double", "complex64"])
def test_64_bits_pad_with_the_constant_0_only(dtype):
    padded = info((2, 1, 1), lp=(1,))
    nearest = asc.NdDmaParams(padded, 0, asc.NdDmaConfig(True))
    check_refused(
        asc.ParamError,
        "nddma: is_nearest_value_mode must be False for 64-bit types, got True. Pad "
        "with the constant 0. [NDDMA, Table 3]",
        move,
        nearest,
        dtype,
    )
    for value in (1, 0.5, -0.0):
        check_refused(
            asc.ParamError,
            f"nddma: constant_value must be 0 for 64-bit types, got {value}. ",
            move,
            asc.NdDmaParams(padded, value),
            dtype,
        )
    for value in (0, 0.0, 0j, False):
        move(asc.NdDmaParams(padded, value), dtype)


@pytest.mark.parametrize(
    "dtype, value, rule",
    [
        ("int8_t", 128, "be an integer in [-128, 127] for int8_t"),
        ("int8_t", -129, "be an integer in [-128, 127] for int8_t"),
        ("uint8_t", -1, "be an integer in [0, 255] for uint8_t"),
        ("uint8_t", 256, "be an integer in [0, 255] for uint8_t"),
        ("int16_t", 32768, "be an integer in [-32768, 32767] for int16_t"),
        ("uint16_t", 65536, "be an integer in [0, 65535] for uint16_t"),
        ("int32_t", 2**31, "be an integer in [-2147483648, 2147483647] for int32_t"),
        ("uint32_t", 2**32, "be an integer in [0, 4294967295] for uint32_t"),
        ("int32_t", 0.5, "be an integer in [-2147483648, 2147483647] for int32_t"),
        ("int8_t", float("nan"), "be an integer in [-128, 127] for int8_t"),
        ("int8_t", float("inf"), "be an integer in [-128, 127] for int8_t"),
        ("bool", 2, "be an integer in [0, 1] for bool"),
        ("half", 65520, "be finite in half (16 bits)"),
        ("half", -1e5, "be finite in half (16 bits)"),
        ("bfloat16_t", 3.4e38, "be finite in bfloat16_t (16 bits)"),
        ("float", 1e39, "be finite in float (32 bits)"),
        ("float", 10**400, "be finite in float (32 bits)"),
        ("half", 1j, "be a real number for half"),
        ("complex32", 1e6j, "fit complex32 (two halves)"),
    ],
    ids=lambda value: str(value)[:24],
)
def test_the_constant_fits_the_type(dtype, value, rule):
    text = f"nddma: constant_value must {rule}, got {value}. "
    padded = info((2, 1, 1), lp=(1,))
    error = check_refused(
        asc.ParamError, text, move, asc.NdDmaParams(padded, value), dtype, product=3510
    )
    assert error.source == "NDDMA, Table 4"


# --- rules of an instruction beyond its ranges


@pytest.mark.parametrize("dtype", ["int4b_t", "int8_t", "float", "int32_t"])
def test_load2d_transposes_16_bits_only(dtype):
    bits = asc.ascend_type(dtype).bits
    check_refused(
        asc.ParamError,
        "load2d: if_transpose must be False unless the type is 16 bits wide, got True "
        f"with {dtype} ({bits} bits). Use LoadDataWithTranspose for other widths.",
        move,
        asc.LoadData2DParams(0, 1, if_transpose=True),
        dtype,
    )


@pytest.mark.parametrize("path", ["GM->A1", "GM->B1", "GM->A2", "GM->B2", "GM->L1"])
def test_there_is_no_transpose_on_the_way_from_gm(path):
    site = path.replace("L1", "A1")
    text = ": if_transpose must be False except on A1->A2 and B1->B2, got True on "
    check_refused(
        asc.SupportError,
        f"load2d{text}{site}. Load to L1 first",
        move,
        asc.LoadData2DParams(0, 1, if_transpose=True),
        path=path,
        product="atlas_a2",
    )
    if path.endswith("1"):
        check_refused(
            asc.SupportError,
            f"load2dv2{text}{site}. ",
            move,
            asc.LoadData2DParamsV2(0, 0, 1, 1, 1, 1, True),
            path=path,
            product="atlas_350",
        )


def test_the_training_product_has_no_destination_gap():
    p = asc.LoadData2DParams(0, 1, 0, 0, 3)
    for repeat_times in (0, 1):
        p = asc.LoadData2DParams(0, repeat_times, 0, 0, 3)
        check_refused(
            asc.SupportError,
            "load2d: dst_gap must be 0 fractals on atlas_training, which has no gap, "
            "got 3. Set dst_gap=0, or issue one call for each fractal. [Load2D, Table "
            "3]",
            move,
            p,
            product="atlas_training",
        )
    move(p, product="atlas_inference_aicore")


@pytest.mark.parametrize(
    "dtype, field, multiple, unit, good, bad",
    [
        ("fp4x2_e2m1_t", "m_step", 4, "16 elements", (8, 1), (6, 1)),
        ("int8_t", "m_step", 2, "16 elements", (2, 3), (3, 2)),
        ("float", "k_step", 2, "32 bytes", (1, 2), (2, 3)),
    ],
)
@pytest.mark.parametrize("nop", [False, True])
def test_load2dv2_transposes_whole_squares(
    dtype, field, multiple, unit, good, bad, nop
):
    width = asc.ascend_type(dtype).bits
    room = {"src_stride": 8, "dst_stride": 16, "if_transpose": True}
    other = {} if not nop else {"k_step" if field == "m_step" else "m_step": 0}
    steps = ("m_step", "k_step")
    fine = dict(zip(steps, good, strict=True)) | other
    move(asc.LoadData2DParamsV2(**fine, **room), dtype)
    wrong = dict(zip(steps, bad, strict=True)) | other
    check_refused(
        asc.ParamError,
        f"load2dv2: {field} must be a multiple of {multiple} (units of {unit}) to "
        f"transpose {width}-bit elements, got {wrong[field]}. ",
        move,
        asc.LoadData2DParamsV2(**wrong, **room),
        dtype,
    )
    move(asc.LoadData2DParamsV2(**wrong, **(room | {"if_transpose": False})), dtype)


@pytest.mark.parametrize("nd_num", [0, 1])
@pytest.mark.parametrize("d_value", [1, 15, 17, 8184])
def test_nz2nd_moves_whole_columns_of_16(nd_num, d_value):
    p = asc.Nz2NdParamsFull(nd_num, 1, d_value, 0, 0, 0, 0)
    check_refused(
        asc.ParamError,
        f"nz2nd: d_value must be a multiple of 16 (columns), got {d_value}. Round it "
        f"up,"
        " with a destination row that has room for it. [NZ2ND, Table 3]",
        move,
        p,
    )
