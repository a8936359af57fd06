"""`ascjax diagnose`: what a kernel did, where its dump is not what its call leaves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from ._dtypes import ascend_type
from .diagnosis import Diagnosis
from .diagnosis._diagnose import of_dump
from .diagnosis._rules import Claim
from .dumps import read_dump
from .verify import Case, read_cases
from .verify._engine import calls_of
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
    usage, an unreadable file, or a case that is refused itself.
    """
    found = [one for one in read_cases(file) if isinstance(one, Case) and one.dump]
    known = [one.id for one in found]
    for name in case or []:
        if name not in known:
            said = f"{file} has no dump {name!r}; it has {', '.join(known) or 'none'}."
            raise typer.BadParameter(said, param_hint="--case")
    if not found:
        raise typer.BadParameter(f"{file} has no dumps.", param_hint="FILE")
    out, wrong = console(), False
    for one in found:
        if case and one.id not in case:
            continue
        told = of_case(one)
        wrong |= not told.matches
        if as_json:
            print(json.dumps({"id": one.id, **told.to_dict()}))
        else:
            out.print(f"{one.id}: {told}", markup=False, soft_wrap=True)
    raise typer.Exit(int(wrong))


def of_case(case: Case) -> Diagnosis:
    """The diagnosis of a case that has a dump, of one call.

    Raises:
      BadParameter: a case of several calls.
      AscendError: one that is refused; a file at fault.
    """
    if len(case.steps) > 1:
        said = f"{case.id} has {len(case.steps)} calls; a diagnosis is of one."
        raise typer.BadParameter(said, param_hint="--case")
    (call,) = calls_of(case)
    type = call.params.counted(ascend_type(case.dtype))
    overlap: Any = case.overlap
    dump = read_dump(case)
    return of_dump(dump, Claim(call, type), case.product, case.path, overlap)
