"""The command `ascjax`: verify, diagnose, list, show, weights."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Annotated

import typer

from . import cli_complete, cli_weights
from ._errors import AscendError
from .cli_diagnose import diagnose
from .cli_overview import overview, version
from .cli_verify import verify
from .verify import _report as report

app = typer.Typer(
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(cli_weights.app, name="weights")
app.command()(verify)
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
        version()
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
            "--version",
            callback=_version,
            is_eager=True,
            help="Print versions, devices and products.",
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
        overview()


@app.command("list")
def list_(
    instruction: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="This instruction only; may be repeated.",
            autocompletion=cli_complete.instructions,
        ),
    ] = None,
    product: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="This product only.",
            autocompletion=cli_complete.products,
        ),
    ] = None,
) -> None:
    """List instructions, products and types."""
    from .show import list_command

    list_command(report.console(), instruction or [], product)


@app.command(
    cls=cli_complete.ShowCommand,
    context_settings={
        "allow_extra_args": True,
        "ignore_unknown_options": True,
        "help_option_names": [],  # the help tells the instruction's fields too
    },
)
def show(
    context: typer.Context,
    instruction: Annotated[
        str | None,
        typer.Argument(
            help="Its name, as `ascjax list` has it, or the C struct's.",
            show_default=False,
            autocompletion=cli_complete.instructions,
        ),
    ] = None,
    rest: Annotated[
        list[str] | None,
        typer.Argument(hidden=True, autocompletion=cli_complete.values),
    ] = None,
) -> None:
    """Show an instruction with its numbers put in: --field value ... [--why CELL]."""
    from .show import show_command

    if instruction is None:
        said = "Name one: `ascjax list` has them."
        raise typer.BadParameter(said, param_hint="INSTRUCTION")
    words = [instruction, *(rest or []), *context.args]
    helped = words[0] in ("-h", "--help")
    name = next((w for w in words if not w.startswith("-")), None) if helped else None
    words = ["--help"] if helped else words[1:]
    show_command(report.console(), name if helped else instruction, words)
