"""`ascjax verify FILE|DIR`: what it says, its exit status, and controls that go red."""

import dataclasses
import io
import json
import re
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from case_file_helpers import GOLDEN, golden, write

import ascjax._sequence
from ascjax import oracle
from ascjax.cli import main
from ascjax.verify import (
    Case,
    Result,
    Step,
    _check,
    _report,
    _suite,
    check_case,
    read_cases,
)
from ascjax.verify._tally import Tally

pytestmark = pytest.mark.quick

GOLDEN_SETS = (
    *("ldwt_v1", "ldwt_v2", "load2d", "load2dv2", "load3dv2", "nd2nz", "nddma"),
    "nz2nd",
)


def run(*words: object) -> int:
    return main(["verify", *map(str, words)])


# --- the golden directory


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """The JSON report over the whole golden directory."""
    file = tmp_path_factory.mktemp("report") / "report.json"
    assert run(GOLDEN, "--json", file, "--allow-unsupported", "--jit-every", 40) == 0
    return json.loads(file.read_text())


def test_every_golden_case_of_each_instruction_passes(report):
    for name in GOLDEN_SETS:
        counts = report["instructions"][name]
        assert counts["passed"] == counts["cases"] >= 49
        assert counts["failed"] == counts["unsupported"] == counts["mismatches"] == 0
    assert report["counts"]["refused"] == 65
    assert report["counts"]["elements"] > 1_000_000
    assert report["exit_status"] == 0


def test_maps_are_held_against_the_given_one_the_oracle_and_the_op(report):
    ok = [result for result in report["results"] if result["status"] == "ok"]
    assert {result["instruction"] for result in ok} == {*GOLDEN_SETS, "scenario"}
    for result in ok:
        if result["instruction"] == "scenario":
            continue
        assert result["compared"][:2] == ["map", "oracle"]
    jitted = [result["instruction"] for result in ok if "op" in result["compared"]]
    assert set(jitted) == set(GOLDEN_SETS) and len(jitted) < len(ok) / 20


def test_the_golden_data_pass_whole(report):
    by_status = {}
    for result in report["results"]:
        by_status.setdefault(result["status"], set()).add(result["instruction"])
    assert by_status.keys() == {"ok", "refused"}
    assert report["counts"]["unsupported"] == 0


def test_the_report_has_coverage_and_versions(report):
    assert set(report["versions"]) >= {"ascjax", "jax", "numpy", "python"}
    assert set(report["coverage"]) >= set(GOLDEN_SETS)


def test_unsupported_cases_make_the_status_1_unless_allowed(capsys, tmp_path):
    lacking = {"instruction": "conv"}
    cases, maps = golden("nd2nz", pick=slice(4))
    file = write(tmp_path, [{**case, **lacking} for case in cases], maps)
    assert run(file) == 1
    out = capsys.readouterr().out
    assert "unsupported: ascjax has no conv" in out
    assert "NOT all right: 0 of 4 cases passed" in out
    assert "4 unsupported (--allow-unsupported lets them pass)" in out
    assert run(file, "--allow-unsupported") == 0


def test_the_table_and_the_last_line(capsys, tmp_path):
    file = write(tmp_path, *golden("nddma", pick=slice(3)))
    assert run(file, "--jit-every", 0) == 0
    out = capsys.readouterr()
    head = r"instruction +cases +refused +unsupported +failed +elements +mismatches"
    assert re.search(head + " +cases/s +ops +op s", out.out)
    assert re.search(r"nddma +3 +0 +0 +0 +[\d,]+ +0 +[\d,]+ +0 +0\.0", out.out)
    assert "all right: 3 of 3 cases passed, 0 failed, 0 mismatches;" in out.out
    assert "3 against a given map, 3 against the oracle;" in out.out
    assert out.err == ""  # no progress bar where there is no terminal


def test_the_rate_of_maps_leaves_ops_out(capsys):
    maps = Result("a", "load2d", "ok", 4, compared=("oracle",), seconds=0.5)
    op = dataclasses.replace(maps, compared=("oracle", "op"), op_seconds=30.0)
    tally = Tally().add_all([maps, op])
    (row,), total = tally.sorted_rows, tally.total
    assert row.rate == total.rate == 2.0
    assert (row.ops, row.op_seconds) == (total.ops, total.op_seconds) == (1, 30.0)
    options = {"seconds": 31.0, "allow_unsupported": False}
    _report.print_counts(_report.console(), tally, **options)
    out = capsys.readouterr().out
    assert re.search(r"load2d +2 +0 +0 +0 +8 +0 +2 +1 +30\.0", out)
    assert "cases/s: maps made and compared; op s: in jitted ops, compili" in out


def test_quiet_prints_one_line(capsys, tmp_path):
    file = write(tmp_path, *golden("nddma", pick=slice(3)))
    assert run(file, "-q", "--jit-every", 0) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1


# --- controls: what is wrong must be found


def test_a_corrupted_map_is_found_and_told_by_fractal_row_and_column(capsys, tmp_path):
    def corrupt(cases, maps):
        at = 3 * 512 + 2 * 32 + 5
        assert maps["load2d_000"][at] == 2 * 512 + 2 * 32 + 5
        maps["load2d_000"][at] += 1

    file = write(tmp_path, *golden("load2d", corrupt, pick=slice(0, 3)))
    assert run(file, "--jit-every", 0) == 1
    told = (
        f"{file}: load2d_000: mismatch: against the given map: destination element "
        "1605 (fractal 3, row 2, column 5; i 1, r 2, c 5): expected source element "
        "1094 (fractal 2, row 2, column 6), got source element 1093 (fractal 2, row 2, "
        "column 5) [1 of 5127 elements]"
    )
    out = capsys.readouterr().out
    assert told in out
    assert "NOT all right: 2 of 3 cases passed, 1 failed, 1 mismatches" in out


@pytest.mark.parametrize(
    "entry, words", [(-1, "nothing (not written)"), (-2, "padding")]
)
def test_a_map_that_expects_no_element_is_told_so(capsys, tmp_path, entry, words):
    def corrupt(cases, maps):
        maps["nddma_047"][3] = entry

    file = write(tmp_path, *golden("nddma", corrupt, pick=slice(47, 48)))
    assert run(file, "--jit-every", 0) == 1
    told = (
        f"destination element 3 (x1 0, x0 3): expected {words}, got source element 3 "
        "(x1 0, x0 3) [1 of 12"
    )
    assert told in capsys.readouterr().out


def first_mismatch(instruction, fields, src_size, at, source, dtype="half"):
    """The words for one map whose destination element `at` expects `source`."""
    step = Step(instruction, fields)
    case = Case("x", "", (step,), None, None, dtype, src_size, 64)
    wrong = _check.make_move(case).index_map.index.copy()
    wrong[at] = source
    return check_case(dataclasses.replace(case, golden=wrong)).message


def test_nz2nd_tells_matrix_row_and_column_on_both_sides():
    strides = {"srcNdMatrixStride": 1, "srcNStride": 4, "dstDStride": 32}
    counts = {"ndNum": 1, "nValue": 2, "dValue": 32, "dstNdMatrixStride": 0}
    message = first_mismatch("nz2nd", {**strides, **counts}, 256, 17, 16)
    assert message.endswith(
        "destination element 17 (nd 0, r 0, b 1, c 1): expected source element 16 "
        "(nd 0, r 1, b 0, c 0), got source element 65 (nd 0, r 0, b 1, c 1)"
    )


def test_nddma_tells_the_loops_and_where_they_are_padding():
    lists = {"loopSrcStride": [1, 4], "loopDstStride": [1, 8], "loopSize": [4, 2]}
    message = first_mismatch("nddma", lists, 8, 9, 3)
    assert message.endswith(
        "destination element 9 (x1 1, x0 1): expected source element 3 (x1 0, x0 3), "
        "got source element 5 (x1 1, x0 1)"
    )
    padded = {**lists, "loopLpSize": [1, 0]}
    assert first_mismatch("nddma", padded, 8, 8, 3).endswith(
        "destination element 8 (x1 1, x0 0): expected source element 3, got padding"
    )


def test_of_several_calls_the_last_that_writes_is_told():
    steps = Step("load2d", {"repeatTimes": 2}), Step("load2d", {"repeatTimes": 1})
    case = Case("x", "", steps, None, None, "half", 512, 512)
    wrong = _check.make_move(case).index_map.index.copy()
    wrong[[0, 300]] = 1, 1
    message = check_case(dataclasses.replace(case, golden=wrong)).message
    assert "destination element 0 (call 1, i 0, r 0, c 0): expected" in message
    wrong[0] = 0
    message = check_case(dataclasses.replace(case, golden=wrong)).message
    assert "destination element 300 (call 0, i 1, r 2, c 12): expected" in message


def test_one_corrupted_call_site_turns_the_golden_directory_red(tmp_path):
    def corrupt(cases, maps):
        maps["pfa-v-int8-ldwt-overlap"][-1] = 0

    write(tmp_path, *golden("callsites", corrupt), name="callsites.json")
    write(tmp_path, *golden("invalid"), name="invalid.json")
    file = tmp_path / "report.json"
    options = "--allow-unsupported", "--jit-every", 0, "--json", file
    assert run(tmp_path / "callsites.json", tmp_path / "invalid.json", *options) == 1
    report = json.loads(file.read_text())
    failed = [r["id"] for r in report["results"] if r["status"] == "mismatch"]
    assert failed == ["pfa-v-int8-ldwt-overlap"] and report["exit_status"] == 1


def test_calls_in_another_order_are_found():
    """The last call's fractals are overwritten by the one before it."""
    cases = read_cases(GOLDEN / "callsites.json")
    (case,) = [case for case in cases if case.id == "pfa-v-int8-ldwt-overlap"]
    assert check_case(case).status == "ok"
    swapped = dataclasses.replace(case, steps=case.steps[::-1])
    assert check_case(swapped).status == "mismatch"


def test_a_wrong_oracle_is_found_where_there_is_no_given_map(
    capsys, tmp_path, monkeypatch
):
    cases, _ = golden("load2d", pick=slice(2))
    file = write(tmp_path, cases)
    assert run(file, "--jit-every", 0) == 0
    assert "2 against the oracle;" in capsys.readouterr().out
    rule = oracle.INSTRUCTIONS["load2d"]
    wrong = lambda fields, bits: (  # noqa: E731
        (to, at - at % 2) for to, at in rule(fields, bits)
    )
    monkeypatch.setitem(oracle.INSTRUCTIONS, "load2d", wrong)
    assert run(file, "--jit-every", 0) == 1
    assert "load2d_000: mismatch: against the oracle: " in capsys.readouterr().out


def test_a_wrong_op_is_found(capsys, tmp_path, monkeypatch):
    file = write(tmp_path, *golden("load2d", pick=slice(2)))
    assert run(file, "--jit-every", 2) == 0
    assert "1 through the jitted op" in capsys.readouterr().out
    op_map = _check.op_map
    monkeypatch.setattr(_check, "op_map", lambda move: np.roll(op_map(move), 1))
    assert run(file, "--jit-every", 2) == 1
    assert "the jitted op against the engine's map: " in capsys.readouterr().out


def test_what_the_oracle_alone_refuses_is_an_error(tmp_path, monkeypatch):
    (case,) = read_cases(write(tmp_path, golden("load2d", pick=slice(1))[0]))
    small = lambda fields, bits: iter([(np.array([10**6]), np.array([0]))])  # noqa: E731
    monkeypatch.setitem(oracle.INSTRUCTIONS, "load2d", small)
    result = check_case(case)
    assert result.status == "error"
    assert result.message.startswith(
        "the engine accepts it, the oracle refuses: load2d"
    )


def test_a_case_that_the_engine_refuses_is_an_error(capsys, tmp_path):
    cases, maps = golden("load2d", pick=slice(1))
    cases[0]["fields"]["repeatTimes"] = 256
    assert run(write(tmp_path, cases, maps)) == 1
    assert "load2d_000: error: refused: load2d: repeat_times" in capsys.readouterr().out


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_names_that_the_output_cannot_hold_are_escaped(tmp_path, monkeypatch, encoding):
    cases, _ = golden("load2d", pick=slice(1))
    cases[0].update(id="行 7", src_size=1)
    out = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", out)
        assert run(write(tmp_path, cases)) == 1
    out.flush()
    said = out.buffer.getvalue().decode(encoding)
    assert ("行 7" if encoding == "utf-8" else r"\u884c 7") + ": error: " in said


def test_a_field_of_a_wrong_kind_is_an_error_without_a_traceback(capsys, tmp_path):
    cases, maps = golden("nddma", pick=slice(1))
    cases[0]["fields"]["config"] = "fast"
    assert run(write(tmp_path, cases, maps)) == 1
    assert "nddma_000: error: " in capsys.readouterr().out


def test_a_case_for_chips_as_built_is_unsupported(tmp_path):
    cases, maps = golden("callsites", pick=slice(1))
    cases[0]["documented"] = False
    (case,) = read_cases(write(tmp_path, cases, maps))
    assert check_case(case).status == "unsupported"


# --- inputs that must be refused


def test_an_input_that_must_be_refused_but_is_legal_fails(capsys, tmp_path):
    cases, _ = golden("invalid", pick=slice(2))
    assert cases[0]["why"] == "repeatTimes above 255"
    cases[0]["fields"]["repeatTimes"] = 255
    assert run(write(tmp_path, cases)) == 1
    out = capsys.readouterr().out
    told = "must be refused (repeatTimes above 255), but was accepted"
    assert f"mine[0]: error: {told}" in out
    assert "1 of 2 cases passed (1 refused, as they must be), 1 failed" in out


def refused_case(**members):
    """The first golden case that must be refused, and what it came to."""
    cases, _ = golden("invalid", pick=slice(1))
    return [{**cases[0], "id": "first", **members}]


@pytest.mark.parametrize(
    "members, text",
    [
        ({"error": "ParamError", "field": "repeat_times"}, None),
        ({"error": "AscendError"}, None),
        ({"error": "BoundsError"}, "with BoundsError, but was with ParamError: load2d"),
        ({"field": "src"}, "for src, but was for repeat_times: ParamError: load2d: "),
    ],
    ids=["both", "family", "error", "field"],
)
def test_a_refusal_may_have_to_be_for_a_reason(tmp_path, capsys, members, text):
    file = write(tmp_path, refused_case(**members))
    assert run(file) == (0 if text is None else 1)
    out = capsys.readouterr().out
    assert (
        text is None or "first: error: must be refused (repeatTimes above 255) " in out
    )
    assert (text or "1 refused, as they must be") in out


def test_a_list_s_field_is_named_with_or_without_its_entry(tmp_path):
    lists = {"loopSrcStride": [1], "loopDstStride": [1], "loopSize": [-1]}
    case = {"instruction": "nddma", "product": "atlas_350", "path": "GM->VECIN"}
    for field, status in (("loop_size[0]", 0), ("loop_size", 0), ("loop_size[1]", 1)):
        named = refused_case(**case, fields=lists, field=field)
        assert run(write(tmp_path, named)) == status


def test_a_refusal_for_a_slip_is_seen_by_its_reason(tmp_path, capsys):
    """Whatever is refused passes; `error` and `field`, or the reason, show a slip."""
    slip = {"dtype": "hafl", "fields": {"repeatTmes": 256}}
    file, report = write(tmp_path, refused_case(**slip)), tmp_path / "report.out"
    assert run(file, "-v", "--json", report) == 0
    reason = "ParamError: ascjax: dtype must name an Ascend C type"
    assert f"first: refused: {reason}" in capsys.readouterr().out
    assert json.loads(report.read_text())["results"][0]["message"].startswith(reason)
    assert run(file) == 0
    assert reason not in capsys.readouterr().out
    assert run(write(tmp_path, refused_case(**slip, field="repeat_times"))) == 1


def test_an_error_that_ascjax_does_not_have_is_no_case(tmp_path, capsys):
    assert run(write(tmp_path, refused_case(error="TypeError"))) == 2
    assert "error of first must be one of AscendError, ParamError" in (
        capsys.readouterr().err
    )


def test_another_exception_than_ascend_error_fails(capsys, tmp_path, monkeypatch):
    def broken(*_, **__):
        raise TypeError("a slip in the code")

    (case,) = golden("invalid", pick=slice(14, 15))[0]
    assert run(write(tmp_path, [case])) == 0  # its params are legal, its source short
    capsys.readouterr()
    monkeypatch.setattr(ascjax._sequence, "sequence", broken)
    assert run(write(tmp_path, [case])) == 1
    told = "but raised TypeError: a slip in the code, which is no AscendError"
    assert told in capsys.readouterr().out


def test_an_input_of_an_unknown_instruction_is_not_refused_but_unsupported(tmp_path):
    cases, _ = golden("invalid")
    lacking = {"instruction": "conv"}
    cases = [{**case, **lacking} for case in cases[:3]]
    results = [check_case(case) for case in read_cases(write(tmp_path, cases))]
    assert [result.status for result in results] == ["unsupported"] * 3


# --- the other commands, and bad usage


def test_show_passes_on_what_its_instruction_knows(monkeypatch):
    seen = []
    show = types.SimpleNamespace(
        list_command=lambda out, names, product: seen.append("list"),
        show_command=lambda out, name, words: seen.append((name, words)),
    )
    monkeypatch.setitem(sys.modules, "ascjax.show", show)
    words = ["--srcStride", "-1", "--ifTranspose", "true", "--why", "3"]
    assert main(["show", "load2dv2", *words]) == main(["list"]) == 0
    assert seen == [("load2dv2", words), "list"]


def test_no_paths_run_the_built_in_suite(capsys, monkeypatch):
    asked = []

    def run_suite(cases, seed, *, only, progress):
        progress(1, 1)
        asked.append((cases, seed, only))
        result = Result("x", "load2d", "ok", 5, compared=("oracle", "interpreter"))
        return [result], {}

    monkeypatch.setattr(_suite, "run_suite", run_suite)
    assert run() == run("--cases", 2, "--seed", 7) == 0
    assert run("--only", "NZ2ND", "--only", "LoadDataWithTranspose") == 0
    names = ["nz2nd", "ldwt_v1", "ldwt_v2"]
    assert asked == [(6, 0, []), (2, 7, []), (6, 0, names)]
    assert "1 against the oracle, 1 through the interpreter;" in capsys.readouterr().out
    run_bad = lambda *_, **__: ([], {})  # noqa: E731
    monkeypatch.setattr(_suite, "run_suite", run_bad)
    assert run() == 1  # nothing checked is not all right
    assert run("-h") == 0
    assert f"({_suite.DEFAULT_CASES})" in capsys.readouterr().out


BAD = {
    "command": (["verfy"], "No such command 'verfy'"),
    "option": (["verify", "--fast"], "No such option: --fast"),
    "number": (["verify", "--cases", "many"], "Invalid value for '--cases'"),
    "none": (["verify", "--cases", "0"], "Invalid value for '--cases'"),
    "suite": (["verify", "x.json", "--seed", "1"], "are for the built-in suite"),
    "only": (["verify", "x.json", "--only", "nddma"], "are for the built-in suite"),
    "name": (["verify", "--only", "nz2md"], "ascjax: instruction must be one that"),
    "show": (["show"], "Name one: `ascjax list` has them"),
    "files": (["verify", "--jit-every", "1"], "--jit-every is for case files"),
    "missing": (["verify", "x.json"], "ascjax: x.json: the file must be readable"),
    "report": (["verify", str(GOLDEN), "--json", "/"], "--json / must be writable"),
}


@pytest.mark.parametrize("words, text", BAD.values(), ids=BAD.keys())
def test_bad_usage_is_status_2_and_a_line(capsys, words, text):
    assert main(words) == 2
    out = capsys.readouterr()
    assert text in out.err and "Traceback" not in out.err and out.out == ""


@pytest.mark.parametrize(
    "change, text",
    [
        (lambda text: text[:-30], "must be JSON text"),
        (lambda text: text.replace('"itembits": 8', '"itembits": 16'), "itembits of"),
        (lambda text: text.replace('"fields"', '"feilds"', 1), "hold either fields"),
        (lambda text: text.replace('"dst_size": 5127', '"dst_size": 5126'), "(5126,)"),
        (lambda text: text.replace("load2d_000", "load2d_xxx"), "must be in the file"),
    ],
)
def test_an_unreadable_file_is_status_2_before_anything_runs(
    capsys, tmp_path, change, text
):
    cases, maps = golden("load2d", pick=slice(3))
    file = write(tmp_path, cases, maps)
    assert run(file, "--jit-every", 0) == 0
    capsys.readouterr()
    file.write_text(change(file.read_text()))
    assert run(GOLDEN / "load2d.json", file) == 2
    out = capsys.readouterr()
    assert text in out.err and out.out == ""
    assert out.err.startswith("ascjax: ") and len(out.err.splitlines()) == 1


def test_a_report_among_case_files_is_no_case_file(tmp_path, capsys):
    write(tmp_path, *golden("load2d", pick=slice(2)))
    report = tmp_path / "report.json"
    for _ in range(2):  # there is none at first, then there is one
        assert run(tmp_path, "--json", report, "--jit-every", 0) == 0
        assert json.loads(report.read_text())["counts"]["passed"] == 2
    assert run(report) == 2
    assert "must hold a list of cases" in capsys.readouterr().err


def test_a_report_does_not_replace_another(tmp_path, capsys):
    file = write(tmp_path, golden("load2d", pick=slice(1))[0])
    words = ("--json", str(tmp_path / "x"), "--report", str(tmp_path / "." / "x"))
    assert main(["verify", str(file), *words]) == 2
    assert "--json and --report name the same file" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


def test_a_report_does_not_replace_a_case_file(tmp_path, capsys):
    file = write(tmp_path, *golden("load2d", pick=slice(2)))
    before = file.read_text()
    assert run(tmp_path, "--json", file) == run(file, "--json", file) == 2
    assert "holds cases, which the report would replace" in capsys.readouterr().err
    assert file.read_text() == before


def test_a_report_that_is_not_written_leaves_no_file(tmp_path):
    assert run(tmp_path / "none.json", "--json", tmp_path / "report.json") == 2
    assert list(tmp_path.iterdir()) == []


def test_the_docs_and_the_help_name_the_report_s_members_and_exit_statuses(
    tmp_path, capsys
):
    docs = (Path(__file__).parents[1] / "docs" / "case-files.md").read_text()
    file = write(tmp_path, *golden("load2d", pick=slice(1)))
    report = tmp_path / "report.out"
    assert run(file, "--json", report, "--jit-every", 0) == 0
    for member in json.loads(report.read_text()):
        assert f"| `{member}` |" in docs, member
    capsys.readouterr()
    assert run("-h") == 0
    told = (
        "Exit status: 0 all right, 1 a case failed, or is unsupported without "
        "--allow-unsupported, or there was none, 2 bad usage or an unreadable file."
    )
    for text in (docs.replace("`", ""), capsys.readouterr().out):
        assert told in " ".join(text.split())


def test_an_error_in_ascjax_s_own_name_has_it_once(capsys):
    assert main(["show", "laod2d", "--repeat-times", "1"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("ascjax: instruction must be one that ascjax has")
    assert "Did you mean load2d" in said


def test_the_help_of_show_lists_options_and_fields(capsys):
    for words in (["--help"], ["-h"]):
        assert main(["show", *words]) == 0
        out = capsys.readouterr().out
        assert "Usage: ascjax show INSTRUCTION" in out and "--why CELL" in out
    for words in (["NZ2ND", "--help"], ["-h", "nz2nd"], ["nz2nd", "--n-value", "-h"]):
        assert main(["show", *words]) == 0
        out = capsys.readouterr().out
        assert "--src-n-stride" in out and "[0, 4096]" in out and "--overlap" in out


def test_the_module_runs_and_the_package_imports_neither_typer_nor_rich():
    code = (
        "import sys, ascjax; assert not {'typer', 'rich'} & sys.modules.keys(); "
        "import runpy; sys.argv = ['ascjax', 'verify', 'none.json']; "
        "runpy.run_module('ascjax', run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("ascjax: none.json: the file must be readable")


def test_a_user_s_file_joins_the_commands():
    sixth = Path(__file__).parent / "data" / "sixth.py"
    command = [sys.executable, "-m", "ascjax", "--with", str(sixth)]
    shown = subprocess.run(
        [*command, "show", "mirror", "--block-count", "2", "--start-block", "3"],
        capture_output=True,
        text=True,
    )
    assert shown.returncode == 0
    assert "dst[16*i + e] = src[64 - 16*i + e]" in shown.stdout


@pytest.mark.parametrize("text", [None, "1 / 0"], ids=["missing", "broken"])
def test_a_user_s_file_that_does_not_run_is_one_line(tmp_path, capsys, text):
    file = tmp_path / "mine.py"
    if text:
        file.write_text(text)
    assert main(["--with", str(file), "list"]) == 2
    assert "mine.py: " + ("ZeroDivisionError" if text else "no such file") in (
        capsys.readouterr().err
    )
