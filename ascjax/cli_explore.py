"""`ascjax explore`: the explorer in a browser, served on this machine only."""

from __future__ import annotations

import socket
from typing import Annotated

import typer

from . import cli_complete
from ._errors import ParamError


def explore(
    instruction: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="The instruction to begin with.",
            autocompletion=cli_complete.instructions,
        ),
    ] = "load2d",
    port: Annotated[
        int, typer.Option(min=1, max=65535, metavar="N", help="Port on 127.0.0.1.")
    ] = 8711,
    browser: Annotated[
        bool, typer.Option(help="Open a browser; without, only the address is told.")
    ] = True,
) -> None:
    """Explore an instruction in the browser: sliders, picture, formula, code."""
    from .explore._app import HOST, needed, serve
    from .verify._names import resolve

    needed()
    name = resolve(instruction).instruction
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            rule, fix = "be free", "Pass --port with another number."
            got = f"{port} ({error.strerror})"
            raise ParamError("explore", "--port", rule, got, fix) from None
    serve(port, name, browser)
