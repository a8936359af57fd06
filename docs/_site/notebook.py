"""A notebook with its committed outputs as a page; nothing is run again."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "notebooks"


def every() -> list[Path]:
    """All notebooks, in order."""
    return sorted(FOLDER.glob("*.ipynb"))


def page(notebook: Path) -> tuple[str, dict[str, bytes]]:
    """The Markdown of a notebook, and its pictures by their file names."""
    pictures: dict[str, bytes] = {}
    cells = json.loads(notebook.read_text())["cells"]
    blocks = [b for cell in cells for b in _cell(cell, notebook.stem, pictures)]
    where = (
        f"`notebooks/{notebook.name}` of the repository, with what it printed there."
    )
    return "\n\n".join([blocks[0], where, *blocks[1:]]) + "\n", pictures


def linked(text: str) -> str:
    """Text whose links lead to pages of the site; others are left as their words.

    >>> linked("[a](../docs/cube.md), [b](01_layouts.ipynb), [c](digits.py)")
    '[a](../cube.md), [b](01_layouts.md), c (`digits.py`)'
    """

    def inside(match: re.Match) -> str:
        said, target = match.groups()
        if target.startswith("../docs/"):
            return f"[{said}](../{target.removeprefix('../docs/')})"
        if target.endswith(".ipynb"):
            return f"[{said}]({target.removesuffix('.ipynb')}.md)"
        return match.group() if "://" in target else f"{said} (`{target}`)"

    return re.sub(r"(?<!!)\[([^\]]*)\]\(([^)]*)\)", inside, text)


def _cell(cell: dict, stem: str, pictures: dict[str, bytes]) -> Iterator[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield linked(source)
        return
    yield f"```python\n{source}\n```"
    for output in cell["outputs"]:
        data = output.get("data", {})
        if "image/png" in data:
            name = f"{stem}-{len(pictures)}.png"
            pictures[name] = base64.b64decode("".join(data["image/png"]))
            yield f"![What the cell shows]({name}){{ .move }}"
        else:
            said = "".join(output.get("text") or data["text/plain"])
            yield f"```text\n{said.rstrip()}\n```"
