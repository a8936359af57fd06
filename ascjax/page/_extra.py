"""The packages that only reports need."""

from __future__ import annotations

import importlib
from typing import Any

from .._errors import SupportError


def needed(name: str) -> Any:
    """A module of jinja2 or matplotlib.

    Raises:
      SupportError: where it is not installed.

    >>> needed("jinja2").__name__
    'jinja2'
    """
    try:
        return importlib.import_module(name)
    except ImportError:
        package = f"the package {name.partition('.')[0]}"
        rule, fix = "be installed for --report", "Run pip install 'ascjax[report]'."
        raise SupportError("verify", package, rule, "none", fix) from None


def check_report() -> None:
    """Nothing, where all is there that a report needs.

    Raises:
      SupportError: where a package is not installed.
    """
    needed("jinja2")
    needed("matplotlib.figure")
