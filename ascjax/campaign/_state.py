"""What a run has come to so far, in a folder: results in files that only grow.

Each process of each attempt has a file of its own, one line `[position, result]` for
each case, so that a process which is killed loses at most its last line. A later
attempt reads them all, and checks what is in none.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import json
import os
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from .._errors import AscendError
from ..verify._files import RESULTS, STATE
from ..verify._result import Result

_RUN = "run.json"
_OPEN_FILES = 32


class StateError(AscendError):
    """A folder that is no state of this run, or that cannot be written."""

    def __init__(self, folder: Path, rule: str, got: object, fix: str):
        source = "docs/scale.md"
        super().__init__("verify", f"the state {folder}", rule, got, fix, source)


def run_of(files: Sequence[Path], total: int, jit_every: int) -> dict[str, Any]:
    """What makes two runs the same: the cases, and what checks them."""
    return {
        "format": STATE,
        "ascjax": importlib.metadata.version("ascjax"),
        "files": [[file.name, _digest(file)] for file in files],
        "cases": total,
        "jit_every": jit_every,
    }


def _digest(file: Path) -> str:
    """Of a case file, and of the maps beside it."""
    with file.open("rb") as opened:
        digest = hashlib.file_digest(opened, "sha256")
    digest.update(_sums(file.with_suffix(".npz")))
    return digest.hexdigest()


def _sums(maps: Path) -> bytes:
    """What an .npz says of its members, which takes no reading of them."""
    try:
        with zipfile.ZipFile(maps) as held:
            return repr([(one.filename, one.CRC) for one in held.infolist()]).encode()
    except Exception:  # none, or damaged: a case that needs it says so
        return b""


class State:
    """The state of one run.

    Attributes:
      folder: where it lies.
      run: what `run_of` gave.
    """

    def __init__(self, folder: Path, run: dict[str, Any]):
        self.folder, self.run = folder, run
        self._names: list[Path] = []
        total = run["cases"]
        self._file = np.full(total, -1, np.int32)
        self._at = np.zeros(total, np.int64)

    @classmethod
    def open(cls, folder: Path, run: dict[str, Any], *, resume: bool) -> State:
        """The state in a folder, which is made where it is not there.

        Args:
          folder: empty, new, or with a state of this run.
          run: what `run_of` gave.
          resume: whether results that are there are kept; else there must be none.
        Raises:
          StateError: a state of another run, or one that is not to be resumed; a folder
            that cannot be written.
        """
        with _writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
            held = _held(folder)
        if held is not None and not resume:
            fix = "Add --resume to go on with it, or name another folder."
            raise StateError(folder, "be new", "one that has begun", fix)
        if held is None:
            if next(folder.glob(RESULTS), None) is not None:
                got, fix = f"results without their {_RUN}", "Name another folder."
                raise StateError(folder, "hold a run or no results", got, fix)
            with _writing(folder):
                fresh = folder / f"{_RUN}.{os.getpid()}"
                fresh.write_text(json.dumps(run, indent=1) + "\n", encoding="utf-8")
                fresh.replace(folder / _RUN)
        elif held != run:
            told = [name for name in run if held.get(name) != run[name]]
            fix = "Name another folder, or run without --resume."
            got = f"one with other {', '.join(told)}"
            raise StateError(folder, "be of the same cases and version", got, fix)
        state = cls(folder, run)
        state.read()
        return state

    def read(self) -> None:
        """Find the results in all files, those that came since included."""
        self._names = sorted(self.folder.glob(RESULTS))
        self._file[:] = -1
        for k, name in enumerate(self._names):
            with _writing(self.folder), name.open("rb") as lines:
                at = 0
                for line in lines:
                    position = _position(line)
                    if position is None or not 0 <= position < self._file.size:
                        break  # torn by what ended the process: checked again
                    self._file[position], self._at[position] = k, at
                    at += len(line)

    @property
    def done(self) -> np.ndarray:
        """Which cases have a result: (cases,), bool."""
        return self._file >= 0

    def results(self) -> Iterator[Result]:
        """The results, in the order of the cases."""
        opened: dict[int, Any] = {}
        with contextlib.ExitStack() as stack:
            for position in np.flatnonzero(self.done):
                k = int(self._file[position])
                if k not in opened:
                    if len(opened) >= _OPEN_FILES:
                        opened.pop(next(iter(opened))).close()
                    opened[k] = stack.enter_context(self._names[k].open("rb"))
                opened[k].seek(self._at[position])
                _, held = json.loads(opened[k].readline())
                yield Result.from_dict(held)

    @contextlib.contextmanager
    def writer(self, process: int = 0) -> Iterator[Writer]:
        """A new file for the results of one process."""
        with _writing(self.folder):
            file = _new_file(self.folder, process)
        try:
            yield Writer(file, self.folder)
        finally:
            with _writing(self.folder):  # what is left of a line may find no room
                file.close()


class Writer:
    """One process's file of results."""

    def __init__(self, file: TextIO, folder: Path):
        self._file, self._folder = file, folder

    def write(self, position: int, result: Result) -> None:
        with _writing(self._folder):
            self._file.write(json.dumps([position, result.to_dict()]) + "\n")


def begun(folder: Path) -> tuple[int, int] | None:
    """Of the state in a folder, how many cases are done and how many there are; None
    where there is none."""
    try:
        run = _held(folder)
    except (OSError, StateError):
        return None
    if run is None:
        return None
    state = State(folder, run)
    state.read()
    return int(state.done.sum()), run["cases"]


def clear(folder: Path) -> None:
    """Take the state in a folder away."""
    with contextlib.suppress(OSError):
        for name in (*folder.glob(RESULTS), folder / _RUN):
            name.unlink(missing_ok=True)


def _held(folder: Path) -> dict[str, Any] | None:
    try:
        text = (folder / _RUN).read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    try:
        held = json.loads(text)
        if held["format"] == STATE and isinstance(held["cases"], int):
            return held
    except (ValueError, KeyError, TypeError):
        pass
    fix = "Name another folder."
    raise StateError(folder, "hold a state of ascjax", f"another {_RUN}", fix)


def _new_file(folder: Path, process: int) -> TextIO:
    attempt = 0
    while True:
        name = folder / f"results-{process:05d}-{attempt:03d}.jsonl"
        try:
            return name.open("x", buffering=1, encoding="utf-8")
        except FileExistsError:
            attempt += 1


def _position(line: bytes) -> int | None:
    """The position in a line of results; None where the line is not whole."""
    if not (line.startswith(b"[") and line.endswith(b"]\n")):
        return None
    try:
        return int(line[1 : line.index(b",")])
    except ValueError:
        return None


@contextlib.contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        got = error.strerror or type(error).__name__
        fix = "Name a folder that you may write to, on a disk with room."
        raise StateError(folder, "be writable", got, fix) from None
