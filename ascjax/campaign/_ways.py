"""The ways to run: alone, in processes of this machine, and as one of several."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path

from .._errors import AscendError
from ..verify import _report as report
from . import _processes
from ._home import Home, home
from ._run import begin, go_on
from ._state import State, begun
from ._stream import Share
from ._told import Told

LOST, CRASHED, INTERRUPTED = 3, 4, 130
"""Exit statuses: of a run that lost a process, of a process that failed, of a run that
was interrupted."""


@dataclasses.dataclass(frozen=True)
class Work:
    """What is to be checked, and where its state lies.

    Attributes:
      paths, files: what was named, and the case files that it stands for.
      jit_every: each so many cases of an instruction also run through their own op.
      state: the folder that was named for the state, or None.
      resume: whether to go on with it.
    """

    paths: Sequence[Path]
    files: Sequence[Path]
    jit_every: int
    state: Path | None
    resume: bool


def alone(work: Work, told: Told) -> int:
    """Check all cases in this process, and tell; the exit status."""
    with home(work.state, work.files, resume=work.resume) as where:
        try:
            with report.progress("cases", show=not told.quiet) as advance:
                state = begin(work.files, where, jit_every=work.jit_every)
                go_on(work.files, state, advance=advance)
            status = told.tell_of(work.paths, work.files, state)
        except KeyboardInterrupt:
            return _stopped("interrupted", where, INTERRUPTED)
        where.finished = True
        return status


def in_processes(work: Work, told: Told, processes: int, before: Sequence[str]) -> int:
    """Start processes on this machine, each a member, and see to them.

    Args:
      before: options of `ascjax` itself.
    """
    with home(work.state, work.files, resume=work.resume) as where:
        command = [*_python(), "-m", "ascjax", *before, "verify"]
        command += ["--processes", str(processes), "--jit-every", str(work.jit_every)]
        command += ["--state", str(where.folder), *["--resume"] * where.resumes]
        command += [*told.words(), "--supervised"]
        try:
            paths = [str(path) for path in work.paths]
            ended = _processes.supervise(command, processes, paths)
        except KeyboardInterrupt:
            return _stopped("interrupted", where, INTERRUPTED)
        if ended.status is None:
            return _stopped(ended.said, where, LOST)
        if ended.status == 1 and not _complete(where.folder):  # it is Python's own too
            return _stopped("process 0 ended with status 1", where, LOST)
        where.finished = ended.status in (0, 1)
        return ended.status


def _python() -> list[str]:
    """Python, which finds modules in the folder that it is called from where this
    process does."""
    here = os.getcwd() in (os.path.abspath(path) for path in sys.path)
    return [sys.executable] if here else [sys.executable, "-P"]


def _complete(folder: Path) -> bool:
    done, total = begun(folder) or (0, 1)
    return done == total


def as_member(
    work: Work,
    told: Told,
    place: tuple[str, int | None, int | None],
    *,
    supervised: bool,
) -> int:
    """One of several processes; the first of them tells what all found.

    Args:
      place: as `_processes.join` takes it.
      supervised: whether this ends with the process that started it.
    """
    if supervised:
        _processes.watch_parent()
    with home(work.state, work.files, resume=work.resume) as where:
        share, state = _begun(work, where, place)
        if isinstance(state, AscendError):
            raise state
        first = share.process == 0
        show = first and not told.quiet
        with _ends_the_process(), report.progress("cases", show=show) as advance:
            go_on(work.files, state, share=share, advance=advance)
            _processes.leave()
    try:
        return told.tell_of(work.paths, work.files, state) if first else 0
    except AscendError:
        raise
    except Exception:  # Python's own status says that a case failed
        traceback.print_exc()
        return CRASHED


def _begun(
    work: Work, where: Home, place: tuple[str, int | None, int | None]
) -> tuple[Share, State | AscendError]:
    """A share, and the state; or the error of this process, where all have one."""
    with _ends_the_process():
        try:
            share = _processes.join(*place)
        except _processes.UnjoinedError as error:
            return Share(), error
        try:
            state = begin(work.files, where, jit_every=work.jit_every, share=share)
        except _processes.LostError:
            raise
        except AscendError as error:
            _processes.leave()
            return share, error
    return share, state


@contextlib.contextmanager
def _ends_the_process() -> Iterator[None]:
    """End at once where something fails: an orderly end would wait for others."""
    try:
        yield
    except BaseException as error:
        if isinstance(error, AscendError):
            print(error, file=sys.stderr)
        else:
            traceback.print_exc()
        sys.stderr.flush()
        os._exit(CRASHED)


def _stopped(how: str, where: Home, status: int) -> int:
    """Say on standard error how a run was ended, and how it goes on."""
    done, total = begun(where.folder) or (0, 0)
    said = f"ascjax: verify: {how}; {done} of {total} cases are done"
    go_on = (
        "; the same command with --resume goes on" if where.lasting and total else ""
    )
    print(f"{said}{go_on}.", file=sys.stderr)
    return status
