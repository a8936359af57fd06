"""A run of `ascjax verify` as one HTML page that needs nothing beside it."""

from __future__ import annotations

import datetime
import json
import urllib.parse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .._errors import AscendError
from .._nest import FILL, KEEP
from ..patterns import Pattern
from ..pictures._sheet import OTHER
from ..verify._report import Row
from ._extra import needed
from ._failure import Failure
from ._pictures import COLOURS, WRONG, Picture, gradient

_TEMPLATE = "page.html.jinja"
_CALLS = 8
_LONG = 300  # characters of one field's value
_OTHERS = {
    KEEP: "not written, as it was before",
    FILL: "padding",
    OTHER: "bits that no source element holds, or several",
}


def write_page(
    path: Path,
    *,
    title: str,
    rows: Sequence[Row],
    total: Row,
    patterns: Sequence[Pattern],
    failures: Sequence[Failure],
    seconds: float,
    versions: Mapping[str, str],
    made: datetime.datetime | None = None,
) -> None:
    """Write a report: counts, patterns, and some of the failures with pictures.

    Args:
      path: the .html file.
      title: what was checked.
      rows, total: counts by instruction, and of all.
      patterns: from `Patterns.found`.
      failures: those that are shown, from `failure_of`, each at most some 60 KB.
      seconds: how long the run took.
      versions: of what ran.
      made: when; None is now.
    Raises:
      SupportError: where jinja2 or matplotlib is not installed.
      AscendError: where the file cannot be written.
    """
    made = made or datetime.datetime.now(datetime.UTC)
    template = _environment().get_template(_TEMPLATE)
    text = template.render(
        title=title,
        rows=rows,
        total=total,
        patterns=patterns,
        failures=failures,
        seconds=seconds,
        versions=versions,
        made=made.astimezone(datetime.UTC),
        colours={code: (COLOURS[code], said) for code, said in _OTHERS.items()},
        gradient=", ".join(gradient()),
        wrong=WRONG,
        most_calls=_CALLS,
    )
    try:
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        got = error.strerror or type(error).__name__
        fix = "Name a file in a directory that exists and that you may write to."
        rule, field = "be writable", f"--report {path}"
        raise AscendError("verify", field, rule, got, fix) from None


def _environment() -> Any:
    jinja2 = needed("jinja2")
    found = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters.update(data_uri=_data_uri, value=_value, number="{:,}".format)
    return found


def _data_uri(picture: Picture) -> str:
    return f"data:image/svg+xml,{urllib.parse.quote(picture.svg, safe=' /:;=+,.()*')}"


def _value(value: Any) -> str:
    """A field's value as JSON has it, cut where it is very long.

    >>> _value([1, 2]), _value(True), _value("F322F16")
    ('[1, 2]', 'true', 'F322F16')
    """
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return text if len(text) <= _LONG else f"{text[:_LONG]} ..."
