"""Everything that README shows was run, and is run again here."""

import pathlib
import re
import shlex

import pytest

from ascjax.cli import main

pytestmark = pytest.mark.quick

README = pathlib.Path(__file__).parents[1] / "README.md"
TEXT = README.read_text()


def python_blocks():
    return re.findall(r"```python\n(.*?)```", TEXT, re.S)


def check_python(blocks):
    """Run the blocks in one namespace; one that raises must say so in its comments."""
    space = {}
    for block in blocks:
        said = " ".join(re.findall(r"^# ?(.*)$", block, re.M))
        try:
            exec(compile(block, "README.md", "exec"), space)
        except ValueError as error:
            name, _, text = said.partition(": ")
            assert type(error).__name__ == name
            assert str(error).startswith(text.removesuffix(" ..."))
        else:
            assert "Error" not in said


def check_show(text, capsys):
    """Run the README's `ascjax show` and find the lines that it quotes."""
    command, quoted = re.search(r"\$ ascjax (.*?[^\\])\n(.*?)```", text, re.S).groups()
    assert main(shlex.split(command.replace("\\\n", " "))) == 0
    assert quoted.strip() in capsys.readouterr().out


def test_the_python_blocks_run_and_raise_what_they_say(capsys):
    check_python(python_blocks())
    assert "(1280,) 768.0" in capsys.readouterr().out


def test_the_opening_shows_what_the_command_prints(capsys):
    check_show(TEXT, capsys)


def test_the_checks_go_red(capsys):
    with pytest.raises(AssertionError):
        check_python(["raise ValueError('other')\n# BoundsError: load2d"])
    with pytest.raises(AssertionError):
        check_show(TEXT.replace("36*r", "37*r"), capsys)


def test_the_links_lead_somewhere():
    for target in re.findall(r"\]\((?!http)(.*?)\)", TEXT):
        assert (README.parent / target).exists(), target
