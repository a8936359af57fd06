"""Pages of docs: every block of code runs and prints what it says."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.quick

DOCS = Path(__file__).parents[1] / "docs"
PAGES = {
    "tour.md": {"move", "l0a", "buffer", "road", "mm", "found"},
    "zh/tour.md": {"move", "l0a", "buffer", "road", "mm", "found"},
    "cost.md": {"mm", "best", "move"},
    "lowering.md": {"padded", "boxes", "windows", "rows"},
    "layouts.md": {"nz", "zn", "stored"},
    "cube.md": {"mm", "own", "big", "held"},
    "weights.md": {"loaded", "back", "entry", "router"},
    "sweeps.md": {"found", "tried", "same", "total"},
    "diagnosis.md": {"found", "rule", "moved"},
    "kernel-repositories.md": {"kernel"},
    "layers.md": {"layer", "attention", "model", "some", "step", "int8"},
}
if not all((DOCS / name).exists() for name in PAGES):
    pytest.skip("docs are not part of this copy", allow_module_level=True)
TEXTS = {name: (DOCS / name).read_text() for name in PAGES}


def check_blocks(text, capsys):
    """Run all blocks in one namespace; a comment behind a print is what it prints, and
    a block of text right below is all that the block prints."""
    space = {}
    blocks = r"```python\n(.*?)```(?:\n\n```text\n(.*?)\n```)?"
    for block, below in re.findall(blocks, text, re.S):
        exec(compile(block, "page", "exec"), space)
        printed = capsys.readouterr().out.splitlines()
        if below:
            assert printed == below.splitlines()
        said = re.findall(r"^print\(.*?\)  # (.*)$", block, re.M)
        assert [line for line in said if line not in printed] == []
    return space


@pytest.mark.parametrize("page", PAGES)
def test_the_blocks_run_and_print_what_they_say(page, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    space = check_blocks(TEXTS[page], capsys)
    assert space.keys() >= PAGES[page]


@pytest.mark.parametrize(
    ("said", "wrong"), [("# (8, 1536)", "# (8, 1537)"), ("[0, 2, 1, 3]", "[0, 1, 2]")]
)
def test_the_check_goes_red(said, wrong, capsys):
    text = TEXTS["layouts.md"]
    assert said in text
    with pytest.raises(AssertionError):
        check_blocks(text.replace(said, wrong), capsys)


def test_a_block_of_text_that_is_not_printed_goes_red(capsys):
    text = TEXTS["lowering.md"]
    for said, wrong in (("288 rows of 16 by", "288 rows of 32 by"), ("0 of dst\n", "")):
        assert said in text
        with pytest.raises(AssertionError):
            check_blocks(text.replace(said, wrong), capsys)


@pytest.mark.parametrize("page", PAGES)
def test_the_links_lead_somewhere(page):
    for target in re.findall(r"\]\((?!http)(.*?)\)", TEXTS[page]):
        assert ((DOCS / page).parent / target).exists(), target


def test_every_page_with_code_is_run():
    elsewhere = {"usage.md"}  # tests/test_readme.py
    for page in DOCS.rglob("*.md"):
        name = page.relative_to(DOCS).as_posix()
        if "```python" in page.read_text():
            assert name in {*PAGES, *elsewhere}, name
