"""Generated pages: instructions in two languages, figures, what lies outside docs/."""

from __future__ import annotations

import sys
from pathlib import Path

import mkdocs_gen_files as files

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))

import figures  # noqa: E402
import instruction  # noqa: E402
import notebook  # noqa: E402

import ascjax as asc  # noqa: E402
from ascjax.examples import figures as every_figure  # noqa: E402


def write(path: str, text: str) -> None:
    """One file of the site."""
    with files.open(path, "w") as out:
        out.write(text)


for name in instruction.every():
    if (move := instruction.move_of_example(name)) is not None:
        write(f"instructions/{name}.svg", asc.draw(move).svg())
    write(f"instructions/{name}.md", instruction.page_of(name, "en", f"{name}.svg"))
    there = f"../../instructions/{name}.svg"
    write(f"zh/instructions/{name}.md", instruction.page_of(name, "zh", there))
for folder, language in (("instructions", "en"), ("zh/instructions", "zh")):
    write(f"{folder}/index.md", instruction.index_of(language))

write("figures.md", figures.page())
for figure in every_figure():
    write(f"{figures.FOLDER}/{figure.id}.svg", asc.draw(figure.move).svg())

write("changelog.md", (ROOT / "CHANGELOG.md").read_text())
write("benchmarks/index.md", (ROOT / "benchmarks" / "README.md").read_text())
for path in notebook.every():
    text, pictures = notebook.page(path)
    write(f"notebooks/{path.stem}.md", text)
    for name, data in pictures.items():
        with files.open(f"notebooks/{name}", "wb") as out:
            out.write(data)
