"""One failing case as a page shows it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from ..diagnosis._case import of_case
from ..verify._cases import Case, Scenario
from ..verify._result import Result
from ._extra import check_report
from ._pictures import Legend, Picture, legend_of, pictures_of
from ._view import View, dump_of, view_of_dump, view_of_map

_EXPLAINED = 3
_AROUND = 2  # rows before and after the first mismatch
_ROW = 16  # elements of a row where there are no fractals


@dataclasses.dataclass(frozen=True)
class Failure:
    """A failing case, and what a page shows of it.

    Attributes:
      result: what became of it.
      explanations: what `ascjax diagnose` finds, the best first.
      pictures: what is expected, what is there, where they differ; none where there is
        nothing to compare, or no longer.
      legend: what the pictures' colours say.
      excerpt: the same around the first mismatch, as text.
    """

    result: Result
    explanations: tuple[str, ...] = ()
    pictures: tuple[Picture, ...] = ()
    legend: Legend | None = None
    excerpt: str = ""


def failure_of(case: Case | Scenario, result: Result) -> Failure:
    """A failing case with pictures, where its buffers or maps can still be had.

    A dump is read, run and diagnosed once more, which takes up to seconds.

    Args:
      case: from `read_cases`.
      result: what became of it.
    Raises:
      SupportError: where jinja2 or matplotlib is not installed.
    """
    if result.status != "mismatch" or not isinstance(case, Case):
        return Failure(result)
    check_report()
    try:
        view, explanations = _seen(case)
        if view is None:
            return Failure(result, explanations)
        shown = pictures_of(view), legend_of(view), excerpt(view)
    except Exception:  # a file has gone, say: the page has the others
        return Failure(result)
    return Failure(result, explanations, *shown)


def _seen(case: Case) -> tuple[View | None, tuple[str, ...]]:
    if case.dump is None:
        return view_of_map(case), ()
    move, dump = dump_of(case)
    told = of_case(case).explanations[:_EXPLAINED]
    return view_of_dump(move, dump), tuple(map(str, told))


def excerpt(view: View) -> str:
    """Rows around the first mismatch as text, what differs underlined."""
    return "\n".join(_lines(view))


def _lines(view: View) -> Iterator[str]:
    width = view.c0 or _ROW
    at = (view.at - view.start) // width
    last = -(-len(view.wrong) // width)
    for row in range(max(0, at - _AROUND), min(last, at + _AROUND + 1)):
        part = slice(row * width, (row + 1) * width)
        element = view.start + row * width
        if view.c0:
            fractal, inner = divmod(element // width, 16)
            yield f"fractal {fractal}, row {inner} (element {element})"
        else:
            yield f"element {element}"
        expected, got = (texts[part] for texts in view.texts)
        yield f"  expected  {' '.join(expected)}"
        yield f"  got       {' '.join(got)}"
        if view.wrong[part].any():
            marks = [
                ("^" if wrong else " ") * len(text)
                for wrong, text in zip(view.wrong[part], got, strict=True)
            ]
            yield f"            {' '.join(marks)}".rstrip()
