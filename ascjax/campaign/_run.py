"""One run over case files, alone or as one of several processes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from .._errors import AscendError
from ..verify import CaseFileError
from ._home import Home
from ._processes import gathered
from ._state import State, StateError, clear, run_of
from ._stream import ALONE, Share, cases_of, count, results


def begin(
    files: Sequence[Path], home: Home, *, jit_every: int, share: Share = ALONE
) -> State:
    """The state of a run that all its processes agree on; process 0 makes it.

    Args:
      files: case files, all of which are read before the first case is checked.
      home: where the state lies.
      jit_every: each so many cases of an instruction also run through their own op.
      share: the cases of this process.
    Raises:
      CaseFileError: what is at fault with a file.
      StateError: what is at fault with the state, or that another process refuses.
    """
    refused: AscendError | None = None
    state, mind, run = None, 0, {}
    try:
        _check_kept(files)
        run = run_of(files, count(files, share), jit_every)
        text = json.dumps(run, sort_keys=True).encode()
        mind = int.from_bytes(hashlib.sha256(text).digest()[:7], "little")
        if share.process == 0:
            state = State.open(home.folder, run, resume=home.resumes)
    except AscendError as error:
        refused = error
    minds = gathered(share, mind, refused is not None)
    if refused is None:
        refused = _disagreed(minds, mind, home.folder)
    if refused is None:
        return state or State.open(home.folder, run, resume=True)
    if state is not None and not state.done.any():
        clear(home.folder)
    raise refused


def _check_kept(files: Sequence[Path]) -> None:
    """Refuse what can be read once only, or not to its end."""
    for file in files:
        if file.exists() and not file.is_file():
            rule, fix = "be on a disk: it is read more than once", "Save it first."
            got = "a directory" if file.is_dir() else "a pipe or a device"
            raise CaseFileError(str(file), "the file", rule, got, fix)


def _disagreed(minds: np.ndarray, mind: int, folder: Path) -> StateError | None:
    """What is wrong where another process refuses, or has another run in mind."""
    refused, other = minds[:, 1] != 0, minds[:, 0] != mind
    if refused.any():
        got = f"a refusal by process {int(refused.argmax())}"
        return StateError(folder, "be agreed on", got, "Its own message says why.")
    if other.any():
        got = f"another in process {int(other.argmax())}"
        fix = "Give all the same files, by the same names, and one version of ascjax."
        return StateError(folder, "be of one run", got, fix)
    return None


def go_on(
    files: Sequence[Path],
    state: State,
    *,
    share: Share = ALONE,
    advance: Callable[[int, int], None] = lambda done, total: None,
) -> None:
    """Check every case of a share that has no result yet, and keep its result; in
    process 0 the state then has the results of all processes.

    Args:
      files, share: as they were begun with.
      state: what `begin` gave.
      advance: called with (cases done, all cases), about.
    Raises:
      StateError: a disk that is full; results of another process that are missing.
      AscendError: case files to which something is still written.
    """
    done, total = state.done, state.run["cases"]
    before = int(done.sum())

    def mine(position: int) -> bool:
        if position >= total:
            rule, got = "stay as they are while they are checked", "more cases"
            fix = "Write them whole, and begin anew."
            raise AscendError("verify", "the case files", rule, got, fix)
        return share.has(position) and not done[position]

    todo = ((k, case) for k, case in cases_of(files, mine) if case is not None)
    checked = 0
    with state.writer(share.process) as writer:
        for position, result in results(todo, jit_every=state.run["jit_every"]):
            writer.write(position, result)
            checked += 1
            advance(min(total, before + checked * share.processes), total)
    counts = gathered(share, checked)
    if share.process == 0:
        _end(state, before + int(counts.sum()))


def _end(state: State, expected: int) -> None:
    """Find the results of all processes, and that none is missing."""
    state.read()
    found, total = int(state.done.sum()), state.run["cases"]
    if found < total:
        rule = f"hold the results of all {total} cases ({expected} were counted)"
        fix = "Run it again with --resume; all processes must share the folder."
        raise StateError(state.folder, rule, found, fix)
