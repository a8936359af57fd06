"""Run the notebooks top to bottom, each in a fresh kernel, and keep what they show.

    python notebooks/run_notebooks.py            # all of them
    python notebooks/run_notebooks.py 01 05      # those of these numbers
    python notebooks/run_notebooks.py --check    # write nothing, name what differs

A picture is kept as a small PNG with its text beside it, which is the same on every
machine. Figures that differ between machines stand in cells with the tag `measured`.
"""

from __future__ import annotations

import argparse
import base64
import io
import os
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbclient
import nbformat
from PIL import Image

HERE = Path(__file__).parent
LIMIT_S = 120  # of one cell
COLOURS = 128  # of a picture: a third of the bytes

# In the kernel, before the first cell: a picture is a PNG and its text, not an SVG.
SETUP = """
def _setup():
    import io, os
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE"):  # the kernel's own, for commands
        os.environ.pop(name, None)
    shown = get_ipython().display_formatter.formatters
    def png(picture):
        out, figure = io.BytesIO(), picture.figure
        dpi = min(96, 1000 / figure.get_figwidth())  # as wide as a page shows it
        figure.savefig(out, format="png", dpi=dpi, metadata={"Software": None})
        return out.getvalue()
    kind = "ascjax.pictures._picture.Picture"
    shown["image/png"].for_type(kind, png)
    shown["text/html"].for_type(kind, lambda picture: None)
    shown["text/plain"].for_type(kind, lambda picture, p, _: p.text(str(picture)))
_setup()
"""


def notebooks(numbers: list[str] | None = None) -> list[Path]:
    """The notebooks, in order; of `numbers` alone, where there are any."""
    found = sorted(HERE.glob("[0-9][0-9]_*.ipynb"))
    return [path for path in found if not numbers or path.name[:2] in numbers]


def code_cells(book: Any) -> list[Any]:
    return [cell for cell in book.cells if cell.cell_type == "code"]


def run(path: Path) -> Any:
    """The notebook after a run in a fresh kernel, tidied.

    Raises:
      nbclient.exceptions.CellExecutionError: where a cell raises.
    """
    book = nbformat.read(path, 4)
    for cell in code_cells(book):
        cell.outputs = []
    book.cells.insert(0, nbformat.v4.new_code_cell(SETUP))
    tools = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    packages = os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")])
    client = nbclient.NotebookClient(
        book, timeout=LIMIT_S, resources={"metadata": {"path": str(HERE)}}
    )
    client.execute(env=os.environ | {"PATH": tools, "PYTHONPATH": packages})
    del book.cells[0]
    return tidied(book)


def tidied(book: Any) -> Any:
    """Without what differs from run to run, and with small pictures."""
    book.nbformat_minor = 5
    book.metadata = {
        "kernelspec": {
            "display_name": "Python 3",
            "language": "python",
            "name": "python3",
        },
        "language_info": {"name": "python"},
    }
    for k, cell in enumerate(book.cells):
        cell.id = f"cell-{k}"
        tags = cell.metadata.get("tags", [])
        cell.metadata = {"tags": tags} if tags else {}
    for k, cell in enumerate(code_cells(book)):
        cell.execution_count, cell.outputs = k + 1, _joined(cell.outputs)
        for output in cell.outputs:
            if "execution_count" in output:
                output.execution_count = k + 1
            data = output.get("data", {})
            if "image/png" in data:
                data["image/png"] = _small(data["image/png"])
    return book


def _joined(outputs: list[Any]) -> list[Any]:
    """Pieces of one stream as one output: where it was cut is chance."""
    kept: list[Any] = []
    for output in outputs:
        stream = output.output_type == "stream"
        if stream and kept and kept[-1].get("name") == output.name:
            kept[-1].text += output.text
        else:
            kept.append(output)
    return kept


def _small(png: str) -> str:
    """A PNG, in base64, with few colours."""
    image = Image.open(io.BytesIO(base64.b64decode(png))).convert("RGB")
    out = io.BytesIO()
    rare_too, flat = Image.Quantize.MAXCOVERAGE, Image.Dither.NONE
    few = image.quantize(COLOURS, method=rare_too, kmeans=2, dither=flat)
    few.save(out, "PNG", optimize=True)
    return base64.b64encode(out.getvalue()).decode()


def shown(cell: Any) -> Iterator[tuple[str, str]]:
    """(kind, text) of each output: its kinds of data, and what it says in words."""
    measured = "measured" in cell.metadata.get("tags", [])
    for output in cell.outputs:
        if output.output_type == "stream":
            kind, text = output.name, output.text
        else:
            kind = " ".join(sorted(output.data))
            text = output.data.get("text/plain", "")
        yield kind, re.sub(r"\d+\.\d+", "#", text) if measured else text


def differences(book: Any, other: Any) -> list[str]:
    """Where two runs of a notebook show different things, in words."""
    pairs = zip(code_cells(book), code_cells(other), strict=True)
    return [
        f"cell {cell.execution_count}: {list(shown(cell))} and {list(shown(same))}"
        for cell, same in pairs
        if list(shown(cell)) != list(shown(same))
    ]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("numbers", nargs="*", help="such as 01; none: all")
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args(arguments)
    status = 0
    for path in notebooks(options.numbers):
        start = time.perf_counter()
        book = run(path)
        if options.check:
            found = differences(book, nbformat.read(path, 4))
            status |= bool(found)
            print(*found, sep="\n", end="\n" * bool(found))
        else:
            nbformat.write(book, path)
        took, size = time.perf_counter() - start, path.stat().st_size
        print(f"{path.name}: {took:.1f} s, {size // 1000} kB", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
