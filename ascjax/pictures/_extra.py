"""matplotlib, which only pictures need."""

from __future__ import annotations

import importlib
from typing import Any

from .._errors import SupportError


def needed(name: str) -> Any:
    """A module of matplotlib.

    Raises:
      SupportError: where it is not installed.

    >>> needed("matplotlib.path").__name__
    'matplotlib.path'
    """
    try:
        return importlib.import_module(name)
    except ImportError:
        rule, fix = "be installed for pictures", "Run pip install 'ascjax[draw]'."
        package = f"the package {name.partition('.')[0]}"
        raise SupportError("draw", package, rule, "none", fix) from None
