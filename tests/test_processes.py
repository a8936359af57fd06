"""Runs in several real processes: joined by JAX, supervised, ended, gone on with."""

import collections
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from campaign_helpers import dumps

from ascjax import cli
from ascjax.campaign._state import begun

pytestmark = [pytest.mark.quick, pytest.mark.long]


def command(*words):
    return [sys.executable, "-m", "ascjax", "verify", *map(str, words)]


def started(*words, flags=(), cwd=None, stdout=subprocess.PIPE):
    return subprocess.Popen(
        [sys.executable, *flags, *command(*words)[1:]],
        env={**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONWARNINGS": "error"},
        cwd=cwd,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process, seconds=120):
    out, err = process.communicate(timeout=seconds)
    return process.returncode, out, err


def children(pid):
    return [
        int(status.parent.name)
        for status in Path("/proc").glob("[0-9]*/stat")
        if _parent(status) == pid
    ]


def _parent(status):
    try:
        return int(status.read_text().rpartition(")")[2].split()[1])
    except OSError:
        return None


def kept(state):
    """How often each position stands in a whole line; a killed writer's last may be
    torn."""
    texts = [name.read_text() for name in state.glob("results-*")]
    lines = [x for text in texts for x in text.splitlines(True) if x.endswith("]\n")]
    return collections.Counter(json.loads(line)[0] for line in lines)


def wait_for(found, seconds=60):
    until = time.monotonic() + seconds
    while not found():
        assert time.monotonic() < until, "it has not come to that"
        time.sleep(0.05)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize(("processes", "victim"), [(2, 1), (4, 2)])
def test_a_process_that_is_killed_ends_the_run_which_goes_on_later(
    tmp_path, capsys, processes, victim
):
    """The others are ended with it, what was done is kept, and the rest is checked by
    another number of processes."""
    file, state = dumps(tmp_path, 4_000, wrong=(7, 3_999)), tmp_path / "state"
    one = started(file, "--processes", processes, "--state", state)
    wait_for(lambda: (begun(state) or (0, 0))[0] > 20)
    pids = sorted(children(one.pid))
    assert len(pids) == processes
    os.kill(pids[victim], signal.SIGKILL)
    since = time.monotonic()
    status, out, err = ended(one)
    assert time.monotonic() - since < 20 and status == 3 and out == ""
    done, total = begun(state)
    assert 20 < done < total == 4_000
    told = f"process {victim} (pid {pids[victim]}) was ended by SIGKILL; {done} of 4000"
    assert told in err and "the same command with --resume goes on" in err
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]

    status = cli.main(["verify", str(file), "--state", str(state), "--resume"])
    out = capsys.readouterr().out
    assert status == 1 and "3998 of 4000 cases passed, 2 failed" in out
    assert set(kept(state).values()) == {1} and len(kept(state)) == 4_000


def test_processes_find_what_one_finds(tmp_path, capsys):
    """Also after a run of one process that was ended."""
    file, report = dumps(tmp_path, 1200, wrong=(3, 700)), tmp_path / "r.out"
    state = tmp_path / "state"
    assert cli.main(["verify", str(file), "--state", str(state)]) == 1
    (name,) = state.glob("results-*")
    name.write_text("".join(name.read_text().splitlines(keepends=True)[:500]))
    words = (file, "--processes", 2, "--state", state, "--resume", "--json", report)
    status, out, err = ended(started(*words))
    assert (status, err) == (1, "")
    assert "1198 of 1200 cases passed, 2 failed" in out
    told = json.loads(report.read_text())["results"]
    assert [one["id"] for one in told] == [f"row {k}" for k in range(1200)]
    assert [k for k, one in enumerate(told) if one["status"] != "ok"] == [3, 700]
    assert set(kept(state).values()) == {1} and len(kept(state)) == 1200
    assert capsys.readouterr().err == ""


def test_what_lies_in_the_folder_of_the_call_makes_no_difference(tmp_path):
    """Modules of that name, which the command itself does not import, and a file whose
    name looks like an option."""
    dumps(tmp_path, 3).rename(tmp_path / "-x.jsonl")
    (tmp_path / "typer.py").write_text("raise RuntimeError('not this one')\n")
    words = ("--processes", 1, "--", "-x.jsonl")
    status, out, err = ended(started(*words, flags=["-P"], cwd=tmp_path))
    assert (status, err) == (0, "")
    assert "3 of 3 cases passed" in out


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_result_that_cannot_be_told_is_no_failed_case(tmp_path):
    """Python's own status for an error is that of a failed case."""
    file, state = dumps(tmp_path, 3), tmp_path / "state"
    words = (file, "--processes", 1, "--state", state)
    with open("/dev/full", "w") as full:
        status, _, err = ended(started(*words, stdout=full))
    assert status == 3 and "No space left on device" in err
    assert "process 0" in err and "3 of 3 cases are done; the same command" in err
    assert begun(state) == (3, 3)


def test_a_process_that_does_not_begin_is_no_failed_case(tmp_path):
    file, state = dumps(tmp_path, 3), tmp_path / "state"
    own = tmp_path / "own.py"
    own.write_text("import os, sys\n'--supervised' in sys.argv and os._exit(1)\n")
    words = ["--with", own, "verify", file, "--processes", 1, "--state", state]
    assert cli.main([*map(str, words)]) == 3


def test_auto_without_a_launcher_is_refused(tmp_path):
    file, state = dumps(tmp_path, 3), tmp_path / "state"
    words = (file, "--coordinator", "auto", "--state", state)
    status, out, err = ended(started(*words))
    assert (status, out) == (2, "") and "Traceback" not in err
    assert "--coordinator auto must be under a launcher that JAX knows" in err


def as_a_launcher(state, *options):
    """Two members, as a cluster's launcher starts them, each with words of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        where = f"127.0.0.1:{free.getsockname()[1]}"
    common = ("--coordinator", where, "--processes", 2, "--state", state)
    members = [
        started(*words, *common, "--process-id", k) for k, words in enumerate(options)
    ]
    return [ended(one) for one in members]


def test_a_launcher_starts_the_members(tmp_path):
    file, state = dumps(tmp_path, 600), tmp_path / "state"
    (status, out, err), other = as_a_launcher(state, (file,), (file,))
    assert (status, err) == (0, "") and other == (0, "", "")
    assert "600 of 600 cases passed" in out
    assert len(kept(state)) == 600


def test_without_anybody_watching_a_lost_process_is_an_error_of_the_others(tmp_path):
    """The other one ends, by itself, and what it has checked is kept."""
    file, state = dumps(tmp_path, 3_000), tmp_path / "state"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        where = f"127.0.0.1:{free.getsockname()[1]}"
    common = ("--coordinator", where, "--processes", 2, "--state", state)
    first, second = (started(file, *common, "--process-id", k) for k in range(2))
    wait_for(lambda: sum(kept(state).values()) > 20)
    second.kill()
    ended(second)
    status, out, err = ended(first)
    assert (status, out) == (4, "")
    assert "verify: the other processes must be there to the end, got" in err
    assert "Start all again with --resume" in err and "Traceback" not in err
    done, total = begun(state)
    assert 1_500 <= done < total == 3_000


def test_members_with_other_cases_are_refused_before_any_work(tmp_path):
    file, state = dumps(tmp_path, 600), tmp_path / "state"
    first, second = as_a_launcher(state, (file,), (file, "--jit-every", 3))
    assert (first[0], second[0]) == (2, 2)
    assert "must be of one run, got another in process 1" in first[2]
    assert "must be of one run, got another in process 0" in second[2]
    assert list(state.iterdir()) == []


def test_a_file_at_fault_in_one_share_refuses_all(tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    file = dumps(tmp_path, 600)
    lines = file.read_text().splitlines()
    lines[300] = "{"
    file.write_text("\n".join(lines))
    status, out, err = ended(started(file, "--processes", 2))
    assert (status, out) == (2, "")
    assert "line 301 must be JSON text" in err
    assert "must be agreed on, got a refusal by process 1" in err
    assert not [path for path in cache.rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--process-id", "0"], "--process-id needs --coordinator"),
        (["--coordinator", "h:1"], "--coordinator needs --state"),
        (["--coordinator", "h:1", "--state", "s"], "needs --processes N"),
        (
            [
                "--coordinator",
                "h:1",
                "--state",
                "s",
                "--processes",
                "2",
                "--process-id",
                "2",
            ],
            "--process-id K, from 0 to N - 1",
        ),
        (
            [
                *("--coordinator", "head", "--state", "s"),
                *("--processes", "2", "--process-id", "1"),
            ],
            "'head' is neither HOST:PORT nor auto",
        ),
    ],
)
def test_bad_usage_is_refused(tmp_path, capsys, words, text):
    file = dumps(tmp_path, 1)
    assert cli.main(["verify", str(file), *words]) == 2
    assert text in capsys.readouterr().err


def test_the_built_in_suite_has_no_processes(capsys):
    assert cli.main(["verify", "--processes", "2"]) == 2
    assert "--processes is for case files" in capsys.readouterr().err
