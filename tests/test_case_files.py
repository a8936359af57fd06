"""Case files: what is read, and what is refused in one line."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from case_file_helpers import GOLDEN, scenario_of_one_fractal, write

from ascjax.dumps import check_dumps
from ascjax.verify import (
    CaseFileError,
    Scenario,
    case_files,
    check_case,
    read_cases,
    stream_cases,
)

CASE = {
    "id": "one",
    "instruction": "load2d",
    "product": "atlas_a2",
    "path": "A1->A2",
    "dtype": "half",
    "itembits": 16,
    "fields": {"repeatTimes": 1},
    "src_size": 256,
    "dst_size": 300,
}


def without(key: str, case: dict = CASE) -> dict:
    return {name: value for name, value in case.items() if name != key}


def good_map() -> np.ndarray:
    return np.where(np.arange(300) < 256, np.arange(300), -1)


# --- what is read


def test_cases_are_told_apart_by_content_not_by_name(tmp_path):
    calls = {**without("fields"), "id": "two", "calls": [{"fields": {}}]}
    refused = {**without("id"), "why": "a rule"}
    file = write(
        tmp_path, [CASE, calls, scenario_of_one_fractal(), refused], name="x.json"
    )
    one, two, scenario, must_refuse = read_cases(file)
    assert (one.id, one.steps[0].fields) == ("one", {"repeatTimes": 1})
    assert (two.id, two.steps[0].instruction) == ("two", "load2d")
    assert isinstance(scenario, Scenario) and len(scenario.steps) == 4
    assert (must_refuse.id, must_refuse.why) == ("x[3]", "a rule")


def test_every_golden_file_is_read():
    cases = [case for path in case_files([GOLDEN]) for case in read_cases(path)]
    assert len(cases) == 8 * 48 + 53 + 44 + 65
    assert sum(getattr(case, "golden", None) is not None for case in cases) == 437


def test_the_examples_of_the_docs_are_cases_that_pass(tmp_path):
    text = (Path(__file__).parents[1] / "docs" / "case-files.md").read_text()
    blocks = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    cases = [case for block in blocks for case in read_cases(write(tmp_path, block))]
    dumps = [case for case in cases if getattr(case, "dump", None)]
    others = [case for case in cases if case not in dumps]
    assert [case.instruction for case in others] == ["load2d", "load2d", "scenario"]
    assert [check_case(case).status for case in others] == ["ok", "refused", "ok"]
    src, before = np.arange(1280, dtype="float16"), np.zeros(512, "float16")
    after = np.concatenate([src[:256], src[768:1024]])
    (tmp_path / "row7").mkdir()
    src.tofile(tmp_path / "row7" / "src.bin")
    np.save(tmp_path / "row7" / "before.npy", before)
    np.savez(tmp_path / "row7" / "after.npz", after=after)
    np.savez(tmp_path / "row8.npz", src=src, dst_before=before, dst_after=after)
    assert [one.status for one in check_dumps(dumps)] == ["ok", "ok"]


def test_a_dump_is_not_checked_by_maps(tmp_path):
    case = {**CASE, "dump": "there.npz"}
    (found,) = read_cases(write(tmp_path, [case]))
    assert "ascjax.dumps.check_dumps" in check_case(found).message


def test_absent_offsets_are_zero_and_given_ones_are_kept(tmp_path):
    moved = {**CASE, "id": "moved", "src_offset": 16, "dst_offset": 256}
    first, second = read_cases(write(tmp_path, [CASE, moved]))
    assert (first.steps[0].src_offset, first.steps[0].dst_offset) == (0, 0)
    assert (second.steps[0].src_offset, second.steps[0].dst_offset) == (16, 256)


def test_a_directory_is_its_own_json_files_in_order(tmp_path):
    for name in ("b.json", "a.json", "note.txt"):
        write(tmp_path, [CASE], name=name)
    below = tmp_path / "below"
    below.mkdir()
    write(below, [CASE])
    assert [path.name for path in case_files([tmp_path])] == ["a.json", "b.json"]


def test_null_product_and_path_are_read(tmp_path):
    (case,) = read_cases(write(tmp_path, [{**CASE, "product": None, "path": None}]))
    assert case.product is None and case.path is None
    assert check_case(case).status == "ok"


def test_nd2nz_counts_bytes_of_4_bit_types(tmp_path):
    """One row of 33 bytes: a whole block, and a block with one byte in it."""
    fields = {"ndNum": 1, "nValue": 1, "dValue": 33, "dstNzC0Stride": 2}
    packed = {**CASE, "instruction": "nd2nz", "dtype": "int4b_t", "itembits": 8}
    packed |= {"path": "GM->A1", "fields": fields, "src_size": 33, "dst_size": 96}
    packed |= {"src_offset": 0, "dst_offset": 0}
    row = [*range(32), *[-1] * 32, 32, *[-2] * 31]
    (case,) = read_cases(write(tmp_path, [packed], {"one": np.array(row)}))
    result = check_case(case, through_op=True)
    assert (result.status, result.compared) == ("ok", ("map", "oracle", "op"))
    short = {**packed, "src_size": 32}
    (case,) = read_cases(write(tmp_path, [short], {"one": np.array(row)}))
    assert "src must hold elements [0, 33)" in check_case(case).message


def test_error_and_field_are_read_beside_why_only(tmp_path):
    named = {"error": "BoundsError", "field": "src"}
    refused = {**CASE, **named, "id": "two", "why": "a rule"}
    comment, two = read_cases(write(tmp_path, [{**CASE, **named}, refused]))
    assert (comment.error, comment.field) == (None, None)
    assert (two.error, two.field) == ("BoundsError", "src")


# --- what is refused


BROKEN = {
    "truncated": (json.dumps([CASE])[:-9], "the file must be JSON text"),
    "not text": ("\x00\x01", "the file must be JSON text"),
    "object": (CASE, "the file must hold a list of cases, got an object"),
    "empty": ([], "the file must hold a list of cases, got an empty list"),
    "number": ([3], "case 0 must be an object, {...}, got an integer, 3"),
    "no kind": ([without("fields")], "one must hold either fields, or calls, or a and"),
    "both": ([{**CASE, "calls": []}], "or a and b, got fields and calls"),
    "id": ([{**CASE, "id": 5}], "id of case 0 must be a string, got an integer, 5"),
    "twice": ([CASE, CASE], "id must be used once in a file, got one"),
    "fields": ([{**CASE, "fields": [1]}], "fields of one must be an object"),
    "size kind": ([{**CASE, "src_size": "256"}], "src_size of one must be an integer"),
    "size flag": ([{**CASE, "src_size": True}], "src_size of one must be an integer"),
    "size": ([{**CASE, "dst_size": -1}], "dst_size of one must be at least 0"),
    "offset": ([{**CASE, "src_offset": 1.5}], "src_offset of one must be an integer"),
    "bits": (
        [{**CASE, "itembits": 8}],
        "itembits of one must be 16, the width of half",
    ),
    "no calls": (
        [{**without("fields"), "calls": []}],
        "calls of one must hold at least one call",
    ),
    "call": (
        [{**without("fields"), "calls": [{}]}],
        "fields of calls[0] of one must be there, got nothing",
    ),
    **{
        f"no {key}": ([without(key)], f"{key} of one must be there, got only id")
        for key in ("instruction", "product", "path", "dtype", "src_size", "dst_size")
    },
    "no b": ([without("b", scenario_of_one_fractal())], "b of tiny must be there"),
    "outer": (
        [scenario_of_one_fractal(l0_outer="up")],
        "l0_outer of a of tiny must be 'row' or",
    ),
    "gm": (
        [scenario_of_one_fractal(gm_shape=[16, 8])],
        "gm_shape of a of tiny must be [16, 16], by m, n, k and transpose, got [16, 8]",
    ),
    "l0": (
        [scenario_of_one_fractal(l0_shape=[8, 16])],
        "must hold the 16 x 16 real elements",
    ),
    "step": (
        [scenario_of_one_fractal(l1_to_l0=[{"fields": {}}])],
        "l1_to_l0[0] of a of tiny must",
    ),
}


SLIPS = {
    "close": ({**CASE, "src_ofset": 9}, "src_ofset of one", "Write src_offset, or"),
    "spelling": ({**CASE, "srcOffset": 9}, "srcOffset of one", "Write src_offset, or"),
    "overlap": ({**CASE, "overlaps": "last"}, "overlaps of one", "Write overlap, or"),
    "config": (
        {**CASE, "instruction": "nddma", "config": {"isNearest": True}},
        "config of one must stand in fields, got it beside",
        "Move it into fields",
    ),
    "field": (
        {**CASE, "repeat_times": 2},
        "repeat_times of one must stand in fields",
        "",
    ),
    "offset": (
        {**without("fields"), "calls": [{"fields": {}}], "dst_offset": 4},
        "dst_offset of one must stand in each call",
        "",
    ),
    "call": (
        {**without("fields"), "calls": [{"fields": {}, "dstoffset": 4}]},
        "dstoffset of calls[0] of one",
        "Write dst_offset, or",
    ),
    "in call": (
        {**without("fields"), "calls": [{"fields": {}, "overlap": "last"}]},
        "overlap of calls[0] of one must stand in the case",
        "",
    ),
    "scenario": (
        {**scenario_of_one_fractal(), "dtypes": 1},
        "dtypes of tiny",
        "dtype,",
    ),
    "operand": (scenario_of_one_fractal(l0_outr="row"), "l0_outr of a of", "l0_outer,"),
}


@pytest.mark.parametrize("case, where, fix", SLIPS.values(), ids=SLIPS.keys())
def test_a_member_that_looks_like_a_slip_is_refused(tmp_path, case, where, fix):
    with pytest.raises(CaseFileError) as caught:
        read_cases(write(tmp_path, [case]))
    assert where in str(caught.value) and fix in str(caught.value)


def test_other_members_are_comments(tmp_path):
    notes = {"note": "x", "where": "y", "src_layout": "NZ", "_x": 1, "kernel": "k"}
    (case,) = read_cases(write(tmp_path, [{**CASE, **notes}]))
    assert case.steps[0].fields == CASE["fields"]


@pytest.mark.parametrize(
    "name, fix",
    [
        ("Load2D", "Did you mean load2d"),
        ("LoadData2DParams", "Did you mean load2d?"),
        ("NZ2ND", "Did you mean nz2nd?"),
    ],
)
def test_an_instruction_that_nobody_has_is_refused(tmp_path, name, fix):
    for case in (
        {**CASE, "instruction": name},
        {**without("fields"), "calls": [{"fields": {}, "instruction": name}]},
        scenario_of_one_fractal(gm_to_l1=[{"fields": {}, "instruction": name}]),
    ):
        with pytest.raises(CaseFileError, match=r"instruction of .* must be one") as e:
            read_cases(write(tmp_path, [case]))
        assert fix in str(e.value)


@pytest.mark.parametrize("name", ["laod2d", "conv"])
def test_an_instruction_that_ascjax_lacks_is_unsupported(tmp_path, name):
    (case,) = read_cases(write(tmp_path, [{**CASE, "instruction": name}]))
    assert check_case(case).status == "unsupported"


@pytest.mark.parametrize("inside", [True, False])
def test_an_unknown_name_in_the_config_is_refused_as_one_beside_it(tmp_path, inside):
    lists = {"loopSrcStride": [1], "loopDstStride": [1], "loopSize": [4]}
    slip = {"isNearest": True}
    fields = {**lists, **({"config": slip} if inside else slip)}
    site = {"instruction": "nddma", "product": "atlas_350", "path": "GM->VECIN"}
    (case,) = read_cases(write(tmp_path, [{**CASE, **site, "fields": fields}]))
    result = check_case(case)
    assert result.status == "error" and "isNearest" in result.message


@pytest.mark.parametrize("data, text", BROKEN.values(), ids=BROKEN.keys())
def test_a_file_that_contradicts_itself_is_refused_in_one_line(tmp_path, data, text):
    file = write(tmp_path, data)
    with pytest.raises(CaseFileError, match=re.escape(text)) as caught:
        read_cases(file)
    assert "\n" not in str(caught.value) and str(file) in str(caught.value)


MAPS = {
    "short": ({"one": good_map()[:-1]}, "must be (300,) integers, one a destination"),
    "shape": ({"one": good_map()[None]}, "must be (300,) integers"),
    "float": ({"one": good_map() * 1.0}, "got (300,) of float64"),
    "missing": ({"two": good_map()}, "the map of one must be in the file, got none"),
    "pickled": ({"one": np.array([{}])}, "must be a readable .npz"),
}


@pytest.mark.parametrize("maps, text", MAPS.values(), ids=MAPS.keys())
def test_a_map_that_does_not_fit_its_case_is_refused(tmp_path, maps, text):
    file = write(tmp_path, [CASE], maps)
    with pytest.raises(CaseFileError, match=re.escape(text)):
        read_cases(file)


@pytest.mark.parametrize("cut", [0, 10, 400, -30])
def test_a_damaged_npz_is_refused(tmp_path, cut):
    file = write(tmp_path, [CASE], {"one": good_map()})
    maps = file.with_suffix(".npz")
    maps.write_bytes(maps.read_bytes()[:cut])
    with pytest.raises(CaseFileError, match=r"must be a readable \.npz of NumPy"):
        read_cases(file)


def test_a_plain_array_in_the_place_of_maps_is_refused(tmp_path):
    file = write(tmp_path, [CASE])
    with file.with_suffix(".npz").open("wb") as out:
        np.save(out, good_map())
    with pytest.raises(CaseFileError, match=r"must be a readable \.npz of NumPy"):
        read_cases(file)


def test_a_good_map_is_read(tmp_path):
    (case,) = read_cases(write(tmp_path, [CASE], {"one": good_map(), "other": [1]}))
    np.testing.assert_array_equal(case.golden, good_map())


def test_missing_files_and_empty_directories_are_refused(tmp_path):
    with pytest.raises(CaseFileError, match=r"must be readable, got No such file"):
        read_cases(tmp_path / "none.json")
    with pytest.raises(CaseFileError, match=r"hold at least one \.json or \.jsonl"):
        case_files([tmp_path])


# --- one case a line


def lines(folder, *texts, name="many.jsonl"):
    file = folder / name
    file.write_text("".join(text + "\n" for text in texts))
    return file


def test_one_case_a_line_is_the_same_as_a_list(tmp_path):
    cases = [CASE, {**without("id"), "why": "a rule"}]
    file = lines(tmp_path, json.dumps(CASE), "", json.dumps(cases[1]))
    np.savez(tmp_path / "many.npz", one=good_map())
    one, two = read_cases(file)
    assert (one.id, one.golden.tolist()) == ("one", good_map().tolist())
    assert (two.id, two.why) == ("many[1]", "a rule")
    assert case_files([tmp_path]) == [file]


def test_lines_are_read_as_they_are_needed(tmp_path):
    """The first case comes before the line at fault is read."""
    text = json.dumps(CASE)
    stream = stream_cases(lines(tmp_path, text, "{"))
    assert next(stream).id == "one"
    with pytest.raises(CaseFileError, match=r"many.jsonl: line 2 must be JSON text"):
        next(stream)


@pytest.mark.parametrize(
    ("texts", "text"),
    [
        ([], "the file must hold a case a line, got no line"),
        (["[]"], r"line 1 must be an object, \{\.\.\.\}"),
        ([json.dumps(CASE)] * 2, "id must be used once in a file, got one"),
        ([json.dumps({**CASE, "src_ofset": 1})], "Write src_offset"),
        (
            [json.dumps({**CASE, "id": "a\ud83d"})],
            r"whole characters.*got \\ud83d alone",
        ),
        ([json.dumps({**CASE, "\udc00": 1})], r"whole characters.*got \\udc00 alone"),
        (['{"x": ' + "[" * 900 + "]" * 900 + "}"], "at most 32 deep, got deeper"),
    ],
)
def test_lines_at_fault_are_refused(tmp_path, texts, text):
    with pytest.raises(CaseFileError, match=text):
        read_cases(lines(tmp_path, *texts))


def test_what_only_looks_like_half_characters_and_depth_is_read(tmp_path):
    """A pair, the text of an escape, and many lists side by side."""
    names = ["\U0001f600", "\\ud83d", "行 7", "[" * 50]
    cases = [{**CASE, "id": name, "note": [[]] * 50} for name in names]
    file = lines(tmp_path, *map(json.dumps, cases))
    assert [case.id for case in read_cases(file)] == names
