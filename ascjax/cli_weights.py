"""`ascjax weights`: inspect, pack and unpack weight files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from . import weights
from .weights import Entry

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Weight files (safetensors): inspect, pack into a layout, unpack.",
)
_In = Annotated[Path, typer.Argument(metavar="IN", help="The file to read.")]
_Out = Annotated[Path, typer.Argument(metavar="OUT", help="The file to write.")]
_Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace OUT where it exists.")
]


@app.command()
def inspect(
    file: Annotated[Path, typer.Argument(help="A safetensors file, plain or packed.")],
) -> None:
    """List the tensors of a file, and how each is stored.

    Exit status: 0 all right, 2 a file that cannot be read.
    """
    entries = weights.inspect(file)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("name", overflow="fold")
    for name in ("type", "shape", "layout", "product"):
        table.add_column(name, no_wrap=True)
    for name in ("bytes", "padding"):
        table.add_column(name, no_wrap=True, justify="right")
    for entry in entries:
        table.add_row(
            entry.name,
            entry.type.name if entry.type else "unknown",
            " x ".join(map(str, entry.shape)) or "scalar",
            entry.stored,
            entry.product.key if entry.product else "-",
            f"{entry.nbytes:,}",
            _share(entry.padding, entry.nbytes),
        )
    out = Console(highlight=False, markup=False)
    if not out.is_terminal:  # whole lines for other programs, however long the names
        out = Console(highlight=False, markup=False, width=10_000)
    out.print(table)
    _print_total(entries, "")


@app.command()
def pack(
    src: _In,
    dst: _Out,
    layout: Annotated[
        str, typer.Option(metavar="NAME", help="NZ, FRACTAL_Z, ..., or its number.")
    ] = "NZ",
    product: Annotated[
        str, typer.Option(metavar="NAME", help="The product to pack for.")
    ] = "atlas_a2",
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN",
            help="Names of the tensors to pack, * and ? allowed; may be repeated. "
            "None: all with just the axes of the layout.",
        ),
    ] = None,
    dtype: Annotated[
        str | None,
        typer.Option(
            metavar="TYPE",
            help="What their bytes hold where the file does not tell: int4b_t, ...",
        ),
    ] = None,
    overwrite: _Overwrite = False,
) -> None:
    """Pack tensors of IN into a layout, and write OUT.

    Exit status: 0 all right, 2 a file or an option that does not do; then OUT is as it
    was.
    """
    number = int(layout) if layout.isdecimal() else layout
    entries = weights.pack(
        src, dst, number, product, only, dtype=dtype, overwrite=overwrite
    )
    _print_total(entries, f"{dst}: ")


@app.command()
def unpack(
    src: _In,
    dst: _Out,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN",
            help="Names of the tensors to unpack, * and ? allowed; may be repeated.",
        ),
    ] = None,
    overwrite: _Overwrite = False,
) -> None:
    """Make plain arrays of the tensors of IN, and write OUT.

    Exit status: 0 all right, 2 a file or an option that does not do; then OUT is as it
    was.
    """
    entries = weights.unpack(src, dst, only, overwrite=overwrite)
    _print_total(entries, f"{dst}: ")


def _print_total(entries: Sequence[Entry], what: str) -> None:
    """One line: how many tensors, how many of them packed, bytes and padding."""
    nbytes = sum(entry.nbytes for entry in entries)
    padding = sum(entry.padding for entry in entries)
    packed = sum(entry.layout is not None for entry in entries)
    share = _share(padding, nbytes)
    text = f"{what}{packed} of {len(entries)} tensors packed, {nbytes:,} bytes"
    typer.echo(f"{text}, {share} of them padding")


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}%" if whole else "0.0%"
