"""Several processes at one run: JAX joins them, only counts travel between them.

Results go to files of the state; what the processes tell each other is whether all are
of one mind about the run, before, and how many cases each has done, after.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import jax
import numpy as np

from .._errors import AscendError
from ._stream import Share

_LOOK = 0.05  # seconds between two looks at the processes
_PARTING = 30  # seconds that processes have to end in, once one is refused
_REFUSED = 2
AUTO = "auto"


class LostError(AscendError):
    """Another process of the run has gone."""


class UnjoinedError(AscendError):
    """No other process can be found."""


class Ended(NamedTuple):
    """How a run in several processes ended.

    Attributes:
      status: the first process's; None where a process was lost.
      said: which one, and how; "" where none was.
    """

    status: int | None
    said: str = ""


def join(coordinator: str, processes: int | None, process: int | None) -> Share:
    """Be one of several processes, once all are there.

    Args:
      coordinator: HOST:PORT of process 0, which listens there; "auto" leaves all three
        to JAX, which knows Slurm, Open MPI and others.
    Raises:
      UnjoinedError: where JAX cannot tell.
    """
    if coordinator == AUTO:
        try:
            jax.distributed.initialize()
        except ValueError as error:
            field, rule = "--coordinator auto", "be under a launcher that JAX knows"
            fix = "Give HOST:PORT, --processes N and --process-id K."
            got = f"none ({error})"
            raise UnjoinedError(
                "verify", field, rule, got, fix, "docs/scale.md"
            ) from None
    else:
        jax.distributed.initialize(coordinator, processes, process)
    return Share(jax.process_index(), jax.process_count())


def gathered(share: Share, *counts: int) -> np.ndarray:
    """What each process has to say, (processes, counts); all wait for all.

    Raises:
      LostError: where a process has gone.
    """
    if share.processes == 1:
        return np.array([counts], np.int64)
    from jax.experimental import multihost_utils

    # Two words each: 64-bit types may be off.
    words = np.array(counts, np.int64).view(np.int32)
    try:
        with _quiet():
            found = np.asarray(multihost_utils.process_allgather(words))
    except jax.errors.JaxRuntimeError as error:
        got, fix = str(error).partition("\n")[0], "Start all again with --resume."
        field, rule = "the other processes", "be there to the end"
        raise LostError("verify", field, rule, got, fix, "docs/scale.md") from None
    return np.ascontiguousarray(found.reshape(-1, words.size)).view(np.int64)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep what XLA's collectives print of themselves out of the command's output."""
    sys.stdout.flush()
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


def leave() -> None:
    """Part from the other processes, once all do."""
    jax.distributed.shutdown()


def watch_parent() -> None:
    """End with the process that holds the other end of standard input."""

    def wait() -> None:
        while os.read(0, 4096):
            pass
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def supervise(
    command: Sequence[str], processes: int, paths: Sequence[str] = ()
) -> Ended:
    """Run a command as several processes on this machine until all have ended; where
    one ends badly the others are ended with it.

    Args:
      command: to which each process's number and the coordinator are added, and
      paths: after them, whatever their names are.
    """
    env = {"JAX_PLATFORMS": "cpu", **os.environ}
    where = ["--coordinator", f"127.0.0.1:{_free_port()}"]
    running = [
        subprocess.Popen(
            [*command, "--process-id", str(k), *where, "--", *paths],
            stdin=subprocess.PIPE,
            env=env,
            start_new_session=True,  # an interrupt is for this process to pass on
        )
        for k in range(processes)
    ]
    try:
        while True:
            codes = [one.poll() for one in running]
            if _REFUSED in codes:  # all are, each for itself
                for one in running:
                    one.wait(timeout=_PARTING)
                return Ended(_REFUSED)
            lost = [k for k, code in enumerate(codes) if code not in _right(k)]
            if lost:
                return Ended(None, _how(lost[0], running[lost[0]]))
            if all(code is not None for code in codes):
                return Ended(codes[0])
            time.sleep(_LOOK)
    except subprocess.TimeoutExpired:
        return Ended(_REFUSED)
    finally:
        for one in running:
            one.kill()
            one.communicate()


def _right(process: int) -> tuple[int | None, ...]:
    """Statuses of a process that all is well with; the first tells what was found."""
    return (None, 0) if process else (None, 0, 1)


def _how(process: int, one: subprocess.Popen) -> str:
    code = one.returncode
    if code >= 0:
        return f"process {process} (pid {one.pid}) ended with status {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"process {process} (pid {one.pid}) was ended by {name}"


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]
