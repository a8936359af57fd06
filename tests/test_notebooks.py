"""The notebooks of `notebooks/`: each runs, and shows what is committed."""

import base64
import importlib
import io
import re
from pathlib import Path

import nbformat
import pytest
from PIL import Image

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
if not NOTEBOOKS.exists():
    pytest.skip("notebooks are not part of this copy", allow_module_level=True)
tool = importlib.import_module("run_notebooks")  # pyproject.toml has its folder

each = pytest.mark.parametrize("path", tool.notebooks(), ids=lambda path: path.stem)
BYTES = 700_000  # of one notebook, its pictures included


@pytest.mark.long  # each in a kernel of its own, beside other tests
@each
def test_a_notebook_runs_and_shows_what_is_committed(path):
    assert tool.differences(tool.run(path), nbformat.read(path, 4)) == []


def check_committed(book, size):
    """It was run top to bottom, raised no warning, and is small."""
    cells = tool.code_cells(book)
    assert [c.execution_count for c in cells] == [k + 1 for k in range(len(cells))]
    kinds = [kind for cell in cells for kind, _ in tool.shown(cell)]
    assert kinds and set(kinds) <= {"stdout", "text/plain", "image/png text/plain"}
    assert size < BYTES
    for cell in cells:
        for output in cell.outputs:
            check_picture(output.get("data", {}).get("image/png"))


def check_picture(png):
    """It is small, and not blank."""
    if png is not None:
        image = Image.open(io.BytesIO(base64.b64decode(png)))
        assert max(image.size) < 2000 and len(image.convert("L").getcolors()) > 4


@each
def test_what_is_committed_was_run_and_is_small(path):
    check_committed(nbformat.read(path, 4), path.stat().st_size)


def broken_links(text):
    """Files that a text links to, from the notebooks' folder on, and that are not."""
    names = re.findall(r"\]\((?!https?:)([^)#]+)", text)
    return [name for name in names if not (NOTEBOOKS / name).exists()]


def test_links_lead_somewhere_and_every_notebook_is_listed():
    readme = (NOTEBOOKS / "README.md").read_text()
    books = [nbformat.read(path, 4) for path in tool.notebooks()]
    cells = [cell.source for book in books for cell in book.cells]
    assert broken_links("\n".join([readme, *cells])) == []
    assert all(f"]({path.name})" in readme for path in tool.notebooks())
    assert broken_links("[a](https://b.c) [d](README.md#e) [f](g.md)") == ["g.md"]


# --- the tool


def png(side=40):
    image = Image.radial_gradient("L").convert("RGB").resize((side, side))
    out = io.BytesIO()
    image.save(out, "PNG")
    return base64.b64encode(out.getvalue()).decode()


def stream(text, name="stdout"):
    return nbformat.v4.new_output("stream", name=name, text=text)


def picture(text="a picture", kinds=("image/png", "text/plain")):
    held = {"image/png": png(), "text/plain": text}
    data = {kind: held[kind] for kind in kinds}
    return nbformat.v4.new_output("display_data", data=data)


def book_of(*outputs, tags=()):
    cell = nbformat.v4.new_code_cell("...", metadata={"tags": list(tags)})
    cell.outputs = list(outputs)
    return tool.tidied(nbformat.v4.new_notebook(cells=[cell]))


@pytest.mark.parametrize(
    "outputs",
    [
        [stream("one"), stream("more")],
        [stream("one")],
        [stream("one"), picture("another picture")],
        [stream("one"), picture(kinds=["text/plain"])],
        [stream("one", "stderr"), picture()],
    ],
)
def test_what_differs_goes_red(outputs):
    shown = book_of(stream("one"), picture())
    assert tool.differences(book_of(*outputs), shown) != []
    assert tool.differences(book_of(stream("one"), picture()), shown) == []


def test_only_measured_figures_may_differ():
    def found(one, other, tags):
        books = [book_of(stream(text), tags=tags) for text in (one, other)]
        return tool.differences(*books)

    assert found("12 in 0.25 s", "12 in 13.5 s", ["measured"]) == []
    assert found("12 in 0.25 s", "13 in 0.25 s", ["measured"]) != []
    assert found("12 in 0.25 s", "12 in 13.5 s", []) != []


def spoiled(what):
    book = book_of(stream("one"), picture())
    cell = book.cells[0]
    if what == "not run":
        cell.execution_count = None
    elif what == "a warning":
        cell.outputs = [stream("Warning", "stderr")]
    elif what == "nothing shown":
        cell.outputs = []
    elif what == "SVG":
        cell.outputs[1].data["text/html"] = "<svg></svg>"
    elif what == "blank":
        out = io.BytesIO()
        Image.new("RGB", (9, 9)).save(out, "PNG")
        cell.outputs[1].data["image/png"] = base64.b64encode(out.getvalue()).decode()
    return book


SPOILS = ["not run", "a warning", "nothing shown", "SVG", "blank"]


@pytest.mark.parametrize("what", SPOILS)
def test_what_must_not_be_committed_goes_red(what):
    check_committed(book_of(stream("one"), picture()), 10)
    with pytest.raises(AssertionError):
        check_committed(spoiled(what), 10)
    with pytest.raises(AssertionError):
        check_committed(book_of(stream("one")), BYTES)


def test_a_stream_in_pieces_is_one_and_pictures_have_few_colours():
    book = book_of(stream("o"), stream("ne\n"), stream("!", "stderr"), picture())
    outputs = book.cells[0].outputs
    assert [o.get("text") for o in outputs] == ["one\n", "!", None]
    kept = Image.open(io.BytesIO(base64.b64decode(outputs[2].data["image/png"])))
    assert kept.mode == "P" and kept.size == (40, 40)


def write_notebook(path, *sources):
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)


@pytest.mark.long
def test_the_tool_writes_what_a_run_shows_and_names_what_differs(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(tool, "HERE", tmp_path)
    path = tmp_path / "09_small.ipynb"
    write_notebook(path, "x = 6", "print(x * 7)")
    assert tool.main([]) == 0
    assert [list(tool.shown(c)) for c in tool.code_cells(nbformat.read(path, 4))] == [
        [],
        [("stdout", "42\n")],
    ]
    before = path.read_bytes()
    assert tool.main(["09"]) == 0 and path.read_bytes() == before
    write_notebook(path, "x = 6", "print(x * 7)")
    assert tool.main(["--check"]) == 1 and tool.main(["08"]) == 0
    assert "cell 2: [('stdout', '42\\n')] and []" in capsys.readouterr().out


@pytest.mark.long
def test_a_cell_that_raises_ends_the_run(tmp_path, monkeypatch):
    monkeypatch.setattr(tool, "HERE", tmp_path)
    write_notebook(tmp_path / "09_small.ipynb", "1 / 0")
    with pytest.raises(Exception, match="ZeroDivisionError"):
        tool.main([])
