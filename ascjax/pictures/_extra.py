"""matplotlib, which only pictures need."""

from __future__ import annotations

from typing import Any

from .._extras import extra


def needed(name: str) -> Any:
    """A module of matplotlib.

    Raises:
      SupportError: where it is not installed.

    >>> needed("matplotlib.path").__name__
    'matplotlib.path'
    """
    return extra(name, "draw", "for pictures", "draw")
