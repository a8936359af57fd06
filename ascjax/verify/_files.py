"""The files that `ascjax verify FILE|DIR ...` stands for."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from ._entry import CaseFileError

FORMAT = "ascjax-verify 1"
STATE = "ascjax-state 1"
"""What a report calls itself, in its `format`, and what the state of a run does."""

RESULTS = f"results-{'[0-9]' * 5}-{'[0-9]' * 3}*.jsonl"
"""Files of results in a state, as a glob."""

_BEGINS = f'{{\n "format": "{FORMAT}"'
"""How `ascjax verify` begins a report, also one that it was ended in."""


def case_files(paths: Iterable[Path]) -> list[Path]:
    """The case files that paths stand for: a directory is its own *.json and *.jsonl,
    sorted, what `ascjax verify` has written left out.

    Raises:
      CaseFileError: for a directory without any.
    """
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            named = sorted([*path.glob("*.json"), *path.glob("*.jsonl")])
            inside = [one for one in named if not is_report(one)]
            if not inside:
                rule = "hold at least one .json or .jsonl file"
                fix = "Name another directory."
                got = "none that is no report"
                raise CaseFileError(str(path), "the directory", rule, got, fix)
            found += inside
        else:
            found.append(path)
    return found


def is_report(path: Path) -> bool:
    """Whether a file is a report or part of a state; one that cannot be read is none,
    but a fault."""
    try:
        if path.suffix == ".jsonl":  # of cases each line is an object
            with path.open(encoding="utf-8-sig") as lines:
                first = lines.read(1)
            return first == "[" or (not first and path.match(RESULTS))
        with path.open(encoding="utf-8-sig") as file:
            if file.read(len(_BEGINS)) == _BEGINS:
                return True
        text = path.read_text(encoding="utf-8-sig")
        data = json.loads(text) if text.lstrip().startswith("{") else None
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(data, dict) and data.get("format") in (FORMAT, STATE)
