"""Where the state of a run lies, where nobody names a folder for it."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from ._state import StateError, begun, clear

try:
    import fcntl
except ImportError:  # not on Windows: there two runs of the same files may meet
    fcntl = None


@dataclasses.dataclass
class Home:
    """A folder for the state of a run.

    Attributes:
      folder: which may not be there yet.
      resumes: whether what is in it is gone on with.
      lasting: whether `--resume` finds it again after a run that was ended.
      finished: whether the run has come to its end, and all is told.
    """

    folder: Path
    resumes: bool
    lasting: bool
    finished: bool = False


@contextlib.contextmanager
def home(named: Path | None, files: Sequence[Path], *, resume: bool) -> Iterator[Home]:
    """The folder for the state of a run of these files; without a name one in the
    user's cache, which is gone once the run has come to its end.

    Raises:
      StateError: to resume what another process is at, or what cannot be kept.
    """
    if named is not None:
        yield Home(named, resume, True)
        return
    folder = _cached(files)
    with contextlib.ExitStack() as stack:
        if folder is None or not _lock(folder, stack):
            if resume:
                where = folder or Path("in the cache")
                fix = "Wait for it, or name a folder with --state."
                raise StateError(where, "be free", "one that another run holds", fix)
            made = tempfile.TemporaryDirectory(prefix="ascjax-")
            yield Home(Path(stack.enter_context(made)), False, False)
            return
        if not resume:
            _begin_anew(folder)
        where = Home(folder, True, True)
        try:
            yield where
        finally:
            if where.finished:
                clear(folder)
            if begun(folder) is None:
                with contextlib.suppress(OSError):
                    (folder / "lock").unlink()
                    folder.rmdir()


def _begin_anew(folder: Path) -> None:
    """Let go of a run that was ended before, and say so."""
    held = begun(folder)
    if held is not None:
        said = f"an earlier run, {held[0]} of {held[1]} cases done, is not gone on with"
        print(f"ascjax: verify: {said}: --resume does that.", file=sys.stderr)
    clear(folder)


def _cached(files: Sequence[Path]) -> Path | None:
    """A folder of its own for these files; None where there can be none."""
    names = "\n".join(str(file.resolve()) for file in files)
    key = hashlib.sha256(names.encode()).hexdigest()[:16]
    try:
        cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        folder = Path(cache) / "ascjax" / "verify" / key
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):
        return None
    return folder


def _lock(folder: Path, stack: contextlib.ExitStack) -> bool:
    """Hold a folder until this process ends or leaves the stack."""
    try:
        file = stack.enter_context((folder / "lock").open("a"))
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
