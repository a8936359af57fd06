"""The files that `ascjax verify FILE|DIR ...` stands for."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from ._entry import CaseFileError

FORMAT = "ascjax-verify 1"
"""What a report calls itself, in its `format`."""


def case_files(paths: Iterable[Path]) -> list[Path]:
    """The case files that paths stand for: a directory is its own *.json and *.jsonl,
    sorted, the reports of `ascjax verify` left out.

    Raises:
      CaseFileError: for a directory without any.
    """
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            named = sorted([*path.glob("*.json"), *path.glob("*.jsonl")])
            inside = [one for one in named if not _report(one)]
            if not inside:
                rule = "hold at least one .json or .jsonl file"
                fix = "Name another directory."
                got = "none that is no report"
                raise CaseFileError(str(path), "the directory", rule, got, fix)
            found += inside
        else:
            found.append(path)
    return found


def _report(path: Path) -> bool:
    """Whether a file is a report; one that cannot be read is none, but a fault."""
    if path.suffix != ".json":
        return False
    try:
        text = path.read_text(encoding="utf-8-sig")
        data = json.loads(text) if text.lstrip().startswith("{") else None
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(data, dict) and data.get("format") == FORMAT
