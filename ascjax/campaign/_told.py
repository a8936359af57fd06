"""What a run comes to, told: on the terminal, as JSON, as a page."""

from __future__ import annotations

import dataclasses
import itertools
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ..page import Failure, failure_of, write_page
from ..patterns import Patterns, print_patterns
from ..verify import Result
from ..verify import _report as report
from ..verify._coverage import coverage
from ..verify._tally import Tally
from ._state import State
from ._stream import cases_of

_SHOWN = 12
"""Failures that a page shows."""


@dataclasses.dataclass(frozen=True)
class Told:
    """What is told of a run when it ends."""

    json_file: Path | None
    page: Path | None
    allow_unsupported: bool
    quiet: bool
    verbose: bool
    since: float = dataclasses.field(default_factory=time.perf_counter)

    def tell(
        self,
        title: str,
        results: Callable[[], Iterable[Result]],
        cases: Callable[[Collection[int]], Iterable[Any]],
        extra: dict[str, Any],
    ) -> int:
        """Print and write what a run came to; its exit status.

        Args:
          title: what was checked.
          results: gives them all, as often as it is called.
          cases: gives those of some positions, where they can still be had.
          extra: members of the JSON report.
        """
        tally, patterns, shown = Tally(refusals=self.verbose), Patterns(), {}
        for position, result in enumerate(results()):
            tally.add(result)
            patterns.add(result)
            if result.failed and len(shown) < _SHOWN:
                shown[position] = result
        found = patterns.found() if tally.total.failed else []
        options: dict[str, Any] = {
            "seconds": time.perf_counter() - self.since,
            "allow_unsupported": self.allow_unsupported,
        }
        out = report.console()
        report.print_failures(out, tally)
        print_patterns(out, found)
        report.print_counts(out, tally, quiet=self.quiet, **options)
        if self.json_file is not None:
            told = {**extra, "patterns": [pattern.to_dict() for pattern in found]}
            head = report.head(tally, told, **options)
            report.write_json(self.json_file, head, results())
        if self.page is not None:
            failures = {k: Failure(result) for k, result in shown.items()}
            for k, case in cases(shown):
                failures[k] = failure_of(case, shown[k])
            write_page(
                self.page,
                title=title,
                rows=tally.sorted_rows,
                total=tally.total,
                patterns=found,
                failures=[*failures.values()],
                seconds=options["seconds"],
                versions=report.versions(),
            )
        return tally.exit_status(allow_unsupported=self.allow_unsupported)

    def tell_of(
        self, paths: Sequence[Path], files: Sequence[Path], state: State
    ) -> int:
        """As `tell`, of the case files that some paths stand for."""
        names = [str(path) for path in paths]
        extra: dict[str, Any] = {"files": names}
        if self.json_file is not None:
            extra["coverage"] = _coverage(state.results())

        def cases(positions: Collection[int]) -> Iterator[Any]:
            found = cases_of(files, lambda k: k in positions)
            return ((k, case) for k, case in found if case is not None)

        return self.tell(", ".join(names), state.results, cases, extra)

    def words(self) -> list[str]:
        """The options that say it."""
        flags = {
            "--allow-unsupported": self.allow_unsupported,
            "--quiet": self.quiet,
            "--verbose": self.verbose,
        }
        named = {"--json": self.json_file, "--report": self.page}
        files = [(name, str(file)) for name, file in named.items() if file is not None]
        return [*itertools.chain(*files), *(name for name, on in flags.items() if on)]


def _coverage(results: Iterable[Result]) -> dict[str, Any]:
    return coverage(
        (call.instruction, call.fields, result.dtype, result.product, result.path)
        for result in results
        if result.status in ("ok", "mismatch")
        for call in result.calls
    )
