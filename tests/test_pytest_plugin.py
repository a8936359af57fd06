"""The pytest plugin: case files as tests, in a kernel repository of its own."""

import collections
import fnmatch
import importlib.metadata
import json
import os
import subprocess
import sys

import pytest
from campaign_helpers import SITE, dumps

import ascjax.dumps
from ascjax import cli

pytestmark = pytest.mark.quick

CASE = {**SITE, "dtype": "half", "fields": {"repeatTimes": 1}}
SIZED = {**CASE, "src_size": 256, "dst_size": 256}


class Ran:
    """What pytest printed, and how many tests ended how."""

    def __init__(self):
        self.ended, self.text = collections.Counter(), ""

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.outcome != "passed":
            self.ended[report.outcome] += 1

    def pytest_collectreport(self, report):
        self.ended["error"] += report.failed

    def pytest_deselected(self, items):
        self.ended["deselected"] += len(items)

    def says(self, *lines):
        """Whether lines like these were printed, in this order."""
        left = iter(self.text.splitlines())
        return all(any(fnmatch.fnmatch(x, line) for x in left) for line in lines)


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run pytest in a folder of its own, in this process, where jax is there already
    (pytester would import parts of it anew)."""
    monkeypatch.chdir(tmp_path)

    def run_pytest(*words, **ended):
        ran = Ran()
        options = ["-v", "-s", "-p", "no:xdist", "--rootdir", str(tmp_path)]
        options += ["-p", "no:unraisableexception"]  # it collects all garbage
        pytest.main([*options, *words], plugins=[ran])
        ran.text = capsys.readouterr().out
        assert +ran.ended == collections.Counter(ended), ran.text
        return ran

    return run_pytest


def write(folder, cases, name="calls.ascjax.json"):
    (folder / name).write_text(json.dumps(cases))


def test_each_case_is_a_test(tmp_path, run):
    """By its name, whatever kind it is."""
    cases = [
        {**SIZED, "id": "by the oracle"},
        {**SIZED, "id": "too long", "fields": {"repeatTimes": 256}, "why": "a byte"},
        {**SIZED, "id": "not known", "instruction": "conv"},
        {**SIZED, "id": "too short", "dst_size": 255},
    ]
    write(tmp_path, cases)
    found = run(passed=2, skipped=1, failed=1)
    assert found.says("calls.ascjax.json::by the oracle PASSED*")
    assert found.says("calls.ascjax.json::not known SKIPPED*ascjax has no conv*")
    assert found.says("calls.ascjax.json::too short: error: refused: load2d: dst*")
    assert not found.says("*Traceback*")
    run("-k", "oracle", passed=1, deselected=3)
    run("calls.ascjax.json::too short", failed=1)
    run("-m", "not ascjax", deselected=4)
    run("--lf", failed=1)


def test_dumps_are_checked_together_and_explained(tmp_path, run, monkeypatch):
    """300 dumps are two batches; the one that is wrong goes red, and says why."""
    file = dumps(tmp_path, 300, wrong=(7,))
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    lines[290]["fields"] = {"startIndex": 0, "repeatTimes": 1}
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (tmp_path / "chip.ascjax.jsonl").write_text(text)
    batches, check = [], ascjax.dumps.check_dumps

    def checked(cases):
        batches.append(list(cases))
        return check(batches[-1])

    monkeypatch.setattr(ascjax.dumps, "check_dumps", checked)
    found = run(passed=298, failed=2)
    assert [len(batch) for batch in batches] == [256, 44]
    assert found.says(
        "chip.ascjax.jsonl::row 7: mismatch: destination element 3 (fractal 0, "
        "row 0, column 3; i 0, r 0, c 3): expected 0x0103, got 0x0102*",
        "*it may be that 1 elements were damaged (1 bits)",
        "chip.ascjax.jsonl::row 290: mismatch:*[[]256 of 256 elements[]]",
        "  matches exactly if start_index were 1 (claimed 0)",
    )
    batches.clear()
    run("-k", "299", passed=1, deselected=299)
    assert [len(batch) for batch in batches] == [1]


@pytest.mark.parametrize("way", ["ini", "option"])
def test_other_files_are_named_by_globs(tmp_path, run, way):
    (tmp_path / "kernels").mkdir()
    for name in ("kernels/one.json", "other.json"):
        write(tmp_path, [SIZED], name)
    run()
    words = []
    if way == "ini":
        (tmp_path / "pytest.ini").write_text("[pytest]\nascjax_cases = kernels/*.json")
    else:
        words = ["--ascjax-cases", "kernels/*.json"]
    found = run(*words, passed=1)
    assert found.says("kernels/one.json::one* PASSED*")


def test_what_ascjax_has_written_among_them_is_left_out(tmp_path, run):
    """A report, and the state of a run, as `ascjax verify` leaves them out of a
    directory."""
    write(tmp_path, [SIZED], "one.json")
    words = ("--json", tmp_path / "report.json", "--state", tmp_path)
    assert cli.main(["verify", "one.json", *map(str, words)]) == 0
    assert len([*tmp_path.glob("*.json*")]) == 4
    run("--ascjax-cases", "*.json", "--ascjax-cases", "*.jsonl", passed=1)


def test_a_file_at_fault_is_an_error_in_one_line(tmp_path, run):
    write(tmp_path, [CASE])
    write(tmp_path, [SIZED], "good.ascjax.json")
    found = run("--continue-on-collection-errors", passed=1, error=1)
    assert found.says("*src_size of calls.ascjax[[]0[]] must be there*")
    assert not found.says("*Traceback*")


def test_it_can_be_left_out(tmp_path, run):
    write(tmp_path, [SIZED])
    run("-p", "no:ascjax")


def apart(folder, *words, **env):
    """pytest in a process of its own."""
    command = [sys.executable, "-m", "pytest", "-q", *words]
    env = {**os.environ, **env}
    return subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, check=False
    )


def test_pytest_starts_without_jax(tmp_path):
    """Where there are no case files."""
    (tmp_path / "test_it.py").write_text(
        "import sys\n"
        "def test_nothing_heavy(pytestconfig):\n"
        "    assert pytestconfig.pluginmanager.hasplugin('ascjax_pytest')\n"
        "    assert not {'jax', 'ascjax', 'numpy'} & sys.modules.keys()\n"
    )
    # Of other plugins some import it.
    only = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = apart(tmp_path, "-p", "ascjax_pytest", **only)
    assert done.returncode == 0, done.stdout + done.stderr
    (found,) = importlib.metadata.entry_points(group="pytest11", name="ascjax")
    assert found.value == "ascjax_pytest"


def test_workers_share_the_cases_out(tmp_path):
    """With pytest-xdist, each in its own process."""
    file = dumps(tmp_path, 30, wrong=(3,))
    file.rename(tmp_path / "chip.ascjax.jsonl")
    done = apart(tmp_path, "-n", "2")
    assert "1 failed, 29 passed" in done.stdout, done.stdout + done.stderr
