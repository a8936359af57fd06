"""Case files, read in a stream (docs/case-files.md).

Whatever is wrong with a file is said in one line.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ._cases import Case, Scenario
from ._entry import CaseFileError, Entry, json_name
from ._parse import case_of


def read_cases(path: Path) -> list[Case | Scenario]:
    """All cases of one file, with the maps of the .npz that lies beside it.

    Args:
      path: a .json file, one list; or .jsonl, one object a line.
    Raises:
      CaseFileError: what cannot be read, is missing, or contradicts itself.
    Source: docs/case-files.md.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "mine.json")
    ...     _ = file.write_text('''[{"id": "first", "instruction": "load2d",
    ...         "product": "atlas_a2", "path": "A1->A2", "dtype": "half",
    ...         "fields": {"repeatTimes": 1}, "src_size": 256, "dst_size": 256}]''')
    ...     case, = read_cases(file)
    >>> case.id, case.steps[0].fields, case.golden is None
    ('first', {'repeatTimes': 1}, True)
    """
    return list(stream_cases(path))


def stream_cases(path: Path) -> Iterator[Case | Scenario]:
    """As `read_cases`, one after another: of a .jsonl file no more than one line is
    held, of a .json file its text's objects.

    Args:
      path: a .json or .jsonl file.
    Raises:
      CaseFileError: when the stream comes to what is at fault.
    Source: docs/case-files.md.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "mine.jsonl")
    ...     _ = file.write_text('''{"instruction": "load2d", "product": null,
    ... "path": null, "dtype": "half", "fields": {}, "src_size": 0, "dst_size": 0}
    ... '''.replace(",\\n", ","))
    ...     [case.id for case in stream_cases(file)]
    ['mine[0]']
    """
    return (case for _, case in chosen_cases(path, lambda k: True) if case)


def chosen_cases(
    path: Path, chosen: Callable[[int], bool]
) -> Iterator[tuple[int, Case | Scenario | None]]:
    """The numbers of all cases of a file, with the chosen cases; the others are not
    looked at, nor the lines that they stand in.

    Raises:
      CaseFileError: when the stream comes to what is at fault.
    """
    cases = _named_once(path, _cases(path, chosen))
    maps = path.with_suffix(".npz")
    return _with_maps(cases, maps) if maps.exists() else cases


_DEEPEST = 32
"""Lists and objects inside each other: three would do, and many cannot be written."""

_HALF = re.compile(r"\\u[dD][89a-fA-F]")

_Numbered = Iterator[tuple[int, Case | Scenario | None]]


def _cases(path: Path, chosen: Callable[[int], bool]) -> _Numbered:
    entries = _of_lines(path) if path.suffix == ".jsonl" else _of_list(path)
    for k, entry in enumerate(entries):
        yield k, case_of(entry(), f"{path.stem}[{k}]") if chosen(k) else None


def _of_list(path: Path) -> Iterator[Callable[[], Entry]]:
    file = str(path)
    try:
        data = _json(file, "the file", path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeError) as error:
        raise _cannot_read(file, error) from None
    if not isinstance(data, list) or not data:
        got = "an empty list" if data == [] else json_name(data)
        rule, fix = "hold a list of cases", "Write [{...}, ...], or name it .jsonl."
        raise CaseFileError(file, "the file", rule, got, fix)
    for k, entry in enumerate(data):
        yield functools.partial(Entry, file, f"case {k}", entry)


def _of_lines(path: Path) -> Iterator[Callable[[], Entry]]:
    file, some = str(path), False
    try:
        with path.open(encoding="utf-8-sig") as lines:
            for k, line in enumerate(lines, 1):
                if line.strip():
                    some = True
                    yield functools.partial(_of_line, file, f"line {k}", line)
    except (OSError, UnicodeError) as error:
        raise _cannot_read(file, error) from None
    if not some:
        rule, fix = "hold a case a line", "Write one {...} a line."
        raise CaseFileError(file, "the file", rule, "no line", fix)


def _of_line(file: str, name: str, line: str) -> Entry:
    return Entry(file, name, _json(file, name, line))


def _json(file: str, what: str, text: str) -> Any:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        fix = "Name the .json or .jsonl file; its maps are found beside it."
        got = " ".join(str(error).split())
        raise CaseFileError(file, what, "be JSON text", got, fix) from None
    fix = "Correct the file."
    if text.count("[") + text.count("{") > _DEEPEST and _deep(data):
        rule = f"hold lists and objects at most {_DEEPEST} deep"
        raise CaseFileError(file, what, rule, "deeper ones", fix)
    if half := _half_character(text, data):
        rule = "hold whole characters, which UTF-8 can write"
        raise CaseFileError(file, what, rule, half, fix)
    return data


def _deep(data: Any) -> bool:
    level = [data]
    for _ in range(_DEEPEST):
        held = (x.values() if isinstance(x, dict) else x for x in level)
        level = [one for x in held for one in x if isinstance(one, dict | list)]
    return bool(level)


def _half_character(text: str, data: Any) -> str:
    """One half of a pair of UTF-16 that stands alone, as JSON writes it, or ""."""
    if _HALF.search(text) is None:
        return ""
    try:
        json.dumps(data, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        return f"\\u{ord(error.object[error.start]):04x} alone"
    return ""


def _cannot_read(file: str, error: Exception) -> CaseFileError:
    if isinstance(error, OSError):
        got = error.strerror or type(error).__name__
        fix = "Name a file or directory that exists and that you may read."
        return CaseFileError(file, "the file", "be readable", got, fix)
    fix = "Name the .json or .jsonl file; its maps are found beside it."
    got = " ".join(str(error).split())
    return CaseFileError(file, "the file", "be JSON text", got, fix)


def _named_once(path: Path, cases: _Numbered) -> _Numbered:
    """The cases, no name of them used twice."""
    seen: set[str] = set()
    for k, case in cases:
        if case is not None:
            if case.id in seen:
                fix = "Give each case a name of its own."
                rule = "be used once in a file"
                raise CaseFileError(str(path), "id", rule, case.id, fix)
            seen.add(case.id)
        yield k, case


def _with_maps(cases: _Numbered, path: Path) -> _Numbered:
    """The cases with their maps, each checked for its form; a file that no case needs
    is not opened."""
    held: Any = None
    with contextlib.ExitStack() as opened:
        for k, case in cases:
            if isinstance(case, Case) and case.why is None and not case.dump:
                held = _archive(path, opened) if held is None else held
                case = dataclasses.replace(case, golden=_map(path, held, case))
            yield k, case


def _archive(path: Path, opened: contextlib.ExitStack) -> Any:
    try:
        file = opened.enter_context(path.open("rb"))
        held = np.load(file, allow_pickle=False)
        if isinstance(held, np.ndarray):
            raise ValueError("one array, no archive of them")
        return held
    except Exception as error:  # on damaged data NumPy raises nearly anything
        raise _damaged(path, error) from None


def _map(path: Path, held: Any, case: Case) -> np.ndarray:
    file, field = str(path), f"the map of {case.id}"
    if case.id not in held.files:
        fix = "Add it, or take the .npz away to compare with the oracle only."
        raise CaseFileError(file, field, "be in the file", "none", fix)
    try:
        golden = held[case.id]
    except Exception as error:
        raise _damaged(path, error) from None
    if golden.dtype.kind not in "iu" or golden.shape != (case.dst_size,):
        rule = f"be ({case.dst_size},) integers, one a destination element"
        got = f"{golden.shape} of {golden.dtype}"
        raise CaseFileError(file, field, rule, got, "Correct the map or dst_size.")
    return golden.astype(np.int64)


def _damaged(path: Path, error: Exception) -> CaseFileError:
    got = f"{type(error).__name__} ({' '.join(str(error).split())})"
    fix = "Write it again with numpy.savez, one integer array a case."
    rule = "be a readable .npz of NumPy arrays"
    return CaseFileError(str(path), "the file", rule, got, fix)
