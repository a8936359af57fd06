"""The command `ascjax`: verify, diagnose, list, show, weights."""

from __future__ import annotations

import collections
import importlib.metadata
import runpy
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from . import cli_weights
from ._errors import AscendError
from .cli_diagnose import diagnose
from .dumps import check_dumps
from .verify import Case, Result, case_files, check_case, read_cases
from .verify import _report as report

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(cli_weights.app, name="weights")
app.command()(diagnose)


def main(argv: list[str] | None = None) -> int:
    """Run a command and return its exit status; what is refused is said in one line.

    Args:
      argv: the words after `ascjax`; None takes the process's own.
    Returns: 0 all right, 1 a case failed or is unsupported, 2 bad usage or an
      unreadable file.

    >>> main(["verify", "--no-such-option"])
    2
    """
    try:
        app(args=argv, prog_name="ascjax")
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except AscendError as error:
        text = str(error).removeprefix("ascjax: ")
        print(f"ascjax: {text}", file=sys.stderr)
        return 2
    return 0


def _version(wanted: bool) -> None:
    if wanted:
        print(f"ascjax {importlib.metadata.version('ascjax')}")
        raise typer.Exit


def _run_file(file: Path) -> None:
    """Run a user's file, which registers the instructions that it declares."""
    if not file.is_file():
        raise typer.BadParameter(f"{file}: no such file", param_hint="--with")
    try:
        runpy.run_path(str(file), run_name=file.stem)
    except Exception as error:
        said = f"{file}: {type(error).__name__}: {error}"
        raise typer.BadParameter(said, param_hint="--with") from error


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Print the version."
        ),
    ] = False,
    with_file: Annotated[
        list[Path] | None,
        typer.Option(
            "--with",
            metavar="FILE.py",
            help="Run a file first that declares instructions of your own.",
        ),
    ] = None,
) -> None:
    """Ascend NPU data moves as static index maps: list, show, verify, diagnose,
    weights."""
    for file in with_file or []:
        _run_file(file)
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command()
def verify(
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
    --allow-unsupported, or there was none, 2 bad usage or an unreadable file.
    """
    if paths and not (cases is None and seed is None and not only):
        said = "--cases, --seed and --only are for the built-in suite."
        raise typer.BadParameter(said)
    if not paths and jit_every is not None:
        raise typer.BadParameter("--jit-every is for case files.")
    if json_file is not None:
        report.write_json(json_file, None)  # before the work, not after it
    files = case_files(paths or [])
    if json_file is not None and json_file.resolve() in [f.resolve() for f in files]:
        said = f"{json_file} holds cases, which the report would replace."
        raise typer.BadParameter(said, param_hint="--json")
    out = report.console()
    started = time.perf_counter()
    if paths:
        every = 8 if jit_every is None else jit_every
        results, extra = _verify_files(files, every, quiet)
        extra = {"files": [str(path) for path in paths], **extra}
    else:
        results, extra = _verify_suite(cases, seed or 0, only or [], quiet)
    seconds = time.perf_counter() - started
    options: dict[str, Any] = {
        "seconds": seconds,
        "allow_unsupported": allow_unsupported,
    }
    report.print_report(out, results, quiet=quiet, verbose=verbose, **options)
    if json_file is not None:
        report.write_json(json_file, report.to_json(results, extra, **options))
    _, total = report.tally(results)
    raise typer.Exit(report.exit_status(total, allow_unsupported=allow_unsupported))


def _verify_files(
    paths: list[Path], every: int, quiet: bool
) -> tuple[list[Result], dict[str, Any]]:
    """Every case of the files; all of them are read before the first is checked."""
    from .verify._coverage import coverage

    found = [case for path in paths for case in read_cases(path)]
    results: list[Result] = []
    met: collections.Counter[str] = collections.Counter()
    of_dumps = check_dumps(c for c in found if isinstance(c, Case) and c.dump)
    with report.progress("cases", show=not quiet) as advance:
        for case in found:
            if isinstance(case, Case) and case.dump:
                results.append(next(of_dumps))
                advance(len(results), len(found))
                continue
            through_op = every > 0 and met[case.instruction] % every == 0
            results.append(check_case(case, through_op=through_op))
            met[case.instruction] += results[-1].status in ("ok", "mismatch")
            advance(len(results), len(found))
    covered = coverage(
        (step.instruction, step.fields, case.dtype, *case.site)
        for case, result in zip(found, results, strict=True)
        for step in case.steps
        if result.status in ("ok", "mismatch")
    )
    return results, {"coverage": covered}


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


@app.command("list")
def list_(
    instruction: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="This instruction only; may be repeated."),
    ] = None,
    product: Annotated[
        str | None, typer.Option(metavar="NAME", help="This product only.")
    ] = None,
) -> None:
    """List instructions, products and types."""
    from .show import list_command

    list_command(report.console(), instruction or [], product)


@app.command(
    context_settings={
        "allow_extra_args": True,
        "ignore_unknown_options": True,
        "help_option_names": [],  # the help tells the instruction's fields too
    }
)
def show(
    context: typer.Context,
    instruction: Annotated[
        str | None,
        typer.Argument(
            help="Its name, as `ascjax list` has it, or the C struct's.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Show an instruction with its numbers put in: --field value ... [--why CELL]."""
    from .show import show_command

    if instruction is None:
        said = "Name one: `ascjax list` has them."
        raise typer.BadParameter(said, param_hint="INSTRUCTION")
    words = [instruction, *context.args]
    helped = words[0] in ("-h", "--help")
    name = next((w for w in words if not w.startswith("-")), None) if helped else None
    words = ["--help"] if helped else words[1:]
    show_command(report.console(), name if helped else instruction, words)
