"""Packages that only a part of ascjax needs: imported when it is used."""

from __future__ import annotations

import importlib
from typing import Any

from ._errors import SupportError


def extra(name: str, who: str, what: str, group: str) -> Any:
    """A module of a package that may not be installed.

    Args:
      name: the module.
      who: whose error it is.
      what: the package is needed for, as "for pictures".
      group: of pyproject.toml, which installs it.
    Raises:
      SupportError: where it is not installed.

    >>> extra("json.decoder", "draw", "for pictures", "draw").__name__
    'json.decoder'
    """
    try:
        return importlib.import_module(name)
    except ImportError:
        package = f"the package {name.partition('.')[0]}"
        fix = f"Run pip install 'ascjax[{group}]'."
        raise SupportError(who, package, f"be installed {what}", "none", fix) from None
