"""`ascjax diagnose`: what a kernel did, where its dump is not what its call leaves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ._errors import AscendError
from .diagnosis._case import of_case
from .verify import Case, stream_cases
from .verify._report import console


def diagnose(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="A case file (docs/case-files.md)."),
    ],
    case: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ID", help="This dump; may be repeated. None: all of the file."
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object a line.")
    ] = False,
) -> None:
    """Search for the calls that explain the dumps of a case file.

    Exit status: 0 where every dump is what its case claims, 1 where one is not, 2 bad
    usage, or an unreadable file or a case that is refused itself, after all others.
    """
    found = [one for one in stream_cases(file) if isinstance(one, Case) and one.dump]
    known = [one.id for one in found]
    for name in case or []:
        if name not in known:
            said = f"{file} has no dump {name!r}; it has {', '.join(known) or 'none'}."
            raise typer.BadParameter(said, param_hint="--case")
    if not found:
        raise typer.BadParameter(f"{file} has no dumps.", param_hint="FILE")
    out, status = console(), 0
    for one in found:
        if case and one.id not in case:
            continue
        try:
            told = of_case(one)
        except AscendError as error:  # the others are told all the same
            typer.echo(f"ascjax: {file}, {one.id}: {error}", err=True)
            status = 2
            continue
        status = max(status, int(not told.matches))
        if as_json:
            print(json.dumps({"id": one.id, **told.to_dict()}))
        else:
            out.print(f"{one.id}: {told}", markup=False, soft_wrap=True)
    raise typer.Exit(status)
