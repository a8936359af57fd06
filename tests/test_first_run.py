"""The first minutes: an overview, versions, completion, an import that is quick."""

import os
import subprocess
import sys

import jax
import pytest

import ascjax as asc
from ascjax import cli_overview
from ascjax.cli import main
from ascjax.show import _complete


def said(capsys, *argv):
    assert main([*argv]) == 0
    return capsys.readouterr().out


def completed(line, monkeypatch, capsys):
    """What bash is offered at the end of a line."""
    words = line.split(" ")
    monkeypatch.setenv("_ASCJAX_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
    main([])
    return capsys.readouterr().out.split()


def test_alone_it_says_what_one_does_with_it(capsys):
    out = said(capsys)
    assert out.startswith("ascjax ") and len(out.split("\n")) < 20
    assert all(words in out for _, words in cli_overview.USES)
    assert "\x1b" not in out  # no colours in a pipe


def test_what_the_overview_names_works_as_typed(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for _, words in cli_overview.USES:
        if "FILE" not in words and words not in ("ascjax verify", "ascjax explore"):
            said(capsys, *words.split()[1:])
    assert (tmp_path / "load2d.png").stat().st_size > 1000


def test_version_names_what_computes(capsys):
    lines = dict(line.split(" ", 1) for line in said(capsys, "--version").splitlines())
    assert lines["jax"] == jax.__version__
    assert lines["devices"].startswith("1 x cpu")
    assert lines["products"].split(", ") == [*asc.PRODUCTS]
    assert {"ascjax", "jaxlib", "equinox", "numpy", "python"} <= set(lines)


def test_version_does_not_fail_where_no_device_answers(monkeypatch, capsys):
    def broken():
        raise RuntimeError("Unable to initialize backend 'cuda'")

    monkeypatch.setattr(jax, "devices", broken)
    assert "devices none: RuntimeError: Unable to" in said(capsys, "--version")


@pytest.mark.parametrize(
    "line, offered",
    [
        ("ascjax ver", ["verify"]),
        ("ascjax show load2", ["load2d", "load2dv2"]),
        ("ascjax show load2d --src-s", ["--src-stride", "--src-size"]),
        ("ascjax show load2d --product kirin", ["kirin_x90", "kirin_9030"]),
        ("ascjax show load2d --path A", ["A1->A2"]),
        ("ascjax show load2d --dtype bf", ["bfloat16_t"]),
        ("ascjax show load2d --if-transpose ", ["true", "false"]),
        ("ascjax show load2d --overlap ", ["error", "last"]),
        ("ascjax show nothing --src-s", ["--src-size"]),
        ("ascjax list --product atlas_a", ["atlas_a3", "atlas_a2"]),
        ("ascjax list --instruction nz", ["nz2nd"]),
    ],
)
def test_a_shell_completes_names_fields_and_values(line, offered, monkeypatch, capsys):
    assert completed(line, monkeypatch, capsys) == offered


def test_after_a_value_the_fields_are_offered_again():
    words = [w for w, _ in _complete.values("load2d", ["--repeat-times", "2"], "--re")]
    assert words == ["--repeat-times"]
    told = dict(_complete.options("load2d", "--repeat"))
    assert told == {"--repeat-times": "[0, 255] fractals of 512 bytes"}


def test_every_public_name_is_there_though_some_come_later():
    code = (
        "import ascjax as asc\n"
        "print(asc.sweeps.Sweep and asc.pictures.draw and 'packages')\n"
        "print(sorted({'nn', 'draw', 'sweep', 'cost'} - set(dir(asc))))\n"
        "from ascjax import nn, draw, sweep, diagnose, cost, oracle, weights\n"
        "print(callable(draw), asc.sweep is sweep, nn.Pipeline.__name__)\n"
        "print(hasattr(asc, 'nothing'))\n"
    )
    env = {**os.environ, "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True, text=True, env=env,
    )  # fmt: skip
    told = ["packages", "[]", "True True Pipeline", "False"]
    assert done.stdout.splitlines() == told, done
