"""Links of the pages that leave docs/: to what the site has of it, or to the name."""

from __future__ import annotations

import re

_INSIDE = {"../benchmarks/README.md": "benchmarks/index.md"}


def on_page_markdown(markdown: str, page, config, files) -> str:
    """A page's text before it is made HTML."""
    if "/" in page.file.src_uri:
        return markdown

    def inside(match: re.Match) -> str:
        text, target = match.groups()
        if target in _INSIDE:
            return f"[{text}]({_INSIDE[target]})"
        return f"{text} (`{target.removeprefix('../')}`)"

    return re.sub(r"\[([^\]]*)\]\((\.\./(?!\.\.)[^)]*)\)", inside, markdown)
