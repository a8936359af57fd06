"""Pages as the site shows them: links that leave docs/, and the specification."""

from __future__ import annotations

import re

import errata

_INSIDE = {"../benchmarks/README.md": "benchmarks/index.md"}


def on_page_markdown(markdown: str, page, config, files) -> str:
    """A page's text before it is made HTML."""
    path = page.file.src_uri
    if path == "spec/errata.md":
        return errata.as_lists(markdown)
    if path.startswith("spec/"):
        return errata.times(markdown)
    if "/" in path:
        return markdown

    def inside(match: re.Match) -> str:
        text, target = match.groups()
        if target in _INSIDE:
            return f"[{text}]({_INSIDE[target]})"
        if re.fullmatch(r"\.\./notebooks/\w+\.ipynb", target):
            return f"[{text}]({target[3:].removesuffix('.ipynb')}.md)"
        return f"{text} (`{target.removeprefix('../')}`)"

    return re.sub(r"\[([^\]]*)\]\((\.\./(?!\.\.)[^)]*)\)", inside, markdown)
