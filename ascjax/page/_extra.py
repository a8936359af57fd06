"""The packages that only reports need."""

from __future__ import annotations

from typing import Any

from .._extras import extra


def needed(name: str) -> Any:
    """A module of jinja2 or matplotlib.

    Raises:
      SupportError: where it is not installed.

    >>> needed("jinja2").__name__
    'jinja2'
    """
    return extra(name, "verify", "for --report", "report")


def check_report() -> None:
    """Nothing, where all is there that a report needs.

    Raises:
      SupportError: where a package is not installed.
    """
    needed("jinja2")
    needed("matplotlib.figure")
