"""What `ascjax verify` prints and writes: progress, table, first mismatches, JSON."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.metadata
import io
import json
import platform
import sys
from collections.abc import Callable, Iterable, Iterator
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
from ._tally import Row, Tally


def console() -> Console:
    """Standard output; 100 columns wide where it is no terminal. What its encoding
    lacks is escaped: names in case files are any."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
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


def print_failures(out: Console, tally: Tally) -> None:
    """The first failures in words, and the refusals where they are wanted."""
    for result in tally.failures:
        count = ""
        if result.mismatches:
            count = f" [{result.mismatches} of {result.elements} elements]"
        out.print(Text(_line(result) + count, style="red"), soft_wrap=True)
    rest = tally.total.failed - len(tally.failures)
    if rest:
        out.print(Text(f"... and {rest} more; --json FILE has them all"), style="red")
    for result in tally.refusals:
        out.print(Text(_line(result)), soft_wrap=True)


def print_counts(
    out: Console,
    tally: Tally,
    *,
    seconds: float,
    allow_unsupported: bool,
    quiet: bool = False,
) -> None:
    """The table (not where `quiet`), and one line at the end."""
    if not quiet:
        out.print(_table(tally))
        for line in sorted(tally.lacking):
            out.print(Text(f"unsupported: {line}"), soft_wrap=True)
    status = tally.exit_status(allow_unsupported=allow_unsupported)
    out.print(Text(_last_line(tally, seconds, status), style="bold"), soft_wrap=True)


def _line(result: Result) -> str:
    name = f"{result.file}: {result.id}" if result.file else result.id
    return f"{name}: {result.status}: {result.message}"


def _table(tally: Tally) -> Table:
    total = tally.total
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
    for row in (*tally.sorted_rows, total):
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


def _last_line(tally: Tally, seconds: float, status: int) -> str:
    total = tally.total
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
    against = ((tally.ways[way], name) for way, (_, name) in WAYS.items())
    ways = ", ".join(f"{count} {name}" for count, name in against if count)
    ways = f"; {ways}" if ways else ""
    return f"{verdict}: {', '.join(parts)}{ways}; {seconds:.1f} s"


def versions() -> dict[str, str]:
    """What ran: ascjax, Python, and the packages that the result depends on."""
    names = ("ascjax", "jax", "jaxlib", "equinox", "numpy")
    found = {name: importlib.metadata.version(name) for name in names}
    return {**found, "python": platform.python_version(), "platform": sys.platform}


def head(
    tally: Tally, extra: dict[str, Any], *, seconds: float, allow_unsupported: bool
) -> dict[str, Any]:
    """All of a report but its results, JSON-ready. `extra` adds members, such as the
    coverage."""
    return {
        "format": FORMAT,
        "versions": versions(),
        "seconds": seconds,
        "exit_status": tally.exit_status(allow_unsupported=allow_unsupported),
        "counts": _counts(tally.total),
        "instructions": {row.instruction: _counts(row) for row in tally.sorted_rows},
        **extra,
    }


def _counts(row: Row) -> dict[str, Any]:
    counts = dataclasses.asdict(row)
    del counts["instruction"]
    return {**counts, "cases_per_second": row.rate}


def check_writable(path: Path, option: str) -> None:
    """Try whether a file can be written, and leave it as it was.

    Raises:
      AscendError: where it cannot.
    """
    new = not path.exists()
    with _written(path, option):
        path.open("a").close()
        if new:
            path.unlink(missing_ok=True)


def write_json(path: Path, head: dict[str, Any], results: Iterable[Result]) -> None:
    """Write a report, its results one a line, as they come.

    Raises:
      AscendError: where it cannot be written.
    """
    with _written(path, "--json"), path.open("w", encoding="utf-8") as file:
        file.write(json.dumps(head, indent=1).removesuffix("\n}"))
        file.write(',\n "results": [')
        for k, result in enumerate(results):
            file.write((",\n  " if k else "\n  ") + json.dumps(result.to_dict()))
        file.write("\n ]\n}\n")


@contextlib.contextmanager
def _written(path: Path, option: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        got = error.strerror or type(error).__name__
        fix = "Name a file in a directory that exists and that you may write to."
        rule = "be writable"
        raise AscendError("verify", f"{option} {path}", rule, got, fix) from None
