"""Docstrings as the site shows them: examples as code, headings on their own lines."""

from __future__ import annotations

import re
from typing import Any

import griffe

_HEADINGS = "Args|Attributes|Shapes|Returns|Raises|Gradient|Source"


def shown(text: str) -> str:
    """A docstring's text in Markdown.

    >>> shown("Sum.\\n\\nReturns: it.\\nRaises: no.\\n\\n>>> f()\\n2").split("\\n")[2:5]
    ['**Returns:** it.', '', '**Raises:** no.']
    >>> shown("Sum.\\n\\n>>> f()\\n2").split("\\n")[1:]
    ['', '```pycon', '>>> f()', '2', '```']
    """
    text = re.sub(rf"\n+({_HEADINGS}): (?=\S)", r"\n\n**\1:** ", text)
    blocks = re.split(r"\n\n(?=>>> )", text)
    fenced = [blocks[0]]
    for block in blocks[1:]:
        code, _, rest = block.partition("\n\n")
        fenced.append(f"```pycon\n{code}\n```" + (f"\n\n{rest}" if rest else ""))
    return "\n\n".join(fenced)


class Docstrings(griffe.Extension):
    """Edits each docstring before it is parsed."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = shown(obj.docstring.value)
