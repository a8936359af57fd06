"""`ascjax verify`: case files in a stream, alone or in processes; or the suite."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from .campaign import _ways
from .campaign._processes import AUTO
from .campaign._told import Told
from .page import check_report
from .verify import Result, case_files
from .verify import _report as report


def verify(
    context: typer.Context,
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE|DIR",
            help="Case files, or directories of them (docs/case-files.md). "
            "None: the built-in suite.",
            show_default=False,
        ),
    ] = None,
    cases: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Built-in suite: parameter sets of each instruction, product, path "
            "and type (6); at least 24 where an instruction has no builder of sets.",
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(metavar="N", help="Built-in suite: its seed (0).")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Built-in suite: this instruction only; may be repeated.",
        ),
    ] = None,
    jit_every: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="N",
            help="Case files: each Nth case of an instruction also runs through its "
            "jitted op (8); 0 for none.",
        ),
    ] = None,
    json_file: Annotated[
        Path | None,
        typer.Option("--json", metavar="FILE", help="Write results and coverage."),
    ] = None,
    state: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Case files: keep what is done in this folder, which several machines "
            "may share; without it in the user's cache until the run has ended.",
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on where a run of the same files was ended."),
    ] = False,
    processes: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Case files: N processes on this machine; with --coordinator, in all.",
        ),
    ] = None,
    coordinator: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT|auto",
            help="Be one of several processes, which a launcher starts: where process "
            "0 listens, or auto where JAX can tell (docs/scale.md).",
        ),
    ] = None,
    process_id: Annotated[
        int | None,
        typer.Option(
            min=0, metavar="K", help="With --coordinator: which process this is."
        ),
    ] = None,
    supervised: Annotated[bool, typer.Option("--supervised", hidden=True)] = False,
    report_file: Annotated[
        Path | None,
        typer.Option(
            "--report",
            metavar="FILE.html",
            help="Write a page: counts, patterns, pictures and diagnoses of failures.",
        ),
    ] = None,
    allow_unsupported: Annotated[
        bool,
        typer.Option(
            "--allow-unsupported",
            help="Cases of instructions that ascjax lacks do not make the status 1.",
        ),
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Failures and the last line only.")
    ] = False,
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose", "-v", help="Also why each case was refused that must be."
        ),
    ] = False,
) -> None:
    """Check case files: maps, refusals, and dumps of a chip or a simulator; without
    files, ascjax itself, its maps against the oracle and as jitted.

    Exit status: 0 all right, 1 a case failed, or is unsupported without
    --allow-unsupported, or there was none, 2 bad usage or an unreadable file. A run
    that was interrupted has 130, one that lost a process 3: --resume goes on with it.
    """
    if paths and not (cases is None and seed is None and not only):
        said = "--cases, --seed and --only are for the built-in suite."
        raise typer.BadParameter(said)
    of_files = {
        "--jit-every": jit_every,
        "--state": state,
        "--resume": resume or None,
        "--processes": processes,
        "--coordinator": coordinator,
    }
    given = [name for name, value in of_files.items() if value is not None]
    if given and not paths:
        verb = "is" if len(given) == 1 else "are"
        raise typer.BadParameter(f"{', '.join(given)} {verb} for case files.")
    _check_processes(processes, coordinator, process_id, state)
    telling = Told(json_file, report_file, allow_unsupported, quiet, verbose)
    files = case_files(paths or [])
    _check_written(telling, files)
    if not paths:
        found, extra = _verify_suite(cases, seed or 0, only or [], quiet)
        none = lambda positions: ()  # noqa: E731  (they are drawn, and gone)
        raise typer.Exit(telling.tell("the built-in suite", lambda: found, none, extra))
    every = 8 if jit_every is None else jit_every
    work = _ways.Work(paths, files, every, state, resume)
    if coordinator is not None:
        place = (coordinator, processes, process_id)
        status = _ways.as_member(work, telling, place, supervised=supervised)
    elif processes is not None:
        status = _ways.in_processes(work, telling, processes, _before(context))
    else:
        status = _ways.alone(work, telling)
    raise typer.Exit(status)


def _check_written(told: Told, files: Sequence[Path]) -> None:
    """Refuse what could not be written, before the work and not after it."""
    if told.page is not None:
        check_report()
        if told.json_file and told.page.resolve() == told.json_file.resolve():
            raise typer.BadParameter("--json and --report name the same file.")
    for name, file in (("--json", told.json_file), ("--report", told.page)):
        if file is None:
            continue
        report.check_writable(file, name)
        if file.resolve() in [one.resolve() for one in files]:
            said = f"{file} holds cases, which the report would replace."
            raise typer.BadParameter(said, param_hint=name)


def _check_processes(
    processes: int | None, coordinator: str | None, process: int | None, state: Any
) -> None:
    if coordinator is None:
        if process is not None:
            said = "--process-id needs --coordinator, where process 0 listens."
            raise typer.BadParameter(said)
        return
    if state is None:
        said = "--coordinator needs --state, a folder that all processes share."
        raise typer.BadParameter(said)
    if coordinator == AUTO:
        return
    if processes is None or process is None or process >= processes:
        said = "--coordinator needs --processes N and --process-id K, from 0 to N - 1."
        raise typer.BadParameter(said)
    host, _, port = coordinator.rpartition(":")
    if not host or not (port.isascii() and port.isdecimal()):
        said = f"{coordinator!r} is neither HOST:PORT nor {AUTO}."
        raise typer.BadParameter(said, param_hint="--coordinator")


def _before(context: typer.Context) -> list[str]:
    """The options of `ascjax` itself, for another process."""
    root = context.parent.params if context.parent else {}
    named = root.get("with_file") or ()
    return [word for file in named for word in ("--with", str(file))]


def _verify_suite(
    cases: int | None, seed: int, only: list[str], quiet: bool
) -> tuple[list[Result], dict[str, Any]]:
    from .verify._names import chosen
    from .verify._suite import DEFAULT_CASES, run_suite

    cases = cases or DEFAULT_CASES
    names = chosen(only)
    with report.progress("parameter sets", show=not quiet) as advance:
        results, extra = run_suite(cases, seed, only=names, progress=advance)
    return results, {"cases": cases, "seed": seed, "only": names, **extra}
