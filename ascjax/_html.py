"""How moves, maps and layouts show themselves in a notebook."""

from __future__ import annotations

import importlib
from typing import Any


def repr_html(self: Any) -> str:
    """A picture of the object; text where matplotlib is not installed.

    Pictures stand below what they are of, and are needed in notebooks only: so they
    are looked up when one is shown.
    """
    pictures = importlib.import_module(f"{__package__}.pictures._draw")
    return pictures.shown(self)
