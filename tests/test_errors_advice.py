"""What errors say beyond the rule: where a value came from, and what to write instead.

Each test is about a whole kind: every instruction, operand or field that it concerns.
"""

import io
import re

import jax.numpy as jnp
import numpy as np
import pytest
from cases import CASES
from refusals import HALF, ONE, check_refused
from rich.console import Console

import ascjax as asc
from ascjax import _call
from ascjax._products import POSITIONS, PRODUCTS
from ascjax.cli import main
from ascjax.instr import REGISTRY
from ascjax.show import list_command

A = jnp.zeros(256, "float16")
MMAD = asc.MmadParams(16, 16, 16)
PARTS = [
    (cls, field, kind)
    for cls in REGISTRY.values()
    for field, kind in cls.parts().items()
]


# --- arguments in the order of Ascend C


def test_the_instructions_with_structs_inside_are_found():
    found = {(cls.instruction, field) for cls, field, _ in PARTS}
    assert found == {
        ("data_copy_pad", "pad_params"),
        ("load3dv2", "repeat"),
        ("nddma", "loop_info"),
        ("nddma", "config"),
    }


@pytest.mark.parametrize(
    "cls, field, kind", PARTS, ids=lambda x: getattr(x, "__name__", x)
)
def test_a_struct_that_stands_inside_is_no_argument(cls, field, kind):
    info = asc.NdDmaLoopInfo((1,), (1,), (1,))
    part = info if kind is asc.NdDmaLoopInfo else kind()
    params = cls(info) if cls is asc.NdDmaParams else cls()
    text = (
        f"{cls.op}: {field} must be given inside {cls.__name__}, as its field, got "
        f"{kind.__name__} as an argument of its own. Write params = "
        f"asc.{cls.__name__}(..., {field}={field}), then asc.{cls.op}(src, params, dst="
    )
    for args in ((HALF, params, part), (HALF, HALF, params, part)):
        check_refused(asc.ParamError, text, getattr(asc, cls.op), *args)


@pytest.mark.parametrize(
    "args, got",
    [
        ((A, A, A, MMAD), "arguments in Ascend C's order (dst, fm, filter, params)"),
        ((A, A, A, A, MMAD), "arguments in Ascend C's order (dst, fm, filter, params)"),
        ((MMAD, A, A), "params first"),
        ((A, MMAD, A), "ArrayImpl"),
        ((A, A, ONE), "LoadData2DParams"),
    ],
)
def test_mmad_explains_its_order_of_arguments(args, got):
    text = f"mmad: params must be MmadParams, after l0a and l0b, got {got}. Write "
    text += "asc.mmad(l0a, l0b, params, l0c=l0c, bias=bias)."
    check_refused(asc.ParamError, text, asc.mmad, *args)
    text = "mmad: l0c and bias must be given by their names, got a fourth argument. "
    check_refused(asc.ParamError, text, asc.mmad, A, A, MMAD, A)


@pytest.mark.parametrize(
    "use",
    [
        lambda p: asc.nn.Pipeline([(p, "GM->A1")], product="910B", dtype="half"),
        lambda p: asc.nn.Pipeline([([ONE, p], "GM->A1")], product=3510, dtype="half"),
        lambda p: asc.sequence([p]),
        lambda p: asc.chain([p]),
        lambda p: asc.Call(p),
        lambda p: asc.Move.of(p, src_size=1, dtype="half"),
    ],
)
def test_mmad_s_params_are_no_move_and_the_error_says_how(use):
    text = r"got \[?MmadParams.*no move.* Call asc\.mmad .* asc\.nn\.CubeMatmul join"
    with pytest.raises(asc.ParamError, match=text):
        use(MMAD)


# --- operands


def runs_of(params, dtype, **sizes):
    """Every way to run one move on a source: op, sequence, run_move, chain, module."""
    move = asc.Move.of(params, dtype=dtype, **sizes)
    modules = {"load_data": asc.nn.LoadData, "data_copy": asc.nn.DataCopy}
    return {
        "op": lambda x: getattr(asc, params.op)(x, params),
        "sequence": lambda x: asc.sequence([params])(x),
        "run_move": lambda x: asc.run_move(move, x),
        "chain": lambda x: asc.chain([move])(x),
        "module": modules[params.op](params, dtype=dtype, **sizes),
    }


@pytest.mark.parametrize("name", ["op", "sequence", "run_move", "chain", "module"])
def test_a_matrix_where_a_flat_buffer_is_meant_gets_a_hint(name):
    run = runs_of(ONE, "half", src_size=256)[name]
    hint = r"shape is \(16, 16\), a batch of buffers of 16: pass x\.reshape\(-1\) where"
    with pytest.raises(asc.BoundsError, match=hint):
        run(jnp.zeros((16, 16), "float16"))
    with pytest.raises(asc.BoundsError, match="src must hold") as flat:
        run(jnp.zeros(16, "float16"))
    assert "reshape" not in str(flat.value)


def test_the_hint_is_for_every_operand():
    hint = r"{} must hold .* shape is \(2, {}\), .* pass x\.reshape\(-1\)"
    with pytest.raises(asc.BoundsError, match=hint.format("dst", 128)):
        asc.load_data(A, ONE, dst=A.reshape(2, 128))
    with pytest.raises(asc.BoundsError, match=hint.format("l0b", 128)):
        asc.mmad(A, A.reshape(2, 128), MMAD, product="910B")


@pytest.mark.parametrize("name", ["run_move", "chain", "module"])
@pytest.mark.parametrize("held", ["float32", "bfloat16", "int8"])
def test_where_the_type_is_settled_the_operand_is_at_fault(name, held):
    run = runs_of(ONE, "half", src_size=256)[name]
    text = rf"src must hold half: an array of float16, .* got an array of {held}\. Con"
    with pytest.raises(asc.ParamError, match=text):
        run(jnp.zeros(256, held))


def test_a_layout_s_arrays_are_named_too():
    layout = asc.Layout("NZ", (16, 16), "half")
    for name, use in (("x", layout.pack), ("buffer", layout.unpack)):
        text = f"layout: {name} must hold half: an array of float16, .* of float32"
        with pytest.raises(asc.ParamError, match=text):
            use(jnp.zeros((16, 16)) if name == "x" else jnp.zeros(256))


FORMS = {
    "values": lambda x: x.astype("int4"),
    "raw bits": lambda x: x.astype("uint4"),
    "packed": lambda x: (x[0::2] | x[1::2] << 4).astype("uint8"),
}


@pytest.mark.parametrize("a", FORMS)
@pytest.mark.parametrize("b", FORMS)
def test_mmad_takes_values_raw_bits_and_packed_bytes_side_by_side(a, b):
    x = jnp.asarray(np.random.default_rng(0).integers(0, 8, 2048, np.uint8))
    p = asc.MmadParams(16, 16, 64)
    options = {"product": "910B", "dtype": "int4b_t"}
    want = asc.mmad(x[:1024].astype("int4"), x[1024:].astype("int4"), p, **options)
    got = asc.mmad(FORMS[a](x[:1024]), FORMS[b](x[1024:]), p, **options)
    assert want.any() and got.tolist() == want.tolist()


def test_mmad_names_the_operand_of_another_type():
    text = r"mmad: l0b must hold int4b_t: an array of int4, .* got an array of int8\."
    packed = jnp.zeros(512, "uint8")
    with pytest.raises(asc.ParamError, match=text):
        asc.mmad(packed, packed.astype("int8"), MMAD, product="910B", dtype="int4b_t")


@pytest.mark.parametrize("name", ["a", "b"])
def test_a_wide_operand_of_a_matrix_product_is_named(name):
    given = {"a": np.zeros((16, 16), "f2"), "b": np.zeros((16, 16), "f2")}
    given[name] = given[name].astype("f8")
    text = f"CubeMatmul: {name} must be at most 32 bits wide while jax_enable_x64 is"
    with pytest.raises(asc.ParamError, match=text):
        asc.nn.CubeMatmul("910B", 16, 16, 16, "half")(**given)


@pytest.mark.parametrize("l0c", [None, jnp.zeros(256)], ids=["", "l0c"])
def test_a_bias_where_the_sum_starts_from_l0c_is_one_error(l0c):
    p = asc.MmadParams(16, 16, 16, cmatrix_init_val=False)
    text = "mmad: bias must be left out where cmatrix_init_val is false, which starts "
    text += "from l0c, got a bias. Pass l0c and no bias, or leave cmatrix_init_val out."
    options = {"l0c": l0c, "bias": jnp.zeros(16), "product": "910B"}
    check_refused(asc.ParamError, text, asc.mmad, A, A, p, **options)


# --- bounds, overlap, alignment


SINGLE = [n for n, c in CASES.items() if len(c.calls) == 1 and "nop" not in n]


@pytest.mark.parametrize("end", ["src", "dst"])
@pytest.mark.parametrize("name", SINGLE)
def test_a_move_that_leaves_its_buffer_names_fields_units_and_type(name, end):
    """What is named are fields of the call, each with its value and unit."""
    move = CASES[name].move
    params, nest = move.calls[0].params, move.nests[0]
    reached = {"src": nest.src_range, "dst": nest.dst_range}[end]()
    if reached is None:
        return  # it reads nothing but padding
    sizes = {"src_size": move.src_size, "dst_size": move.dst_size}
    sizes[f"{end}_size"] = reached[1]
    options = {"dtype": move.type.name, "product": move.product, "path": move.path}
    offsets = {"src_offset": move.calls[0].src_offset}
    offsets["dst_offset"] = move.calls[0].dst_offset
    with pytest.raises(asc.BoundsError, match=f"{end} must hold elements") as caught:
        asc.Move.of(params, **options, **sizes, **offsets, overlap="last")
    error = caught.value
    assert f"elements of {move.type}, [0, {reached[1]})" in str(error)
    named = re.findall(r"([a-z_0-9.\[\]]+)=(-?\d+) \(([^)]+)\)", error.fix)
    assert named and all(int(value) and unit for _, value, unit in named)
    for field, value, _ in named:
        base, _, rest = field.partition("_offset")
        if (base, rest) == (end, ""):
            assert offsets[field] == int(value)
            continue
        held = params
        for part in re.findall(r"[a-z_0-9]+", field):
            held = held[int(part)] if part.isdigit() else getattr(held, part)
        assert held == int(value)


def test_the_leads_are_those_of_a_call_done_by_hand():
    text = (
        "load2d: src must hold elements [0, 3584), which the move reads, got 256 "
        "elements of half, [0, 256). Give a longer src, or lower what leads there: "
        "start_index=1 (fractals of 512 bytes), repeat_times=5 (fractals of 512 bytes),"
        " src_stride=3 (fractals of 512 bytes, start to start). [Load2D, Table 3]"
    )
    call = asc.LoadData2DParams(1, 5, 3)
    check_refused(asc.BoundsError, text, asc.load_data, HALF, call)
    back = asc.LoadData2DParams(2, 5, 3, addr_mode=1)
    text = "Start later in a longer src, .* addr_mode=1 "
    with pytest.raises(asc.BoundsError, match=text):
        asc.load_data(HALF, back)


@pytest.mark.parametrize(
    "pad, way",
    [
        (None, "Without pad_params the runs go from UB to GM."),
        (asc.DataCopyPadExtParams(), "With pad_params the runs go from GM to UB."),
    ],
)
def test_data_copy_pad_says_which_way_it_goes(pad, way):
    params = asc.DataCopyExtParams(3, 40, 8, 8, pad_params=pad)
    with pytest.raises(asc.BoundsError, match=re.escape(way)):
        asc.data_copy_pad(A[:20], params)
    odd = asc.DataCopyExtParams(3, 41, 8, 8, pad_params=pad)
    with pytest.raises(asc.ParamError, match="block_len must be a mult"):
        asc.data_copy_pad(A, odd)
    with pytest.raises(asc.ParamError, match=re.escape(way)):
        asc.data_copy_pad(A, odd)


@pytest.mark.parametrize(
    "params, dtype, said",
    [
        (
            asc.Nz2NdParamsFull(1, 4, 32, 1, 4, dst_d_stride=16),
            "float",
            "float: r of 16 and b of 16, by dst_d_stride=16 (elements, start to",
        ),
        (
            asc.Nz2NdParamsFull(2, 4, 32, 1, 4, 144, 16),
            "half",
            "half: nd of 16 and b of 16, by dst_nd_matrix_stride=16 (elements, start",
        ),
        (
            asc.LoadData2dTransposeParams(0, 2, 1, 0),
            "int8_t",
            "int8_t: i of 512 and h of 512, by dst_gap=0 (fractals of 512 bytes, end "
            "to start), dst_frac_gap=0 (",
        ),
        (
            asc.LoadData2DParamsV2(0, 0, 3, 2, 3, 2),
            "half",
            "half: j of 512 and i of 256, by dst_stride=2 (fractals of 512 bytes",
        ),
        (
            asc.Nd2NzParams(2, 2, 8, 16, 8, 2, 1, 8),
            "float",
            "float: nd of 8 and r of 8, by dst_nz_n_stride=1 (blocks of 32 bytes, "
            "start to start), dst_nz_matrix_stride=8 (elements, start to start)",
        ),
        (
            asc.NdDmaParams(asc.NdDmaLoopInfo((0, 0), (3, 1), (2, 5))),
            "half",
            "half: x1 of 1 and x0 of 3, by loop_info.loop_dst_stride[0]=3 (elements), "
            "loop_info.loop_dst_stride[1]=1 (elements)",
        ),
    ],
)
def test_an_overlap_names_the_steps_that_meet_and_their_fields(params, dtype, said):
    text = re.escape(f"Steps meet, in elements of {said}")
    with pytest.raises(asc.OverlapError, match=text):
        asc.Move.of(params, dtype=dtype, src_size=1 << 15)


def test_no_boundary_is_of_one_byte_and_no_place_is_named_twice():
    said = []
    for cls in REGISTRY.values():
        for path in cls.paths():
            for field in ("src_offset", "dst_offset"):
                site = cls.site(None, path, "int4b_t")
                try:
                    _call._check_alignment(cls, site, field, 1)
                except asc.AlignmentError as error:
                    said.append(error.rule)
    assert any("start on a whole byte in GM: 2 elements of int4b_t" in x for x in said)
    for text in said:
        assert " 1 bytes" not in text
        assert not any(f"{name} ({name})" in text for name in POSITIONS)


# --- pipelines, tiles


LOAD = asc.LoadData2DParams
STAGES = [(LOAD(0, 4, 2), "GM->A1"), (LOAD(0, 4, 1), "A1->A2")]
ROAD = asc.nn.Pipeline(STAGES, product="910B", dtype="half")
X = jnp.zeros(ROAD.sizes[0], "float16")


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize(
    "src, dst, stage, text",
    [
        (X[:7], None, "stages[0] (load2d, GM -> L1)", "src must hold 1792 (elements)"),
        (
            X.astype("float32"),
            None,
            "stages[0] (load2d, GM -> L1)",
            "src must hold half",
        ),
        ("x", None, "stages[0] (load2d, GM -> L1)", "src must be an array"),
        (X, X[:3], "stages[1] (load2d, L1 -> L0A)", "dst must hold 1024 (elements)"),
        (X, "x", "stages[1] (load2d, L1 -> L0A)", "dst must be an array"),
    ],
)
def test_a_pipeline_s_errors_name_the_stage(src, dst, stage, text, fused):
    with pytest.raises(asc.AscendError, match=re.escape(f"Pipeline, {stage}: {text}")):
        ROAD(src, dst, fused=fused)


def test_errors_of_stages_name_them_when_the_pipeline_is_made():
    calls = [LOAD(0, 4, 1), (LOAD(0, 1), 7, 0)]
    text = "Pipeline, stages[1] (load2d, A1->A2): src_offset must start on a multiple"
    with pytest.raises(asc.AlignmentError, match=re.escape(text)):
        asc.nn.Pipeline([STAGES[0], (calls, "A1->A2")], product="910B", dtype="half")
    cast = asc.FixpipeParams(16, 1, 16, 16, quant_pre="F322F16")
    text = "Pipeline: stages[0] must move values as they are"
    with pytest.raises(asc.ParamError, match=re.escape(text)):
        asc.nn.Pipeline([(cast, "CO1->GM")], product="910B", dtype="float")


@pytest.mark.parametrize("product", ["atlas_a2", "atlas_a3", "atlas_350"])
def test_the_types_that_a_matrix_product_s_error_lists_are_taken(product):
    with pytest.raises(asc.SupportError, match="dtype must be one that") as caught:
        asc.nn.CubeMatmul(product, 16, 16, 16, "int16_t")
    listed = re.findall(r"\((.*)\)", caught.value.rule)[0].split(", ")
    assert "half" in listed
    for name in listed:
        options = {"transpose_b": True}
        assert (
            asc.nn.CubeMatmul(product, 16, 16, 16, name, **options).dtype.name == name
        )


# --- names of products, the list


@pytest.mark.parametrize(
    "name, key",
    [("A2", "atlas_a2"), ("a3", "atlas_a3"), ("Atlas A2", "atlas_a2")]
    + [(part, key) for key, p in PRODUCTS.items() for part in p.name.split(" / ")],
)
def test_a_product_answers_to_the_parts_of_its_name(name, key):
    assert asc.product(name).key == key


@pytest.mark.parametrize(
    "name, meant",
    [
        *((f"Ascend910B{k}", "atlas_a2") for k in (1, 2, 3, 4)),
        ("910B4-1", "atlas_a2"),
        ("910C", "atlas_a3"),
        ("Ascend910_9391", "atlas_a3"),
        ("310P", "atlas_inference_aicore or atlas_inference_vector"),
        ("Ascend310P3", "atlas_inference_aicore or atlas_inference_vector"),
        ("310B4", "atlas_200i_500_a2"),
        ("950", "atlas_350"),
        ("kirin_9031", "kirin_9030"),
    ],
)
def test_a_name_that_is_none_is_refused_with_what_may_be_meant(name, meant):
    with pytest.raises(asc.SupportError, match=rf"Did you mean {meant}\? Use a key"):
        asc.product(name)


def test_a_name_like_none_gets_no_guess():
    for name in ("xyz", "", "atlas", 7):
        with pytest.raises(asc.SupportError, match="product must be one of") as caught:
            asc.product(name)
        assert "Did you mean" not in str(caught.value)


def listed(*words):
    out = io.StringIO()
    list_command(Console(file=out, width=200), *words)
    return out.getvalue()


def test_the_list_is_cut_to_instructions_and_a_product():
    text = listed(["load2d", "NDDMA"], "910B")
    assert "load2d " in text and "A1->A2" in text and "atlas_a2" in text
    for other in ("nd2nz", "atlas_350", "hifloat8_t"):
        assert other not in text
    assert "nddma" not in text  # which atlas_a2 has not
    assert "nddma" in listed(["NDDMA"]) and "load2d" not in listed(["NDDMA"])
    assert "ldwt_v2" in listed(["LoadDataWithTranspose"])


def test_the_list_s_options_are_checked(capsys):
    assert main(["list", "--instruction", "load2d", "--product", "910B"]) == 0
    assert "atlas_350" not in capsys.readouterr().out
    for words in (["--instruction", "load4d"], ["--product", "910Z"]):
        assert main(["list", *words]) == 2
        assert "Did you mean" in capsys.readouterr().err


def test_the_help_of_padding_tells_its_ranges(capsys):
    assert main(["show", "data_copy_pad", "--help"]) == 0
    rows = capsys.readouterr().out
    for side in ("left", "right"):
        row = rf"--pad-params-{side}-padding +\[0, 32\] +elements, at most 32 bytes"
        assert re.search(row, rows)
    assert re.search(r"--pad-params-padding-value +a number", rows)
