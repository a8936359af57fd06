"""What `ascjax verify` prints and writes: progress, table, first mismatches, JSON."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.metadata
import json
import platform
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from .._errors import AscendError
from ._files import FORMAT
from ._result import WAYS, Result

_SHOWN = 20


@dataclasses.dataclass
class Row:
    """Counts of one instruction, or of all. `cases` = passed + failed + unsupported,
    and `refused` of those that passed were cases that must be refused; `ops` of them
    also ran through their own op. `seconds` are those of the maps, as in `Result`."""

    instruction: str
    cases: int = 0
    passed: int = 0
    refused: int = 0
    failed: int = 0
    unsupported: int = 0
    elements: int = 0
    mismatches: int = 0
    ops: int = 0
    seconds: float = 0.0
    op_seconds: float = 0.0

    def add(self, result: Result) -> None:
        self.cases += 1
        self.failed += result.failed
        self.unsupported += result.status == "unsupported"
        self.refused += result.status == "refused"
        self.passed += result.status in ("ok", "refused")
        self.elements += result.elements
        self.mismatches += result.mismatches
        self.ops += "op" in result.compared
        self.seconds += result.seconds
        self.op_seconds += result.op_seconds

    @property
    def rate(self) -> float | None:
        """Cases a second that were checked, ops not counted; None where no time was
        taken."""
        checked = self.cases - self.unsupported
        return checked / self.seconds if checked and self.seconds else None


def tally(results: Iterable[Result]) -> tuple[list[Row], Row]:
    """Counts by instruction, in the order of their names, and the total."""
    rows: dict[str, Row] = {}
    total = Row("all")
    for result in results:
        rows.setdefault(result.instruction, Row(result.instruction)).add(result)
        total.add(result)
    return [rows[name] for name in sorted(rows)], total


def exit_status(total: Row, *, allow_unsupported: bool) -> int:
    """0 where every case passed, else 1; unsupported ones count unless allowed.

    >>> total = Row("all", cases=2, passed=1, unsupported=1)
    >>> exit_status(total, allow_unsupported=True)
    0
    """
    wrong = total.failed or (total.unsupported and not allow_unsupported)
    return 1 if wrong or not total.cases else 0


def console() -> Console:
    """Standard output; 100 columns wide where it is no terminal."""
    out = Console(highlight=False)
    return out if out.is_terminal else Console(highlight=False, width=100)


@contextlib.contextmanager
def progress(label: str, *, show: bool = True) -> Iterator[Callable[[int, int], None]]:
    """A bar on standard error, on a terminal only: a function of (done, total)."""
    bar = Console(stderr=True)
    with Progress(
        console=bar, transient=True, disable=not (show and bar.is_terminal)
    ) as shown:
        task = shown.add_task(label, total=None)
        yield lambda done, total: shown.update(task, completed=done, total=total)


def print_report(
    out: Console,
    results: Sequence[Result],
    *,
    seconds: float,
    allow_unsupported: bool,
    quiet: bool = False,
    verbose: bool = False,
) -> None:
    """The failures in words, the refusals where `verbose`, the table (not where
    `quiet`), and one line at the end."""
    rows, total = tally(results)
    failures = [result for result in results if result.failed]
    for result in failures[:_SHOWN]:
        count = ""
        if result.mismatches:
            count = f" [{result.mismatches} of {result.elements} elements]"
        out.print(Text(_line(result) + count, style="red"), soft_wrap=True)
    if len(failures) > _SHOWN:
        rest = len(failures) - _SHOWN
        out.print(Text(f"... and {rest} more; --json FILE has them all"), style="red")
    for result in results:
        if verbose and result.status == "refused":
            out.print(Text(_line(result)), soft_wrap=True)
    if not quiet:
        out.print(_table(rows, total))
        lacking = {r.message for r in results if r.status == "unsupported"}
        for line in sorted(lacking):
            out.print(Text(f"unsupported: {line}"), soft_wrap=True)
    status = exit_status(total, allow_unsupported=allow_unsupported)
    out.print(
        Text(_last_line(results, total, seconds, status), style="bold"), soft_wrap=True
    )


def _line(result: Result) -> str:
    name = f"{result.file}: {result.id}" if result.file else result.id
    return f"{name}: {result.status}: {result.message}"


def _table(rows: Sequence[Row], total: Row) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    if total.ops:
        said = (
            "cases/s: maps made and compared; op s: in jitted ops, compiling included"
        )
        table.caption = said
        table.caption_justify = "left"
    table.add_column("instruction")
    for name in ("cases", "refused", "unsupported", "failed", "elements"):
        table.add_column(name, justify="right")
    for name in ("mismatches", "cases/s", "ops", "op s"):
        table.add_column(name, justify="right")
    for row in (*rows, total):
        if row is total:
            table.add_section()
        counts = (row.refused, row.unsupported, row.failed, row.elements)
        rate = "-" if row.rate is None else f"{row.rate:,.0f}"
        style = "red" if row.failed else None
        table.add_row(
            row.instruction,
            *(f"{count:,}" for count in (row.cases, *counts, row.mismatches)),
            rate,
            f"{row.ops:,}",
            f"{row.op_seconds:.1f}",
            style=style,
        )
    return table


def _last_line(
    results: Sequence[Result], total: Row, seconds: float, status: int
) -> str:
    verdict = "all right" if status == 0 else "NOT all right"
    parts = [f"{total.passed} of {total.cases} cases passed"]
    if total.refused:
        parts[0] += f" ({total.refused} refused, as they must be)"
    parts.append(f"{total.failed} failed")
    if total.unsupported:
        only = status and not total.failed
        hint = " (--allow-unsupported lets them pass)" if only else ""
        parts.append(f"{total.unsupported} unsupported{hint}")
    parts.append(f"{total.mismatches} mismatches")
    against = {
        name: sum(way in result.compared for result in results)
        for way, (_, name) in WAYS.items()
    }
    ways = ", ".join(f"{count} {name}" for name, count in against.items() if count)
    ways = f"; {ways}" if ways else ""
    return f"{verdict}: {', '.join(parts)}{ways}; {seconds:.1f} s"


def versions() -> dict[str, str]:
    """What ran: ascjax, Python, and the packages that the result depends on."""
    names = ("ascjax", "jax", "jaxlib", "numpy")
    found = {name: importlib.metadata.version(name) for name in names}
    return {**found, "python": platform.python_version(), "platform": sys.platform}


def to_json(
    results: Sequence[Result],
    extra: dict[str, Any],
    *,
    seconds: float,
    allow_unsupported: bool,
) -> dict[str, Any]:
    """The whole run, JSON-ready. `extra` adds members, such as the coverage."""
    rows, total = tally(results)
    return {
        "format": FORMAT,
        "versions": versions(),
        "seconds": seconds,
        "exit_status": exit_status(total, allow_unsupported=allow_unsupported),
        "counts": _counts(total),
        "instructions": {row.instruction: _counts(row) for row in rows},
        **extra,
        "results": [dataclasses.asdict(result) for result in results],
    }


def _counts(row: Row) -> dict[str, Any]:
    counts = dataclasses.asdict(row)
    del counts["instruction"]
    return {**counts, "cases_per_second": row.rate}


def write_json(path: Path, report: dict[str, Any] | None) -> None:
    """Write a report; None only tries whether the file can be written, and leaves it
    as it was.

    Raises:
      AscendError: where it cannot.
    """
    new = not path.exists()
    try:
        with path.open("w" if report else "a", encoding="utf-8") as file:
            if report:
                file.write(json.dumps(report, indent=1) + "\n")
        if new and not report:
            path.unlink()
    except OSError as error:
        got = error.strerror or type(error).__name__
        fix = "Name a file in a directory that exists and that you may write to."
        raise AscendError("verify", f"--json {path}", "be writable", got, fix) from None
