"""A pytest plugin: ascjax's case files, as tests (docs/kernel-repositories.md).

It stands beside the package, not in it: pytest loads it at every start, and it imports
ascjax, and JAX with it, only where there are case files.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ENDINGS = (".ascjax.json", ".ascjax.jsonl")
_BATCH = 256  # dumps that are checked together
_EXPLAINED = 3


def pytest_addoption(parser: pytest.Parser) -> None:
    """Where case files are, beside those that their names tell."""
    told = "case files of ascjax: globs from the root directory on; * takes / too"
    parser.addini("ascjax_cases", told, type="args", default=[])
    group = parser.getgroup("ascjax")
    group.addoption(
        "--ascjax-cases", action="append", default=[], metavar="GLOB", help=told
    )


def pytest_configure(config: pytest.Config) -> None:
    """The marker of all cases."""
    config.addinivalue_line("markers", "ascjax: a case of a case file of ascjax")


def pytest_collect_file(
    file_path: Path, parent: pytest.Collector
) -> pytest.Collector | None:
    """A case file is a collector of its cases."""
    named = file_path.name.endswith(ENDINGS)
    if named or (_globbed(file_path, parent.config) and not _is_report(file_path)):
        return CaseFile.from_parent(parent, path=file_path)
    return None


def _globbed(path: Path, config: pytest.Config) -> bool:
    globs: list[str] = [*config.getini("ascjax_cases")]
    globs += config.getoption("--ascjax-cases") or []
    if not globs or path.suffix not in (".json", ".jsonl"):
        return False
    try:
        name = path.relative_to(config.rootpath).as_posix()
    except ValueError:
        return False
    return any(fnmatch.fnmatch(name, glob) for glob in globs)


def _is_report(path: Path) -> bool:
    from ascjax.verify._files import is_report

    return is_report(path)


class CaseFile(pytest.File):
    """The cases of one file."""

    def collect(self) -> Iterator[CaseItem]:
        """One item a case; a file at fault is an error of its own."""
        from ascjax.verify import CaseFileError, stream_cases

        try:
            for case in stream_cases(self.path):
                yield CaseItem.from_parent(self, name=case.id, case=case)
        except CaseFileError as error:
            raise self.CollectError(str(error)) from None


class CaseItem(pytest.Item):
    """One case, checked as `ascjax verify` does.

    Attributes:
      case: from the file.
      result: what became of it, once its batch has run.
    """

    def __init__(self, *, case: Any, **held: Any):
        super().__init__(**held)
        self.case, self.result = case, None
        self.add_marker("ascjax")

    def runtest(self) -> None:
        """Pass, skip what ascjax does not have, or fail."""
        if self.result is None:
            self._check()
        result: Any = self.result
        if result.status == "unsupported":
            pytest.skip(result.message)
        if result.failed:
            raise CaseFailed(result)

    def _check(self) -> None:
        """This case; a dump with the next ones of its file, in the same programs."""
        from ascjax.dumps import check_dumps
        from ascjax.verify import check_case

        if not getattr(self.case, "dump", None):
            self.result = check_case(self.case)
            return
        items = self.session.items
        after = items[items.index(self) :]
        near = (x for x in after if isinstance(x, CaseItem) and x.parent is self.parent)
        batch = [x for x in near if x.result is None and getattr(x.case, "dump", None)]
        batch = batch[:_BATCH]
        results = check_dumps(item.case for item in batch)
        for item, result in zip(batch, results, strict=True):
            item.result = result

    def repr_failure(self, excinfo: pytest.ExceptionInfo, style: Any = None) -> str:
        """The first mismatch and what would explain it, in place of a traceback."""
        if not isinstance(excinfo.value, CaseFailed):
            return str(super().repr_failure(excinfo, style))
        result = excinfo.value.result
        count = ""
        if result.mismatches:
            count = f" [{result.mismatches} of {result.elements} elements]"
        lines = [f"{self.nodeid}: {result.status}: {result.message}{count}"]
        return "\n".join([*lines, *self._explained(result)])

    def _explained(self, result: Any) -> list[str]:
        from ascjax import AscendError
        from ascjax.diagnosis._case import of_case

        if result.status != "mismatch" or not getattr(self.case, "dump", None):
            return []
        try:
            told = of_case(self.case)
        except AscendError:  # a file has gone since
            return []
        return [f"  {one}" for one in told.explanations[:_EXPLAINED]]

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where the case stands."""
        return self.path, None, self.name


class CaseFailed(Exception):
    """A case that failed.

    Attributes:
      result: what became of it.
    """

    def __init__(self, result: Any):
        super().__init__(result.message)
        self.result = result
