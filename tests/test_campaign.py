"""Runs over many cases: in a stream, with a state that they can be gone on from."""

import itertools
import json
import os
from collections import Counter

import numpy as np
import pytest
from campaign_helpers import SITE, dumps
from case_file_helpers import scenario_of_one_fractal

from ascjax import AscendError, cli
from ascjax.campaign import _stream, _ways
from ascjax.campaign._home import home
from ascjax.campaign._run import begin, go_on
from ascjax.campaign._state import State, StateError, begun, clear, run_of
from ascjax.campaign._stream import Share, cases_of, count, results
from ascjax.verify import CaseFileError, case_files

pytestmark = pytest.mark.quick


def run(*words):
    return cli.main(["verify", *map(str, words)])


def kept(state):
    """Position -> how often a state's files have it."""
    lines = [x for f in state.glob("results-*") for x in f.read_text().splitlines()]
    return Counter(json.loads(line)[0] for line in lines)


@pytest.fixture
def interrupted(monkeypatch):
    """Run the command, and interrupt it after some results, as Ctrl-C does."""

    def run_until(cases, *words):
        with monkeypatch.context() as patch:
            bar = _Interrupting(cases)
            patch.setattr(_ways.report, "progress", lambda *a, **k: bar)
            assert run(*words) == 130

    return run_until


class _Interrupting:
    def __init__(self, cases):
        self.cases = cases

    def __enter__(self):
        return self.advance

    def __exit__(self, *raised):
        return False

    def advance(self, done, total):
        if done >= self.cases:
            raise KeyboardInterrupt


# --- streams


def test_results_come_in_the_order_of_the_cases_whatever_they_are(
    tmp_path, monkeypatch
):
    """Dumps are checked in batches, others at once; no more than so many wait."""
    monkeypatch.setattr(_stream, "_AHEAD", 3)
    file = dumps(tmp_path, 12, wrong=(4,))
    lines = file.read_text().splitlines()
    by_map = {**SITE, "dtype": "half", "fields": {}, "src_size": 0, "dst_size": 0}
    for k in (2, 3, 7, 8, 9, 10, 11):
        lines.insert(k, json.dumps({**by_map, "id": f"map {k}"}))
    lines.append(json.dumps(scenario_of_one_fractal()))
    file.write_text("\n".join(lines))
    found = list(results(cases_of([file, file], lambda k: True)))
    assert [k for k, _ in found] == list(range(40))
    ids = [json.loads(line)["id"] for line in lines]
    assert [one.id for _, one in found] == ids * 2
    assert [one.id for _, one in found if one.failed] == ["row 4"] * 2


def test_shares_are_all_cases_each_once(tmp_path):
    files = [dumps(tmp_path, 700)]
    for processes in (1, 2, 3):
        shares = [Share(k, processes) for k in range(processes)]
        found = [
            [k for k, case in cases_of(files, share.has) if case] for share in shares
        ]
        assert sorted(itertools.chain(*found)) == list(range(700))
        assert {count(files, share) for share in shares} == {700}


def test_a_file_that_grows_while_it_is_checked_is_refused(tmp_path):
    file = dumps(tmp_path, 5)
    with home(tmp_path / "state", [file], resume=False) as where:
        state = begin([file], where, jit_every=8)
        dumps(tmp_path, 6)
        with pytest.raises(AscendError, match=r"stay as they are .* got more cases"):
            go_on([file], state)


def test_what_can_be_read_once_only_is_refused(tmp_path, capsys):
    """It would wait for ever for somebody to write to the pipe again."""
    if not hasattr(os, "mkfifo"):
        pytest.skip("no pipes with names")
    os.mkfifo(tmp_path / "pipe.jsonl")
    assert run(tmp_path / "pipe.jsonl") == 2
    assert (
        "pipe.jsonl: the file must be on a disk: it is read" in capsys.readouterr().err
    )


def test_what_is_no_share_of_a_process_is_not_parsed(tmp_path):
    file = dumps(tmp_path, 600)
    lines = file.read_text().splitlines()
    lines[300] = "{"
    file.write_text("\n".join(lines))
    assert count([file], Share(0, 2)) == 600
    with pytest.raises(CaseFileError, match="line 301 must be JSON"):
        count([file], Share(1, 2))


# --- the state


def test_an_interrupted_run_goes_on_and_counts_nothing_twice(
    tmp_path, capsys, interrupted
):
    file, state = dumps(tmp_path, 900, wrong=(5, 400, 899)), tmp_path / "state"
    interrupted(500, file, "--state", state)
    out = capsys.readouterr()
    assert "interrupted; 500 of 900 cases are done; the same command" in out.err
    assert "--resume goes on" in out.err
    assert (len(kept(state)), begun(state)) == (500, (500, 900))
    assert run(file, "--state", state, "--resume", "--json", tmp_path / "r.out") == 1
    assert "897 of 900 cases passed, 3 failed" in capsys.readouterr().out
    assert set(kept(state).values()) == {1} and len(kept(state)) == 900
    told = json.loads((tmp_path / "r.out").read_text())["results"]
    assert [one["id"] for one in told] == [f"row {k}" for k in range(900)]
    failed = [one["id"] for one in told if one["status"] != "ok"]
    assert failed == ["row 5", "row 400", "row 899"]
    # Once more: nothing is left to check, and all is told again.
    assert run(file, "--state", state, "--resume") == 1
    assert len(kept(state)) == 900


def test_a_state_beside_the_cases_is_no_case_file(tmp_path):
    file = dumps(tmp_path, 30)
    assert run(file, "--state", tmp_path) == 0
    assert run(tmp_path, "--state", tmp_path, "--resume") == 0
    assert len(kept(tmp_path)) == 30


def test_what_a_run_has_left_unfinished_is_no_case_file(tmp_path):
    """Results of a process without any case, and a report that it was ended in."""
    file = dumps(tmp_path, 30)
    report = tmp_path / "report.json"
    assert run(file, "--state", tmp_path, "--json", report) == 0
    report.write_text(report.read_text()[:-200])
    (tmp_path / "results-00001-000.jsonl").write_text("")
    assert case_files([tmp_path]) == [file]
    assert run(tmp_path, "--state", tmp_path, "--resume", "--json", report) == 0
    # Other empty files, and other JSON cut short, are at fault.
    (tmp_path / "results.jsonl").write_text("")
    (tmp_path / "cut.json").write_text('[{"format": "ascjax-verify 1"')
    assert {x.name for x in case_files([tmp_path]) if x != file} == {
        "results.jsonl",
        "cut.json",
    }


def test_other_maps_are_another_run(tmp_path, capsys):
    one = {**SITE, "dtype": "half", "fields": {"repeatTimes": 1}}
    file, state = tmp_path / "mine.jsonl", tmp_path / "state"
    file.write_text(json.dumps({**one, "id": "a", "src_size": 256, "dst_size": 256}))
    right = np.arange(256)
    np.savez(tmp_path / "mine.npz", a=np.where(right == 3, 7, right))
    assert run(file, "--state", state) == 1
    assert run(file, "--state", state, "--resume") == 1
    np.savez(tmp_path / "mine.npz", a=right)
    assert run(file, "--state", state, "--resume") == 2
    assert "got one with other files" in capsys.readouterr().err
    (tmp_path / "mine.npz").write_text("damaged")
    assert run(file, "--state", state, "--resume") == 2
    assert "must be a readable .npz" in capsys.readouterr().err


def test_only_files_of_a_state_are_taken_away_with_it(tmp_path):
    file = dumps(tmp_path, 3)
    assert run(file, "--state", tmp_path) == 0
    names = ("results-mine.jsonl", "results-2026-12.jsonl", "results-00001.jsonl")
    for name in names:
        (tmp_path / name).write_text("[0, 1]\n")
    assert begun(tmp_path) == (3, 3)
    clear(tmp_path)
    left = {one.name for one in tmp_path.iterdir()}
    assert left == {file.name, "right.npz", "wrong.npz", *names}


def test_the_folder_that_a_run_is_called_from_makes_no_difference(
    tmp_path, monkeypatch, capsys, cache, interrupted
):
    file = dumps(tmp_path, 30)
    interrupted(8, file)
    monkeypatch.chdir(tmp_path)
    assert run(file.name, "--resume") == 0
    assert "30 of 30 cases passed" in capsys.readouterr().out


def test_a_torn_line_is_checked_again(tmp_path, capsys):
    file, state = dumps(tmp_path, 30), tmp_path / "state"
    assert run(file, "--state", state) == 0
    (name,) = state.glob("results-*")
    whole = name.read_bytes().splitlines(keepends=True)
    name.write_bytes(b"".join(whole[:20]) + whole[20][:40])
    assert begun(state) == (20, 30)
    assert run(file, "--state", state, "--resume") == 0
    assert "30 of 30 cases passed" in capsys.readouterr().out
    found = list(State.open(state, _run(file), resume=True).results())
    assert [one.id for one in found] == [f"row {k}" for k in range(30)]


def _run(file):
    return run_of([file], count([file], Share()), 8)


def test_a_line_that_stands_twice_counts_once(tmp_path):
    file, folder = dumps(tmp_path, 10, wrong=(3,)), tmp_path / "state"
    for resumes in (False, True):
        state = State.open(folder, _run(file), resume=resumes)
        with state.writer() as writer:
            for k, one in results(cases_of([file], lambda k: True)):
                writer.write(k, one)
    assert set(kept(folder).values()) == {2}
    state.read()
    assert sum(one.failed for one in state.results()) == 1
    assert len(list(state.results())) == 10


def test_more_files_of_results_than_are_held_open(tmp_path):
    file, folder = dumps(tmp_path, 100), tmp_path / "state"
    state = State.open(folder, _run(file), resume=False)
    for k, one in results(cases_of([file], lambda k: True)):
        with state.writer(k % 70) as writer:
            writer.write(k, one)
    state.read()
    assert [one.id for one in state.results()] == [f"row {k}" for k in range(100)]


@pytest.mark.parametrize(
    ("change", "words", "text"),
    [
        (None, [], "must be new, got one that has begun. Add --resume"),
        ("cases", ["--resume"], "of the same cases and version, got one with other"),
        ("jit", ["--resume", "--jit-every", "3"], "one with other jit_every"),
        ("garbage", ["--resume"], "hold a state of ascjax, got another run.json"),
        ("none", [], "hold a run or no results, got results without their run.json"),
        ("none", ["--resume"], "results without their run.json. Name another folder"),
    ],
)
def test_a_state_that_is_not_this_run_s_is_refused(
    tmp_path, capsys, change, words, text
):
    file, state = dumps(tmp_path, 5), tmp_path / "state"
    assert run(file, "--state", state) == 0
    if change == "cases":
        file.write_text(file.read_text().replace("row 3", "row three"))
    if change == "garbage":
        (state / "run.json").write_text('{"of": "something else"}')
    if change == "none":
        (state / "run.json").unlink()
    capsys.readouterr()
    assert run(file, "--state", state, *words) == 2
    assert text in capsys.readouterr().err


def test_a_state_that_cannot_be_written_is_refused(tmp_path, capsys):
    file = dumps(tmp_path, 2)
    (tmp_path / "taken").write_text("")
    assert run(file, "--state", tmp_path / "taken") == 2
    assert "must be writable, got " in capsys.readouterr().err


def test_a_disk_that_is_full_is_said_and_the_run_goes_on_later(tmp_path, capsys):
    """Also where the end of a line finds no room when its file is closed."""
    resource = pytest.importorskip("resource")
    file, state = dumps(tmp_path, 40), tmp_path / "state"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (9_000, before[1]))
    try:
        assert run(file, "--state", state) == 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "must be writable, got File too large" in capsys.readouterr().err
    done, total = begun(state)
    assert 0 < done < total == 40
    assert run(file, "--state", state, "--resume") == 0
    assert "40 of 40 cases passed" in capsys.readouterr().out
    assert begun(state) == (40, 40)


# --- what is told


def test_patterns_and_a_page_are_told(tmp_path, capsys):
    """All that fail have one field's value, which no other has."""
    file = dumps(tmp_path, 40)
    cases = [json.loads(line) for line in file.read_text().splitlines()]
    for k in range(0, 40, 2):
        cases[k]["fields"] = {"startIndex": 0, "repeatTimes": 1}
    file.write_text("".join(json.dumps(case) + "\n" for case in cases))
    page, report = tmp_path / "page.html", tmp_path / "r.out"
    assert run(file, "--report", page, "--json", report) == 1
    words = "all 20 mismatches have startIndex 0; none of the 20 that pass does"
    assert words in capsys.readouterr().out
    told = json.loads(report.read_text())
    assert told["patterns"][0]["words"] == words
    text = page.read_text()
    assert words in text and "20 of 40" in text
    assert "start_index were 1 (claimed 0)" in text
    assert [f"row {2 * k}" in text for k in range(14)] == [True] * 12 + [False] * 2
    assert "data:image/svg+xml" in text


def test_without_failures_there_are_no_patterns(tmp_path, capsys):
    page, report = tmp_path / "page.html", tmp_path / "r.out"
    assert run(dumps(tmp_path, 5), "--report", page, "--json", report) == 0
    assert "patterns" not in capsys.readouterr().out
    assert json.loads(report.read_text())["patterns"] == []
    assert "5" in page.read_text()


def test_a_page_that_cannot_be_written_is_refused_before_the_work(tmp_path, capsys):
    file = dumps(tmp_path, 5)
    assert run(file, "--report", tmp_path / "none" / "page.html") == 2
    assert "--report" in capsys.readouterr().err
    assert run(file, "--report", file) == 2
    assert "holds cases, which the report would replace" in capsys.readouterr().err


# --- where nobody names a folder


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def held(cache):
    return [path for path in cache.rglob("*") if path.is_file()]


def test_a_run_that_ends_leaves_nothing_behind(tmp_path, cache):
    assert run(dumps(tmp_path, 5, wrong=(1,))) == 1
    assert held(cache) == []


def test_a_run_that_is_refused_leaves_nothing_behind(tmp_path, cache):
    file = dumps(tmp_path, 5)
    file.write_text(file.read_text() + "{")
    assert run(file) == 2
    assert held(cache) == []


def test_an_interrupted_run_is_found_again_without_a_name(
    tmp_path, cache, capsys, interrupted
):
    file = dumps(tmp_path, 20)
    interrupted(8, file)
    assert "8 of 20 cases are done" in capsys.readouterr().err
    (results,) = [path for path in held(cache) if path.name.startswith("results")]
    before = results.read_text()
    assert before.count("\n") == 8
    assert run(file, "--resume") == 0
    assert "20 of 20 cases passed" in capsys.readouterr().out
    assert held(cache) == []


def test_without_resume_a_run_begins_anew(tmp_path, cache, capsys, interrupted):
    file = dumps(tmp_path, 20)
    interrupted(8, file)
    capsys.readouterr()
    file.write_text(file.read_text().replace("row 3", "row three"))
    assert run(file) == 0
    told = capsys.readouterr()
    assert "20 of 20" in told.out
    assert "an earlier run, 8 of 20 cases done, is not gone on with" in told.err


def test_two_runs_of_the_same_files_do_not_meet(tmp_path, cache):
    file = dumps(tmp_path, 20)
    with (
        home(None, [file], resume=False) as one,
        home(None, [file], resume=False) as two,
    ):
        assert one.folder != two.folder
        assert (one.lasting, two.lasting) == (True, False)
        with (
            pytest.raises(StateError, match="be free, got one that another run holds"),
            home(None, [file], resume=True),
        ):
            pass


def test_without_a_cache_a_run_is_only_not_resumable(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    file = dumps(tmp_path, 2)
    assert run(file) == 0
    assert run(file, "--resume") == 2


def test_begin_and_go_on_from_python(tmp_path):
    file, seen = dumps(tmp_path, 300), []
    with home(tmp_path / "state", [file], resume=False) as where:
        state = begin([file], where, jit_every=0)
        go_on([file], state, advance=lambda *x: seen.append(x))
    assert seen[0] == (1, 300) and seen[-1] == (300, 300)
    assert state.done.all()
