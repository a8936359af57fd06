"""docs/layouts.md: every block of code runs and prints what it says."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "layouts.md"
if not PAGE.exists():
    pytest.skip("docs are not part of this copy", allow_module_level=True)
TEXT = PAGE.read_text()


def check_blocks(text, capsys):
    """Run all blocks in one namespace; a comment behind a print is what it prints."""
    space = {}
    for block in re.findall(r"```python\n(.*?)```", text, re.S):
        exec(compile(block, PAGE.name, "exec"), space)
        printed = capsys.readouterr().out.splitlines()
        said = re.findall(r"^print\(.*?\)  # (.*)$", block, re.M)
        assert [line for line in said if line not in printed] == []
    return space


def test_the_blocks_run_and_print_what_they_say(capsys):
    space = check_blocks(TEXT, capsys)
    assert {"nz", "zn", "stored"} <= space.keys()


@pytest.mark.parametrize(
    ("said", "wrong"), [("# (8, 1536)", "# (8, 1537)"), ("[0, 2, 1, 3]", "[0, 1, 2]")]
)
def test_the_check_goes_red(said, wrong, capsys):
    assert said in TEXT
    with pytest.raises(AssertionError):
        check_blocks(TEXT.replace(said, wrong), capsys)


def test_the_links_lead_somewhere():
    for target in re.findall(r"\]\((?!http)(.*?)\)", TEXT):
        assert (PAGE.parent / target).exists(), target
