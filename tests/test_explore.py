"""The explorer without a browser: forms, what is seen of a choice, and the code."""

import dataclasses
import re
import runpy
import socket
import sys
from pathlib import Path

import jax
import pytest

import ascjax as asc
from ascjax import oracle
from ascjax.cli import main
from ascjax.explore import Choice, seen
from ascjax.explore._code import _in_lines, c_code, jax_code
from ascjax.explore._form import Item, _value, fields_of, form_of, item_named
from ascjax.explore._starts import STARTS
from ascjax.instr import REGISTRY

NAMES = [*REGISTRY]
LISTS = "loopLpSize", "loopRpSize"
SIXTH = Path(__file__).parent / "data" / "sixth.py"


def start_of(name, **values):
    form = form_of(name)
    place = form.start
    choice = Choice(place.product, place.path, place.dtype, {**form.values, **values})
    return form, choice


@pytest.mark.parametrize("name", NAMES)
def test_every_instruction_starts_with_a_picture(name):
    form, choice = start_of(name)
    found = seen(form, choice)
    assert found.error == "" and found.svg.startswith("<svg"), found
    assert found.move.calls[0].params == form.start.params
    assert 0 < found.move.dst_size < 10_000
    assert found.formula == str(found.move.nests[0])


@pytest.mark.parametrize("name", NAMES)
def test_the_form_has_every_field_with_its_range_and_unit(name):
    form = form_of(name)
    names = {item.name.partition("[")[0] for item in form.items}
    assert {*form.params.c_fields()} <= names
    for item in form.items:
        field = form.params.c_fields().get(item.name.partition("[")[0])
        if field is not None and item.kind == "integer":
            assert (item.low, item.high, item.unit) == (
                field.low,
                field.high,
                field.unit,
            )


@pytest.mark.parametrize("name", NAMES)
def test_the_code_for_jax_makes_the_same_move(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    form, choice = start_of(name)
    found, made = seen(form, choice), {}
    exec(found.jax, made)
    assert made["move"].index_map == found.move.index_map
    assert made["dst"].shape[-1] == found.move.dst_size
    assert (tmp_path / "move.svg").exists()


def test_the_code_for_jax_runs_for_packed_and_opaque_types(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    params = asc.LoadData2DParams(0, 2, 1)
    for dtype, path in (("int4b_t", "A1->A2"), ("bfloat16_t", "A1->A2")):
        move = asc.Move.of(
            params, src_size=2048, product="atlas_a2", path=path, dtype=dtype
        )
        check_runs(move)
    pairs = asc.Nd2NzParams(1, 4, 32, 0, 32, 16, 1, 0)
    move = asc.Move.of(
        pairs, src_size=128, product="atlas_350", path="GM->A1", dtype="fp4x2_e2m1_t"
    )
    check_runs(move)


def check_runs(move):
    """The code to copy makes the same move, and its call works."""
    made = {}
    exec(jax_code(move), made)
    assert made["move"] == move
    pair = 2 if made["dst"].dtype == "uint8" and move.type.bits == 4 else 1
    assert made["dst"].shape[-1] * pair == move.dst_size


@pytest.mark.parametrize("dtype", ["int64_t", "double"])
def test_the_code_for_jax_runs_for_types_of_64_bits(dtype, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    move = asc.Move.of(asc.DataCopyParams(2, 1), src_size=8, dtype=dtype)
    wide, made = jax.config.read("jax_enable_x64"), {}
    try:
        exec(jax_code(move), made)
    finally:
        jax.config.update("jax_enable_x64", wide)
    assert made["move"] == move
    assert made["dst"].dtype.itemsize == 8


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "0.5", "-1e30"])
def test_the_code_for_jax_takes_every_constant(value, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    form, choice = start_of("nddma", constantValue=float(value))
    found, made = seen(form, choice), {}
    exec(found.jax, made)
    assert repr(made["params"]) == repr(found.move.calls[0].params)


@pytest.mark.parametrize("name", NAMES)
def test_the_c_initialiser_has_the_fields_in_the_struct_s_order(name):
    params = form_of(name).start.params
    text = c_code(params, asc.ascend_type("half"))
    last = text[text.rindex("AscendC::") :]
    assert last.startswith(f"AscendC::{type(params).__name__}")
    parts = params.parts()
    names = [f.name for f in dataclasses.fields(params) if f.name not in parts]
    said = re.findall(r"/\*(\w+)\*/", last)
    assert said == [re.sub(r"_([a-z0-9])", lambda m: m[1].upper(), n) for n in names]
    assert text.count("{") == text.count("}")


def test_the_c_initialiser_of_nddma_is_the_documents_example():
    text = c_code(STARTS["nddma"].params, asc.ascend_type("float"))
    assert (
        "AscendC::NdDmaLoopInfo<2> loopInfo{{1, 8}, {1, 16}, {8, 2}, {3, 1}, {5, 1}};"
        in text
    )
    assert (
        "AscendC::NdDmaParams<float, 2> params{loopInfo, /*constantValue*/ (float)0};"
        in text
    )


@pytest.mark.parametrize(
    "name, values, at, text",
    [
        ("load2d", {"repeatTimes": 256}, "repeatTimes", "must be in [0, 255]"),
        ("load2d", {"addrMode": 1}, "", "be read from its element 0 on"),
        ("nz2nd", {"dValue": 20}, "dValue", "be a multiple of 16"),
        ("nddma", {"loopDstStride[1]": 3}, "loopDstStride[1]", "be at least"),
        ("nddma", {"loopSize[0]": -1}, "loopSize[0]", "loop_size[0] must be in"),
        ("load3dv2", {"channelSize": 17}, "channelSize", "multiple of C0"),
        ("load3dv2", {"strideW": 0}, "strideW", "be at least 1"),
        ("data_copy_pad", {"padParams.leftPadding": 99}, "padParams.leftPadding",
         "left_padding"),
        ("data_copy_pad", {"padParams": False, "dstStride": 2}, "padParams",
         "be given from GM to UB"),
        ("load2d", {"repeatTimes": None}, "", ""),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_at_the_field(name, values, at, text):
    found = seen(*start_of(name, **values))
    assert (found.at, text in found.error) == (at, True), found.error
    if text:  # nothing of it is there to copy
        assert (found.move, found.svg, found.jax, found.c) == (None, "", "", "")


def test_a_struct_that_is_left_out_has_no_members():
    form, choice = start_of("load3dv2", repeat=True, **{"repeat.dstStride": 2})
    assert fields_of(form, choice.values)["repeat"]["dstStride"] == 2
    form, choice = start_of("load3dv2", repeat=False)
    assert "repeat" not in fields_of(form, choice.values)


def test_a_slider_goes_where_it_is_useful():
    assert Item("x", "integer", 0, 31).span(3) == (0, 31)
    assert Item("x", "integer", 0, 65535).span(2) == (0, 16)
    assert Item("x", "integer", 0, 65535).span(160) == (0, 640)
    assert Item("x", "integer", -(2**31), 2**31 - 1).span(5) == (-20, 20)
    assert Item("x", "integer", 1, 512).span(1) == (1, 16)


def test_a_new_instruction_has_a_form_at_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    try:
        made = runpy.run_path(str(SIXTH))
        form, choice = start_of("mirror")
        assert [item.name for item in form.items] == [
            "startBlock", "blockCount", "dstGap",
        ]  # fmt: skip
        found = seen(form, choice)
        assert found.svg and found.move.dst_size > 0 and found.error == ""
        assert found.move.calls[0].params == form.start.params
        assert "AscendC::MirrorParams params{/*startBlock*/ " in found.c
        exec(found.jax, made)
        assert made["move"].index_map == found.move.index_map
        wrong = seen(*start_of("mirror", blockCount=4096))
        assert wrong.at == "blockCount" and "must be in [0, 4095]" in wrong.error
    finally:
        REGISTRY.pop("mirror", None)
        oracle.INSTRUCTIONS.pop("mirror", None)


def test_a_value_at_the_end_of_a_range_is_kept():
    form = form_of("load2d")
    field = form.params.c_fields()["srcStride"]
    assert _value({"srcStride": 65535}, "srcStride", field) == 65535
    config = asc.NdDmaConfig(loop_lp_size=3)
    fields = asc.NdDmaParams(asc.NdDmaLoopInfo((1,), (1,), (8,)), 0, config).to_fields()
    named = asc.NdDmaParams.c_fields()
    found = [_value(fields, f"config.{n}", named[f"config.{n}"]) for n in LISTS]
    assert found == [3, None]


def test_code_that_is_too_wide_goes_over_several_lines():
    assert _in_lines("f(a, b)") == "f(a, b)"
    a, b = "a" * 30, "b" * 50
    assert _in_lines(f"f({a}, {b[:40]}) // {a}") == f"f(\n    {a}, {b[:40]}\n) // {a}"
    assert _in_lines(f"f({a}, g(1, 2), {b})") == (
        f"f(\n    {a},\n    g(1, 2),\n    {b},\n)"
    )
    for name in NAMES:
        found = seen(*start_of(name))
        assert max(map(len, [*found.jax.splitlines(), *found.c.splitlines()])) <= 80


def test_what_is_too_large_to_draw_at_once_has_all_but_the_picture():
    found = seen(*start_of("data_copy", blockLen=65535))
    assert found.svg == "" and found.error == "" and "65535" in found.jax
    assert found.formula == str(found.move.nests[0])


def test_a_constant_may_be_a_fraction_and_a_count_may_not():
    found = seen(*start_of("data_copy_pad", **{"padParams.paddingValue": 0.5}))
    assert "padding_value=0.5" in found.jax and "(half)0.5" in found.c
    found = seen(*start_of("load2d", repeatTimes=3.5))
    assert found.at == "repeatTimes" and "got 3.5" in found.error


def test_errors_name_items_of_lists_and_members():
    form = form_of("nddma")
    assert item_named(form, "loop_size").name == "loopSize[0]"
    assert item_named(form, "loop_size[1]").name == "loopSize[1]"
    assert item_named(form, "dst") is None


def test_a_port_that_is_taken_is_told(capsys):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        assert main(["explore", "--port", str(port), "--no-browser"]) == 2
    assert f"--port must be free, got {port}" in capsys.readouterr().err


def test_what_is_missing_or_unknown_is_told(monkeypatch, capsys):
    assert main(["explore", "--instruction", "nothing"]) == 2
    assert "instruction" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "nicegui", None)
    assert main(["explore"]) == 2
    assert "pip install 'ascjax[explore]'" in capsys.readouterr().err
