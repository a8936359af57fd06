"""The packages that only reports need."""

from __future__ import annotations

import functools

from .._extras import extra

needed = functools.partial(extra, who="verify", what="for --report", group="report")
"""A module of jinja2 or matplotlib, or the error that names the extra."""


def check_report() -> None:
    """Nothing, where all is there that a report needs.

    Raises:
      SupportError: where a package is not installed.
    """
    needed("jinja2")
    needed("matplotlib.figure")
