"""Everything that README shows was run, and is run again here."""

import pathlib
import re
import shlex

import pytest

from ascjax.cli import main

pytestmark = pytest.mark.quick

ROOT = pathlib.Path(__file__).parents[1]
README, CHINESE, USAGE = (
    ROOT / name for name in ("README.md", "README_zh.md", "docs/usage.md")
)
PAGES = (README, CHINESE, USAGE)
if not USAGE.exists():
    pytest.skip("docs are not part of this copy", allow_module_level=True)
TEXT = USAGE.read_text()


def python_blocks(page):
    return re.findall(r"```python\n(.*?)```", page.read_text(), re.S)


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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_python_blocks_run_and_raise_what_they_say(
    page, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    check_python(python_blocks(page))
    assert "(1280,) 768.0" in capsys.readouterr().out or page == USAGE


def test_the_opening_shows_what_the_command_prints(capsys):
    check_show(TEXT, capsys)


def test_the_commands_of_the_table_work_as_typed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = re.search(r"`ascjax (show .*?)`", README.read_text())[1]
    assert main(shlex.split(words)) == 0
    assert (tmp_path / "load2d.png").exists()


def test_readme_fits_one_screen():
    for page in (README, CHINESE):
        assert len(page.read_text().splitlines()) <= 70


def test_chinese_says_what_english_says():
    for pair in ((README, CHINESE), (ROOT / "docs/tour.md", ROOT / "docs/zh/tour.md")):
        one, two = (page.read_text() for page in pair)
        assert code_of(one) == code_of(two)
        for mark in ("\n## ", "\n![", "\n|"):
            assert one.count(mark) == two.count(mark), mark


def code_of(text):
    """The code of a page, without its comments."""
    blocks = re.findall(r"```(?:python|sh|text)\n(.*?)```", text, re.S)
    return [re.sub(r" *#.*", "", block) for block in blocks]


def test_the_checks_go_red(capsys):
    with pytest.raises(AssertionError):
        check_python(["raise ValueError('other')\n# BoundsError: load2d"])
    with pytest.raises(AssertionError):
        check_show(TEXT.replace("36*r", "37*r"), capsys)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_links_lead_somewhere(page):
    for target in re.findall(r"\]\((?!http)(.*?)\)", page.read_text()):
        assert (page.parent / target).exists(), target
