"""The page of the documents' figures: each picture beside the numbers it must show."""

from __future__ import annotations

from collections.abc import Iterator

from ascjax.examples import LEFT_OUT, Figure, figures

FOLDER = "pictures"
_TEXT = """Every figure and worked example of the five documents, rebuilt. A picture is
drawn from the map, and each number that the document states is read off the map again
while this page is made. Where one differs, the page is not made."""


def page() -> str:
    """All figures in Markdown.

    Raises:
      ParamError: where a map does not show a number that a document states.
    """
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield "# The documents' figures"
    yield ""
    yield _TEXT
    yield ""
    document = ""
    for figure in figures():
        if figure.document != document:
            document = figure.document
            yield f"## {document}"
            yield ""
        yield from _figure(figure)
    yield "## Left out"
    yield ""
    for name, what, why in LEFT_OUT:
        yield f"- {name}, {what}: {why}"


def _figure(figure: Figure) -> Iterator[str]:
    yield f"### {figure.name}: {figure.title} {{ #{figure.id} }}"
    yield ""
    yield f"![{figure.title}]({FOLDER}/{figure.id}.svg){{ .move }}"
    yield ""
    yield "| what | the document says | number | the map shows |"
    yield "|---|---|---|---|"
    for fact, shown in figure.checked():
        said = fact.says.replace("|", "\\|")
        yield f"| `{fact.field}` | {said} | {fact.number} {fact.unit} | {shown} |"
    yield ""
    if figure.refused:
        yield f"The example is refused unless `overlap='last'`: {figure.refused}."
        yield ""
    if figure.note:
        yield figure.note
        yield ""
