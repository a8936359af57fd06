"""What the ops refuse of their arguments: options, tracers, operands, sequences."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from refusals import HALF, ONE, check_refused, info, move

import ascjax as asc
from ascjax.instr import REGISTRY
from ascjax.instr._params import OPS

pytestmark = pytest.mark.quick

NZ = asc.Nz2NdParamsFull(1, 1, 16, 0, 0, 0, 0)
SQUARE = asc.LoadData2dTransposeParams(0, 1)


# --- options


def test_options_take_their_words_only():
    check_refused(
        asc.ParamError,
        "load2d: overlap must be one of 'error', 'last', got 'allow'. ",
        asc.load_data,
        HALF,
        ONE,
        overlap="allow",
    )
    check_refused(
        asc.ParamError,
        "load2d: behaviour must be one of 'documented', got 'built'. ",
        asc.load_data,
        HALF,
        ONE,
        behaviour="built",
    )
    check_refused(
        asc.SupportError,
        "load2d: behaviour must be 'documented', got 'as_built'. ",
        asc.load_data,
        HALF,
        ONE,
        behaviour="as_built",
    )


@pytest.mark.parametrize("value", [1.5, 2.0, "2", [2]], ids=repr)
@pytest.mark.parametrize("field", ["src_offset", "dst_offset", "dst_size", "src_size"])
def test_sizes_and_offsets_are_integers(field, value):
    text = f": {field} must be an integer (elements), got {value!r}. Pass an integer."
    if field != "src_size":
        check_refused(
            asc.ParamError, f"load2d{text}", asc.load_data, HALF, ONE, **{field: value}
        )
    check_refused(asc.ParamError, f"load2d{text}", move, ONE, **{field: value})
    with pytest.raises(asc.ParamError, match=re.escape(text)):
        asc.nn.LoadData(
            ONE, **{"src_size": 256, "dst_size": 256, "dtype": "half", field: value}
        )


@pytest.mark.parametrize("field", ["src_size", "dst_size"])
def test_sizes_are_not_negative(field):
    with pytest.raises(asc.BoundsError, match=field[:3]):
        move(asc.LoadData2DParams(), **{field: -1})


# --- tracers


@pytest.mark.parametrize(
    "make, field",
    [
        (lambda k: asc.LoadData2DParams(k, 1), "load2d: start_index"),
        (lambda k: asc.LoadData2DParams(0, 1, if_transpose=k), "load2d: if_transpose"),
        (lambda k: asc.LoadData2DParams(0, 1, sid=k), "load2d: sid"),
        (lambda k: asc.LoadData2DParamsV2(0, k), "load2dv2: k_start_position"),
        (lambda k: asc.LoadData2dTransposeParams(0, k), "ldwt_v1: repeat_times"),
        (lambda k: asc.LoadData2dTransposeParamsV2(addr_mode=k), "ldwt_v2: addr_mode"),
        (lambda k: asc.Nz2NdParamsFull(k, 1, 16), "nz2nd: nd_num"),
        (
            lambda k: asc.Nz2NdParamsFull(1, 1, 16, k, 0, 0, 0),
            "nz2nd: src_nd_matrix_stride",
        ),
        (lambda k: asc.NdDmaLoopInfo((k,), (1,), (1,)), "nddma: loop_src_stride[0]"),
        (lambda k: asc.NdDmaLoopInfo((1,), (1,), k), "nddma: loop_size[0]"),
        (lambda k: asc.NdDmaConfig(k), "nddma: is_nearest_value_mode"),
        (lambda k: asc.NdDmaConfig(loop_lp_size=k), "nddma: loop_lp_size"),
        (lambda k: asc.load_data(HALF, ONE, src_offset=k), "load2d: src_offset"),
        (lambda k: asc.load_data(HALF, ONE, dst_size=k), "load2d: dst_size"),
        (lambda k: asc.sequence([(ONE, k)]), "load2d: src_offset"),
        (lambda k: move(ONE, src_offset=k), "load2d: src_offset"),
        (lambda k: move(ONE, src_size=k), "load2d: src_size"),
        (
            lambda k: asc.nn.LoadData(ONE, dtype="half", src_size=k),
            "load2d: src_size",
        ),
    ],
)
def test_a_tracer_gets_an_error_that_names_the_sweep_api(make, field):
    check_refused(
        asc.ParamError,
        f"{field} must be a Python integer, known while tracing, got a tracer (",
        jax.eval_shape,
        make,
        jax.ShapeDtypeStruct((), "int32"),
    ).fix.index("asc.sweep")


def test_a_traced_constant_is_refused():
    with pytest.raises(asc.ParamError, match=r"constant_value must be a number, known"):
        jax.eval_shape(lambda v: asc.NdDmaParams(info((1, 1, 1)), v), jnp.float32(1))


# --- operands


def test_ascend_c_s_order_of_arguments_is_explained():
    for op in OPS:
        for args, got in (
            ((HALF, HALF, ONE), "arguments in Ascend C's order (dst, src, params)"),
            ((ONE, HALF), "params first"),
        ):
            check_refused(
                asc.ParamError,
                f"{op}: params must be the second argument, after src, got {got}. "
                f"Write asc.{op}(src, params, dst=dst).",
                getattr(asc, op),
                *args,
            )


def test_an_op_takes_its_own_params():
    takes = {
        "load_data": ("LoadData2DParams or LoadData2DParamsV2 or LoadData3DParamsV2"),
        "load_data_with_transpose": (
            "LoadData2dTransposeParams or LoadData2dTransposeParamsV2"
        ),
        "data_copy": "DataCopyParams or Nd2NzParams or NdDmaParams or Nz2NdParamsFull",
        "data_copy_pad": "DataCopyExtParams",
    }
    others = {"load_data": NZ, "load_data_with_transpose": ONE, "data_copy": SQUARE}
    others["data_copy_pad"] = NZ
    modules = zip(
        takes,
        (
            asc.nn.LoadData,
            asc.nn.LoadDataWithTranspose,
            asc.nn.DataCopy,
            asc.nn.DataCopyPad,
        ),
        strict=True,
    )
    for op, module in modules:
        other = others[op]
        text = (
            f"{op}: params must be {takes[op]}, got {type(other).__name__}. Call "
            f"asc.{other.op} for it."
        )
        check_refused(asc.ParamError, text, getattr(asc, op), HALF, other)
        check_refused(asc.ParamError, text, module, other, dtype="half", src_size=256)
        check_refused(
            asc.ParamError,
            f"{op}: params must be {takes[op]}, got dict. Make one of these first, "
            "with its fields.",
            getattr(asc, op),
            HALF,
            {},
        )


@pytest.mark.parametrize(
    "src, got",
    [
        (jnp.zeros(()), "a single number, of float32 and shape ()"),
        (np.float16(1), "a single number, of float16 and shape ()"),
        (1.5, "a single number, of float32 and shape ()"),
        (None, "NoneType, which is no array of numbers"),
        ("abc", "str, which is no array of numbers"),
        ({}, "dict, which is no array of numbers"),
        ([[1], [1, 2]], "list, which is no array of numbers"),
        (np.array([None] * 256), "ndarray of object, which is no array of numbers"),
        (np.array("abc"), "ndarray of <U3, which is no array of numbers"),
    ],
    ids=lambda x: "" if isinstance(x, str) and "," in x else type(x).__name__,
)
def test_an_operand_is_an_array_with_a_flat_axis(src, got):
    rule = "must be an array whose last axis is the flat buffer"
    check_refused(
        asc.ParamError, f"load2d: src {rule}, got {got}. ", asc.load_data, src, ONE
    )
    if src is not None:
        check_refused(
            asc.ParamError,
            f"load2d: dst {rule}, got {got}. ",
            asc.load_data,
            HALF,
            ONE,
            dst=src,
        )


def test_both_operands_have_one_type():
    check_refused(
        asc.ParamError,
        "load2d: dst must have the type of src, float16, got float32. Convert one of "
        "them: a move does not convert.",
        asc.load_data,
        HALF,
        ONE,
        dst=jnp.zeros(256),
    )


def test_dst_size_agrees_with_dst():
    check_refused(
        asc.BoundsError,
        "load2d: dst_size must be the size of dst, 256 elements, where dst is given, "
        "got 512. Leave dst_size out.",
        asc.load_data,
        HALF,
        ONE,
        dst=HALF,
        dst_size=512,
    )
    asc.load_data(HALF, ONE, dst=HALF, dst_size=256)


@pytest.mark.parametrize(
    "dtype", ["fp7", "", float, int, bool, complex, [1], 16, np.dtype("O")], ids=repr
)
def test_a_type_is_one_of_the_table(dtype):
    check_refused(
        asc.ParamError,
        f"load2d: dtype must name an Ascend C type, got {dtype!r}. Use one of bool, "
        "int8_t, ",
        asc.load_data,
        HALF,
        ONE,
        dtype=dtype,
    )


@pytest.mark.parametrize(
    "dtype, held, other",
    [
        ("int8_t", "int8, of uint8 (raw bits)", "int16"),
        ("half", "float16, of uint16 (raw bits)", "bfloat16"),
        ("float", "float32, of uint32 (raw bits)", "int32"),
        ("hifloat8_t", "uint8", "int8"),
        (
            "int4b_t",
            "int4, of uint4 (raw bits), or of uint8 (two elements a byte)",
            "int8",
        ),
        (
            "fp4x2_e1m2_t",
            "uint4, or of uint8 (two elements a byte)",
            "int4",
        ),
    ],
)
def test_a_type_fits_the_array(dtype, held, other):
    check_refused(
        asc.ParamError,
        f"load2d: dtype must fit the array: {dtype} is held by an array of {held}, got "
        f"an array of {other}. ",
        asc.load_data,
        jnp.zeros(2048, other),
        ONE,
        dtype=dtype,
    )


@pytest.mark.parametrize("held", ["uint4", "int2", "float8_e4m3b11fnuz"])
def test_an_array_that_does_not_tell_its_type_needs_one(held):
    check_refused(
        asc.ParamError,
        "load2d: dtype must tell the Ascend type where the array's own type does not, "
        f"got an array of {held} and dtype=None. ",
        asc.load_data,
        jnp.zeros(2048, held),
        ONE,
    )


@pytest.mark.parametrize("name", ["int64", "uint64", "float64"])
def test_64_bits_need_x64(name):
    words = {"int64": "int64_t", "uint64": "uint64_t", "float64": "double"}
    with jax.enable_x64(False):
        for operands in (
            {"src": np.zeros(16, name)},
            {"src": jnp.zeros(16, "float32"), "dst": np.zeros(16, name)},
        ):
            check_refused(
                asc.ParamError,
                f"nz2nd: {[*operands][-1]} must be at most 32 bits wide while "
                "jax_enable_x64 is off, "
                f"got {words[name]}. Convert it, such as with "
                f".astype('{name.replace('64', '32')}'), or call "
                "jax.config.update('jax_enable_x64', True) first.",
                asc.data_copy,
                params=NZ,
                **operands,
            )
    with jax.enable_x64(True):
        assert asc.data_copy(np.zeros(16, name), NZ).dtype == name


def test_complex64_needs_no_x64():
    with jax.enable_x64(False):
        assert asc.data_copy(np.zeros(16, "complex64"), NZ).dtype == "complex64"


# --- sequences, moves, fields


def test_a_sequence_holds_calls():
    check_refused(
        asc.ParamError, "sequence: calls must hold at least one call, got none. ",
        asc.sequence, [],
    )  # fmt: skip
    with pytest.raises(asc.ParamError, match="calls must hold at least one call"):
        asc.Move.sequence((), dtype="half", src_size=256)
    for call in (3, (3, 0), {}):
        with pytest.raises(
            asc.ParamError, match=r"params must be .*, got (int|dict)\."
        ):
            asc.sequence([call])


@pytest.mark.parametrize(
    "calls", [ONE, [()], [(ONE, 0, 0, 9)]], ids=["params", "empty", "long"]
)
def test_a_sequence_s_calls_are_params_and_two_offsets(calls):
    with pytest.raises(asc.ParamError, match=r"sequence: calls must "):
        asc.sequence(calls)


def test_run_move_takes_the_buffers_it_was_made_for():
    made = move(ONE, src_size=256, dst_size=512)
    for src, dst, text in (
        (HALF[:255], None, "src must hold 256 (elements) in its last axis, got 255. "),
        (HALF, HALF, "dst must hold 512 (elements) in its last axis, got 256. "),
    ):
        check_refused(asc.BoundsError, f"load2d: {text}", asc.run_move, made, src, dst)
    check_refused(
        asc.ParamError,
        "load2d: src must hold half: an array of float16, of uint16 (raw bits), got an "
        "array of float32. Convert it.",
        asc.run_move,
        made,
        jnp.zeros(256),
    )
    packed = move(ONE, "int4b_t", src_size=1025)
    check_refused(
        asc.BoundsError,
        "load2d: src must hold 513 (bytes, two elements each) in its last axis, got "
        "512.",
        asc.run_move,
        packed,
        jnp.zeros(512, "uint8"),
    )


def test_fields_are_the_struct_s():
    check_refused(
        asc.ParamError,
        "load2d: fields must be among startIndex, repeatTimes, srcStride, sid, dstGap, "
        "ifTranspose, addrMode, got repeat_times. Use the C struct's names.",
        asc.LoadData2DParams.from_fields,
        {"startIndex": 0, "repeat_times": 1},
    )
    text = (
        "nddma: fields must be among loopSrcStride, loopDstStride, loopSize, "
        "loopLpSize, loopRpSize, constantValue, config, the first three always there, "
        "got "
    )
    lists = {"loopSrcStride": [1], "loopDstStride": [1], "loopSize": [1]}
    for fields, got in (
        ({**lists, "pad": 1}, "unknown pad"),
        ({**lists, "config": {"pad": 1}}, "unknown pad"),
        ({"loopSize": [1]}, "missing loopDstStride, loopSrcStride"),
    ):
        check_refused(asc.ParamError, text + got, asc.NdDmaParams.from_fields, fields)


def test_an_instruction_that_is_not_there_is_named():
    check_refused(
        asc.SupportError,
        f"ascjax: instruction must be one that ascjax has ({', '.join(REGISTRY)}), got "
        "'load4d'. ",
        asc.Params.from_dict,
        {"instruction": "load4d", "fields": {}},
    )


# --- the family


def test_an_error_keeps_its_parts():
    error = asc.ParamError("who", "field", "rule", 7, "Fix.", "Source")
    assert str(error) == "who: field must rule, got 7. Fix. [Source]"
    assert str(asc.ParamError("who", "field", "rule", 7, "Fix.")).endswith("7. Fix.")
    parts = (error.who, error.field, error.rule, error.got, error.fix, error.source)
    assert parts == ("who", "field", "rule", 7, "Fix.", "Source")


def test_errors_are_value_errors_of_one_family():
    for kind in ("Param", "Support", "Bounds", "Alignment", "Overlap"):
        cls = getattr(asc, f"{kind}Error")
        assert issubclass(cls, asc.AscendError) and issubclass(cls, ValueError)


def test_errors_are_raised_while_tracing():
    traced = []

    def step(x):
        traced.append(x)
        return asc.load_data(x, ONE, src_offset=1)

    with pytest.raises(asc.BoundsError, match=r"src must hold elements \[0, 257\)"):
        jax.eval_shape(step, jax.ShapeDtypeStruct((256,), "float16"))
    assert len(traced) == 1


def test_refused_goes_red():
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        check_refused(asc.ParamError, "load2d: ", asc.LoadData2DParams, 1)
    with pytest.raises(AssertionError, match="Regex pattern did not match"):
        check_refused(
            asc.ParamError, "load2d: repeat_times must", asc.LoadData2DParams, -1
        )
    with pytest.raises(AssertionError):
        check_refused(
            asc.BoundsError, "load2d: start_index must", asc.LoadData2DParams, -1
        )
